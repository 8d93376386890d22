"""Content of claims that are allocated, reserved and released."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kubeapi.selectors import NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.sidecar.client.claim_status import FINALIZER, changed_claim, claim_outcome, needs_finalizer
from scheduler_core.sidecar.writes import AllocateClaim, Ref, ReleaseClaim, WriteOutcome

CLAIM = Ref("ResourceClaim", "default", "c", "u")
POD, OTHER, GROUP = Ref("Pod", "default", "p", "1"), Ref("Pod", "default", "q", "2"), Ref("PodGroup", "default", "g", "3")
DEVICE = GivenDevice("gpu", ("drv", "pool", "d0"))
NOW = "2026-08-01T00:00:00Z"
OPAQUE = {"opaque": {"driver": "drv", "parameters": {"kept": None}}}


def claim(*requests, allocation=None, users=(), config=(), **metadata):
    devices = {"requests": list(requests) or [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}
    status = {"allocation": allocation, "reservedFor": [{"uid": user} for user in users]} if allocation else {}
    spec = {"devices": {**devices, **({"config": list(config)} if config else {})}}
    return {"metadata": {"name": "c", "uid": "u", **metadata}, "spec": spec, "status": status}


def allocated_to(*devices):
    return {"devices": {"results": [dict(zip(("request", "driver", "pool", "device"), each, strict=True)) for each in devices]}}


OURS = allocated_to(("gpu", "drv", "pool", "d0"))


def allocate(*devices, consumers=(POD,), nodes=None, configurations=(), only_reserve=False):
    return AllocateClaim(CLAIM, Allocation(devices or (DEVICE,), nodes), consumers, configurations, only_reserve)


def allocation_of(write, content):
    return changed_claim(write, content, NOW)["status"]["allocation"]


@pytest.mark.parametrize(
    ("write", "content", "wanted"),
    [
        pytest.param(allocate(), claim(), None, id="free"),
        pytest.param(allocate(), claim(allocation=OURS), None, id="allocated, not reserved"),
        pytest.param(allocate(only_reserve=True), claim(allocation=OURS, users="2"), None, id="only to reserve"),
        pytest.param(allocate(only_reserve=True), claim(), WriteOutcome.REFUSED, id="deallocated, when only to reserve"),
        pytest.param(allocate(), claim(allocation=OURS, users="1", finalizers=[FINALIZER]), WriteOutcome.DONE, id="carried out"),
        pytest.param(allocate(), claim(allocation=OURS, users="1"), None, id="reserved, not protected from deletion"),
        pytest.param(allocate(consumers=(POD, OTHER)), claim(allocation=OURS, users="1"), None, id="reserved for one of two"),
        pytest.param(
            allocate(), claim(allocation=allocated_to(("gpu", "drv", "pool", "d1")), users="1"), WriteOutcome.REFUSED, id="other devices"
        ),
        pytest.param(ReleaseClaim(CLAIM, (POD,)), claim(allocation=OURS, users="1"), None, id="to release"),
        pytest.param(ReleaseClaim(CLAIM, (POD,)), claim(allocation=OURS, users="2"), WriteOutcome.DONE, id="released, others use it"),
        pytest.param(ReleaseClaim(CLAIM, (POD,)), claim(), WriteOutcome.DONE, id="released"),
        pytest.param(ReleaseClaim(CLAIM, ()), claim(allocation=OURS), None, id="allocated for nobody"),
    ],
)
def test_outcome_follows_from_the_claim(write, content, wanted):
    outcome = claim_outcome(write, content, terminating=False)
    assert wanted == (outcome[0] if outcome is not None else None)


def test_claim_that_is_being_deleted_is_not_allocated_but_released():
    assert (WriteOutcome.REFUSED, "it is being deleted") == claim_outcome(allocate(), claim(), terminating=True)
    assert claim_outcome(ReleaseClaim(CLAIM, (POD,)), claim(allocation=OURS, users="1"), terminating=True) is None


def test_finalizer_is_added_before_an_allocation_or_reservation():
    assert needs_finalizer(allocate(), claim())
    assert not needs_finalizer(allocate(), claim(finalizers=[FINALIZER]))
    assert needs_finalizer(allocate(), claim(allocation=OURS))
    assert not needs_finalizer(ReleaseClaim(CLAIM, (POD,)), claim())


def test_allocation_has_a_time_and_reservations_of_pods_and_groups():
    nodes = NodeSelector((NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n",)),)),))
    status = changed_claim(allocate(consumers=(POD, GROUP), nodes=nodes), claim(), NOW)["status"]
    assert NOW == status["allocation"]["allocationTimestamp"]
    (term,) = status["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert [{"key": "metadata.name", "operator": "In", "values": ("n",)}] == list(term["matchFields"])
    assert [
        {"resource": "pods", "name": "p", "uid": "1"},
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "3"},
    ] == status["reservedFor"]


def test_allocation_that_exists_is_not_changed():
    status = changed_claim(allocate(consumers=(POD, OTHER)), claim(allocation=OURS, users="1"), NOW)["status"]
    assert (OURS, ["1", "2"]) == (status["allocation"], [each["uid"] for each in status["reservedFor"]])


def test_last_reservation_takes_the_allocation_and_the_devices_with_it():
    content = claim(allocation=OURS, users="12")
    content["status"]["devices"] = [{"device": "d0"}]
    kept = changed_claim(ReleaseClaim(CLAIM, (POD,)), content, NOW)["status"]
    assert (OURS, [{"uid": "2"}]) == (kept["allocation"], kept["reservedFor"])
    assert {"reservedFor": []} == changed_claim(ReleaseClaim(CLAIM, (POD, OTHER)), content, NOW)["status"]


def test_results_have_what_the_device_and_its_request_say():
    tolerations = [{"key": "k", "operator": "Exists"}]
    content = claim({"name": "gpu", "firstAvailable": [{"name": "big"}, {"name": "small", "tolerations": tolerations}]})
    shared = GivenDevice(
        "gpu/small",
        ("drv", "pool", "d0"),
        admin=True,
        shared=True,
        consumed=(("mem", Decimal(2048)), ("share", Decimal("0.50"))),
        conditions=("ok",),
        failure_conditions=("bad",),
    )
    one, two = allocation_of(allocate(shared, shared), content)["devices"]["results"]
    assert one.pop("shareID") != two.pop("shareID")
    assert {
        "request": "gpu/small",
        "driver": "drv",
        "pool": "pool",
        "device": "d0",
        "adminAccess": True,
        "tolerations": tolerations,
        "consumedCapacity": {"mem": "2048", "share": "0.5"},
        "bindingConditions": ["ok"],
        "bindingFailureConditions": ["bad"],
    } == one
    assert one == two


def test_configurations_of_classes_come_before_those_of_the_chosen_requests():
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "x"}},
        {"name": "b", "firstAvailable": [{"name": "one", "deviceClassName": "y"}, {"name": "two", "deviceClassName": "x"}]},
        {"name": "c", "exactly": {"deviceClassName": "z"}},
    ]
    config = [OPAQUE, {"requests": ["b/one"], **OPAQUE}, {"requests": ["b"], **OPAQUE}, {"requests": ["a", "b/two", "c"], **OPAQUE}]
    given = (DEVICE, GivenDevice("b/two", ("drv", "pool", "d1")))
    write = allocate(*given, configurations=(("x", b'[{"opaque":{"driver":"x","parameters":{}}}]'),))
    found = allocation_of(write, claim(*requests, config=config))["devices"]["config"]
    assert [("FromClass", ["a", "b/two"]), ("FromClaim", None), ("FromClaim", ["b"]), ("FromClaim", None)] == [
        (each["source"], each.get("requests")) for each in found
    ]
    assert OPAQUE["opaque"] == found[1]["opaque"]
