"""Pods with claims to devices in the sidecar: what is written for them, and what they wait for."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.causes.live import ClaimUnreserved
from scheduler_core.model.device_claims import claim_of
from scheduler_core.model.scheduler_profile import SchedulerProfile
from scheduler_core.sidecar.client.extended_claim import extended_claim_name
from scheduler_core.sidecar.writes import (
    AllocateClaim,
    AllocateExtended,
    Bind,
    DeleteExtended,
    RecordEvent,
    ReleaseClaim,
    Ungate,
    WriteOutcome,
)
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice, only_on, request, resource_claim, wanting
from tests.scheduler_core.sidecar.histories import Json, raw
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, of

RESOURCE = "example.com/gpu"


def requesting(resource: str = RESOURCE, **more: Any) -> Json:
    each = pod("p", **MUSTER, **more)
    each["spec"]["containers"][0]["resources"]["requests"][resource] = "1"
    return each


def test_pod_whose_device_is_in_use_is_placed_when_a_claim_is_released():
    used = resource_claim("used", devices=["gpu=n/d"], users=["other"], nodes=only_on("n"))
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), used, resource_claim("c"), wanting("p", "g=c", **MUSTER))
    assert [] == of(AllocateClaim, scene.writes())
    scene.now += 20
    free = resource_claim("used")
    scene.put(free)
    (write,) = of(AllocateClaim, scene.writes())
    assert ("c", [("gpu.example", "n", "d")]) == (write.target.name, [each.id for each in write.allocation.devices])


@pytest.mark.parametrize("change", [device_slice("n", "d"), {**device_class(), "spec": {"selectors": []}}])
def test_pod_is_placed_when_devices_are_published_or_their_class_changes(change):
    objects = [node("n"), device_class(selectors=[{"cel": {"expression": "false"}}]), resource_claim("c"), wanting("p", "g=c", **MUSTER)]
    scene = Scene(*objects, *([device_slice("n", "d")] if change["kind"] == "DeviceClass" else []))
    assert [] == of(AllocateClaim, scene.writes())
    scene.now += 20
    scene.put(device_class(), change)
    assert 1 == len(of(AllocateClaim, scene.writes()))


def test_devices_that_are_being_allocated_are_not_given_to_another_pod():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    scene.put(resource_claim("e"), wanting("q", "g=e", **MUSTER))
    assert [] == of(AllocateClaim, scene.writes())
    # A refused write allocates nothing.
    scene.scheduler.done(write, WriteOutcome.REFUSED, "no", scene.now)
    scene.now += 20
    (second,) = {each.target.name for each in of(AllocateClaim, scene.writes())}
    assert second in {"c", "e"}


def test_device_of_an_extended_resource_in_allocation_is_not_given_twice():
    scene = Scene(node("n"), device_class(extendedResourceName=RESOURCE), device_slice("n", "d"), requesting())
    assert 1 == len(of(AllocateExtended, scene.writes()))
    scene.put(resource_claim("e"), wanting("q", "g=e", **MUSTER))
    assert [] == of(AllocateClaim, scene.wait(20))


def test_pod_is_not_bound_if_another_scheduler_reallocated_its_claim():
    scene = Scene(node("n"), device_class(), device_slice("n", "d", "e"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    (device,) = {"d", "e"} - {write.allocation.devices[0].id[2]}
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    scene.put(resource_claim("c", devices=[f"gpu=n/{device}"], users=[uid], nodes=only_on("n")))
    writes = scene.end([write])
    why = "allocating devices failed: claim default/c has other devices than those that were chosen; it is retried"
    assert ([], [why]) == (of(Bind, writes), [each.message for each in of(RecordEvent, writes)])


def test_allocated_claim_is_reserved_and_not_reallocated_if_deallocated_meanwhile():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    scene.put(resource_claim("c", devices=["gpu=n/d"], users=["q"], nodes=only_on("n")))
    (write,) = of(AllocateClaim, scene.writes())
    scene.put(resource_claim("c"))
    (again,) = of(AllocateClaim, [*scene.end([write], WriteOutcome.REFUSED), *scene.wait(20)])
    assert (True, False) == (write.only_reserve, again.only_reserve)


def test_recreated_claim_is_not_taken_for_the_one_that_was_allocated():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    scene.delete("ResourceClaim", "c")
    scene.put(resource_claim("c"))
    assert [] == of(Bind, scene.end([write]))
    (again,) = of(AllocateClaim, scene.wait(20))
    assert again.target.uid != write.target.uid


def test_claim_of_a_podgroup_is_reserved_for_it_and_not_for_its_pods():
    entry = {"name": "g", "resourceClaimName": "c"}
    gang = [leaf("g", 2, resourceClaims=[entry]), *(wanting(f"g-{number}", "g=c", group="g", **MUSTER) for number in range(2))]
    (write,) = of(AllocateClaim, Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), *gang).writes())
    assert [("PodGroup", "g")] == [(each.kind, each.name) for each in write.consumers]


def test_allocation_of_a_root_that_is_gone_is_taken_back():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    scene.delete("Pod", "p")
    scene.writes()
    assert [ReleaseClaim(write.target, write.consumers)] == list(scene.scheduler.done(write, WriteOutcome.DONE, "", scene.now))


def test_release_that_may_have_failed_is_repeated():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    release = ReleaseClaim(write.target, write.consumers)
    assert (release,) == scene.scheduler.done(release, WriteOutcome.FAILED, "timeout", scene.now)
    assert () == scene.scheduler.done(release, WriteOutcome.DONE, "", scene.now)


def test_claim_that_is_allocated_without_a_time_by_another_scheduler_is_reserved():
    claim = resource_claim("c", devices=["gpu=n/d"], users=["other"], nodes=only_on("n"))
    del claim["status"]["allocation"]["allocationTimestamp"]
    scene = Scene(node("n"), node("m"), device_class(), device_slice("n", "d"), claim, wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    assert (["p"], [("gpu.example", "n", "d")]) == ([each.name for each in write.consumers], [each.id for each in write.allocation.devices])


def test_pod_with_a_reserved_claim_is_bound_at_once():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    scene.put(resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n")))
    assert {"p"} == {each.pod.name for each in of(Bind, scene.writes())}


def test_gate_of_a_pod_is_not_removed_before_its_claims_are_reserved():
    gated = wanting("p", "g=c", schedulingGates=[{"name": PLACEMENT_GATE}])
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), gated, ungate=True)
    assert [] == of(Ungate, scene.writes())
    explained = scene.scheduler.explain("default", "p")
    assert explained is not None
    assert (ClaimUnreserved(claim_of("default/c"), "default/p"),) == explained.decision.causes
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    scene.now += 20
    scene.put(resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n")))
    assert {"p"} == {each.pod.name for each in of(Ungate, scene.writes())}


def test_gate_of_a_pod_is_removed_before_its_devices_are_attached():
    conditions = {"bindingConditions": ["ok"], "bindingFailureConditions": ["bad"]}
    slices, gated = device_slice("n", device("d", **conditions)), wanting("p", "g=c", schedulingGates=[{"name": PLACEMENT_GATE}])
    scene = Scene(node("n"), device_class(), slices, resource_claim("c"), gated, ungate=True)
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    scene.put(resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n"), results=conditions))
    assert {"p"} == {each.pod.name for each in of(Ungate, scene.writes())}


@pytest.mark.parametrize("profile", [SchedulerProfile(), SchedulerProfile(ignored=frozenset({RESOURCE}))])
def test_extended_resource_of_a_class_is_allocated_once_there_is_a_device(profile):
    objects = [node("n"), device_class(extendedResourceName=RESOURCE), requesting()]
    scene = Scene(*objects, profile=profile)
    writes = scene.writes()
    assert [] == of(Bind, writes) + of(AllocateExtended, writes)
    assert [True] == ["proved" in each.message for each in of(RecordEvent, writes)]
    scene.now += 20
    scene.put(device_slice("n", "d"))
    (write,) = of(AllocateExtended, scene.writes())
    assert ((("container-0-request-1", "gpu", 1),), ((0, RESOURCE, "container-0-request-1"),)) == (write.requests, write.mappings)


def test_node_that_has_the_resource_itself_needs_no_claim():
    own = node("n")
    own["status"]["allocatable"][RESOURCE] = "1"
    scene = Scene(own, device_class(extendedResourceName=RESOURCE), device_slice("n", "d"), requesting())
    assert {"p"} == {each.pod.name for each in of(Bind, scene.writes())}


def test_pod_with_an_extended_claim_is_not_bound_to_a_node_with_the_resource():
    own = node("n")
    own["status"]["allocatable"][RESOURCE] = "1"
    named = requesting()
    named["status"] = {"extendedResourceClaimStatus": {"resourceClaimName": "gone", "requestMappings": []}}
    scene = Scene(own, device_class(extendedResourceName=RESOURCE), device_slice("n", "d"), named)
    writes = scene.writes()
    message = "the status of pod default/p names a claim for extended resources, but node n has them"
    assert ([], [message]) == (of(Bind, writes), [each.message for each in of(RecordEvent, writes)])


def test_claim_of_an_earlier_attempt_for_extended_resources_is_deleted():
    scene = Scene(node("n"), device_class(extendedResourceName=RESOURCE), device_slice("n", "d"), requesting())
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    owner = {"kind": "Pod", "name": "p", "uid": uid, "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    scene.put(resource_claim("p-extended-resources-x", annotations=annotations, ownerReferences=[owner]))
    writes = scene.writes()
    assert (["DeleteExtended"], []) == (
        [type(each).__name__ for each in writes if hasattr(each, "target") and each.target.kind == "ResourceClaim"],
        of(Bind, writes),
    )
    scene.now += 20
    scene.delete("ResourceClaim", "p-extended-resources-x")
    assert 1 == len(of(AllocateExtended, scene.writes()))


def test_extended_claim_of_a_deleted_pod_of_the_same_name_is_left_alone():
    scene = Scene(node("n"), device_class(extendedResourceName=RESOURCE), device_slice("n", "d", "e"), requesting())
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    for uid in ("gone", "long gone"):
        owner = {"kind": "Pod", "name": "p", "uid": uid, "controller": True}
        users = {"devices": ["container-0-request-1=n/d"], "users": [uid], "nodes": only_on("n")} if uid == "gone" else {}
        scene.put(resource_claim(extended_claim_name("p", uid), annotations=annotations, ownerReferences=[owner], **users))
    (write,) = [each for each in scene.writes() if isinstance(each, AllocateExtended | DeleteExtended)]
    assert isinstance(write, AllocateExtended)
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    assert (extended_claim_name("p", uid), ["e"]) == (write.claim, [each.id[2] for each in write.allocation.devices])


def test_claim_of_a_deleted_namesake_is_kept_also_if_the_pod_is_not_placed():
    scene = Scene(node("n"), device_class(extendedResourceName=RESOURCE), requesting())
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"kind": "Pod", "name": "p", "uid": "gone", "controller": True}
    scene.put(resource_claim(extended_claim_name("p", "gone"), annotations=annotations, ownerReferences=[owner]))
    assert [] == of(DeleteExtended, scene.writes())


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_claims_get_no_devices_of_each_other_if_a_shared_one_is_first(strategy):
    """kube-scheduler 1.37.1 exchanges them."""
    fabric = request(selectors=[{"cel": {"expression": 'device.driver == "gpu.example" && "x" in device.attributes'}}])
    own = request(selectors=[{"cel": {"expression": '!("x" in device.attributes)'}}])
    claims = [resource_claim("shared", fabric), *(resource_claim(f"c{number}", own) for number in range(2))]
    gang = [leaf("g", 2), *(wanting(f"g-{number}", "s=shared", f"g=c{number}", group="g", **MUSTER) for number in range(2))]
    slices = [device_slice(None, device("f", {"x/y": 1}), pool="fabric", allNodes=True), device_slice("n", "d", "e")]
    scene = Scene(node("n"), device_class(), *slices, *claims, *gang, strategy=strategy)
    written = {write.target.name: [each.id[2] for each in write.allocation.devices] for write in of(AllocateClaim, scene.writes())}
    assert (["f"], {"d", "e"}) == (written["shared"], {*written["c0"], *written["c1"]})


def test_gang_is_bound_only_after_the_last_of_its_claims():
    gang = [leaf("g", 2), *(wanting(f"g-{number}", f"g=c{number}", group="g", **MUSTER) for number in range(2))]
    scene = Scene(node("n"), device_class(), device_slice("n", "d", "e"), resource_claim("c0"), resource_claim("c1"), *gang)
    first, second = of(AllocateClaim, scene.writes())
    for write in (first, second):
        claim = scene.server.objects["ResourceClaim", "default", write.target.name]
        results = [
            {"request": each.request, "driver": each.id[0], "pool": each.id[1], "device": each.id[2]} for each in write.allocation.devices
        ]
        reserved = [{"resource": "pods", "name": each.name, "uid": each.uid} for each in write.consumers]
        claim = {**claim, "status": {"allocation": {"devices": {"results": results}}, "reservedFor": reserved}}
        scene.server.put(claim)
        scene.store.apply("ResourceClaim", "MODIFIED", raw(scene.server.objects["ResourceClaim", "default", write.target.name]))
        binds = of(Bind, scene.scheduler.done(write, WriteOutcome.DONE, "", scene.now))
        assert len(binds) == (2 if write is second else 0)


def test_device_that_another_scheduler_allocates_concurrently_is_released():
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    scene.put(resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n")))
    scene.put(resource_claim("other", devices=["gpu=n/d"], users=["q"], nodes=only_on("n")))
    writes = scene.scheduler.done(write, WriteOutcome.DONE, "", scene.now)
    assert ([], [ReleaseClaim(write.target, write.consumers)]) == (of(Bind, writes), of(ReleaseClaim, writes))
    why = "device gpu.example/n/d of claim default/c is also allocated to claim default/other"
    assert [f"allocating devices failed: {why}; it is retried"] == [each.message for each in of(RecordEvent, writes)]


SHARED = {"shareID": "3f1c8a52-0000-4000-8000-000000000000"}


@pytest.mark.parametrize(
    ("wanted", "results", "others"),
    [
        pytest.param({"adminAccess": True}, {"adminAccess": True}, {}, id="with admin access"),
        pytest.param({}, SHARED, SHARED, id="a share of it"),
    ],
)
def test_pod_is_bound_if_its_claim_gets_a_device_that_another_claim_has(wanted, results, others):
    other = resource_claim("other", devices=["gpu=n/d"], users=["q"], nodes=only_on("n"), results=others)
    claim, slices = resource_claim("c", request(**wanted)), device_slice("n", device("d", allowMultipleAllocations=bool(others)))
    scene = Scene(node("n"), device_class(), slices, other, claim, wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    given = resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n"), results=results)
    scene.put({**claim, "status": given["status"]})
    assert {"p"} == {each.pod.name for each in of(Bind, scene.end([write]))}


def test_devices_whose_binding_failed_are_released_and_reported():
    conditions = {"bindingConditions": ["ok"], "bindingFailureConditions": ["bad"]}
    slices = device_slice("n", device("d", **conditions))
    scene = Scene(node("n"), device_class(), slices, resource_claim("c"), wanting("p", "g=c", **MUSTER))
    uid = scene.server.objects["Pod", "default", "p"]["metadata"]["uid"]
    claim = resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n"), results=conditions)
    scene.put(claim)
    assert [] == of(Bind, scene.writes())
    claim["status"]["devices"] = [{"driver": "gpu.example", "pool": "n", "device": "d", "conditions": [{"type": "bad", "status": "True"}]}]
    scene.put(claim)
    scene.now += 2
    writes = scene.writes()
    assert ["c"] == [each.target.name for each in of(ReleaseClaim, writes)]
    messages = [each.message for each in of(RecordEvent, writes)]
    assert "allocating devices failed: the devices of claim default/c could not be bound to node n; it is retried" in messages


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize(("fails", "placed"), [(True, True), (False, True), (True, False), (False, False)])
def test_devices_of_a_group_are_released_only_if_none_of_its_pods_has_a_node(fails, placed, strategy):
    conditions = {"bindingConditions": ["ok"], "bindingFailureConditions": ["bad"]}
    group = leaf("g", 1)
    group["spec"]["resourceClaims"] = [{"name": "of", "resourceClaimName": "c"}]
    pods = [wanting(f"g-{number}", "of=c", group="g", on="n" if placed and not number else "", **MUSTER) for number in range(2)]
    devices = device_slice("n", device("d", **conditions))
    scene = Scene(node("n"), device_class(), devices, resource_claim("c"), group, *pods, strategy=strategy)
    uid = scene.server.objects["PodGroup", "default", "g"]["metadata"]["uid"]
    claim = resource_claim("c", devices=["gpu=n/d"], users=[uid], nodes=only_on("n"), results=conditions)
    claim["status"]["reservedFor"] = [{"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "g", "uid": uid}]
    scene.put(claim)
    assert [] == of(Bind, scene.writes())
    if fails:
        claim["status"]["devices"] = [
            {"driver": "gpu.example", "pool": "n", "device": "d", "conditions": [{"type": "bad", "status": "True"}]}
        ]
        scene.put(claim)
    scene.now += 2 if fails else 1000
    writes = scene.writes()
    assert any("allocating devices failed: " in each.message for each in of(RecordEvent, writes))
    assert ([] if placed else ["c"]) == [each.target.name for each in of(ReleaseClaim, writes)]


@pytest.mark.parametrize("outcomes", [(WriteOutcome.DONE, WriteOutcome.DONE), (WriteOutcome.REFUSED, WriteOutcome.DONE)])
def test_equal_write_of_an_earlier_attempt_keeps_the_current_reservations(outcomes):
    used = resource_claim("c", devices=["gpu=n/d"], users=["other"], nodes=only_on("n"))
    objects = [node("n"), device_class(), device_slice("n", "d"), used, wanting("g-0", "g=c", group="g", **MUSTER)]
    scene = Scene(*objects, leaf("g", 1))
    before = of(AllocateClaim, scene.writes())
    scene.delete("PodGroup", "g")
    scene.writes()
    scene.put(leaf("g", 1))
    writes = [*before, *of(AllocateClaim, [*scene.writes(), *scene.wait(30)])]
    assert (2, writes[0]) == (len(writes), writes[1])
    uid = scene.server.objects["Pod", "default", "g-0"]["metadata"]["uid"]
    results = []
    for write, outcome in zip(writes, outcomes, strict=True):
        if outcome is WriteOutcome.DONE:
            scene.put(resource_claim("c", devices=["gpu=n/d"], users=["other", uid], nodes=only_on("n")))
        results.append(scene.scheduler.done(write, outcome, "", scene.now))
    assert ([], ["g-0"]) == (of(Bind, results[0]), [each.pod.name for each in of(Bind, results[1])])
    assert [] == of(ReleaseClaim, [*results[0], *results[1], *scene.wait(30)])


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_pod_for_which_a_claim_has_no_place_is_placed_when_a_consumer_is_gone(strategy):
    users = [f"q{number}" for number in range(256)]
    claim = resource_claim("c", devices=["gpu=n/d"], users=users, nodes=only_on("n"), uid="c")
    scene = Scene(node("n"), device_class(), device_slice("n", "d"), claim, wanting("p", "g=c", **MUSTER), strategy=strategy)
    writes = scene.writes()
    assert [] == of(AllocateClaim, writes)
    assert any("at most 256 consumers" in each.message for each in of(RecordEvent, writes))
    scene.now += 20
    scene.put(resource_claim("c", devices=["gpu=n/d"], users=users[1:], nodes=only_on("n"), uid="c"))
    assert ["p"] == [each.name for write in of(AllocateClaim, scene.writes()) for each in write.consumers]


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_request_for_all_devices_needs_each_device_that_cannot_be_judged(strategy):
    selectors = [{"cel": {"expression": "device.attributes['gpu.example'].model == 'a'"}}]
    claim = resource_claim("c", request(allocationMode="All", selectors=selectors))
    slices = device_slice("n", device("a", {"model": "a"}), "b")
    scene = Scene(node("n"), device_class(), slices, claim, wanting("p", "g=c", **MUSTER), strategy=strategy)
    writes = scene.writes()
    assert [] == of(AllocateClaim, writes)
    assert any("no such key: model (test in the selector" in each.message for each in of(RecordEvent, writes))
