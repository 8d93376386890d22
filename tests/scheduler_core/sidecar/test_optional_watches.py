"""Kinds that are watched once an object can need them."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from scheduler_core.model.scheduler_profile import SchedulerProfile
from scheduler_core.sidecar.cache.cache import FROM_START
from scheduler_core.sidecar.cache.informers import Changed, Listed
from scheduler_core.sidecar.cache.optional_watches import NOTHING, ON_DEMAND, Reads
from tests.scheduler_core.builders import Json, composite, leaf, node, pod
from tests.scheduler_core.plugins.test_delayed_claims import driver
from tests.scheduler_core.plugins.test_volumes import csi_node, using
from tests.scheduler_core.sidecar.histories import Cache, Server, raw, resource_of
from tests.scheduler_core.sidecar.test_loop import Turning

VOLUMES = {"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver"}
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
PLACING = Reads(schedules=True, places=lambda each: each.parsed_pod.scheduler != "other")
BY_DEVICES = dataclasses.replace(PLACING, device_topology=frozenset({"a/b"}))
EVERYTHING = dataclasses.replace(PLACING, preempts=True, validates=True)


def resolved(each: Json) -> Json:
    """Return *each* with a priority if it can have one, as the API server resolves it."""
    spec = {"priority": 0, **each["spec"]} if each["kind"] in ("Pod", "PodGroup", "CompositePodGroup") else each.get("spec")
    return {**each, "spec": spec} if spec is not None else each


def needed(reads: Reads, *objects: Json) -> frozenset[str]:
    """Return the kinds that *objects* need."""
    server, cache = Server(), Cache(reads=reads)
    for each in objects:
        server.put(each)
    server.fill(cache)
    found = cache.needed.newly_needed()
    assert set() == cache.needed.newly_needed()
    return found


def controlled(kind: str, version: str, **more: object) -> Json:
    each = pod("p", **more)
    each["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": "o", "controller": True}]
    return each


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([node("n"), pod("p"), driver(), csi_node("n", {"csi.example": 1})], set(), id="a pod without volumes"),
        pytest.param([using("c", nodeName="n")], set(), id="a pod with a node"),
        pytest.param([using("c")], VOLUMES, id="a claim"),
        pytest.param([pod("p", volumes=[DISK])], VOLUMES, id="an inline disk"),
        pytest.param([pod("p", volumes=[EPHEMERAL])], VOLUMES, id="an ephemeral volume"),
        pytest.param([using("c"), driver()], {*VOLUMES, "CSIStorageCapacity"}, id="a driver with storage capacity"),
        pytest.param([using("c"), driver(measured=False)], VOLUMES, id="a driver without storage capacity"),
        pytest.param([using("c"), csi_node("n", {"csi.example": 1})], {*VOLUMES, "VolumeAttachment"}, id="an attach limit"),
        pytest.param([using("c"), csi_node("n", {"csi.example": None})], VOLUMES, id="a driver without attach limit"),
        pytest.param([controlled("ReplicaSet", "apps/v1")], {"ReplicaSet"}, id="a ReplicaSet"),
        pytest.param([controlled("StatefulSet", "apps/v1")], {"StatefulSet"}, id="a StatefulSet"),
        pytest.param([controlled("ReplicationController", "v1")], {"ReplicationController"}, id="a ReplicationController"),
        pytest.param([controlled("ReplicaSet", "apps/v1", on="n")], set(), id="a ReplicaSet of a pod with a node"),
        pytest.param([controlled("Job", "batch/v1")], set(), id="a Job"),
    ],
)
def test_needed_kinds(objects, want):
    assert want == needed(PLACING, *map(resolved, objects))


def selecting(**labels: str) -> Json:
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


OWN_SPREAD = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]
LABELS = {"app": "a"}
UNSPREAD, UNSCORED = SchedulerProfile(default_constraints=()), SchedulerProfile(weights=(("PodTopologySpread", 0),))
NO_PREEMPTION = SchedulerProfile(preempts_pods=False)


def without(*plugins: str) -> Reads:
    return dataclasses.replace(PLACING, profile=SchedulerProfile(disabled=frozenset(plugins)))


NO_VOLUME_PLUGIN = without("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
LIMITED = [using("c", priority=0), driver(), csi_node("n", {"csi.example": 1})]
CLASSED = {"priority": 5, "priorityClassName": "high"}
CHILD = {"parent": "root", "priority": 0}


@pytest.mark.parametrize(
    ("each", "reads", "want"),
    [
        pytest.param(pod("p", labels=LABELS, priority=0), PLACING, {"Service"}, id="a pod that a Service can select"),
        pytest.param(pod("p", labels=LABELS, priority=0), NOTHING, set(), id="a pod where no mode places"),
        pytest.param(pod("p", labels=LABELS, priority=0, schedulerName="other"), PLACING, set(), id="a pod of another scheduler"),
        pytest.param(using("c", schedulerName="other"), PLACING, set(), id="a pod of another scheduler, with a claim"),
        pytest.param(pod("p", labels=LABELS, priority=0, topologySpreadConstraints=OWN_SPREAD), PLACING, set(), id="its own spread"),
        *(
            pytest.param(each, dataclasses.replace(PLACING, profile=profile), set(), id=f"{name}, {id_}")
            for profile, id_ in ((UNSPREAD, "no default constraints"), (UNSCORED, "default constraints do not score"))
            for each, name in (
                (pod("p", labels=LABELS, priority=0), "labels"),
                (controlled("ReplicaSet", "apps/v1", priority=0), "a controller"),
            )
        ),
        pytest.param(pod("p", priority=0, affinity=selecting(team="a")), PLACING, {"Namespace"}, id="a namespace selector"),
        pytest.param(pod("p", priority=0, affinity=selecting()), PLACING, set(), id="a selector of all namespaces"),
        pytest.param(pod("p", on="n", priority=0, affinity=selecting(team="a")), PLACING, {"Namespace"}, id="of a pod with a node"),
        pytest.param(pod("p", on="n", priority=0, affinity=selecting(team="a")), NOTHING, set(), id="of such a pod, where no mode places"),
        pytest.param(pod("p"), PLACING, {"PriorityClass"}, id="a pod without priority"),
        pytest.param(pod("p", on="n", schedulerName="other"), PLACING, {"PriorityClass"}, id="a pod with a node, without priority"),
        pytest.param(pod("p", **CLASSED), PLACING, {"PriorityClass"}, id="a class, but no preemption policy"),
        pytest.param(pod("p", **CLASSED, preemptionPolicy="Never"), PLACING, set(), id="a class and a preemption policy"),
        pytest.param(leaf("g"), PLACING, {"PriorityClass"}, id="a group without priority"),
        pytest.param(leaf("g"), Reads(validates=True), {"PriorityClass"}, id="a group without priority, to be validated"),
        pytest.param(pod("p", "g"), Reads(validates=True), {"PriorityClass"}, id="a member without priority, to be validated"),
        pytest.param(pod("p"), Reads(validates=True), set(), id="a single pod, where only trees are validated"),
        pytest.param(leaf("g"), NOTHING, set(), id="a group, where it is neither placed nor validated"),
        pytest.param(leaf("g", priority=0), PLACING, set(), id="a group with priority"),
        pytest.param(leaf("g", **CHILD), PLACING, set(), id="a group with a Workload, without pods"),
        pytest.param(leaf("g", **CHILD), EVERYTHING, {"Workload"}, id="a group with a Workload, placed and validated"),
        pytest.param(composite("g", priority=0), Reads(validates=True), {"Workload"}, id="a composite with a Workload, to be validated"),
        pytest.param(leaf("g", **CHILD), NOTHING, set(), id="a group with a Workload, not validated"),
        pytest.param(pod("p", priority=0), EVERYTHING, {"PodDisruptionBudget"}, id="a pod that can preempt"),
        pytest.param(pod("p", priority=0, preemptionPolicy="Never"), EVERYTHING, set(), id="a pod that never preempts"),
        pytest.param(
            pod("p", "g", priority=0, preemptionPolicy="Never"), EVERYTHING, {"PodDisruptionBudget"}, id="a member: its group can preempt"
        ),
        pytest.param(
            pod("p", priority=0), dataclasses.replace(EVERYTHING, profile=NO_PREEMPTION), set(), id="a profile without DefaultPreemption"
        ),
        pytest.param(pod("p", on="n", priority=0, labels=LABELS), EVERYTHING, set(), id="a pod with a node"),
        pytest.param(node("n"), EVERYTHING, set(), id="a node"),
    ],
)
def test_kinds_that_an_object_needs(each, reads, want):
    assert want == needed(reads, each)


@pytest.mark.parametrize(
    ("reads", "left_out"),
    [
        pytest.param(EVERYTHING, set(), id="all modes"),
        pytest.param(PLACING, {"PodDisruptionBudget"}, id="without preemption"),
        pytest.param(
            dataclasses.replace(EVERYTHING, profile=UNSPREAD),
            {"Service", "ReplicationController", "ReplicaSet", "StatefulSet"},
            id="without default spread",
        ),
        pytest.param(Reads(validates=True), ON_DEMAND - {"Workload", "PriorityClass"}, id="validation alone"),
        pytest.param(NO_VOLUME_PLUGIN, {"PodDisruptionBudget", *VOLUMES, "CSIStorageCapacity", "VolumeAttachment"}, id="without volumes"),
        pytest.param(NOTHING, ON_DEMAND, id="no mode that reads them"),
    ],
)
def test_kinds_that_modes_can_need(reads, left_out):
    assert ON_DEMAND - left_out == reads.kinds()


@pytest.mark.parametrize(
    ("reads", "want"),
    [
        pytest.param(PLACING, {*VOLUMES, "CSIStorageCapacity", "VolumeAttachment"}, id="default profile"),
        pytest.param(without("VolumeBinding"), {*VOLUMES, "VolumeAttachment"}, id="no VolumeBinding"),
        pytest.param(without("NodeVolumeLimits"), {*VOLUMES, "CSIStorageCapacity"}, id="no NodeVolumeLimits"),
        pytest.param(NO_VOLUME_PLUGIN, set(), id="no plugin that reads volumes"),
    ],
)
def test_kinds_about_volumes_that_a_profile_reads(reads, want):
    assert want == needed(reads, *LIMITED)


def without_classes(reads: Reads, *objects: Json) -> frozenset[str]:
    return needed(reads, *objects) - {"DeviceClass"}


def test_devices_are_needed_for_topology_by_their_attributes():
    member = pod("p", "g", priority=0)
    assert without_classes(BY_DEVICES, leaf("g", 1, "a/b", priority=0), member) == {"ResourceSlice"}
    assert without_classes(BY_DEVICES, leaf("g", 1, "a/c", priority=0), member) == set()
    assert without_classes(BY_DEVICES, leaf("g", 1, "a/b", priority=0)) == set()
    other = pod("p", "g", priority=0, schedulerName="other")
    assert without_classes(dataclasses.replace(BY_DEVICES, validates=True), leaf("g", 1, "a/b", priority=0), other) == set()


@pytest.mark.parametrize("first", [0, 1, 2], ids=["pod first", "group first", "composite first"])
@pytest.mark.parametrize(
    ("member", "want"),
    [
        pytest.param(pod("p", "g", priority=0), {"Workload"}, id="ours"),
        pytest.param(pod("p", "g", priority=0, schedulerName="other"), set(), id="of another scheduler"),
        pytest.param(pod("p", "h", priority=0), set(), id="of another group"),
        pytest.param(pod("p", "g", priority=0, on="n"), set(), id="with a node"),
    ],
)
def test_a_workload_is_needed_for_the_groups_of_pods_to_place(member, want, first):
    cache = Cache(reads=PLACING)
    objects = [member, leaf("g", **CHILD), composite("root", priority=0)]
    for each in [*objects[first:], *objects[:first]]:
        cache.apply(each["kind"], "ADDED", raw(each))
    assert want == cache.needed.newly_needed() - {"DeviceClass"}


def test_needed_kinds_stay_needed():
    cache = Cache(reads=PLACING)
    cache.apply("Pod", "ADDED", raw(resolved(using("c"))))
    assert cache.needed.newly_needed() == VOLUMES
    cache.apply("Pod", "DELETED", raw(resolved(using("c"))))
    cache.apply("Pod", "ADDED", raw(resolved(using("d", name="q"))))
    assert set() == cache.needed.newly_needed()


def listed(*objects: Json, kinds: set[str]) -> list[Listed]:
    return [Listed(kind, [raw(each) for each in objects if resource_of(each) == kind]) for kind in sorted(kinds)]


def test_each_kind_is_watched_once():
    loop = Turning(real=True, synced=False, reads=PLACING)
    loop.turn(*listed(node("n1"), kinds=set(FROM_START)))
    assert [] == loop.watched
    loop.turn(Changed("Pod", "ADDED", raw(resolved(using("c")))))
    loop.turn(*listed(driver(), csi_node("n1", {"csi.example": 1}), kinds=VOLUMES))
    loop.turn(Changed("Pod", "ADDED", raw(resolved(using("d", name="q")))))
    assert [sorted(VOLUMES), ["CSIStorageCapacity", "VolumeAttachment"]] == loop.watched


def test_objects_of_each_kind_are_frozen_once(monkeypatch):
    frozen = []
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.gc", SimpleNamespace(freeze=lambda: frozen.append(len(loop.watched))))
    loop = Turning(real=True, synced=False, reads=PLACING)
    loop.turn(*listed(resolved(using("c")), kinds=set(FROM_START)))
    loop.turn(Changed("Node", "ADDED", raw(node("n1"))))
    loop.turn(*listed(kinds=VOLUMES))
    loop.turn(*listed(resolved(using("c")), kinds={*VOLUMES, "Pod"}))
    assert [1, 1] == frozen


def test_process_that_places_no_pods_watches_only_what_it_validates():
    loop = Turning(synced=False, scheduler=None, reads=Reads(validates=True))
    loop.turn(*listed(using("c"), leaf("g", **CHILD), kinds=set(FROM_START)))
    assert [["Workload"]] == loop.watched
    assert loop.store.synced
