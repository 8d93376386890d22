"""Roots that are deleted, also while the process is down: no claim stays annotated, or holds devices, for pods that no longer exist."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scheduler_core.sidecar.cache.cache import RESOURCES, Cache
from scheduler_core.sidecar.scheduling.scheduler import Scheduler
from scheduler_core.sidecar.writes import AllocateClaim, ClearSelectedNode, ReleaseClaim, SelectNode, WriteOutcome
from tests.sampling import every
from tests.scheduler_core.builders import composite, leaf, node, pod, pods, racks
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice, request, resource_claim, wanting
from tests.scheduler_core.sidecar.device_world import allocated
from tests.scheduler_core.sidecar.gangs import is_complete, partial
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_crashes import in_vain, lived, options
from tests.scheduler_core.sidecar.test_devices_crashes import ATTACHED, extended_gang, gang, group_gang, held_for_nobody, run_until
from tests.scheduler_core.sidecar.test_devices_crashes import world_of as world_of_devices
from tests.scheduler_core.sidecar.test_volumes_crashes import annotated, bound_twice
from tests.scheduler_core.sidecar.volume_world import (
    CLAIM,
    DYNAMIC,
    STATIC,
    VOLUME,
    VolumeWorld,
    claim,
    selected_by,
    storage_classes,
    volume,
    with_claims,
)
from tests.scheduler_core.sidecar.world import CrashError, Luck, World

Key = tuple[str, str, str]
GROUP: Key = ("PodGroup", "default", "g")
POD: Key = ("Pod", "default", "g-0")


def preempting(storage: str) -> list[Json]:
    """A gang that evicts the pods of all nodes."""
    low = [pod(f"low-{number}", on=f"a-{number}", priority=0) for number in range(3)]
    local = [volume(f"pv-{number}", STATIC, f"a-{number}") for number in range(3)]
    own = with_claims(pods("g", 3, priority=10), storage)
    return [*racks({"a": 3}, cpu="1"), *storage_classes(), *local, *low, leaf("g", 3, "rack", priority=10), *own]


def tree(storage: str) -> list[Json]:
    """Two groups under one parent."""
    local = [volume(f"pv-{name}", STATIC, name) for name in ("a-0", "a-1", "b-0", "b-1")]
    below = [each for name in ("l", "r") for each in (leaf(name, 1, "rack", "g"), *with_claims(pods(name, 1), storage))]
    return [*racks({"a": 2, "b": 2}, cpu="1"), *storage_classes(), *local, composite("g", 2, ""), *below]


def mounting(name: str, *claims: str, group: str = "g", **more: str) -> Json:
    made = pod(name, group, **more)
    made["spec"]["volumes"] = [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": each}} for number, each in enumerate(claims)]
    return made


def sharing(storage: str) -> list[Json]:
    """A gang whose pods use one claim."""
    local = [volume("pv-a", STATIC, "a-0"), volume("pv-b", STATIC, "b-0")]
    members = [mounting(f"g-{number}", "shared") for number in range(2)]
    return [*racks({"a": 1, "b": 1}, cpu="4"), *storage_classes(), *local, leaf("g", 2), *members, claim("shared", storage)]


def mixed(_: str) -> list[Json]:
    """A gang whose pods have a local volume and one that is provisioned."""
    local = [volume(f"pv-{name}", STATIC, name) for name in ("a-0", "b-0", "b-1", "b-2")]
    claims = [claim(f"{storage}-{number}", storage) for number in range(3) for storage in (STATIC, DYNAMIC)]
    members = [mounting(f"g-{number}", f"{STATIC}-{number}", f"{DYNAMIC}-{number}") for number in range(3)]
    return [*racks({"a": 3, "b": 3}, cpu="1"), *storage_classes(), *local, leaf("g", 3, "rack"), *members, *claims]


MAKES: dict[str, tuple[Callable[[str], list[Json]], Sequence[str]]] = {
    "preempting": (preempting, (STATIC, DYNAMIC)),
    "tree": (tree, (STATIC, DYNAMIC)),
    "sharing": (sharing, (STATIC, DYNAMIC)),
    "mixed": (mixed, (DYNAMIC,)),
}
CASES = [(name, storage) for name, (_, storages) in MAKES.items() for storage in storages]


def new_world(name: str, storage: str, seed: int, strategy: str = "complete") -> VolumeWorld:
    mode = "preempt" if name == "preempting" else "place"
    return VolumeWorld(copy.deepcopy(MAKES[name][0](storage)), options(mode, strategy), Luck(random.Random(seed)))


def pending(world: World) -> list[Key]:
    """The groups, and the pods that belong to one."""
    return [
        name
        for name, each in world.server.objects.items()
        if name[0] in ("PodGroup", "CompositePodGroup") or (name[0] == "Pod" and each["spec"].get("schedulingGroup"))
    ]


def rest(world: World, seconds: float) -> None:
    """Run *world*, and let its controllers finish."""
    world.run(seconds)
    for _ in range(20):
        world.step()


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize(("name", "storage"), CASES)
def test_root_is_bound_with_all_its_volumes_wherever_the_process_is_killed(name, storage, strategy):
    writes = len(lived(new_world(name, storage, 0, strategy), []).written)
    for crash in every(3, range(writes + 1)):
        world = lived(new_world(name, storage, crash, strategy), [crash])
        root = next(each for key, each in world.server.objects.items() if key[0] != "Pod" and key[2] == "g")
        assert is_complete(world.server.objects, root), crash
        assert ({1}, [], [], []) == (set(world.bound.values()), bound_twice(world), annotated(world), in_vain(world)), crash


@pytest.mark.parametrize("provisioning", [True, False])
@pytest.mark.parametrize(("name", "storage"), CASES)
def test_root_that_is_deleted_while_the_process_is_down_leaves_no_claim_annotated(name, storage, provisioning):
    writes = len(lived(new_world(name, storage, 0), []).written)
    for crash in every(3, range(writes + 1)):
        world = new_world(name, storage, crash)
        world.provisioning, world.budget = provisioning, crash
        with contextlib.suppress(CrashError):
            world.run(300)
        world.budget = -1
        for key in pending(world)[:: crash % 2 + 1]:
            world.server.delete(key)
        world.start()
        rest(world, 3000)
        assert [] == annotated(world), crash
        world.provisioning = True
        world.run(600)
        assert ([], []) == (partial(world.server.objects), bound_twice(world))


def one_pod(*more: Json) -> list[Json]:
    return [node("n"), *storage_classes(), claim("c", DYNAMIC), mounting("g-0", "c"), leaf("g", 1), *more]


def waiting_world(objects: list[Json], **luck: int) -> VolumeWorld:
    """A world whose claim is annotated, and whose provisioner does nothing."""
    world = VolumeWorld(objects, options("place"), Luck(random.Random(0), **luck))
    world.provisioning = False
    world.run(5)
    assert annotated(world)
    return world


@pytest.mark.parametrize("seconds", [0, 1])
@pytest.mark.parametrize("order", [[GROUP, POD], [POD, GROUP], [POD], [GROUP]], ids=str)
def test_deletion_while_volumes_are_bound_takes_the_selected_node_back(order, seconds):
    world = waiting_world(one_pod())
    for each in order:
        world.server.delete(each)
        world.run(seconds)
    world.run(100)
    assert [] == annotated(world)


def test_deletion_of_a_single_pod_takes_the_selected_node_back():
    world = waiting_world([node("n"), *storage_classes(), claim("c", DYNAMIC), mounting("g-0", "c", group="")])
    world.server.delete(POD)
    world.run(100)
    assert [] == annotated(world)


def test_selected_node_of_pods_without_their_group_is_taken_back_after_a_restart():
    world = waiting_world(one_pod())
    world.server.delete(GROUP)
    world.start()
    world.run(100)
    assert [] == annotated(world)


@pytest.mark.parametrize("user", ["other", ""])
def test_selected_node_of_a_claim_that_another_scheduler_uses_stays(user):
    world = waiting_world(one_pod())
    if user:
        world.server.put(mounting("x", "c", group="") | {"spec": {**mounting("x", "c")["spec"], "schedulerName": user}})
    else:
        found = copy.deepcopy(world.server.objects[CLAIM, "default", "c"])
        found["metadata"]["managedFields"] = selected_by("kube-scheduler")
        world.server.put(found)
    for each in (GROUP, POD):
        world.server.delete(each)
    world.start()
    world.run(1000)
    assert ["c"] == annotated(world)


def test_selected_node_of_a_claim_stays_while_its_volume_is_reserved():
    world = waiting_world(one_pod())
    world.luck.chance = random.Random(1)
    made = volume("made", DYNAMIC, "n")
    made["spec"]["claimRef"] = {"namespace": "default", "name": "c", "uid": "another"}
    world.server.put(made)
    for each in (GROUP, POD):
        world.server.delete(each)
    world.start()
    world.run(1000)
    assert ["c"] == annotated(world)
    assert ClearSelectedNode not in {type(each) for each in world.written}


@pytest.mark.parametrize("reserved", [True, False])
def test_selected_node_is_taken_back_only_once_volumes_are_listed(reserved):
    """Claims and volumes are listed by different requests."""
    world = waiting_world(one_pod())
    for each in (GROUP, POD):
        world.server.delete(each)
    if reserved:
        made = volume("made", DYNAMIC, "n")
        made["spec"]["claimRef"] = {"namespace": "default", "name": "c", "uid": "another"}
        world.server.put(made)
    world.start()
    world.store = Cache()
    world.scheduler = Scheduler(world.store, world.options)
    for kind in RESOURCES:
        if kind != VOLUME:
            world.store.replace(kind, world.server.listed(kind), str(world.server.version))
    world.luck.chance = random.Random(1)
    world.run(10)
    assert ["c"] == annotated(world)
    world.store.replace(VOLUME, world.server.listed(VOLUME), str(world.server.version))
    world.run(10)
    assert (["c"] if reserved else []) == annotated(world)


def test_selected_node_is_taken_back_again_after_the_write_failed():
    world = waiting_world(one_pod())
    lost: list[ClearSelectedNode] = []
    world.lose = lost.append  # type: ignore[method-assign, assignment]
    outcomes = iter([WriteOutcome.FAILED] * 3)
    carry_out = world.carry_out
    world.carry_out = lambda write: next(outcomes, None) or carry_out(write)  # type: ignore[method-assign]
    for each in (POD, GROUP):
        world.server.delete(each)
    world.run(100)
    assert [] == annotated(world)


def test_root_that_does_not_fit_leaves_the_selected_node_of_a_claim_that_it_shares():
    """The other user of the claim waits for the volume there."""
    second = [leaf("h", 1), mounting("h-0", "c", group="h", cpu="1")]
    world = VolumeWorld([each for each in one_pod() if each["kind"] != "Node"], options("place"), Luck(random.Random(0)))
    world.provisioning = False
    world.server.put(node("n", cpu="1"))
    world.run(5)
    for each in second:
        world.server.put(each)
    world.run(500)
    assert (["c"], 1) == (annotated(world), sum(isinstance(each, SelectNode) for each in world.written))
    assert ClearSelectedNode not in {type(each) for each in world.written}


def with_named_claims(**content: Any) -> list[Json]:
    """A gang whose pods have claims of their own and one that they share, none of which is made for a pod."""
    claims = [resource_claim(name, request("gpu")) for name in ("c0", "c1", "shared")]
    members = [wanting(f"g-{number}", f"g=c{number}", "s=shared", group="g") for number in range(2)]
    devices = [device(name, **content) for name in "def"]
    return [node("n", cpu="4"), device_class(), device_slice("n", *devices), *claims, leaf("g", 2), *members]


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("make", [gang, group_gang, extended_gang, with_named_claims])
def test_deleted_gang_holds_no_devices(make, down):
    """Also if only the group or only its pods are deleted; the resourceclaim controller releases what was reserved for deleted objects."""
    count = len(lived(world_of_devices(make(), Luck(random.Random(0))), []).written)
    for written in every(2, range(count + 1)):
        # A claim of a PodGroup belongs to it until it is deleted.
        for part in ("PodGroup", "", *(() if make is group_gang else ("Pod",))):
            world = world_of_devices(make(), Luck(random.Random(written)))
            run_until(world, lambda world=world, written=written: len(world.written) >= written)
            # Pods can be deleted before the group is recorded as scheduled.
            world.check_commit = world.check_bound = lambda each: None  # type: ignore[method-assign, assignment]
            for key in pending(world):
                if part in ("", key[0]):
                    world.server.delete(key)
            if down:
                world.start()
            rest(world, 600)
            assert ([], []) == (held_for_nobody(world), partial(world.server.objects)), (written, part)


def test_devices_of_pods_whose_group_is_deleted_are_released_at_once():
    world = world_of_devices(with_named_claims(**ATTACHED), Luck(random.Random(0)))
    world.drives = False
    run_until(world, lambda: sum(isinstance(each, AllocateClaim) for each in world.written) == 3)
    world.server.delete(GROUP)
    world.run(10)
    assert (3, []) == (sum(isinstance(each, ReleaseClaim) for each in world.written), [*filter(allocated, world.claims())])


def test_pod_without_a_claim_after_a_restart_releases_its_other_devices():
    world = world_of_devices(with_named_claims(**ATTACHED), Luck(random.Random(0)))
    world.drives = False
    run_until(world, lambda: sum(isinstance(each, AllocateClaim) for each in world.written) == 3)
    world.server.delete(("ResourceClaim", "default", "shared"))
    world.start()
    world.run(600)
    assert ["c0", "c1"] == sorted(each["metadata"]["name"] for each in world.claims())
    assert [] == held_for_nobody(world)


def test_devices_of_a_group_deleted_during_a_restart_are_released():
    """The new process is the leader before it has listed anything."""
    world = world_of_devices(with_named_claims(**ATTACHED), Luck(random.Random(0)))
    world.drives = False
    run_until(world, lambda: sum(isinstance(each, AllocateClaim) for each in world.written) == 3)
    world.server.delete(GROUP)
    world.start()
    world.store = Cache()
    world.scheduler = Scheduler(world.store, world.options)
    world.server.fill(world.store)
    world.run(10)
    assert (3, []) == (sum(isinstance(each, ReleaseClaim) for each in world.written), [*filter(allocated, world.claims())])
