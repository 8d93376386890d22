"""Kinds that are watched once an object can need them; nothing is decided before they are listed."""

from __future__ import annotations

import pytest

from scheduler_core.sidecar.cache.cache import KINDS
from scheduler_core.sidecar.cache.informers import Changed, Listed
from scheduler_core.sidecar.cache.needed_kinds import ON_DEMAND
from scheduler_core.sidecar.process.mailbox import DryRunDone
from scheduler_core.sidecar.writes import Bind
from tests.scheduler_core.builders import Json, node, pod
from tests.scheduler_core.plugins.test_delayed_claims import driver
from tests.scheduler_core.plugins.test_volumes import claim, csi_node, on, using, volume
from tests.scheduler_core.sidecar.histories import Cache, Server, raw
from tests.scheduler_core.sidecar.test_loop import BIND, EVICT, ROOT, TELL, Keeping, Planner, Turning, attempt

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


def test_nothing_is_decided_before_the_needed_kinds_are_listed():
    loop = Turning(real=True, synced=False)
    objects = [node("n1", zone="a"), node("n2", zone="b"), claim(volume="pv"), volume("pv", on("zone", "b"))]
    loop.turn(*listed(*objects, kinds=set(KINDS) - ON_DEMAND))
    assert [] == loop.watched
    loop.turn(Changed("Pod", "ADDED", raw(using("c", schedulerName="default-scheduler"))))
    loop.turn(*listed(*objects, kinds=VOLUMES - {"StorageClass"}))
    assert ([sorted(VOLUMES)], []) == (loop.watched, [each for each in loop.publisher.written if isinstance(each, Bind)])
    loop.turn(*listed(kinds={"StorageClass"}))
    loop.turn()
    assert ["n2"] == [each.node for each in loop.publisher.written if isinstance(each, Bind)]
    assert [sorted(VOLUMES)] == loop.watched


def test_result_of_a_dry_run_is_kept_until_the_needed_kinds_are_listed():
    loop = Turning(scheduler=Planner(), synced=False)
    loop.turn(*listed(node("n"), kinds=set(KINDS) - ON_DEMAND))
    loop.turn(DryRunDone(ROOT, (EVICT,), None, ""), Changed("Pod", "ADDED", raw(using("c"))))
    assert ([sorted(VOLUMES)], []) == (loop.watched, loop.scheduler.calls)
    loop.turn(*listed(kinds=VOLUMES))
    loop.turn()
    assert [("approve", ROOT, None)] == loop.scheduler.calls


def test_controllers_do_not_wait_for_kinds_that_they_do_not_need():
    loop = Turning(scheduler=Planner(attempt(BIND)), keeping=Keeping(TELL), synced=False)
    loop.scheduler.next, loop.keeping.next = 0.0, 0.5
    assert 0.5 == loop.turn(*listed(using("c"), kinds=set(KINDS) - ON_DEMAND))
    assert [TELL] == loop.publisher.written
    loop.turn(*listed(kinds=VOLUMES))
    assert [TELL, BIND] == loop.publisher.written


def test_process_that_places_no_pods_watches_no_volumes():
    loop = Turning(synced=False, scheduler=None)
    loop.turn(*listed(using("c"), kinds=set(KINDS) - ON_DEMAND))
    assert [] == loop.watched
    assert loop.store.synced
