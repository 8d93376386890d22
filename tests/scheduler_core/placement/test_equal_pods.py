"""Placing equal pods at once compared with taking the best node again and again."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.equal_pods import best, fill, slots_of
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.noderesources import NodeResources
from tests.sampling import sampled
from tests.scheduler_core.builders import shape

GIB = 2**30
SHAPES = (shape(500), shape(1000, GIB), shape(0, GIB), shape(), shape(1500, 3 * GIB), shape(250, 7))
KINDS = ((2000, 4 * GIB), (4000, 4 * GIB), (8000, 4 * GIB), (4000, 0), (0, 0), (3000, 2**40))
LOADS = ((0, 0), (1000, 0), (0, 2 * GIB), (1000, GIB), (9000, 9 * GIB))


@dataclasses.dataclass
class Nodes:
    """Arrays as ``equal_pods`` takes them."""

    slots: Ints
    capacity: Floats
    scored: Ints
    used: Ints


def arrays(kinds: list[tuple[tuple[int, int], tuple[int, int], int]]) -> Nodes:
    """Return arrays of (capacity, taken, slots) of each node."""
    capacity = np.array([kind for kind, _, _ in kinds], dtype=float).reshape(-1, 2).T
    in_use = np.array([load for _, load, _ in kinds], dtype=np.int64).reshape(-1, 2).T
    return Nodes(np.array([slots for _, _, slots in kinds], dtype=np.int64), capacity, in_use, in_use.copy())


def one_by_one(what: PodShape, count: int, nodes: Nodes, bonus: Ints | None = None) -> list[int]:
    """Return the best node for each pod in turn, of equals the first; scores look one pod ahead only."""
    slots, scored, used = nodes.slots.copy(), nodes.scored.copy(), nodes.used.copy()
    requested = dict(what.requests)
    in_use: list[int] = []
    for _ in range(count):
        if not (slots > 0).any():
            break
        heads = NodeResources(what).ladder(nodes.capacity, scored, used, 1)[:, 0] + (0 if bonus is None else bonus)
        node = max(range(len(slots)), key=lambda index: (slots[index] > 0, heads[index], -index))
        in_use.append(node)
        slots[node] -= 1
        for row in (0, 1):
            scored[row, node] += what.scored[row]
            used[row, node] += requested.get(row, 0)
    return in_use


def filled(what: PodShape, count: int, nodes: Nodes, **more: Any) -> list[int]:
    result: list[int] = fill(NodeResources(what), count, nodes.slots, nodes.capacity, nodes.scored, nodes.used, **more).tolist()
    return result


node = st.tuples(st.sampled_from(KINDS), st.sampled_from(LOADS), st.integers(-1, 6))
several = st.lists(node, max_size=12).map(arrays)


@settings(deadline=None, max_examples=sampled(300))
@given(st.sampled_from(SHAPES), st.integers(1, 30), several)
def test_filling_is_taking_the_best_node_again_and_again(what, count, nodes):
    assert one_by_one(what, count, nodes) == filled(what, count, nodes)


@settings(deadline=None, max_examples=sampled(150))
@given(st.sampled_from(SHAPES), st.integers(1, 30), st.lists(st.tuples(node, st.sampled_from([0, 0, 100, 37, 300])), max_size=10))
def test_a_bonus_is_added_to_every_score_of_a_node(what, count, kinds):
    nodes, bonus = arrays([kind for kind, _ in kinds]), np.array([each for _, each in kinds], dtype=np.int64)

    assert one_by_one(what, count, nodes, bonus) == filled(what, count, nodes, bonus=bonus)


amount = st.integers(1, 10**5)
uneven = st.tuples(st.tuples(amount, amount), st.tuples(amount, amount), st.integers(0, 9))


@settings(deadline=None, max_examples=sampled(150))
@given(amount, amount, st.integers(1, 40), st.lists(uneven, max_size=8).map(arrays))
def test_amounts_of_any_kind_are_filled_alike(cpu, memory, count, nodes):
    what = shape(cpu, memory)

    assert one_by_one(what, count, nodes) == filled(what, count, nodes)


@pytest.mark.parametrize("size", [3, 40, 300, 700])
def test_among_equal_nodes_the_first_come_first_however_many_there_are(size):
    nodes = arrays([((4000, 4 * GIB), (0, 0), 2)] * size)

    assert [0, 1, 2] == filled(shape(1000, GIB), 3, nodes)
    assert one_by_one(shape(1000, GIB), min(size + 5, 320), nodes) == filled(shape(1000, GIB), min(size + 5, 320), nodes)


def test_many_nodes_of_few_kinds_are_filled_alike():
    nodes = arrays([(KINDS[number % 4], LOADS[number % 3], number % 5) for number in range(600)])

    for count in (1, 7, 299, 300):
        assert one_by_one(SHAPES[1], count, nodes) == filled(SHAPES[1], count, nodes)


def test_what_is_given_is_left_as_it_is():
    nodes = arrays([((4000, 4 * GIB), (1000, 0), 3), ((4000, 0), (0, 0), 0), ((2000, GIB), (0, 0), 1)])
    before = [each.tobytes() for each in dataclasses.astuple(nodes)]
    filled(SHAPES[0], 9, nodes)

    assert before == [each.tobytes() for each in dataclasses.astuple(nodes)]


@pytest.mark.parametrize(
    ("slots", "count", "want"),
    [
        pytest.param([], 3, [], id="no node"),
        pytest.param([0, -2], 3, [], id="no slot"),
        pytest.param([2, 0, 1], 9, [0, 2, 0], id="fewer slots than pods"),
    ],
)
def test_there_are_no_more_places_than_slots(slots, count, want):
    assert want == filled(shape(1000, GIB), count, arrays([((4000, 4 * GIB), (0, 0), each) for each in slots]))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.integers(1, 25))
def test_the_best_are_the_largest_and_of_equal_ones_the_first(heads, count):
    want = sorted(range(len(heads)), key=lambda index: (-heads[index], index))[:count]

    assert want == best(np.array(heads, dtype=np.int64), count).tolist()


def test_the_best_of_many_are_in_the_same_order():
    heads = np.array([(number * 37) % 101 for number in range(1000)], dtype=np.int64)

    assert sorted(range(1000), key=lambda index: (-heads[index], index))[:77] == best(heads, 77).tolist()


def test_slots_are_those_of_the_scarcest_resource():
    free = np.array([[4000, 900, 4000, -500], [110, 110, 2, 110]], dtype=np.int64)
    amounts = np.array([[1000], [1]], dtype=np.int64)

    assert [4, 0, 2, -1] == slots_of(free, amounts, None).tolist()
    assert [0, 0, 2, -1] == slots_of(free, amounts, np.array([False, True, True, True])).tolist()
