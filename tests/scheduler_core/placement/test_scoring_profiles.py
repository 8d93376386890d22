"""Every fast path with random scoring strategies and weights, compared with placing pod by pod and with scores in whole numbers."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.nodes import Taint
from scheduler_core.cluster.node_table import scored_rows
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.scheduler_profile import MOST_ALLOCATED, SchedulerProfile, ScoringStrategy
from scheduler_core.placement.greedy import Greedy, assigned
from scheduler_core.placement.placement_request import Signatures
from tests.sampling import sampled
from tests.scheduler_core.placement.small_clusters import composite, gang, pods, state
from tests.scheduler_core.plugins.scoring import GPU, RESOURCES, balance_score, fit_score, profiles

GIB = 2**30
SOFT = Taint("soft", "PreferNoSchedule")
KINDS = ((4000, 16 * GIB, 0, 0), (8000, 16 * GIB, 100 * GIB, 0), (16_000, 64 * GIB, 0, 8), (8000, 32 * GIB, 100 * GIB, 4))
"""Allocatable of nodes: cpu, memory, ephemeral storage and GPUs."""
NEEDS = ((1000, GIB, 0, 0), (500, 3 * GIB, 0, 1), (0, 0, 0, 0), (250, 0, GIB, 0), (2000, 8 * GIB, 0, 2), (0, GIB, 0, 1))
_serials = itertools.count()


def table(kinds: Sequence[tuple[int, bool]], racks: int, profile: SchedulerProfile) -> NodeTable:
    """Return nodes n000, ... of the kinds (index, tainted), spread over *racks*."""
    allocatable = np.array([[*KINDS[kind][:3], 5, KINDS[kind][3]] for kind, _ in kinds], dtype=np.int64).reshape(-1, 5).T
    resources = ("cpu", "memory", "ephemeral-storage", "pods", GPU)
    return NodeTable(
        [f"n{number:03d}" for number in range(len(kinds))],
        [{"rack": f"r{number % racks:02d}"} for number in range(len(kinds))],
        [(SOFT,) if soft else () for _, soft in kinds],
        [False] * len(kinds),
        resources,
        allocatable,
        scored=scored_rows({name: row for row, name in enumerate(resources)}, profile.scored_resources),
    )


def shapes(profile: SchedulerProfile) -> list[PodShape]:
    found = []
    for cpu, memory, storage, gpus in NEEDS:
        amounts = ((0, cpu), (1, memory), (2, storage), (3, 1), (4, gpus))
        requests = tuple((row, amount) for row, amount in amounts if amount)
        found.append(PodShape(next(_serials), requests, (cpu or 100, memory or 200 * 2**20), profile=profile))
    return found


def placed(entity: Entity, nodes: NodeTable, running: tuple[PodRecord, ...], *, one_by_one: bool) -> tuple[object, ...]:
    """Return status, message, domain and node of each pod."""
    here = state(nodes, running)
    greedy = Greedy(here, Signatures(lambda _: True, one_by_one=True)) if one_by_one else Greedy(here)
    request = greedy.request(entity)
    outcome = greedy.place(request)
    pairs = [(pod.key, node) for pod, node in assigned(request, outcome)] if outcome.success else []
    return outcome.status, outcome.reason, outcome.placement.value, pairs


@dataclasses.dataclass(frozen=True)
class Scene:
    profile: SchedulerProfile
    nodes: NodeTable
    running: tuple[PodRecord, ...]
    waiting: list[PodShape]


@st.composite
def scenes(draw: st.DrawFn, *, racks: int = 3, most: int = 10) -> Scene:
    profile = draw(profiles())
    known = shapes(profile)
    kinds = draw(st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.booleans()), min_size=racks, max_size=racks + most))
    nodes = table(kinds, racks, profile)
    loads = draw(st.lists(st.tuples(st.integers(0, len(kinds) - 1), st.sampled_from(known)), max_size=8))
    running = tuple(each for number, (node, what) in enumerate(loads) for each in pods(f"old{number}", (what,), node))
    return Scene(profile, nodes, running, known)


@settings(deadline=None, max_examples=sampled(300))
@given(scenes(), st.data())
def test_runs_of_any_shapes_are_placed_as_pod_by_pod(scene, data):
    few = data.draw(st.lists(st.sampled_from(scene.waiting), min_size=1, max_size=3))
    wanted = data.draw(st.one_of(st.lists(st.sampled_from(few), min_size=1, max_size=24), st.just([few[0]] * 20)))
    key = data.draw(st.sampled_from(["", "rack"]))
    entity = gang("g", wanted, data.draw(st.integers(1, len(wanted))), key)

    fast, slow = (placed(entity, scene.nodes, scene.running, one_by_one=each) for each in (False, True))
    assert slow == fast


@settings(deadline=None, max_examples=sampled(120))
@given(scenes(racks=9, most=24), st.data())
def test_equal_pods_are_placed_in_many_racks_at_once_as_pod_by_pod(scene, data):
    what = data.draw(st.sampled_from(scene.waiting))
    leaf = gang("g", [what] * data.draw(st.integers(1, 9)), 1, "rack")
    entity = data.draw(st.sampled_from([leaf, composite("c", [leaf, gang("h", [what] * 3, 2, "rack")], 1, "")]))

    fast, slow = (placed(entity, scene.nodes, scene.running, one_by_one=each) for each in (False, True))
    assert slow == fast


def brute(scene: Scene, wanted: Sequence[PodShape]) -> list[int]:
    """Return the node of each pod, the best by scores in whole numbers, of equal ones the first; -1 if none fits."""
    rows, names = (0, 1, 2, 4), scene.nodes.names
    allocatable = scene.nodes.allocatable
    used, scored = np.zeros_like(allocatable), np.zeros((2, len(names)), dtype=np.int64)

    def take(what: PodShape, node: int) -> None:
        for row, amount in what.requests:
            used[row, node] += amount
        scored[:, node] += what.scored

    for pod in scene.running:
        take(pod.shape, pod.node)
    chosen = []
    for what in wanted:
        able = [
            node for node in range(len(names)) if all(used[row, node] + amount <= allocatable[row, node] for row, amount in what.requests)
        ]
        # Nodes with a soft taint score 0 and all others 100, unless all have the same.
        tainted = {node for node in able if scene.nodes.taints[node]}
        totals = {}
        for node in able:
            requests = dict(what.requests)
            asked = {name: requests.get(row, 0) for name, row in zip(RESOURCES, rows, strict=True)}
            capacity = {name: int(allocatable[row, node]) for name, row in zip(RESOURCES, rows, strict=True)}
            in_use = {name: int(used[row, node]) for name, row in zip(RESOURCES, rows, strict=True)}
            counted = in_use | {"cpu": int(scored[0, node]), "memory": int(scored[1, node])}
            fit = fit_score(scene.profile.strategy, capacity, counted, asked | {"cpu": what.scored[0], "memory": what.scored[1]})
            balance = balance_score(scene.profile.balanced, capacity, in_use, asked)
            totals[node] = scene.profile.weight("NodeResourcesFit", 1) * fit
            totals[node] += scene.profile.weight("NodeResourcesBalancedAllocation", 1) * balance
            totals[node] += scene.profile.weight("TaintToleration", 3) * (0 if node in tainted else 100)
        chosen.append(min(able, key=lambda node: (-totals[node], node)) if able else -1)
        if able:
            take(what, chosen[-1])
    return chosen


@settings(deadline=None, max_examples=sampled(200))
@given(scenes(), st.data())
def test_pods_are_placed_on_the_best_node_by_scores_in_whole_numbers(scene, data):
    wanted = data.draw(st.one_of(st.lists(st.sampled_from(scene.waiting[:3]), min_size=1, max_size=14), st.just([scene.waiting[1]] * 9)))
    want = brute(scene, wanted)
    entity = gang("g", wanted, max(1, sum(node >= 0 for node in want)))
    found = dict(placed(entity, scene.nodes, scene.running, one_by_one=False)[3])

    if any(node >= 0 for node in want):
        assert [node for node in want if node >= 0] == [found[f"d/g-{number}"] for number, node in enumerate(want) if node >= 0]


PACKING = SchedulerProfile(strategy=ScoringStrategy(MOST_ALLOCATED, ((GPU, 5), ("cpu", 1), ("memory", 1))), balanced=("cpu",))


def test_gpus_are_packed():
    nodes = table([(0, False), (1, False), (2, False), (3, False)], 1, PACKING)
    (_, _, _, pairs) = placed(gang("g", [shapes(PACKING)[1]] * 4, 4), nodes, (), one_by_one=False)

    # A GPU is a larger share of the node with four.
    assert {nodes.names[node] for _, node in pairs} == {"n003"}


def test_a_placement_is_scored_by_the_resources_of_the_strategy():
    nodes = table([(2, False), (3, False)] * 4, 2, PACKING)
    known = shapes(PACKING)
    # The rack of the smaller nodes has fewer GPUs, so that more of them are taken.
    assert placed(gang("g", [known[1]] * 2, 2, "rack"), nodes, (), one_by_one=False)[2] == "r01"
    # The other rack has more of its GPUs in use.
    running = tuple(each for at in (0, 2, 4, 6) for each in pods(f"o{at}", [known[4]] * 2, at))
    assert placed(gang("g", [known[1]] * 2, 2, "rack"), nodes, running, one_by_one=False)[2] == "r00"
