"""Packing compared with exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.exact.packing.packing import EqualPods, pack
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from tests.sampling import sampled

PLENTY = 1_000_000


@st.composite
def questions(draw: st.DrawFn) -> tuple[np.ndarray, list[EqualPods]]:
    rows, nodes = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    column = st.lists(st.integers(0, 6), min_size=rows, max_size=rows)
    free = np.array(draw(st.lists(column, min_size=nodes, max_size=nodes)), dtype=np.int64).T
    demands = []
    for _ in range(draw(st.integers(1, 3))):
        amounts = np.array(draw(column.filter(any)), dtype=np.int64)
        allowed = np.array(draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes)))
        slots = (free[amounts > 0] // amounts[amounts > 0][:, None]).min(axis=0)
        # Volumes and devices can limit the pods of a demand on a node, besides its requests.
        slots = np.minimum(slots, draw(st.sampled_from((9, 9, 1, 2))))
        demands.append(EqualPods(amounts, draw(st.integers(1, 3)), np.where(allowed, slots, 0)))
    return free, demands


def possible(free: np.ndarray, demands: list[EqualPods]) -> bool:
    """Yield every assignment of pods to nodes that they may use."""
    pods = [demand for demand in demands for _ in range(demand.count)]
    for nodes in itertools.product(*(np.flatnonzero(demand.slots).tolist() for demand in pods)):
        used = np.zeros_like(free)
        left = {id(demand): demand.slots.copy() for demand in demands}
        for demand, node in zip(pods, nodes, strict=True):
            used[:, node] += demand.amounts
            left[id(demand)][node] -= 1
        if (used <= free).all() and all((each >= 0).all() for each in left.values()):
            return True
    return False


@settings(deadline=None, max_examples=sampled(300))
@given(questions())
def test_a_packing_is_found_where_there_is_one(question):
    free, demands = question
    result = pack(free, demands, StepBudget(PLENTY))

    assert possible(free, demands) == (result is not None)


@settings(deadline=None, max_examples=sampled(200))
@given(questions())
def test_a_packing_holds_all_pods_where_they_may_be(question):
    free, demands = question
    result = pack(free, demands, StepBudget(PLENTY)) or [np.zeros_like(demand.slots) for demand in demands]
    used = sum(demand.amounts[:, None] * in_use for demand, in_use in zip(demands, result, strict=True))

    assert (used <= free).all()
    assert all((in_use <= demand.slots).all() for demand, in_use in zip(demands, result, strict=True))
    assert {int(in_use.sum()) - demand.count for demand, in_use in zip(demands, result, strict=True)} <= {
        0,
        *(-demand.count for demand in demands),
    }


def test_limits_of_equal_pods_besides_their_requests_are_their_own():
    """Each demand has a volume for one pod on the only node, which has capacity for two."""
    one = np.array([1])
    demands = [EqualPods(np.array([1]), 1, one), EqualPods(np.array([1]), 1, one)]
    assert pack(np.array([[2]]), demands, StepBudget(PLENTY)) is not None
    assert pack(np.array([[1]]), demands, StepBudget(PLENTY)) is None


def test_a_budget_that_is_spent_is_no_answer():
    free = np.array([[7, 7, 7]], dtype=np.int64)
    demands = [EqualPods(np.array([size]), count, np.full(3, 7 // size, dtype=np.int64)) for size, count in ((5, 2), (4, 1), (3, 2))]

    assert pack(free, demands, StepBudget(PLENTY)) is None
    with pytest.raises(StepsSpentError):
        pack(free, demands, StepBudget(3))


@settings(deadline=None, max_examples=sampled(100))
@given(questions())
def test_the_same_question_takes_the_same_steps(question):
    first, second = StepBudget(PLENTY), StepBudget(PLENTY)
    pack(*question, first)
    pack(*question, second)

    assert first.explored == second.explored > 0


def test_without_a_proof_no_hard_packing_is_searched():
    # The large pod of 3 must share a node with a small one.
    free = np.array([[5, 6, 6]], dtype=np.int64)
    demands = [EqualPods(np.array([size]), count, free[0] // size) for size, count in ((4, 2), (2, 3), (3, 1))]
    quick, thorough = (pack(free, demands, StepBudget(PLENTY), thorough=thorough) for thorough in (False, True))

    assert (None, False) == (quick, thorough is None)


@settings(deadline=None, max_examples=sampled(200))
@given(questions())
def test_what_is_found_without_a_proof_is_a_packing(question):
    result = pack(*question, StepBudget(PLENTY), thorough=False)

    assert result is None or possible(*question)


def test_more_nodes_take_more_steps():
    few, many = StepBudget(PLENTY), StepBudget(PLENTY)
    for budget, nodes in ((few, 10), (many, 1000)):
        free = np.full((2, nodes), 10, dtype=np.int64)
        demands = [EqualPods(np.array(amounts), 5, np.full(nodes, 10 // max(amounts), dtype=np.int64)) for amounts in ((3, 1), (1, 4))]
        pack(free, demands, budget)

    assert few.explored < many.explored
