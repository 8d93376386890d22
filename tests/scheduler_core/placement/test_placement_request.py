"""Placement requests: equivalent entities have one number, all others another one."""

from __future__ import annotations

import dataclasses

import pytest

from kubeapi.meta import replaced
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.placement_request import Signatures
from tests.scheduler_core.builders import record, shape

SMALL, LARGE = shape(500, serial=0), shape(2000, serial=1)
PORT = shape(500, serial=2, ports=(("TCP", "0.0.0.0", 80),))


def waiting(*kinds: int) -> tuple[PodRecord, ...]:
    return tuple(record(f"p{number}", (SMALL, LARGE, PORT)[kind]) for number, kind in enumerate(kinds))


BASE = Entity(Name("PodGroup", "default", "g"), 2, True, "rack", 5, True, "2026", waiting=waiting(0, 0, 1))


def change(**fields: object) -> Entity:
    return dataclasses.replace(BASE, **fields)


ALIKE = [
    pytest.param(change(name=Name("PodGroup", "other", "h")), id="another name"),
    pytest.param(change(priority=7, preempts=False, created="2027"), id="another rank"),
    pytest.param(change(gang=False), id="another policy of the same minimum"),
    pytest.param(change(waiting=tuple(record(f"q{number}", each.shape) for number, each in enumerate(BASE.waiting))), id="other pods"),
]
UNLIKE = [
    pytest.param(change(minimum=3), id="the minimum"),
    pytest.param(change(key="zone"), id="the key"),
    pytest.param(change(desired=4), id="the desired count"),
    pytest.param(change(waiting=waiting(0, 0)), id="the number of pods"),
    pytest.param(change(waiting=waiting(0, 1, 0)), id="the order of unlike pods"),
    pytest.param(change(running=(record("r", SMALL, node=1),)), id="a member that runs"),
    pytest.param(change(waiting=(replaced(BASE.waiting[0], nominated=0), *BASE.waiting[1:])), id="another nominated pod"),
    pytest.param(change(waiting=(*BASE.waiting[:2], replaced(BASE.waiting[2], nominated=1))), id="a nominated node"),
    pytest.param(change(name=Name("CompositePodGroup", "default", "g")), id="the kind"),
]


@pytest.mark.parametrize("other", ALIKE)
def test_what_decides_nothing_is_not_in_the_signature(other):
    signatures = Signatures()

    assert signatures.request(BASE).number == signatures.request(other).number


@pytest.mark.parametrize("other", UNLIKE)
def test_what_decides_where_a_group_goes_is_in_the_signature(other):
    signatures = Signatures()
    numbers = [signatures.request(each).number for each in (BASE, other, BASE)]

    assert (numbers[0], True) == (numbers[2], numbers[0] != numbers[1])
    assert min(numbers) >= 0


def test_members_that_run_elsewhere_are_distinguished_by_node():
    signatures = Signatures()
    one, other, same = (signatures.request(change(running=(record("r", SMALL, node=node),))) for node in (1, 2, 1))

    assert one.number == same.number != other.number
    assert ((1,), (2,)) == (one.pinned, other.pinned)


def test_members_that_run_on_one_node_are_counted():
    signatures = Signatures()
    running = record("r", SMALL, node=1), record("s", SMALL, node=1)
    one, two = (signatures.request(change(running=running[:count])) for count in (1, 2))

    assert one.number != two.number
    assert (1,) == one.pinned == two.pinned


def composite(*children: Entity, minimum: int = 1) -> Entity:
    return Entity(Name("CompositePodGroup", "default", "c"), minimum, True, "", 5, True, "", children=children)


def test_a_composite_is_its_children_in_their_order():
    signatures = Signatures()
    first, second = BASE, change(minimum=1)
    placement_requests = [signatures.request(composite(*each)) for each in ((first, second), (first, second), (second, first), (first,))]

    assert placement_requests[0].number == placement_requests[1].number
    assert 3 == len({each.number for each in placement_requests})


def test_a_composite_is_pinned_where_any_pod_below_it_runs():
    running = [change(running=(record("r", SMALL, node=node),)) for node in (4, 2, 4)]
    request = Signatures().request(composite(composite(running[0]), *running[1:], BASE))

    assert (2, 4) == request.pinned
    assert not request.leaf


def test_runs_are_consecutive_pods_of_one_shape():
    request = Signatures().request(change(waiting=waiting(0, 0, 1, 0)))

    assert [(SMALL, 2), (LARGE, 1), (SMALL, 1)] == [(run.shape, run.count) for run in request.runs]
    assert [(SMALL, 3)] == [(run.shape, run.count) for run in Signatures().request(change(waiting=waiting(0, 0, 0))).runs]
    assert () == Signatures().request(change(waiting=())).runs


@pytest.mark.parametrize(
    ("pods", "special"),
    [
        pytest.param(waiting(0, 1), False, id="plain pods"),
        pytest.param(waiting(0, 2), True, id="a port of the host"),
        pytest.param((record("p", SMALL, nominated=0),), True, id="a nominated node"),
    ],
)
def test_pods_that_must_be_tried_one_by_one_are_special(pods, special):
    request = Signatures().request(change(waiting=pods))

    assert (special, True) == (request.special, request.memorable)


def test_all_pods_are_tried_one_by_one_where_that_is_requested():
    assert Signatures(one_by_one=True).request(BASE).special


def test_who_hangs_on_others_is_never_remembered_nor_is_what_is_above():
    signatures = Signatures(lambda each: each.name == "p2")
    first, again = signatures.request(BASE), signatures.request(BASE)
    above = signatures.request(composite(change(waiting=waiting(0)), BASE))

    assert [False] * 3 == [each.memorable for each in (first, again, above)]
    assert 3 == len({each.number for each in (first, again, above)})
    assert signatures.request(change(waiting=waiting(0, 0))).memorable
