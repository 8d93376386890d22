"""Placing equal pods with preferences at once, compared with one by one with scores normalized each time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.equal_pods_normalized import bonus_of, fill_soft
from scheduler_core.plugins.base import StaticScore, normalised
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.noderesources import NodeResources
from scheduler_core.plugins.profile import ShapeProfile
from scheduler_core.plugins.taint_toleration import TaintToleration
from tests.sampling import sampled
from tests.scheduler_core.builders import shape
from tests.scheduler_core.placement.test_equal_pods import KINDS, LOADS, SHAPES, Nodes, arrays


@dataclasses.dataclass
class Preferences:
    """Values of each static score by node; None if no value is given."""

    taints: list[int] | None
    preferred: list[int] | None

    def of(self, what: PodShape) -> ShapeProfile:
        scores = []
        if self.taints is not None:
            scores.append(StaticScore(np.array(self.taints, dtype=np.int64), TaintToleration.weight, reverse=True))
        if self.preferred is not None:
            scores.append(StaticScore(np.array(self.preferred, dtype=np.int64), NodeAffinity.weight))
        local = NodeResources(what)
        return ShapeProfile(None, tuple(scores), local, one_by_one=False, rows=local.rows, amounts=local.amounts)


def one_by_one(what: PodShape, fit: Preferences, count: int, nodes: Nodes, where: Ints) -> list[int]:
    slots, scored, used = nodes.slots.copy(), nodes.scored.copy(), nodes.used.copy()
    requested, in_use = dict(what.requests), []
    for _ in range(count):
        able = [index for index in range(len(slots)) if slots[index] > 0]
        if not able:
            break
        most_avoided = max((int(fit.taints[where[index]]) for index in able), default=0) if fit.taints is not None else 0
        most_liked = max((int(fit.preferred[where[index]]) for index in able), default=0) if fit.preferred is not None else 0
        totals = {}
        for index in able:
            total = int(NodeResources(what).ladder(nodes.capacity[:, [index]], scored[:, [index]], used[:, [index]], 1)[0, 0])
            total += 3 * (100 - 100 * int(fit.taints[where[index]]) // most_avoided if most_avoided and fit.taints is not None else 100)
            total += 2 * (100 * int(fit.preferred[where[index]]) // most_liked if most_liked and fit.preferred is not None else 0)
            totals[index] = total
        node = min(totals, key=lambda index: (-totals[index], index))
        in_use.append(node)
        slots[node] -= 1
        for row in (0, 1):
            scored[row, node] += what.scored[row]
            used[row, node] += requested.get(row, 0)
    return in_use


spot = st.tuples(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(LOADS), st.integers(-1, 4)), st.integers(0, 3), st.sampled_from([0, 1, 50, 51])
)


@settings(deadline=None, max_examples=sampled(250))
@given(st.sampled_from(SHAPES), st.integers(1, 20), st.lists(spot, min_size=1, max_size=8), st.booleans(), st.booleans())
def test_filling_with_wishes_is_placing_one_after_the_other(what, count, spots, tainted, preferring):
    nodes = arrays([kind for kind, _, _ in spots])
    # The nodes stand somewhere in a larger cluster.
    where = np.arange(len(spots), dtype=np.int64) * 2 + 1
    taints, preferred = ([9] * (2 * len(spots) + 1) for _ in range(2))
    for index, (_, avoided, liked) in zip(where.tolist(), spots, strict=True):
        taints[index], preferred[index] = avoided, liked
    fit = Preferences(taints if tainted else None, preferred if preferring else None)
    result = fill_soft(what, fit.of(what), where, count, nodes.slots, nodes.capacity, nodes.scored, nodes.used, whole=False)

    assert one_by_one(what, fit, count, nodes, where) == result.tolist()


def test_the_scale_changes_once_the_nodes_of_the_largest_value_are_full():
    # A wish of 1 is worth next to nothing beside one of 51, and everything once that node is full: more than an empty node.
    nodes = arrays([((8000, 2**34), (0, 0), 2), ((8000, 2**34), (7000, 2**33), 1), ((8000, 2**34), (0, 0), 1)])
    fit, what = Preferences(None, [51, 1, 0]), shape(500)
    result = fill_soft(what, fit.of(what), np.arange(3), 4, nodes.slots, nodes.capacity, nodes.scored, nodes.used, whole=True)

    assert [0, 0, 1, 2] == result.tolist()


def test_what_is_given_is_left_as_it_is():
    nodes = arrays([((4000, 2**32), (0, 0), 2), ((4000, 2**32), (0, 0), -1)])
    before = [each.tobytes() for each in (nodes.slots, nodes.capacity, nodes.scored, nodes.used)]
    fill_soft(
        shape(500),
        Preferences([1, 0], None).of(shape(500)),
        np.arange(2),
        9,
        nodes.slots,
        nodes.capacity,
        nodes.scored,
        nodes.used,
        whole=True,
    )

    assert before == [each.tobytes() for each in (nodes.slots, nodes.capacity, nodes.scored, nodes.used)]


@pytest.mark.parametrize(
    ("scores", "want", "reversed_"),
    [
        pytest.param([0, 0], [0, 0], [100, 100], id="nothing to tell them apart"),
        pytest.param([1, 3, 0], [33, 100, 0], [67, 0, 100], id="scaled by the largest and cut off"),
        pytest.param([7], [100], [0], id="one alone is the largest"),
    ],
)
def test_scores_are_scaled_by_the_largest(scores, want, reversed_):
    assert want == normalised(np.array(scores, dtype=np.int64)).tolist()
    assert reversed_ == normalised(np.array(scores, dtype=np.int64), reverse=True).tolist()


def test_taints_weigh_three_and_affinity_two():
    fit = Preferences([2, 1, 0, 9], [0, 10, 20, 99]).of(shape())

    assert [0, 3 * 50 + 2 * 50, 3 * 100 + 2 * 100] == bonus_of(fit, np.array([0, 1, 2])).tolist()
    assert [0, 0] == bonus_of(Preferences(None, None).of(shape()), np.array([0, 1])).tolist()
