"""Volumes are bound before pods: wherever the process is killed, no gang is half bound and no claim stays annotated for nothing."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.sidecar.client.requests import SELECTED_NODE
from scheduler_core.sidecar.writes import ClearSelectedNode, Remove, ReserveVolume, SelectNode
from tests.scheduler_core.builders import leaf, node, pod, pods, racks
from tests.scheduler_core.sidecar.gangs import is_complete, partial
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_crashes import MANY, lived, options
from tests.scheduler_core.sidecar.volume_world import (
    CLAIM,
    DYNAMIC,
    STATIC,
    VOLUME,
    VolumeWorld,
    claim,
    storage_classes,
    volume,
    with_claims,
)
from tests.scheduler_core.sidecar.world import Luck


def gang(storage: str, count: int = 3) -> list[Json]:
    """A gang in one rack, each pod with a claim, and local volumes on some nodes."""
    local = [volume(f"pv-{each}", STATIC, each) for each in ("a-0", "a-1", "b-0", "b-1", "b-2")]
    return [
        *racks({"a": 3, "b": 3}, cpu="1"),
        *storage_classes(),
        *local,
        leaf("g", count, "rack"),
        *with_claims(pods("g", count), storage),
    ]


def world_of(objects: list[Json], luck: Luck, strategy: str = "complete") -> VolumeWorld:
    return VolumeWorld(objects, options("place", strategy), luck)


def claims(world: VolumeWorld) -> list[Json]:
    return [each for name, each in world.server.objects.items() if name[0] == CLAIM]


def annotated(world: VolumeWorld) -> list[str]:
    """Claims without a volume that wait for a provisioner."""
    return [
        each["metadata"]["name"]
        for each in claims(world)
        if not each["spec"].get("volumeName") and SELECTED_NODE in (each["metadata"].get("annotations") or {})
    ]


def bound_twice(world: VolumeWorld) -> list[str]:
    """Volumes of which several claims say that they are bound to it."""
    counts = Counter(each["spec"]["volumeName"] for each in claims(world) if each["spec"].get("volumeName"))
    return [name for name, count in counts.items() if count > 1]


@pytest.mark.parametrize("storage", [STATIC, DYNAMIC])
@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_gang_is_bound_after_its_volumes_wherever_the_process_is_killed(storage, strategy):
    world = lived(world_of(gang(storage), Luck(random.Random(0)), strategy), [])
    writes = len(world.written)
    assert {ReserveVolume if storage == STATIC else SelectNode} < {type(each) for each in world.written}
    for crash in range(writes + 1):
        world = lived(world_of(gang(storage), Luck(random.Random(crash)), strategy), [crash])
        assert is_complete(world.server.objects, world.server.objects["PodGroup", "default", "g"]), crash
        assert ({1}, [], []) == (set(world.bound.values()), bound_twice(world), annotated(world))


@MANY
@given(data=st.data())
def test_whatever_fails_no_gang_is_half_bound_and_no_volume_is_bound_twice(data):
    storage = data.draw(st.sampled_from([STATIC, DYNAMIC]))
    second = [leaf("h", 2, data.draw(st.sampled_from(["rack", ""]))), *with_claims(pods("h", 2), storage)]
    luck = Luck(random.Random(data.draw(st.integers(0, 2**32))), fails=data.draw(st.sampled_from([0, 3, 6])), late=data.draw(st.booleans()))
    world = world_of([*gang(storage, data.draw(st.integers(1, 3))), *second], luck, data.draw(st.sampled_from(["complete", "greedy"])))
    world.failing = frozenset(data.draw(st.sets(st.sampled_from(["a-0", "b-0", "b-1"]))))
    lived(world, data.draw(st.lists(st.integers(0, 12), max_size=3)))
    assert [] == partial(world.server.objects)
    assert [] == bound_twice(world)
    assert set(world.bound.values()) <= {1}


def test_unused_selected_node_is_removed_when_the_gang_must_go_elsewhere():
    objects = [*racks({"a": 1, "b": 1}, cpu="1"), *storage_classes(), leaf("g", 1), *with_claims([pod("g-0", "g")], DYNAMIC)]
    world = world_of(objects, Luck(random.Random(0)))
    world.provisioning = False
    world.run(300)
    (selected,) = {each["metadata"]["annotations"][SELECTED_NODE] for each in claims(world)}
    world.start()
    world.server.put(pod("other", cpu="1", on=selected))
    world.run(100)
    assert ClearSelectedNode in {type(each) for each in world.written}
    world.provisioning = True
    world.run(2000)
    assert {"a-0", "b-0"} - {selected} == {world.server.objects["Pod", "default", "g-0"]["spec"].get("nodeName")}


def test_volumes_that_are_never_created_fail_after_a_while_and_reserve_nothing():
    objects = [node("n", cpu="1"), *storage_classes(), leaf("g", 1), *with_claims([pod("g-0", "g")], DYNAMIC)]
    world = world_of(objects, Luck(random.Random(0)))
    world.provisioning = False
    world.run(590)
    assert [] == [each for each in world.written if isinstance(each, ClearSelectedNode)]
    world.run(60)
    assert [ClearSelectedNode] == [type(each) for each in world.written if isinstance(each, ClearSelectedNode)]
    message = "binding volumes failed: claim default/data-g-0 is not bound within 600 s; it is retried"
    assert ("FailedScheduling", message) in {(each.reason, each.message) for each in world.told}


def test_volume_that_is_reserved_for_a_claim_after_the_last_cycle_is_known():
    world = world_of([node("n"), *storage_classes(), leaf("g", 1), *with_claims([pod("g-0", "g")], DYNAMIC)], Luck(random.Random(0)))
    world.provisioning = False
    world.run(5)
    (waiting,) = claims(world)
    made = volume("made", DYNAMIC, "n")
    made["spec"]["claimRef"] = {key: waiting["metadata"][key] for key in ("namespace", "name", "uid")}
    world.server.put(made)
    world.run(100)
    assert world.server.objects["Pod", "default", "g-0"]["spec"].get("nodeName")


@pytest.mark.parametrize("storage", [STATIC, DYNAMIC])
def test_roots_that_share_a_claim_are_all_bound_once_its_volume_is(storage):
    sharing = [leaf("g", 1), pod("g-0", "g"), leaf("h", 1), pod("h-0", "h")]
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}]
    for each in sharing:
        if each["kind"] == "Pod":
            each["spec"]["volumes"] = mounted
    world = world_of([node("n"), *storage_classes(), volume("pv", STATIC, "n"), claim("shared", storage), *sharing], Luck(random.Random(0)))
    world.run(100)
    assert {"n"} == {world.server.objects["Pod", "default", name]["spec"].get("nodeName") for name in ("g-0", "h-0")}


def test_partly_bound_gang_is_undone_if_the_volumes_of_its_other_pods_are_not_bound():
    bound = pod("g-0", "g", on="n")
    world = world_of([node("n"), *storage_classes(), leaf("g", 2), bound, *with_claims([pod("g-1", "g")], DYNAMIC)], Luck(random.Random(0)))
    world.failing = frozenset({"n"})
    world.run(300)
    assert ["g-0"] == [each.pod.name for each in world.written if isinstance(each, Remove)][:1]
    assert options("place", "complete").max_bind_failures == [type(each) for each in world.written].count(SelectNode)


def test_volume_that_is_deleted_while_it_is_reserved_for_a_claim_stops_nothing():
    world = world_of([node("n", cpu="1"), *storage_classes(), *(local := [pod("other", cpu="1", on="n")])], Luck(random.Random(0)))
    world.provisioning = False
    for each in [leaf("g", 1), *with_claims([pod("g-0", "g")], DYNAMIC)]:
        world.server.put(each)
    world.run(5)
    (waiting,) = claims(world)
    made = volume("made", DYNAMIC, "n")
    made["spec"]["claimRef"] = {key: waiting["metadata"][key] for key in ("namespace", "name", "uid")}
    world.server.put(made)
    world.run(20)
    world.server.delete((VOLUME, "", "made"))
    world.server.delete(("Pod", "default", local[0]["metadata"]["name"]))
    world.provisioning = True
    world.run(200)
    assert world.server.objects["Pod", "default", "g-0"]["spec"].get("nodeName")


def test_no_volume_is_deleted():
    world = lived(world_of(gang(STATIC), Luck(random.Random(5), fails=3)), [2, 4])
    assert 5 == sum(name[0] == VOLUME for name in world.server.objects)
