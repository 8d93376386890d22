"""Heuristic plans: made, reduced, and what is certain of them."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.minimal.heuristic_plans import HeuristicSearch
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from tests.scheduler_core.preemption.crowded import budget, node
from tests.scheduler_core.preemption.pending_root import gang, low, names, task


class Counting:
    """Trial in which the root fits once all units of one of several sets are preempted."""

    def __init__(self, *enough, otherwise=False):
        self.enough = enough
        self.otherwise = otherwise
        self.asked = []

    def fits(self, numbers, placement):
        self.asked.append(frozenset(numbers))
        return any(each <= numbers for each in self.enough) or self.otherwise


NODES = [node(f"n{number}", 2) for number in range(4)]
LOW = [low(f"x{number}", 2, f"n{number}") for number in range(4)]


def rough(*enough, objects=(), lower=1, effort=10**6):
    """Return a rough plan; units by the last digit of their names, *enough* are sets of these."""
    problem = task([*NODES, *LOW, *objects, *gang(2, 2)])
    trials = Counting(*(frozenset(problem.candidates[list(each)].tolist()) for each in enough))
    return problem, trials, HeuristicSearch(problem, trials, Effort(effort), lower)


def everybody(problem):
    return frozenset(problem.candidates.tolist()), problem.requirements.domains[0]


def test_a_plan_is_reduced_to_those_who_must_leave():
    problem, _, result = rough([1, 2])
    result.reduce(*everybody(problem))

    assert ["x1", "x2"] == names(problem.units, result.best)
    assert (False, 1) == (result.proved, result.lower)


def test_what_does_not_help_is_no_plan():
    problem, _, result = rough()
    result.reduce(*everybody(problem))

    assert result.best is None


def test_the_better_of_two_plans_is_kept():
    problem, _, result = rough()
    several = [frozenset(problem.candidates[list(each)].tolist()) for each in ([0, 1], [3], [2], [1, 2, 3])]
    for numbers in several:
        result.offer(numbers)

    assert ["x3"] == names(problem.units, result.best)


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([], 4, id="all where there are no budgets"),
        pytest.param(
            [low("y0", 1, "m", app="y"), low("y1", 1, "m", app="y"), node("m", 2), budget("y", "y", 1)], 5, id="as many as budgets allow"
        ),
    ],
)
def test_as_many_leave_as_may_leave_together(objects, want):
    problem, _, result = rough(objects=objects)
    numbers = result.largest_allowed(problem.requirements.domains[0])

    assert want == len(numbers)
    assert problem.is_allowed(numbers)


def test_only_units_of_the_domain_leave():
    objects = [*(node(f"n{number}", 2, rack=f"r{number // 2}") for number in range(4)), *LOW, *gang(2, 2, "rack")]
    problem = task(objects)
    result = HeuristicSearch(problem, Counting(), Effort(10**6), 1)

    found = [names(problem.units, result.largest_allowed(domain)) for domain in problem.requirements.domains]
    assert [["x0", "x1"], ["x2", "x3"]] == found


def test_all_sets_of_few_units_are_tried_until_one_helps():
    problem, _, result = rough([1, 2], [0, 2, 3])
    result.try_all()

    assert (["x1", "x2"], True, 2) == (names(problem.units, result.best), result.proved, result.lower)


def test_a_small_set_that_breaks_a_budget_is_skipped():
    guarded = [low("y0", 1, "m", app="y"), low("y1", 1, "m", app="y"), node("m", 2), budget("y", "y", 1)]
    problem, _, result = rough([4, 5], [0, 2, 3], objects=guarded)
    result.try_all()

    assert ["x0", "x2", "x3"] == names(problem.units, result.best)


def test_where_no_set_helps_that_is_certain_too():
    _, _, result = rough()
    result.try_all()

    assert (None, True) == (result.best, result.proved)


def test_where_it_is_not_known_whether_some_set_helps_nothing_is_proved():
    problem, trials, result = rough([1, 2])
    trials.otherwise = None
    result.try_all()

    assert (["x1", "x2"], False, 2) == (names(problem.units, result.best), result.proved, result.lower)


def test_plans_are_made_of_all_and_then_fewer():
    problem, trials, result = rough([0, 3])
    result.make()

    assert everybody(problem)[0] == trials.asked[0]
    assert ["x0", "x3"] == names(problem.units, result.best)


def test_trying_all_sets_takes_effort():
    _, _, result = rough([0, 1, 2, 3], effort=20)

    with pytest.raises(EffortSpentError):
        result.try_all()
    assert (None, False) == (result.best, result.proved)
