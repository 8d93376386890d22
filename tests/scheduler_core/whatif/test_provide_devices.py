"""Remedies about devices: each one works when it is applied to the objects."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.facade import simulate
from scheduler_core.model.decision import Remedy
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.raw_objects import Book
from scheduler_core.whatif.remedies.node_kinds import kinds
from scheduler_core.whatif.remedies.remedies import advise
from scheduler_core.whatif.trial import trial
from scheduler_core.whatif.trial.present_capacity import PresentCapacity
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.wording.changes import remedy_text
from scheduler_core.wording.decision_words import message
from tests.scheduler_core.builders import node, pod
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    device,
    device_class,
    device_slice,
    only_on,
    request,
    resource_claim,
    template,
    wanting,
    wanting_gang,
)
from tests.scheduler_core.whatif.cluster import COMPLETE, after, decided, helped, not_placed, remedies

RACKS = [node(name, rack=rack) for name, rack in (("a1", "r1"), ("a2", "r1"), ("b1", "r2"))]
CLASSES = [device_class(), device_class("other", selectors=[{"cel": {"expression": "device.driver == 'other.example'"}}])]
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


def found(*objects: dict[str, Any]) -> tuple[Remedy, ...]:
    """Return the remedies for the only root; each was applied to the objects, and places it."""
    everything = [*RACKS, *CLASSES, *objects]
    (decision,) = not_placed(everything)
    result = remedies(everything, load(everything), decision, COMPLETE)
    for each in result:
        assert [Status.SUCCESS] == [one.status for one in decided(after(everything, each.steps)).values()]
    return result


def changes(*objects: dict[str, Any]) -> list[str]:
    return [remedy_text(each) for each in found(*objects)]


def test_a_root_that_waits_until_its_devices_are_bound_has_no_remedies() -> None:
    published = device_slice("a1", device("x", bindingConditions=["ready"], bindingFailureConditions=["failed"]))
    (decision,) = simulate([*RACKS, *CLASSES, published, template(), wanting()]).decisions
    assert (decision.status, decision.remedies) == (Status.WAIT, ())
    assert decision.nominations


@pytest.mark.parametrize(("searched", "stops"), [(True, True), (False, False)])
def test_tries_of_pods_whose_devices_are_searched_cost_more(monkeypatch: pytest.MonkeyPatch, searched: bool, stops: bool) -> None:
    monkeypatch.setattr(trial, "_EFFORT", 1_000)
    monkeypatch.setattr(trial, "_PAIRS", 0.05)
    constraints = [{"matchAttribute": f"{DRIVER}/numa"}] if searched else []
    slices = [device_slice(name, device("x", {"numa": 0})) for name in ("a1", "a2", "b1")]
    everything = [*RACKS, *CLASSES, *slices, template("one", constraints=constraints), *wanting_gang(3)]
    (decision,) = not_placed(everything)
    assert stops == (advise(everything, load(everything), decision, COMPLETE).limit is not None)


def test_a_rack_lacks_one_device() -> None:
    slices = [device_slice("a1", "x", "y"), device_slice("a2", "x")]
    result = found(*slices, template(), *wanting_gang(4))
    (more,) = (each for each in result if "more device" in remedy_text(each))

    assert remedy_text(more) == "1 more device of class gpu in rack r1, on a1"
    (step,) = more.steps
    assert step.apply is not None
    assert [each["name"] for each in step.apply["spec"]["devices"]] == ["x", "y", "x-added-1"]


def test_devices_are_added_where_a_shared_claim_can_be_used() -> None:
    racks = [*RACKS, *(node(f"c{number}", rack=rack) for number, rack in enumerate(("r3", "r3", "r3", "r4", "r4", "r4")))]
    slices = [device_slice(each["metadata"]["name"], "x") for each in racks]
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r2"]}]}]}
    fabric = device_slice(None, device("y", {"kind": "fabric"}), pool="fabric", nodeSelector=selector)
    shared = resource_claim("f", request(selectors=[{"cel": {"expression": f'has(device.attributes["{DRIVER}"].kind)'}}]))
    own = template("one", request(selectors=[{"cel": {"expression": f'!has(device.attributes["{DRIVER}"].kind)'}}]))

    assert "1 more device of class gpu in rack r2, on b1" in changes(
        *racks[len(RACKS) :], *slices, fabric, shared, own, *wanting_gang(2, "f=f", "g:one")
    )


@pytest.mark.parametrize(
    ("fabric", "others", "helps"), [(False, False, False), (True, False, True), (False, True, True)], ids=["own", "fabric", "other pods"]
)
def test_new_nodes_have_no_devices(fabric: bool, others: bool, helps: bool) -> None:
    devices = device_slice(None, "y", pool="fabric", allNodes=True) if fabric else device_slice("a1", "x")
    gang = [*wanting_gang(2)[: 2 if others else 3], *([pod("p1", "g")] if others else [])]
    objects = [*RACKS, *CLASSES, devices, template(constraints=[{"matchAttribute": f"{DRIVER}/numa"}]), *gang]
    snapshot = load(objects)
    subject = Subject.from_snapshot(snapshot, Name("PodGroup", "default", "g"))
    assert subject is not None
    capacity = PresentCapacity(snapshot, subject, Book(objects))

    assert bool(kinds(capacity, capacity.whole_cluster)) == helps


def test_an_eviction_releases_the_claims_that_no_other_pod_uses() -> None:
    own = resource_claim("own", devices=["gpu=a1/x"], users=["r"], nodes=only_on("a1"))
    both = resource_claim("both", devices=["gpu=a1/y"], users=["r", "s"], nodes=only_on("a1"))
    objects = [*RACKS, *CLASSES, device_slice("a1", "x", "y"), own, both, template()]
    objects += [wanting("r", "o=own", "b=both", on="a1"), wanting("s", "b=both", on="a1"), wanting()]
    (decision,) = not_placed(objects)
    (evicted,) = (each for each in remedies(objects, load(objects), decision, COMPLETE) if "evicted" in remedy_text(each))

    assert remedy_text(evicted) == "Pod default/r evicted (1 running pod)"
    released = [step.apply for step in evicted.steps if step.apply is not None]
    assert [(each["metadata"]["name"], each["status"]) for each in released] == [("own", {})]
    (again,) = simulate(after(objects, evicted.steps), strategy="complete").decisions
    assert again.status is Status.SUCCESS


def test_devices_are_added_where_the_fewest_are_missing() -> None:
    slices = [device_slice("a1", "x", "y", "z"), device_slice("a2", "x", "y"), device_slice("b1", "x")]

    assert "1 more device of class gpu in rack r1, on a1" in changes(*slices, template("one", request(count=2)), *wanting_gang(3))


def test_a_taint_can_be_tolerated() -> None:
    broken = device("y", taints=[TAINT])
    listed = changes(device_slice("a1", "x", broken), template(), *wanting_gang(2))

    assert "device taint broken=yes:NoSchedule tolerated by request gpu of ResourceClaimTemplate default/one" in listed
    assert "1 more device of class gpu in rack r1, on a1" in listed


def test_a_selector_can_be_dropped() -> None:
    large = request(selectors=[{"cel": {"expression": f"device.capacity['{DRIVER}'].memory.compareTo(quantity('80Gi')) >= 0"}}])
    small = device("x", capacity={"memory": {"value": "40Gi"}})

    assert "selectors of request gpu of ResourceClaimTemplate default/one dropped" in changes(
        device_slice("a1", small), template("one", large), wanting()
    )


@pytest.mark.parametrize(
    ("wanted", "present", "meant"),
    [
        ("gpus.example.com", "gpu.example.com", True),
        ("gpu.exmaple.com", "gpu.example.com", True),
        ("H100.example.com", "h100.example.com", True),
        ("h100.example.com", "a100.example.com", False),
        ("tpu-v5p", "tpu-v6e", False),
        ("mig-1g.10gb", "mig-2g.20gb", False),
        ("nic", "gpu", False),
    ],
)
def test_a_class_that_does_not_exist_is_named_and_never_replaced_by_other_hardware(wanted: str, present: str, meant: bool) -> None:
    objects = [*RACKS, device_class(present), device_slice("a1", "x"), template("one", request(device_class=wanted)), wanting()]
    (decision,) = not_placed(objects)

    assert f"device class {wanted} does not exist" in message(decision)
    change = f"class of request gpu of ResourceClaimTemplate default/one changed from {wanted} to {present}"
    assert ([change] if meant else []) == [each for each in helped(objects) if "class of request" in each]


def test_a_class_that_exists_is_not_replaced() -> None:
    assert not [
        each for each in changes(device_slice("a1", "x"), template("one", request(device_class="other")), wanting()) if "changed" in each
    ]


def test_alternatives_are_changed_together() -> None:
    alternatives = [{"name": name, "deviceClassName": "gpu", "count": count} for name, count in (("two", 2), ("one", 1))]
    spec = template("one", {"name": "gpu", "firstAvailable": alternatives})
    (tolerated,) = (
        each for each in found(device_slice("a1", device("x", taints=[TAINT])), spec, wanting()) if "tolerated" in remedy_text(each)
    )
    (step,) = tolerated.steps
    assert step.apply is not None
    requests = step.apply["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"]
    assert [[{"key": "broken", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]] * 2 == [
        each["tolerations"] for each in requests
    ]


def test_a_constraint_can_be_dropped() -> None:
    devices = [device(f"d{number}", {"numa": number}) for number in range(2)]
    pair = template("one", request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}])

    assert f"constraint about {DRIVER}/numa of ResourceClaimTemplate default/one dropped" in changes(
        device_slice("a1", *devices), pair, wanting()
    )


def test_claims_that_exist_are_changed_together() -> None:
    owner = [{"kind": "Pod", "name": name, "controller": True, "apiVersion": "v1", "uid": name} for name in ("p0", "p1")]
    claims = [resource_claim(f"c{number}", ownerReferences=[owner[number]]) for number in range(2)]
    members = wanting_gang(2)
    for number, each in enumerate(members[1:]):
        each["status"]["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": f"c{number}"}]
    broken = [device(name, taints=[TAINT]) for name in "xy"]
    (tolerated,) = (each for each in found(device_slice("a1", *broken), template(), *claims, *members) if "tolerated" in remedy_text(each))

    assert remedy_text(tolerated) == "device taint broken=yes:NoSchedule tolerated by request gpu of ResourceClaim default/c0"
    assert ["c0", "c1"] == [step.apply["metadata"]["name"] for step in tolerated.steps if step.apply is not None]


def test_devices_that_share_counters_are_not_copied() -> None:
    counters = {"memory": {"value": "40Gi"}}
    sets = device_slice("a1", name="sets", count=2, sharedCounters=[{"name": "s", "counters": counters}])
    used = device("x", consumesCounters=[{"counterSet": "s", "counters": counters}])

    assert not [each for each in changes(sets, device_slice("a1", used, count=2), template(), *wanting_gang(2)) if "more device" in each]


def test_nothing_is_proposed_for_a_claim_that_is_allocated() -> None:
    claim = resource_claim("c", devices=["gpu=fabric/x"], nodes=only_on("gone"))

    assert not changes(claim, wanting("p", "x=c"))


def test_a_full_slice_gets_no_more_devices() -> None:
    full = device_slice("a1", *(f"d{number}" for number in range(64)))
    objects = [full, template("one", request(count=13)), *wanting_gang(5)]

    assert not [each for each in changes(*objects) if "more device" in each]


def test_devices_for_an_extended_resource() -> None:
    provider = device_class("gpu", extendedResourceName="example.com/gpu")
    resources = {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}
    member = wanting("p", "none:none")
    member["spec"] |= {"resourceClaims": [], "containers": [{"name": "main", "resources": resources}]}

    assert "1 more device of class gpu, on a1" in changes(provider, device_slice("a1", "x"), member)
