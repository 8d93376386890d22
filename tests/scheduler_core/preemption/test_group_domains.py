"""Nested domains."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from scheduler_core.preemption.plans.group_domains import DomainArea, areas
from scheduler_core.preemption.plans.required_pods import RequiredPods
from tests.scheduler_core.preemption.crowded import node
from tests.scheduler_core.preemption.pending_root import gang, requirements_of

WAYS = (((None, 1),),)


def built(wanted, *racks, effort=10_000):
    """Return the areas of a cluster with one node for each pair of a zone and a rack."""
    nodes = [
        node(f"n{number}", 1, **{key: value for key, value in (("zone", zone), ("rack", rack)) if value})
        for number, (zone, rack) in enumerate(racks)
    ]
    state = requirements_of([*nodes, *gang(1, 1)]).state
    return areas(state, wanted, state.topology.root, Effort(effort))


def area_values(area: DomainArea):
    return area.nodes.tolist(), dict(area.values), [area_values(each) for each in area.inner]


LEAF = RequiredPods(1, "rack", ways=WAYS)


def test_racks_lie_in_their_zones():
    root = RequiredPods(3, "", missing=1, children=(RequiredPods(2, "zone", missing=1, children=(LEAF,)),))
    result = built(root, ("z1", "r1"), ("z2", "r1"), ("z1", "r1"), ("z1", "r2"))

    assert area_values(result) == (
        [0, 1, 2, 3],
        {},
        [([0, 2, 3], {"zone": "z1"}, [([0, 2], {"rack": "r1", "zone": "z1"}, []), ([3], {"rack": "r2", "zone": "z1"}, [])]),
         ([1], {"rack": "r1", "zone": "z2"}, [])],
    )  # fmt: skip
    assert [0, 1, 2, 3, 4] == sorted([result.number, *(each.number for zone in result.inner for each in (zone, *zone.inner))])


def test_a_domain_that_is_the_whole_of_another_is_no_area_of_its_own():
    result = built(RequiredPods(2, "", missing=1, children=(LEAF,)), ("z1", "r1"), ("z1", "r1"))

    assert ([0, 1], {"rack": "r1"}, []) == area_values(result)


def test_there_are_no_areas_where_domains_overlap_halfway():
    root = RequiredPods(3, "", missing=2, children=(LEAF, RequiredPods(2, "zone", ways=WAYS)))

    assert built(root, ("z1", "r1"), ("z2", "r1"), ("z1", "r2")) is None


def test_the_rest_of_an_area_is_in_none_inside_it():
    result = built(RequiredPods(2, "", missing=1, children=(LEAF,)), ("z1", ""), ("z1", "r1"), ("z1", "r2"), ("z1", ""))

    assert [0, 3] == result.rest.nodes.tolist()
    assert not result.rest.inner
    assert result.rest.number < 0
    assert [None, None] == [each.rest for each in result.inner]
    assert result.rest.rest is None


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [("", None, True), ("rack", None, True), ("rack", "r1", True), ("rack", "r2", False), ("zone", None, False)],
)
def test_an_area_is_the_domain_of_groups_that_want_its_value(key, value, want):
    (area,) = built(RequiredPods(2, "", missing=1, children=(LEAF,)), ("z1", ""), ("z1", "r1")).inner

    assert want == area.satisfies(RequiredPods(9, key, value))


def test_looking_for_areas_takes_effort():
    with pytest.raises(EffortSpentError):
        built(RequiredPods(2, "", missing=1, children=(LEAF,)), ("z1", "r1"), ("z1", "r2"), effort=30)
