"""Best-first search: its result and its bound."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.minimal.branch_and_bound import BranchAndBound
from scheduler_core.preemption.minimal.exact_plan import ExactSearch
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from tests.scheduler_core.preemption.crowded import budget, node
from tests.scheduler_core.preemption.pending_root import gang, low, names, task
from tests.scheduler_core.preemption.test_relaxed import WIDE


class Scene:
    """Branching of a search, with its weights."""

    def __init__(self, objects, *, allow_violations=False):
        self.problem = task(objects, allow_violations=allow_violations)
        self.effort = Effort(10**6)
        exact = ExactSearch(self.problem, self.problem.requirements.required, self.effort)
        self.weights = exact._weights
        self.branching: BranchAndBound = exact._search
        self.all = self.weights.total(self.weights.weights) + 1
        self.called = {self.problem.units.unit(number).pods[0].name: number for number in self.problem.candidates.tolist()}

    def best(self, *staying, limit=None):
        result = self.branching.best(frozenset(self.called[name] for name in staying), self.all if limit is None else limit)
        return None if result is None else names(self.problem.units, result)


RACKS = [node(f"n{number}", 2, rack=f"r{number}") for number in range(3)]


def test_units_that_would_be_paid_in_part_are_paid_or_stay():
    scene = Scene(WIDE)

    assert ["xgr1", "xhr1"] == scene.best()
    assert 2 == scene.weights.least_units(scene.branching.bound)


@pytest.mark.parametrize(("staying", "want"), [((), "c"), (("c",), "b"), (("c", "b"), "a"), (("a", "b", "c"), None)])
def test_who_stays_does_not_leave(staying, want):
    scene = Scene([*RACKS, *(low(name, 2, f"n{number}") for number, name in enumerate("abc")), *gang(1, 2, "rack")])

    assert (want and [want]) == scene.best(*staying)


def test_only_what_weighs_less_than_the_limit_is_found():
    scene = Scene([*RACKS, *(low(name, 2, f"n{number}") for number, name in enumerate("abc")), *gang(1, 2, "rack")])
    weight = scene.weights.weights[scene.called["c"]]

    assert [["c"], None] == [scene.best(limit=weight + 1), scene.best(limit=weight)]
    assert weight == scene.branching.bound


def test_who_breaks_a_budget_leaves_in_no_branch():
    objects = [*RACKS, low("a", 2, "n0", app="x", priority=1), low("b", 2, "n1", app="x")]
    objects += [low("c", 2, "n2", priority=9), budget("x", "x", 1), *gang(2, 2)]

    assert [["b", "c"], ["a", "b"]] == [Scene(objects, allow_violations=allow_violations).best() for allow_violations in (False, True)]


def test_a_plan_is_known_before_other_domains_are_entered():
    objects = [node(f"n{number}", 2, rack=f"r{number}") for number in range(9)]
    objects += [low(f"x{number}", 2, f"n{number}", second=number) for number in range(9)]
    scene = Scene([*objects, *gang(1, 2, "rack")])

    assert ["x8"] == scene.best()
    assert 1 == sum(domain._costs is not None for domain in scene.branching._domains)


def test_where_the_effort_ends_the_bound_is_what_is_left_open():
    scene = Scene(WIDE)
    weight = sum(scene.weights.weights[scene.called[name]] for name in ("xgr1", "xhr1"))
    bounds = []
    for effort in range(0, 3_000, 100):
        scene = Scene(WIDE)
        scene.effort.renew(effort)
        try:
            scene.best()
        except EffortSpentError:
            bounds.append(scene.branching.bound)

    assert bounds == sorted(bounds)
    assert 0 == bounds[0] < bounds[-1] <= weight
