"""Queueing hints of the kinds about volumes, and of Namespaces: a root that waits is tried again after each change that can help it."""

from __future__ import annotations

import copy
import dataclasses
import random
from typing import Any

import pytest

from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_crashes import options
from tests.scheduler_core.sidecar.volume_world import (
    BIND_COMPLETED,
    DYNAMIC,
    STATIC,
    VolumeWorld,
    claim,
    storage_classes,
    volume,
)
from tests.scheduler_core.sidecar.world import Luck

DRIVER, ZONE = "csi.example.com", "topology.kubernetes.io/zone"
STORAGE = "storage.k8s.io/v1"
NODE = node("n")
CLASSES = storage_classes()


def storage_class(name: str, **more: Any) -> Json:
    fields = {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer", **more}
    return {"apiVersion": STORAGE, "kind": "StorageClass", "metadata": {"name": name}, **fields}


def capacity(size: str) -> Json:
    metadata = {"name": "x", "namespace": "default"}
    fields = {"storageClassName": DYNAMIC, "nodeTopology": {}, "capacity": size}
    return {"apiVersion": STORAGE, "kind": "CSIStorageCapacity", "metadata": metadata, **fields}


def driver(**spec: bool) -> Json:
    return {"apiVersion": STORAGE, "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}


def drivers(count: int | None) -> Json:
    """The CSINode of the node; None for a driver that is not installed."""
    installed = [] if count is None else [{"name": DRIVER, "nodeID": "n", "allocatable": {"count": count}}]
    return {"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": installed}}


def bound(name: str, mode: str = "ReadWriteOnce", zone: str = "") -> list[Json]:
    """A claim that is bound to a CSI volume, and the volume."""
    made, found = claim(name, DYNAMIC), volume(f"pv-{name}", DYNAMIC, "n")
    made["spec"] |= {"volumeName": f"pv-{name}", "accessModes": [mode]}
    made["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}
    found["metadata"]["labels"] = {ZONE: zone} if zone else {}
    del found["spec"]["local"]
    found["spec"] |= {"csi": {"driver": DRIVER, "volumeHandle": name}, "claimRef": {"namespace": "default", "name": name}}
    return [made, found]


def using(name: str, *claims: str, group: str = "", on: str = "", **fields: Any) -> Json:
    made = pod(name, group, on=on, **fields)
    made["spec"]["volumes"] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return made


def attachment() -> Json:
    spec = {"attacher": DRIVER, "nodeName": "n", "source": {"persistentVolumeName": "pv-other"}}
    return {"apiVersion": STORAGE, "kind": "VolumeAttachment", "metadata": {"name": "va"}, "spec": spec, "status": {"attached": True}}


def namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def related(side: str) -> Json:
    """The pod of the root, with a term about pods a=b in namespaces of the team x."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    made = pod("g-0", "g")
    listed = [{**term, "namespaceSelector": {"matchLabels": {"team": "x"}}}]
    made["spec"]["affinity"] = {side: {"requiredDuringSchedulingIgnoredDuringExecution": listed}}
    return made


MINE = using("g-0", "c", group="g")
USER = using("user", "other", on="n")
ELSEWHERE = pod("run", on="n")
ELSEWHERE["metadata"] |= {"labels": {"a": "b"}, "namespace": "other"}
WAITING = claim("c", DYNAMIC)
LIMITED = [drivers(1), *bound("c"), *bound("other"), MINE]
EMPTY = [NODE, namespace("default"), ELSEWHERE, related("podAffinity")]
TERMS = [{"matchLabelExpressions": [{"key": "zone", "values": ["elsewhere"]}]}]
CASES: dict[str, tuple[list[Json], Any]] = {
    "StorageClass created": ([NODE, WAITING, MINE], storage_class(DYNAMIC)),
    "StorageClass without allowedTopologies": (
        [NODE, storage_class(DYNAMIC, allowedTopologies=TERMS), WAITING, MINE],
        storage_class(DYNAMIC),
    ),
    "PersistentVolumeClaim created": ([NODE, *CLASSES, MINE], WAITING),
    "PersistentVolumeClaim bound": (
        [NODE, storage_class("immediate", volumeBindingMode="Immediate"), claim("c", "immediate"), bound("c")[1], MINE],
        bound("c")[0],
    ),
    "PersistentVolume created": ([NODE, *CLASSES, claim("c", STATIC), MINE], volume("pv", STATIC, "n")),
    "PersistentVolume with another zone": ([node("n", **{ZONE: "z1"}), *CLASSES, *bound("c", zone="z2"), MINE], bound("c", zone="z1")[1]),
    "CSIStorageCapacity created": ([NODE, *CLASSES, driver(storageCapacity=True), WAITING, MINE], capacity("5Gi")),
    "CSIStorageCapacity raised": ([NODE, *CLASSES, driver(storageCapacity=True), capacity("1Mi"), WAITING, MINE], capacity("5Gi")),
    "CSIDriver without storageCapacity": ([NODE, *CLASSES, driver(storageCapacity=True), WAITING, MINE], driver(storageCapacity=False)),
    "CSIDriver deleted": ([NODE, *CLASSES, driver(storageCapacity=True), WAITING, MINE], ("CSIDriver", "", DRIVER)),
    "CSIDriver not required": ([NODE, *CLASSES, driver(preventPodSchedulingIfMissing=True), drivers(None), WAITING, MINE], driver()),
    "CSINode with the driver": ([NODE, *CLASSES, driver(preventPodSchedulingIfMissing=True), drivers(None), WAITING, MINE], drivers(3)),
    "CSINode with a higher limit": ([NODE, USER, *LIMITED], drivers(2)),
    "CSINode deleted": ([NODE, USER, *LIMITED], ("CSINode", "", "n")),
    "Pod with an attached volume deleted": ([NODE, USER, *LIMITED], ("Pod", "default", "user")),
    "VolumeAttachment deleted": ([NODE, attachment(), *LIMITED], ("VolumeAttachment", "", "va")),
    "Pod with a ReadWriteOncePod claim deleted": (
        [NODE, *bound("c", "ReadWriteOncePod"), using("user", "c", on="n"), MINE],
        ("Pod", "default", "user"),
    ),
    "Namespace labelled": ([*EMPTY, namespace("other")], namespace("other", team="x")),
    "Namespace created": (EMPTY, namespace("other", team="x")),
    "Namespace without the label": (
        [NODE, namespace("default"), namespace("other", team="x"), ELSEWHERE, related("podAntiAffinity")],
        namespace("other"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_root_is_placed_after_the_change(name):
    objects, change = copy.deepcopy(CASES[name])
    world = VolumeWorld([*objects, leaf("g", 1)], LASTING, Luck(random.Random(0)))
    world.run(100)
    assert not placed(world)
    if isinstance(change, tuple):
        world.server.delete(change)
    else:
        world.server.put(change)
    world.run(300)
    assert placed(world)


LASTING = dataclasses.replace(options("place"), flush_seconds=1e6, partial_seconds=1e6)
"""Options without retries by time."""


def placed(world: VolumeWorld) -> bool:
    return bool(world.server.objects["Pod", "default", "g-0"]["spec"].get("nodeName"))


def test_root_without_namespace_selectors_is_not_retried_after_a_namespace_changed():
    world = VolumeWorld([NODE, pod("g-0", "g", cpu="100"), leaf("g", 1), namespace("other")], LASTING, Luck(random.Random(0)))
    world.run(100)
    attempts = next(iter(world.scheduler._queue.entities.by_root.values())).attempts
    world.server.put(namespace("other", team="x"))
    world.run(300)
    assert attempts == next(iter(world.scheduler._queue.entities.by_root.values())).attempts
