"""Limit of the consumers of a claim to devices."""

from __future__ import annotations

import random

import pytest

from scheduler_core.facade import simulate
from scheduler_core.model.decision import Decision
from scheduler_core.model.devices import MOST_CONSUMERS
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, composite, decided, leaf, message_of, node, reasons_of, run
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, request, resource_claim, wanting
from tests.scheduler_core.sidecar.device_world import DeviceWorld
from tests.scheduler_core.sidecar.test_crashes import options
from tests.scheduler_core.sidecar.world import Luck

FABRIC = [device_class(), device_slice(None, "f", pool="x", allNodes=True)]
BASE = [*(node(f"n{number}", cpu="100") for number in range(4)), *FABRIC]
CLAIM = resource_claim("c", request())
REASON = "claim default/c can have at most 256 consumers in status.reservedFor"
REMEDY = "list it in spec.resourceClaims of PodGroup g, which is then its only consumer"


def users(number: int, group: str = "g", **more: str) -> list[Json]:
    return [wanting(f"{group}-{each}", "f=c", group=group, **more) for each in range(number)]


def allocated(number: int, *names: str) -> Json:
    """Return a claim that *number* pods use, of which some are *names*."""
    return resource_claim("c", request(), devices=["gpu=x/f"], users=[*names, *(f"q{each}" for each in range(number - len(names)))])


def bound(decision: Decision) -> int:
    return len(decision.assignments)


def test_a_gang_with_more_pods_than_a_claim_can_have_consumers_is_refuted():
    decision = decided([*BASE, CLAIM, leaf("g", 300), *users(300)], strategy="complete")
    assert (decision.status, decision.search.outcome) == (Status.UNRESOLVABLE, "infeasible")
    assert message_of(decision).startswith(f"44 pods are left out: {REASON}; {REMEDY}. group g has 256 of the 300 pods that it needs")
    assert 44 == [*reasons_of(decision).values()].count(f"{REASON}; {REMEDY}")


def test_the_remedy_of_such_a_gang_is_the_largest_minimum_that_works():
    (decision,) = simulate([*BASE, CLAIM, leaf("g", 258), *users(258)]).decisions
    assert ["minCount of PodGroup default/g lowered from 258 to 256"] == [each.change for each in decision.remedies]


@pytest.mark.parametrize(
    ("claim", "places"),
    [
        pytest.param(CLAIM, 256, id="to allocate"),
        pytest.param(allocated(255), 1, id="allocated"),
        pytest.param(allocated(256, "g-1", "g-4"), 2, id="reserved for some of the pods"),
    ],
)
def test_optional_pods_beyond_the_limit_are_pending(claim, places):
    number = places + 3
    decision = decided([*BASE, claim, leaf("g", 1), *users(number)], strategy="complete")
    assert (decision.status, bound(decision)) == (Status.SUCCESS, places)
    assert [f"{REASON}; {REMEDY}"] * 3 == [*reasons_of(decision).values()]


def test_a_pod_alone_and_later_roots_have_no_place_either():
    first, second = run([*BASE, allocated(255), wanting("a", "f=c"), wanting("b", "f=c")], strategy="complete").decisions
    assert (first.status, second.status) == (Status.SUCCESS, Status.UNRESOLVABLE)
    assert {"default/b": REASON} == reasons_of(second)
    assert message_of(second) == f"1 pod is left out: {REASON}"


def test_places_are_for_the_minimum_of_each_group_first():
    objects = [*BASE, allocated(252), composite("root", 2), leaf("g", 1, parent="root"), leaf("h", 2, parent="root")]
    decision = decided([*objects, *users(4), *users(2, "h")], strategy="complete")
    assert decision.status is Status.SUCCESS
    assert {"default/g-2", "default/g-3"} == {*decision.pending}


def test_nothing_is_proved_if_other_pods_could_have_the_places():
    others = [wanting(f"g-big{number}", "f=c", group="g", cpu="200", priority=9) for number in range(2)]
    decision = decided([*BASE, allocated(254), leaf("g", 2), *others, *users(2)], strategy="complete")
    assert {} == decision.assignments
    assert decision.search.outcome == "not-searched"
    assert "proved" not in message_of(decision)


def test_a_group_is_one_consumer():
    group = leaf("g", 300)
    group["spec"]["resourceClaims"] = [{"name": "f", "resourceClaimName": "c"}]
    assert 300 == bound(decided([*BASE, CLAIM, group, *users(300)], strategy="complete"))


@pytest.mark.parametrize(("minimum", "status"), [(300, Status.ERROR), (256, Status.SUCCESS)])
def test_kube_scheduler_binds_pods_up_to_the_limit(minimum, status):
    decision = decided([*BASE, CLAIM, leaf("g", minimum), *users(300)], strategy="greedy")
    assert (decision.status, bound(decision)) == (status, MOST_CONSUMERS)
    refused = 'ResourceClaim.resource.k8s.io "c" is invalid: status.reservedFor: Too many: 257: must have at most 256 items'
    assert {f"add reservation to claim default/c: {refused}"} == {*reasons_of(decision).values()}
    assert len(decision.pending) == 44


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize(("minimum", "placed"), [(257, 0), (4, MOST_CONSUMERS)])
def test_the_sidecar_reserves_a_claim_for_no_more_pods_than_the_limit(strategy, minimum, placed):
    world = DeviceWorld([*BASE, CLAIM, leaf("g", minimum), *users(257)], options("place", strategy), Luck(random.Random(0)))
    world.run(60)
    assert placed == sum(1 for key, each in world.server.objects.items() if key[0] == "Pod" and each["spec"].get("nodeName"))
