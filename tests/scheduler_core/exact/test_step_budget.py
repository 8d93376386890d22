"""Step budget: steps used and steps left."""

from __future__ import annotations

import contextlib

import pytest

from scheduler_core.exact.step_budget import StepBudget, StepsSpentError


def test_the_last_step_can_be_taken_and_no_further_one():
    budget = StepBudget(3)
    budget.step(2)
    budget.step()

    assert (3, 0) == (budget.explored, budget.left)
    with pytest.raises(StepsSpentError):
        budget.step()


def test_no_more_is_said_to_be_taken_than_there_was():
    budget = StepBudget(10)
    with pytest.raises(StepsSpentError):
        budget.step(11)

    assert (10, 0) == (budget.explored, budget.left)


def test_a_part_ends_before_the_whole_and_gives_back_what_it_leaves():
    budget = StepBudget(10)
    with budget.part(4):
        budget.step(4)
        with pytest.raises(StepsSpentError):
            budget.step()

    assert (4, 6) == (budget.explored, budget.left)


@pytest.mark.parametrize(("inner", "remaining"), [(2, 8), (9, 4)], ids=["smaller than what is around it", "larger than what is around it"])
def test_a_part_of_a_part_is_no_larger_than_it(inner, remaining):
    budget = StepBudget(10)
    with contextlib.suppress(StepsSpentError), budget.part(6), budget.part(inner):
        budget.step(20)

    assert remaining == budget.left
