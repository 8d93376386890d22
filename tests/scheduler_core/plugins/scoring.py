"""Scores of kube-scheduler's NodeResources plugins in whole numbers, one node at a time, as Go computes them; and random strategies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from scheduler_core.model.scheduler_profile import (
    CAPACITY_RATIO,
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    SchedulerProfile,
    ScoringStrategy,
)

GPU = "example.com/gpu"
EXTENDED = frozenset({GPU})
Amounts = Mapping[str, int]


def fit_score(strategy: ScoringStrategy, allocatable: Amounts, scored: Amounts, pod: Amounts) -> int:
    """Return the score of a node with *scored* taken, as scores count it, for a pod that adds *pod*."""
    total = weights = 0
    for name, weight in strategy.resources:
        capacity = allocatable.get(name, 0)
        if not capacity or (name in EXTENDED and not pod.get(name, 0)):
            continue
        part = _part(strategy, scored.get(name, 0) + pod.get(name, 0), capacity)
        if strategy.kind == CAPACITY_RATIO and not part:
            continue
        total += part * weight
        weights += weight
    if not weights:
        return 0
    # math.Round rounds halves away from zero.
    return math.floor(total / weights + 0.5) if strategy.kind == CAPACITY_RATIO else total // weights


def _part(strategy: ScoringStrategy, requested: int, capacity: int) -> int:
    if strategy.kind == LEAST_ALLOCATED:
        return 0 if requested > capacity else (capacity - requested) * 100 // capacity
    if strategy.kind == MOST_ALLOCATED:
        return min(requested, capacity) * 100 // capacity
    return on_curve(strategy.points, 100 if requested > capacity else requested * 100 // capacity)


def on_curve(points: Sequence[tuple[int, int]], use: int) -> int:
    for index, (end, score) in enumerate(points):
        if use <= end:
            if not index:
                return 10 * score
            begin, before = points[index - 1]
            return 10 * before + math.trunc((10 * score - 10 * before) * (use - begin) / (end - begin))
    return 10 * points[-1][1]


def balance_score(resources: Sequence[str], capacity: Amounts, used: Amounts, pod: Amounts) -> int:
    """Return the score of a node where pods request *used* for a pod that requests *pod*."""
    if not any(pod.get(name, 0) for name in resources):
        return 0
    names = [name for name in resources if capacity.get(name, 0) and (name not in EXTENDED or pod.get(name, 0))]
    after = _evenness([min(1.0, (used.get(name, 0) + pod.get(name, 0)) / capacity[name]) for name in names])
    return 50 + (50 + after - _evenness([min(1.0, used.get(name, 0) / capacity[name]) for name in names])) // 2


def _evenness(shares: list[float]) -> int:
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        total = 0.0
        for share in shares:
            total += share
        mean, squares = total / len(shares), 0.0
        for share in shares:
            squares += (share - mean) * (share - mean)
        deviation = math.sqrt(squares / len(shares))
    return int((1 - deviation) * 100)


RESOURCES = ("cpu", "memory", "ephemeral-storage", GPU)


@st.composite
def strategies(draw: st.DrawFn) -> ScoringStrategy:
    """Draw a scoring strategy."""
    kind = draw(st.sampled_from([LEAST_ALLOCATED, MOST_ALLOCATED, MOST_ALLOCATED, CAPACITY_RATIO]))
    names = draw(st.one_of(st.just(["cpu", "memory"]), st.lists(st.sampled_from(RESOURCES), min_size=1, max_size=5)))
    resources = tuple((name, draw(st.sampled_from([1, 1, 2, 5, 100]))) for name in names)
    points = ()
    if kind == CAPACITY_RATIO:
        uses = sorted(draw(st.sets(st.integers(0, 100), min_size=1, max_size=4)))
        points = tuple((use, draw(st.integers(0, 10))) for use in uses)
    return ScoringStrategy(kind, resources, points)


@st.composite
def profiles(draw: st.DrawFn) -> SchedulerProfile:
    """Draw a profile with a scoring strategy, resources to balance and weights."""
    weight = st.sampled_from([0, 1, 1, 2, 7, 1000, 2**31 - 1])
    names = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration", "NodeAffinity")
    weights = tuple((name, draw(weight)) for name in draw(st.sets(st.sampled_from(names), max_size=4)))
    placing = tuple((name, draw(weight)) for name in draw(st.sets(st.sampled_from(("NodeResourcesFit", "PodGroupPodsCount")))))
    balanced = draw(st.one_of(st.just(("cpu", "memory")), st.lists(st.sampled_from(RESOURCES), min_size=1, unique=True).map(tuple)))
    return SchedulerProfile(weights=weights, placement_weights=placing, strategy=draw(strategies()), balanced=balanced)
