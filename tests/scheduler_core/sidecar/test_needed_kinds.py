"""Kinds that are watched once a pending pod can need them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scheduler_core.sidecar.cache.cache import KINDS
from scheduler_core.sidecar.cache.informers import Changed, Listed
from scheduler_core.sidecar.cache.needed_kinds import ON_DEMAND
from tests.scheduler_core.builders import Json, node, pod
from tests.scheduler_core.plugins.test_delayed_claims import driver
from tests.scheduler_core.plugins.test_volumes import csi_node, using
from tests.scheduler_core.sidecar.histories import Cache, Server, raw
from tests.scheduler_core.sidecar.test_loop import Turning

VOLUMES = {"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver"}
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


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
    server, cache = Server(), Cache()
    for each in objects:
        server.put(each)
    server.fill(cache)
    assert want == cache.newly_needed()
    assert set() == cache.newly_needed()


def test_needed_kinds_stay_needed():
    cache = Cache()
    cache.apply("Pod", "ADDED", raw(using("c")))
    assert cache.newly_needed() == VOLUMES
    cache.apply("Pod", "DELETED", raw(using("c")))
    cache.apply("Pod", "ADDED", raw(using("d", name="q")))
    assert set() == cache.newly_needed()


def listed(*objects: Json, kinds: set[str]) -> list[Listed]:
    return [Listed(kind, [raw(each) for each in objects if each["kind"] == kind]) for kind in sorted(kinds)]


def test_each_kind_is_watched_once():
    loop = Turning(real=True, synced=False)
    loop.turn(*listed(node("n1"), kinds=set(KINDS) - ON_DEMAND))
    assert [] == loop.watched
    loop.turn(Changed("Pod", "ADDED", raw(using("c"))))
    loop.turn(*listed(driver(), csi_node("n1", {"csi.example": 1}), kinds=VOLUMES))
    loop.turn(Changed("Pod", "ADDED", raw(using("d", name="q"))))
    assert [sorted(VOLUMES), ["CSIStorageCapacity", "VolumeAttachment"]] == loop.watched


def test_objects_of_each_kind_are_frozen_once(monkeypatch):
    frozen = []
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.gc", SimpleNamespace(freeze=lambda: frozen.append(len(loop.watched))))
    loop = Turning(real=True, synced=False)
    loop.turn(*listed(using("c"), kinds=set(KINDS) - ON_DEMAND))
    loop.turn(Changed("Node", "ADDED", raw(node("n1"))))
    loop.turn(*listed(kinds=VOLUMES))
    loop.turn(*listed(using("c"), kinds={*VOLUMES, "Pod"}))
    assert [1, 1] == frozen


def test_process_that_places_no_pods_watches_no_volumes():
    loop = Turning(synced=False, scheduler=None)
    loop.turn(*listed(using("c"), kinds=set(KINDS) - ON_DEMAND))
    assert [] == loop.watched
    assert loop.store.synced
