"""Whatever fails, and wherever the process is killed: in the end no gang is bound in part, nobody was bound twice or evicted in vain."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.cluster.load import load
from scheduler_core.model.names import HOSTNAME
from scheduler_core.sidecar.scheduling.scheduler import SchedulerOptions
from scheduler_core.sidecar.writes import Deviations, WriteOutcome
from tests.sampling import sampled
from tests.scheduler_core.builders import composite, leaf, node, pod, pods, racks
from tests.scheduler_core.oracle.strategies import clusters
from tests.scheduler_core.sidecar.gangs import is_complete, partial, wrong_reasons
from tests.scheduler_core.sidecar.histories import in_groups
from tests.scheduler_core.sidecar.world import CrashError, Json, Luck, World

NAME = "default-scheduler"
MANY = settings(
    max_examples=sampled(80, share=10), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def options(mode: str, strategy: str = "complete") -> SchedulerOptions:
    ungate = mode == "ungate"
    return SchedulerOptions(
        scheduler_name=NAME,
        place=not ungate,
        ungate=ungate,
        preempt=mode == "preempt",
        strategy=strategy,
        deviations=Deviations.UNDO,
    )


def gated(objects: list[Json]) -> list[Json]:
    """The same cluster with our gate on what waits, and our mark on what runs."""
    for each in objects:
        if each["kind"] != "Pod":
            continue
        spec = each["spec"]
        if where := spec.get("nodeName"):
            each["metadata"]["annotations"] = {PLACEMENT_GATE: where}
            spec["nodeSelector"] = {**spec.get("nodeSelector", {}), HOSTNAME: where}
        else:
            spec["schedulingGates"] = [{"name": PLACEMENT_GATE}, *spec.get("schedulingGates", [])]
    return objects


def lived(world: World, crashes: list[int]) -> World:
    """*world* after so many crashes, each after that many writes, and long enough for everything to come to rest."""
    for budget in crashes:
        world.budget = budget
        with contextlib.suppress(CrashError):
            world.run(300)
        world.budget = -1
        world.start()
    world.run(600)
    world.luck.fails = 0
    world.run(2000)
    return world


def overcommitted(world: World) -> dict[tuple[str, int], int]:
    """How much more is on a node than there is room for, by node and resource."""
    snapshot = load(world.server.objects.values())
    used: Counter[tuple[int, int]] = Counter()
    for each in snapshot.pods:
        if each.node >= 0:
            for row, amount in each.shape.requests:
                used[each.node, row] += amount
    excess = {(snapshot.nodes.names[at], row): amount - int(snapshot.nodes.allocatable[row, at]) for (at, row), amount in used.items()}
    return {at: amount for at, amount in excess.items() if amount > 0}


def in_vain(world: World) -> list[tuple[str, str]]:
    """Victims of roots that are there and were not placed then."""
    there = {"/".join(name) for name in world.server.objects}
    return [(uid, root) for uid, root in world.evicted if root in there and root not in world.placed and not world.is_placed(root)]


@pytest.mark.parametrize("mode", ["place", "ungate", "preempt"])
@MANY
@given(data=st.data())
def test_no_gang_stays_partial_and_no_pod_is_bound_twice(mode, data):
    objects = data.draw(clusters())
    luck = Luck(
        random.Random(data.draw(st.integers(0, 2**32))),
        fails=data.draw(st.sampled_from([0, 3, 6])),
        late=data.draw(st.booleans()),
        recreates=data.draw(st.booleans()),
    )
    strategy = data.draw(st.sampled_from(["complete", "greedy"]))
    objects = in_groups(objects, luck.chance)
    world = World(gated(objects) if mode == "ungate" else objects, options(mode, strategy), luck)
    before, fails = overcommitted(world), luck.fails
    lived(world, data.draw(st.lists(st.integers(0, 12), max_size=3)))
    assert [] == partial(world.server.objects)
    assert set() <= {1} >= set(world.bound.values())
    assert {at: amount for at, amount in overcommitted(world).items() if amount > before.get(at, 0)} == {}
    assert [] == ([] if fails else in_vain(world))
    # A snapshot takes our gate for any other one.
    assert [] == (wrong_reasons(world.server.objects, world.options.cycle) if mode != "ungate" else [])


@MANY
@given(data=st.data())
def test_without_the_option_no_pod_that_another_scheduler_binds_is_deleted(data):
    luck = Luck(random.Random(data.draw(st.integers(0, 2**32))), fails=data.draw(st.sampled_from([0, 3])), late=data.draw(st.booleans()))
    objects = gated(in_groups(data.draw(clusters()), luck.chance))
    world = World(objects, dataclasses.replace(options("ungate"), deviations=Deviations.REPORT), luck)
    lived(world, data.draw(st.lists(st.integers(0, 12), max_size=3)))
    assert ([], set()) == (world.removed, {*world.bound.values()} - {1})


def _tree() -> list[Json]:
    below = [leaf(name, 3, "rack", "top", priority=10) for name in ("left", "right")]
    members = [each for name in ("left", "right") for each in pods(name, 3, priority=10)]
    return [*racks({"a": 3, "b": 3}, cpu="1"), composite("top", 2, "", priority=10), *below, *members]


def _preemptor() -> list[Json]:
    low = [pod(f"low-{number}", on=f"a-{number}", priority=0) for number in range(3)]
    return [*racks({"a": 3}, cpu="1"), *low, leaf("g", 3, "rack", priority=10), *pods("g", 3, priority=10)]


@pytest.mark.parametrize(
    ("objects", "mode", "want"),
    [
        pytest.param(_tree, "place", ("top",), id="a tree"),
        pytest.param(lambda: gated(_tree()), "ungate", ("top",), id="a tree that is opened"),
        pytest.param(_preemptor, "preempt", ("g",), id="a gang that makes others leave"),
    ],
)
def test_root_that_fits_is_placed_whole_wherever_the_process_is_killed(objects, mode, want):
    world = lived(World(objects(), options(mode), Luck(random.Random(0))), [])
    writes = len(world.written)
    assert writes > 6
    for crash in range(writes + 1):
        world = lived(World(objects(), options(mode), Luck(random.Random(crash))), [crash])
        placed = [each for each in world.server.objects.values() if each["metadata"]["name"] in want]
        assert all(is_complete(world.server.objects, each) for each in placed)
        assert ({1}, []) == (set(world.bound.values()), in_vain(world))
        assert all(each["status"]["conditions"][-1]["status"] == "True" for each in placed)


def test_gang_that_loses_its_resources_in_a_crash_is_undone_whole():
    objects = [*racks({"a": 3}, cpu="1"), leaf("g", 3, "rack"), *pods("g", 3)]
    for crash in range(1, 3):
        world = World(objects, options("place"), Luck(random.Random(1)))
        world.budget = crash
        with pytest.raises(CrashError):
            world.run(300)
        free = {name[2] for name in world.server.objects if name[0] == "Node"} - {
            each["spec"].get("nodeName") for each in world.server.objects.values()
        }
        world.server.put(pod("thief", on=min(free)))
        world.budget = -1
        world.start()
        world.run(1000)
        assert crash == len(world.removed)
        assert [] == partial(world.server.objects)


def test_nothing_is_written_for_a_cluster_at_rest():
    world = lived(World(_tree(), options("place"), Luck(random.Random(0))), [])
    before = len(world.written)
    world.start()
    world.run(3000)
    assert before == len(world.written)


def test_write_that_fails_in_every_way_is_made_in_the_end():
    chance = random.Random(3)
    world = lived(World(_tree(), options("place"), Luck(chance, fails=2, late=True)), [])
    assert [] == partial(world.server.objects)
    assert WriteOutcome.DONE is world.carry_out(world.written[0])


def test_node_that_is_gone_with_what_it_ran_leaves_no_gang_partial():
    world = World([node("n1", cpu="2"), node("n2", cpu="2"), leaf("g", 3), *pods("g", 3)], options("place"), Luck(random.Random(0)))
    world.budget = 2
    with pytest.raises(CrashError):
        world.run(300)
    (first, *_) = [each["spec"]["nodeName"] for each in world.server.objects.values() if each["spec"].get("nodeName")]
    for name, each in list(world.server.objects.items()):
        if each["spec"].get("nodeName") == first or name == ("Node", "", first):
            world.server.delete(name)
    world.budget = -1
    world.start()
    world.run(1000)
    assert [] == partial(world.server.objects)
