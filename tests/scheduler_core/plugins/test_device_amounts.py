"""Devices that are counted in parts: extended resources, shared counters and consumable capacity."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from kubeapi.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.status import Status
from scheduler_core.plugins.devices.consumable_capacity import CapacityError, consumed_capacity, is_allowed
from tests.scheduler_core.builders import GPU, Json, leaf, message_of, node, placed, pod, reasons_of
from tests.scheduler_core.plugins.device_objects import (
    CLASS,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)
from tests.scheduler_core.plugins.test_dynamic_resources import BASE, given, greedy
from tests.scheduler_core.worded_problems import worded

IMPLICIT = "deviceclass.resource.kubernetes.io/"
BACKED = device_class(extendedResourceName=GPU)


def container(amount: int, name: str = GPU, **more: Any) -> Json:
    return {"name": "c", "resources": {"requests": {"cpu": "1", **({name: str(amount)} if amount else {})}}, **more}


def extended(name: str, *containers: Json, init: tuple[Json, ...] = (), **more: Any) -> Json:
    written = pod(name, **more)
    written["spec"] |= {"containers": list(containers) or [container(1)], **({"initContainers": list(init)} if init else {})}
    return written


CLAIM = "pod/p/<extended-resources>"


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        pytest.param(extended("p", container(2)), {"container-0-request-1": 2}, id="one container"),
        pytest.param(extended("p", container(1), container(2)), {"container-0-request-1": 1, "container-1-request-1": 2}, id="two"),
        pytest.param(
            extended("p", container(1), init=(container(3), container(2))),
            {"container-0-request-1": 2, "container-2-request-1": 1},
            id="the largest init container takes the rest",
        ),
        pytest.param(
            extended("p", container(2), init=(container(1),)), {"container-1-request-1": 2}, id="an init container uses later ones"
        ),
        pytest.param(
            extended("p", container(1), init=(container(1, restartPolicy="Always"),)),
            {"container-0-request-1": 1, "container-1-request-1": 1},
            id="a sidecar",
        ),
        pytest.param(extended("p", container(5)), {}, id="too many"),
        pytest.param(
            extended("p", container(1, "deviceclass.resource.kubernetes.io/gpu")),
            {"container-0-request-1": 1},
            id="the resource of each class",
        ),
    ],
)
def test_devices_for_extended_resources(pending, expected):
    decision = greedy([node("n1"), BACKED, device_slice("n1", "a", "b", "c", "d"), pending])
    found = [each.partition("=")[0] for each in given(decision).get(CLAIM, [])]
    assert expected == {name: found.count(name) for name in found}
    assert bool(expected) == (decision.status is Status.SUCCESS)


def test_a_node_that_has_the_resource_itself_needs_no_devices():
    objects = [node("n1", gpu="1"), node("n2"), BACKED, device_slice("n2", "a")]
    gang = [leaf("g", 2), *(extended(name, group="g") for name in ("p", "q"))]
    decision = greedy([*objects, *gang])
    assert {"n1", "n2"} == set(placed(decision).values())
    assert 1 == len(decision.devices)
    assert greedy([*objects, leaf("g", 3), *(extended(name, group="g") for name in ("p", "q", "r"))]).status is Status.UNSCHEDULABLE


def test_of_two_classes_with_one_resource_the_newer_counts():
    classes = [device_class("a", extendedResourceName=GPU), device_class("b", extendedResourceName=GPU)]
    classes[1]["metadata"]["creationTimestamp"] = "2026-08-01T00:00:00Z"
    devices = load([node("n1"), *classes]).devices
    assert devices is not None
    assert {GPU: "b", f"{IMPLICIT}a": "a", f"{IMPLICIT}b": "b"} == {name: used for name, (used, _) in devices.resources.items()}


@pytest.mark.parametrize(("uid", "excludes"), [("", True), ("p", True), ("of another pod p", False)])
def test_a_claim_of_an_earlier_attempt_excludes_all_nodes(uid, excludes):
    """A claim of a deleted pod of the same name does not; a pod in a file can be without a uid.  Equal pods are read alike."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    left = resource_claim("p-extended", ownerReferences=[owner], annotations=annotations)
    pods = [extended(name) for name in ("o", "p")]
    for each, known in zip(pods, ("o", uid), strict=True):
        each["metadata"]["uid"] = known
    decisions = run_cycle(load([node("n1"), BACKED, device_slice("n1", "a", "b"), left, *pods]), CycleOptions(strategy="greedy")).decisions
    pending = {pod: why for each in decisions for pod, why in reasons_of(each).items()}
    assert ["default/p"][: int(excludes)] == [pod for pod, why in pending.items() if "cannot schedule extended resource claim" in why]
    assert (2 - int(excludes)) == sum(len(each.assignments) for each in decisions)


def counters(amount: str, name: str = "memory") -> Json:
    return {"counterSet": "set", "counters": {name: {"value": amount}}}


SETS = [{"name": "set", "counters": {"memory": {"value": "80Gi"}}}]


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param(2, [], ["half-0", "half-1"], id="two halves"),
        pytest.param(3, [], [], id="halves leave nothing for the whole"),
        pytest.param(1, ["gpu=n1/whole"], [], id="the whole is used"),
        pytest.param(1, ["gpu=n1/half-0"], ["half-1"], id="one half is used"),
        pytest.param(2, ["gpu=n1/half-0"], [], id="one half is left"),
    ],
)
def test_shared_counters(wanted, used, expected):
    parts = [device(f"half-{index}", consumesCounters=[counters("40Gi")]) for index in range(2)]
    published = device_slice("n1", *parts, device("whole", consumesCounters=[counters("80Gi")]), count=2)
    shared = device_slice("n1", name="counters", count=2, sharedCounters=SETS)
    objects = [*BASE, published, shared, template("t", request(count=wanted)), wanting("p", "g:t")]
    decision = greedy([*objects, *([resource_claim("used", devices=used)] if used else [])])
    assert [f"gpu=n1/{name}" for name in expected] == given(decision).get("pod/p/g", [])


@pytest.mark.parametrize(
    ("sets", "use"),
    [
        pytest.param([], counters("1"), id="no set"),
        pytest.param(SETS, counters("1", "cores"), id="no such counter"),
        pytest.param([*SETS, *SETS], counters("1"), id="two sets of one name"),
    ],
)
def test_a_pool_with_invalid_counters_cannot_be_used(sets, use):
    published = device_slice("n1", device("a", consumesCounters=[use]), count=2)
    shared = device_slice("n1", name="counters", count=2, **({"sharedCounters": sets} if sets else {}))
    decision = greedy([*BASE, published, shared, wanting()])
    assert "invalid resource pools were encountered" in reasons_of(decision)["default/p"]


def test_a_device_with_compatibility_groups_makes_its_pool_incomplete():
    use = {**counters("1"), "compatibilityGroups": ["x"]}
    shared = device_slice("n1", name="counters", count=2, sharedCounters=SETS)
    decision = greedy([*BASE, device_slice("n1", device("a", consumesCounters=[use]), count=2), shared, wanting()])
    assert "cannot allocate all claims" in reasons_of(decision)["default/p"]


def shareable(name: str, amount: str = "80Gi", **policy: Any) -> Json:
    capacity = {"memory": {"value": amount, **({"requestPolicy": policy} if policy else {})}}
    return device(name, allowMultipleAllocations=True, capacity=capacity)


def part(amount: str | None) -> Json:
    return template("t", request(**({"capacity": {"requests": {"memory": amount}}} if amount else {})))


@pytest.mark.parametrize(
    ("amount", "count", "fits"),
    [("40Gi", 2, True), ("40Gi", 3, False), ("30Gi", 2, True), ("30Gi", 3, False), (None, 1, True), (None, 2, False)],
)
def test_shares_of_a_device(amount, count, fits):
    members = [wanting(f"p{index}", "g:t", group="g") for index in range(count)]
    decision = greedy([*BASE, device_slice("n1", shareable("a")), part(amount), leaf("g", count), *members])
    assert (Status.SUCCESS if fits else Status.UNSCHEDULABLE) is decision.status


def test_shares_of_running_pods_count():
    share = {"shareID": "x", "consumedCapacity": {"memory": "50Gi"}}
    used = resource_claim("used", devices=["gpu=n1/a"], results=share)
    objects = [*BASE, device_slice("n1", shareable("a")), used]
    assert {"p": "n1"} == placed(greedy([*objects, part("30Gi"), wanting("p", "g:t")]))
    assert {} == placed(greedy([*objects, part("31Gi"), wanting("p", "g:t")]))


def test_a_device_without_the_requested_capacity_is_left_out():
    other = device("a", allowMultipleAllocations=True, capacity={"cores": {"value": "8"}})
    decision = greedy([*BASE, device_slice("n1", other, shareable("b")), part("1Gi"), wanting("p", "g:t")])
    assert {"pod/p/g": ["gpu=n1/b"]} == given(decision)


TENS = CapacityRequestPolicyRange(min="10", max="50", step="10")


@pytest.mark.parametrize(
    ("policy", "requested", "consumed", "allowed"),
    [
        pytest.param(None, None, 80, True, id="nothing requested: all"),
        pytest.param(CapacityRequestPolicy(default="20"), None, 20, True, id="the default"),
        pytest.param(CapacityRequestPolicy(default="20", valid_range=TENS), 5, 10, True, id="at least the minimum"),
        pytest.param(CapacityRequestPolicy(default="20", valid_range=TENS), 21, 30, True, id="the next step"),
        pytest.param(CapacityRequestPolicy(default="20", valid_range=TENS), 30, 30, True, id="a step"),
        pytest.param(CapacityRequestPolicy(default="20", valid_range=TENS), 51, 60, False, id="above the maximum"),
        pytest.param(CapacityRequestPolicy(default="20", valid_values=("20", "40")), 30, 40, True, id="the next value"),
        pytest.param(CapacityRequestPolicy(default="20", valid_values=("20", "40")), 41, 41, False, id="above all values"),
        pytest.param(
            CapacityRequestPolicy(default="1", valid_range=CapacityRequestPolicyRange(min="500m", step="250m")),
            Decimal("0.6"),
            Decimal("0.75"),
            True,
            id="parts",
        ),
        pytest.param(CapacityRequestPolicy(default="2"), 3, 3, True, id="another amount than the default"),
    ],
)
def test_consumed_capacity(policy, requested, consumed, allowed):
    wanted = {} if requested is None else {"memory": Decimal(requested)}
    assert {"memory": Decimal(consumed)} == consumed_capacity(wanted, {"memory": DeviceCapacity("80", policy)})
    assert allowed == is_allowed(Decimal(consumed), policy)


def test_amounts_that_cannot_be_represented_are_errors():
    steps = CapacityRequestPolicy(default="1", valid_range=CapacityRequestPolicyRange(min="1", step="2"))
    with pytest.raises(CapacityError, match="cannot be represented"):
        consumed_capacity({"memory": Decimal(2) ** 63}, {"memory": DeviceCapacity("80", steps)})
    with pytest.raises(CapacityError, match="negative"):
        consumed_capacity({"memory": Decimal(-1)}, {"memory": DeviceCapacity("80")})
    decision = greedy(
        [*BASE, device_slice("n1", shareable("a", default="1", validRange={"min": "1", "step": "2"})), part("9Ei"), wanting("p", "g:t")]
    )
    assert decision.status is Status.ERROR


@pytest.mark.parametrize("step", ["1", "1m", "1n"])
def test_amounts_of_more_than_64_bits_are_errors_or_not_allowed(step):
    policy = CapacityRequestPolicy(default="1", valid_range=CapacityRequestPolicyRange(min="1", max="1e40", step=step))
    with pytest.raises(CapacityError, match="cannot be represented"):
        consumed_capacity({"memory": Decimal("1e40")}, {"memory": DeviceCapacity("80", policy)})
    huge = device_slice("n1", shareable("a", default="1", validRange={"min": "1", "step": step}))
    decision = greedy([*BASE, huge, part("1e999"), wanting("p", "g:t")])
    assert decision.status is Status.ERROR
    assert not is_allowed(Decimal("1e40"), CapacityRequestPolicy(valid_range=CapacityRequestPolicyRange(min="1", step="500m")))


def sliced(content: Json, **more: Any) -> Json:
    return device_slice("n1", {"name": "a", **content}, **more)


MUCH = {"counters": {"m": {"value": "much"}}}
REQUEST = {"capacity": {"requests": {"memory": "much"}}}
ALTERNATIVES = {
    "name": "gpu",
    "firstAvailable": [{"name": "x", "deviceClassName": CLASS}, {"name": "y", "deviceClassName": CLASS, **REQUEST}],
}


@pytest.mark.parametrize(
    ("unreadable", "path"),
    [
        (sliced({"capacity": {"memory": {"value": "much"}}}), "spec.devices[0].capacity[memory].value"),
        (sliced({"basic": {"capacity": {"memory": {"value": "much"}}}}), "spec.devices[0].basic.capacity[memory].value"),
        (device_slice("n1", shareable("a", default="much")), "spec.devices[0].capacity[memory].requestPolicy.default"),
        (device_slice("n1", shareable("a", validValues=["1", "much"])), "spec.devices[0].capacity[memory].requestPolicy.validValues[1]"),
        (
            device_slice("n1", shareable("a", validRange={"min": "1", "step": "much"})),
            "spec.devices[0].capacity[memory].requestPolicy.validRange.step",
        ),
        (sliced({"consumesCounters": [{"counterSet": "s", **MUCH}]}), "spec.devices[0].consumesCounters[0].counters[m].value"),
        (device_slice("n1", sharedCounters=[{"name": "s", **MUCH}]), "spec.sharedCounters[0].counters[m].value"),
        (template("t", request(**REQUEST)), "spec.spec.devices.requests[0].exactly.capacity.requests[memory]"),
        (resource_claim("c", request(), ALTERNATIVES), "spec.devices.requests[1].firstAvailable[1].capacity.requests[memory]"),
        (resource_claim("c", {"name": "gpu", "deviceClassName": CLASS, **REQUEST}), "spec.devices.requests[0].capacity.requests[memory]"),
        (
            resource_claim("c", devices=["gpu=n1/a"], results={"consumedCapacity": {"memory": "much"}}),
            "status.allocation.devices.results[0].consumedCapacity[memory]",
        ),
    ],
)
def test_an_object_with_an_unreadable_amount_is_left_out(unreadable, path):
    (problem,) = worded(load([*BASE, unreadable, wanting("p", "g:t")]).problems)
    assert f"{unreadable['kind']} {unreadable['metadata']['name']}" == problem.object.replace("default/", "")
    assert problem.message.startswith(f'{path}: "much" is not a quantity: must be')


def counting(amount: str) -> list[Json]:
    return [{"counterSet": "set", "counters": {"memory": {"value": amount}}}]


COUNTERS = [{"name": "set", "counters": {"memory": {"value": "2"}}}]


@pytest.mark.parametrize(("consumed", "fits"), [("1", True), ("2", False)])
def test_devices_in_use_on_other_nodes_consume_the_counters_of_the_pool(consumed, fits):
    slices = [
        device_slice(None, pool="x", name="counters", count=3, allNodes=True, sharedCounters=COUNTERS),
        device_slice("n1", device("a", consumesCounters=counting("1")), pool="x", count=3),
        device_slice("n2", device("b", consumesCounters=counting(consumed)), pool="x", count=3),
    ]
    used = resource_claim("used", devices=["gpu=x/b"])
    assert ({"p": "n1"} if fits else {}) == placed(greedy([*BASE, *slices, used, wanting()]))


def test_a_further_share_of_a_device_consumes_no_counters():
    shared = {**shareable("a"), "consumesCounters": counting("2")}
    slices = [device_slice("n1", shared, count=2), device_slice("n1", name="counters", count=2, sharedCounters=COUNTERS)]
    members = [wanting(f"p{index}", "g:t", group="g") for index in range(2)]
    assert {"p0": "n1", "p1": "n1"} == placed(greedy([*BASE, *slices, part("40Gi"), leaf("g", 2), *members]))


EVERY = {"allocationMode": "All"}


def test_a_device_whose_capacity_is_used_is_one_of_all():
    """A request for all devices fails with it: the other device alone is not all."""
    first = template("t", request(capacity={"requests": {"memory": "80Gi"}}))
    rest = template("rest", request(**EVERY, capacity={"requests": {"memory": "80Gi"}}))
    shares = device_slice("n1", shareable("a"), shareable("b"))
    objects = [*BASE, shares, first, rest, wanting("p", "g:t", priority=9), wanting("q", "g:rest", priority=1)]
    decisions = run_cycle(load(objects), CycleOptions(strategy="greedy")).decisions
    assert [Status.SUCCESS, Status.UNSCHEDULABLE] == [each.status for each in decisions]


def test_a_claim_with_too_many_devices_on_one_node_ends_the_attempt():
    """kube-scheduler adds up the numbers of devices of all requests before it searches for them."""
    few = device_class("few", selectors=[{"cel": {"expression": "device.driver == 'few'"}}])
    many = device_class("many", selectors=[{"cel": {"expression": "device.driver == 'many'"}}])
    wanted = template("t", request("x", "few"), request("y", "many", **EVERY))
    n1 = [device_slice("n1", "a", driver="few"), device_slice("n1", "a", name="s-many", driver="many")]
    n2 = device_slice("n2", *(f"d{number}" for number in range(32)), driver="many")
    decision = greedy([node("n1"), node("n2"), few, many, *n1, n2, wanted, wanting("p", "g:t")])
    assert (Status.ERROR, True) == (decision.status, "adding 32 devices exceeds the claim limit of 32" in message_of(decision))
