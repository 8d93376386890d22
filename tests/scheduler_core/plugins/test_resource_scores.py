"""Scores by any strategy compared with the same in whole numbers; over arrays and for one node."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.nodes import ScoredRows
from scheduler_core.model.pods import PodShape
from scheduler_core.model.scheduler_profile import CAPACITY_RATIO, LEAST_ALLOCATED, MOST_ALLOCATED, SchedulerProfile, ScoringStrategy
from scheduler_core.plugins.noderesources import NodeResources
from scheduler_core.plugins.resource_scores import curve
from tests.sampling import sampled
from tests.scheduler_core.plugins.scoring import GPU, RESOURCES, balance_score, fit_score, on_curve, profiles

GIB = 2**30
ROWS = ScoredRows(np.array([0, 1, 2, 4]), {name: at for at, name in enumerate(RESOURCES)})
SIZES = {"cpu": (0, 1000, 4000, 96_000), "memory": (0, GIB, 7 * GIB + 1), "ephemeral-storage": (0, 100 * GIB), GPU: (0, 4, 8)}
PARTS = {"cpu": (0, 1, 250, 1000), "memory": (0, 1, GIB), "ephemeral-storage": (0, GIB), GPU: (0, 1, 3)}

node = st.fixed_dictionaries({name: st.sampled_from(sizes) for name, sizes in SIZES.items()})
part = st.fixed_dictionaries({name: st.sampled_from(sizes) for name, sizes in PARTS.items()})


def shape(amounts: dict[str, int], profile: SchedulerProfile) -> PodShape:
    requests = tuple((int(row), amounts[name]) for name, row in zip(RESOURCES, (0, 1, 2, 4), strict=True) if amounts[name])
    scored = amounts["cpu"] or 100, amounts["memory"] or 200 * 2**20
    return PodShape(0, tuple(sorted((*requests, (3, 1)))), scored, profile=profile)


def expected(
    profile: SchedulerProfile, capacity: dict[str, int], taken: dict[str, int], what: PodShape, pod: dict[str, int], number: int
) -> int:
    """Return the score for the pod *number*, from 0, if *taken* is as much as scores count."""
    counted = pod | {"cpu": what.scored[0], "memory": what.scored[1]}
    scored = {name: taken[name] + number * counted[name] for name in RESOURCES}
    used = {name: taken[name] + number * pod[name] for name in RESOURCES}
    fit = fit_score(profile.strategy, capacity, scored, counted | {GPU: pod[GPU]})
    balance = balance_score(profile.balanced, capacity, used, pod)
    return profile.weight("NodeResourcesFit", 1) * fit + profile.weight("NodeResourcesBalancedAllocation", 1) * balance


@settings(deadline=None, max_examples=sampled(400))
@given(profiles(), part, st.lists(st.tuples(node, part, st.integers(0, 5)), min_size=1, max_size=5), st.integers(1, 5))
def test_scores_are_those_of_whole_numbers_over_arrays_and_for_one_node(profile, pod, nodes, depth):
    what = shape(pod, profile)
    local = NodeResources(what, ROWS)
    capacity = np.array([[each[name] for each, _, _ in nodes] for name in RESOURCES], dtype=float)
    used = np.array([[times * taken[name] for _, taken, times in nodes] for name in RESOURCES], dtype=np.int64)
    ladder = local.ladder(capacity, used[:2], used, depth)

    for at, (size, taken, times) in enumerate(nodes):
        before = {name: times * amount for name, amount in taken.items()}
        want = [expected(profile, size, before, what, pod, number) for number in range(depth)]
        assert want == ladder[at].tolist()
        counts, requests = used[:2, at].tolist(), used[:, at].tolist()
        assert want[0] == local.score(capacity[:, at].tolist(), counts, requests)
    assert ladder.tolist() == local.ladder(capacity, used[:2], used, depth, whole=bool(capacity[:2].all())).tolist()


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=6, unique_by=lambda point: point[0]))
def test_a_curve_is_linear_between_its_points_and_truncated(points):
    points.sort()

    assert [on_curve(points, use) for use in range(101)] == list(curve(points))


@pytest.mark.parametrize(
    ("strategy", "want"),
    [
        pytest.param(ScoringStrategy(LEAST_ALLOCATED), [75, 50, 25, 0], id="the emptiest"),
        pytest.param(ScoringStrategy(MOST_ALLOCATED), [25, 50, 75, 100], id="the fullest"),
        pytest.param(ScoringStrategy(MOST_ALLOCATED, (("cpu", 3), ("memory", 1))), [21, 43, 65, 87], id="weights"),
        pytest.param(ScoringStrategy(CAPACITY_RATIO, points=((0, 0), (50, 10), (100, 0))), [50, 100, 50, 0], id="a peak in the middle"),
        pytest.param(ScoringStrategy(CAPACITY_RATIO, points=((0, 10), (30, 0))), [17, 0, 0, 0], id="a slope that truncates upwards"),
    ],
)
def test_examples_worked_out_by_hand(strategy, want):
    pod = {"cpu": 1000, "memory": GIB, "ephemeral-storage": 0, GPU: 0}
    size = {"cpu": 4000, "memory": (8 if len({*strategy.resources}) == 2 and strategy.resources[0][1] == 3 else 4) * GIB}
    profile = SchedulerProfile(weights=(("NodeResourcesBalancedAllocation", 0),), strategy=strategy)
    capacity = np.array([[size["cpu"]], [size["memory"]]], dtype=float)
    nothing = np.zeros((2, 1), dtype=np.int64)

    assert want == NodeResources(shape(pod, profile)).ladder(capacity, nothing, nothing, 4)[0].tolist()


def test_a_resource_with_score_0_does_not_count_in_the_mean_of_a_ratio():
    strategy = ScoringStrategy(CAPACITY_RATIO, (("cpu", 1), ("memory", 1)), ((0, 0), (100, 10)))
    profile = SchedulerProfile(weights=(("NodeResourcesBalancedAllocation", 0),), strategy=strategy)
    what = dataclasses.replace(shape(dict.fromkeys(RESOURCES, 0), profile), scored=(500, 0))
    local, nothing = NodeResources(what), np.zeros((2, 1), dtype=np.int64)

    assert [[50]] == local.ladder(np.array([[1000.0], [1000.0]]), nothing, nothing, 1).tolist()
    assert local.score([1000.0, 1000.0], [0, 0], [0, 0]) == 50
