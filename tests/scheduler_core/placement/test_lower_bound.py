"""Domains that are rejected by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.lower_bound import LowerBound, countable
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, entities, leaf, node, pod, state

KINDS: list[Json] = [{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "nodeSelector": {"disk": "ssd"}}]


def formed(objects: list[Json]) -> tuple[PlacementState, PlacementRequest]:
    here = state(objects)
    return here, Greedy(here).request(entities(objects)["g"])


def short(here: PlacementState, request: PlacementRequest) -> list[bool]:
    division = here.topology.divide(here.topology.root, "rack")
    result: list[bool] = LowerBound(request).short(division, np.arange(len(division.domains)), here).tolist()
    return result


def mixed(kinds: list[int], minimum: int) -> list[Json]:
    return [leaf("g", minimum, "rack"), *(pod(f"g-{number:03}", "g", **KINDS[kind]) for number, kind in enumerate(kinds))]


@settings(deadline=None, max_examples=sampled(100))
@given(
    st.lists(st.tuples(st.sampled_from("1248"), st.sampled_from("012"), st.booleans()), min_size=1, max_size=8),
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.integers(1, 12),
    st.booleans(),
)
def test_no_domain_is_refuted_where_the_leaf_can_be_placed(nodes, kinds, minimum, promised):
    there = [node(f"n{number}", cpu, rack=f"r{rack}", disk="ssd" if ssd else "hdd") for number, (cpu, rack, ssd) in enumerate(nodes)]
    there += [pod("promised", cpu="1", nominated="n0", priority=9, schedulingGates=[{"name": "wait"}])] if promised else []
    here, request = formed([*there, *mixed(kinds, min(minimum, len(kinds)))])
    domains = here.topology.divide(here.topology.root, "rack").domains

    for domain, refuted in zip(domains, short(here, request), strict=True):
        assert not (refuted and try_leaf(request, domain, here).success)


@pytest.mark.parametrize(
    ("cores", "kinds", "want"),
    [
        pytest.param("6", [0, 0, 1, 1], False, id="as much as it needs"),
        pytest.param("5", [0, 0, 1, 1], True, id="less than it needs"),
        pytest.param("2", [0, 0], False, id="as many pods as have capacity"),
        pytest.param("8", [2, 0], True, id="no node for one of them"),
    ],
)
def test_a_domain_is_refuted_that_has_too_little(cores, kinds, want):
    here, request = formed([node("n0", cores, rack="r0"), *mixed(kinds, len(kinds))])

    assert [want] == short(here, request)


def test_what_has_been_taken_meanwhile_counts():
    here, request = formed([node("n0", "4", rack="r0"), pod("runs", cpu="3", on="n0"), *mixed([0, 0], 2)])

    assert [True] == short(here, request)


@pytest.mark.parametrize(
    ("kinds", "more", "want"),
    [([0, 1] * 4, {}, True), ([0, 1] * 3, {}, False), ([0, 1] * 4, {"host_port": 80}, False)],
    ids=["eight runs", "six runs", "ports of the host"],
)
def test_it_is_for_leaves_of_many_runs_that_nothing_else_decides_about(kinds, more, want):
    objects = [leaf("g", 1, "rack"), *(pod(f"g-{number}", "g", **KINDS[kind], **more) for number, kind in enumerate(kinds))]
    _, request = formed([node("n0", "4", rack="r0"), *objects])

    assert want == countable(request)
