"""Devices are allocated before pods are bound: wherever the process is killed, no device is given twice and no claim holds one for nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.sidecar.writes import AllocateClaim, AllocateExtended, DeleteExtended, ReleaseClaim
from tests.sampling import every
from tests.scheduler_core.builders import leaf, node, pod, racks
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice, request, resource_claim, template, wanting
from tests.scheduler_core.sidecar.device_world import DeviceWorld, allocated
from tests.scheduler_core.sidecar.gangs import is_complete, partial
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_crashes import MANY, lived, options
from tests.scheduler_core.sidecar.world import CrashError, Luck


def world_of(objects: list[Json], luck: Luck, strategy: str = "complete") -> DeviceWorld:
    return DeviceWorld(objects, options("place", strategy), luck)


def members(group: str, count: int, *entries: str) -> list[Json]:
    return [wanting(f"{group}-{number}", *entries, group=group) for number in range(count)]


def cluster(free: int = 1, **content: Any) -> list[Json]:
    """Two racks of three nodes, with *free* devices on all nodes but one; *content* are fields of the devices."""
    devices = [device(f"d{number}", **content) for number in range(free)]
    slices = [device_slice(f"{rack}-{number}", *devices) for rack in "ab" for number in range(3) if (rack, number) != ("a", 2)]
    return [*racks({"a": 3, "b": 3}, cpu="1"), device_class(), template(), *slices]


def gang(count: int = 3) -> list[Json]:
    """A gang in one rack, each pod with a claim, which only rack b can satisfy."""
    return [*cluster(), leaf("g", count, "rack"), *members("g", count)]


RESOURCE = "example.com/gpu"


def extended_gang(count: int = 3) -> list[Json]:
    """A gang in one rack whose pods request a resource that devices provide, and in rack b also a node by itself."""
    pods = [pod(f"g-{number}", "g", cpu="1") for number in range(count)]
    for each in pods:
        each["spec"]["containers"][0] |= {"name": "main"}
        each["spec"]["containers"][0]["resources"]["requests"][RESOURCE] = "1"
    objects = [each for each in cluster() if each["kind"] != "DeviceClass"]
    for each in objects:
        if each["metadata"]["name"] == "b-2":
            each["status"]["allocatable"][RESOURCE] = "4"
    return [*objects, device_class(extendedResourceName=RESOURCE), leaf("g", count, "rack"), *pods]


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_extended_claims_are_created_once_wherever_the_process_is_killed(strategy):
    world = lived(world_of(extended_gang(), Luck(random.Random(0)), strategy), [])
    writes = len(world.written)
    assert 2 == sum(isinstance(each, AllocateExtended) for each in world.written)
    for crash in range(writes + 1):
        world = lived(world_of(extended_gang(), Luck(random.Random(crash)), strategy), [crash])
        assert is_complete(world.server.objects, world.server.objects["PodGroup", "default", "g"]), crash
        assert (2, []) == (len(world.claims()), held_for_nobody(world))
        for name, each in world.server.objects.items():
            if name[0] == "Pod" and each["spec"]["nodeName"] != "b-2":
                (mapping,) = each["status"]["extendedResourceClaimStatus"]["requestMappings"]
                assert {"containerName": "main", "resourceName": RESOURCE, "requestName": "container-0-request-1"} == mapping


@MANY
@given(data=st.data())
def test_whatever_fails_extended_resources_are_not_given_twice(data):
    luck = Luck(random.Random(data.draw(st.integers(0, 2**32))), fails=data.draw(st.sampled_from([0, 3, 6])), late=data.draw(st.booleans()))
    second = [leaf("h", 2), *members("h", 2)]
    world = world_of([*extended_gang(data.draw(st.integers(1, 3))), *second], luck, data.draw(st.sampled_from(["complete", "greedy"])))
    lived(world, data.draw(st.lists(st.integers(0, 12), max_size=3)))
    assert ([], []) == (partial(world.server.objects), held_for_nobody(world))


def held_for_nobody(world: DeviceWorld) -> list[str]:
    """Claims with devices whose users have no node."""
    bound = {each["metadata"]["uid"] for name, each in world.server.objects.items() if name[0] == "Pod" and each["spec"].get("nodeName")}
    groups = {world.group_uid(each) for name, each in world.server.objects.items() if name[0] == "Pod" and each["spec"].get("nodeName")}
    return [
        claim["metadata"]["name"]
        for claim in world.claims()
        if allocated(claim) and not (bound | groups) & {each["uid"] for each in claim["status"].get("reservedFor") or ()}
    ]


def run_until(world: DeviceWorld, condition: Callable[[], object]) -> None:
    """Run *world* until *condition* holds."""
    for _ in range(500):
        if condition():
            return
        if not world.step():
            world.now += 0.1
    raise AssertionError("the condition never holds")


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_gang_is_bound_after_its_claims_wherever_the_process_is_killed(strategy):
    world = lived(world_of(gang(), Luck(random.Random(0)), strategy), [])
    writes = len(world.written)
    assert 3 == sum(isinstance(each, AllocateClaim) for each in world.written)
    for crash in range(writes + 1):
        world = lived(world_of(gang(), Luck(random.Random(crash)), strategy), [crash])
        assert is_complete(world.server.objects, world.server.objects["PodGroup", "default", "g"]), crash
        assert ({1}, []) == (set(world.bound.values()), held_for_nobody(world))


@MANY
@given(data=st.data())
def test_whatever_fails_no_gang_is_half_bound_and_no_device_is_given_twice(data):
    """Claims of the pods, of the PodGroup and of all, in any order; devices that are attached, or cannot be."""
    draw = data.draw
    conditions = {"bindsToNode": True, "bindingConditions": ["ok"], "bindingFailureConditions": ["bad"]} if draw(st.booleans()) else {}
    fabric = [device_slice(None, "f0", "f1", pool="fabric", allNodes=True), resource_claim("shared", request("gpu"))]
    objects = [*cluster(draw(st.integers(1, 2)), **conditions), *fabric]
    for group in ("g", "h"):
        count = draw(st.integers(1, 3))
        entries = draw(st.lists(st.sampled_from(["g:one", "s=shared", "of:one"]), min_size=1, max_size=3, unique=True))
        made = leaf(group, count, draw(st.sampled_from(["rack", ""])))
        if "of:one" in entries:
            made["spec"]["resourceClaims"] = [{"name": "of", "resourceClaimTemplateName": "one"}]
        objects += [made, *members(group, count, *entries)]
    luck = Luck(random.Random(draw(st.integers(0, 2**32))), fails=draw(st.sampled_from([0, 3, 6])), late=draw(st.booleans()))
    world = world_of(objects, luck, draw(st.sampled_from(["complete", "greedy"])))
    world.failing = frozenset(draw(st.sets(st.sampled_from(["a-0/d0", "b-0/d0"]))))
    lived(world, draw(st.lists(st.integers(0, 12), max_size=3)))
    # A root whose devices are never attached is retried for ever.
    world.failing = frozenset()
    world.run(600)
    assert [] == partial(world.server.objects)
    assert [] == held_for_nobody(world)
    assert set(world.bound.values()) <= {1}


def test_devices_left_by_a_crash_are_released_when_the_gang_cannot_use_them():
    objects = [*racks({"a": 1, "b": 1}, cpu="1"), device_class(), template(), device_slice("a-0", "d"), device_slice("b-0", "d")]
    world = world_of([*objects, leaf("g", 1), *members("g", 1)], Luck(random.Random(0)))
    run_until(world, lambda: any(map(allocated, world.claims())))
    (on,) = {each["pool"] for claim in world.claims() for each in allocated(claim)}
    world.start()
    world.server.put(pod("other", cpu="1", on=on))
    world.run(100)
    assert ReleaseClaim in {type(each) for each in world.written}
    assert {"a-0", "b-0"} - {on} == {world.server.objects["Pod", "default", "g-0"]["spec"].get("nodeName")}


def test_gang_that_is_not_complete_any_more_after_a_crash_holds_no_devices():
    world = world_of(
        [node("n", cpu="2"), device_class(), template(), device_slice("n", "d", "e"), leaf("g", 2), *members("g", 2)],
        Luck(random.Random(0)),
    )
    run_until(world, lambda: world.claims() and all(map(allocated, world.claims())))
    world.start()
    world.server.delete(("Pod", "default", "g-1"))
    world.run(600)
    assert [] == held_for_nobody(world)


ATTACHED = {"bindsToNode": True, "bindingConditions": ["ok"], "bindingFailureConditions": ["bad"]}
BROKEN = frozenset(f"{rack}-{number}/d0" for rack in "ab" for number in range(3))


def with_devices(objects: list[Json], **content: Any) -> list[Json]:
    """*objects* with fields of the devices that a node has."""
    slices = [each["spec"] for each in objects if each["kind"] == "ResourceSlice" and "nodeName" in each["spec"]]
    for each in slices:
        each["devices"] = [{**one, **content} for one in each["devices"]]
    return objects


def group_gang() -> list[Json]:
    """A gang whose PodGroup has a claim, beside those of its pods."""
    group = leaf("g", 3, "rack")
    group["spec"]["resourceClaims"] = [{"name": "of", "resourceClaimTemplateName": "fabric"}]
    fabric = device_slice(None, device("f0", {"x/y": 1}), pool="fabric", allNodes=True)
    wanted = {"fabric": '"x" in device.attributes', "own": '!("x" in device.attributes)'}
    templates = [template(name, request(selectors=[{"cel": {"expression": text}}])) for name, text in wanted.items()]
    return [*cluster(), fabric, *templates, group, *members("g", 3, "of:fabric", "g:own")]


GANGS: dict[str, tuple[Callable[[], list[Json]], set[type]]] = {
    "claims of pods": (gang, {AllocateClaim, ReleaseClaim}),
    "claims of a PodGroup and of pods": (group_gang, {AllocateClaim, ReleaseClaim}),
    "extended resources": (extended_gang, {AllocateExtended, DeleteExtended}),
}
"""Objects, and the kinds of writes about claims if devices cannot be allocated or attached at first."""


def lived_with_trouble(name: str, trouble: str, strategy: str, killed_at: int) -> DeviceWorld:
    """A world in which a gang gets no devices until some were taken back; its process is killed before request *killed_at* about claims."""
    make, kinds = GANGS[name]
    attached = trouble == "broken devices"
    world = world_of(with_devices(make(), **(ATTACHED if attached else {})), Luck(random.Random(0)), strategy)
    world.killed_at = killed_at
    world.failing, world.refused = (BROKEN, "") if attached else (frozenset(), "g-1")
    try:
        run_until(world, lambda: kinds <= {type(each) for each in world.written})
        world.failing, world.refused = frozenset(), ""
        world.run(60)
    except CrashError:
        world.failing, world.refused = frozenset(), ""
        world.start()
        world.run(60)
    return world


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize("trouble", ["broken devices", "a refused allocation"])
@pytest.mark.parametrize("name", GANGS)
def test_each_request_about_claims_can_be_the_last_one_of_a_process(name, trouble, strategy):
    """Allocations, releases and deletions: after each single request, the next process leaves no device to nobody, and none to two."""
    requests = lived_with_trouble(name, trouble, strategy, -1).requested
    for killed_at in every(2, range(requests)):
        world = lived_with_trouble(name, trouble, strategy, killed_at)
        assert world.killed_at < 0
        assert is_complete(world.server.objects, world.server.objects["PodGroup", "default", "g"]), killed_at
        assert ({1}, []) == (set(world.bound.values()), held_for_nobody(world)), killed_at
