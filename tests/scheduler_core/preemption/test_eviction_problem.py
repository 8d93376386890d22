"""Units that may be preempted, and what is certain before the search."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.bounds.shortage import IMPOSSIBLE
from tests.scheduler_core.preemption.crowded import budget, node
from tests.scheduler_core.preemption.pending_root import gang, low, names, task

FULL = [node("a", 2, rack="r1"), node("b", 4, rack="r2"), node("c", 1, rack="r3"), low("a", 2, "a", app="x")]
FULL += [low("b0", 2, "b", app="y"), low("b1", 2, "b", app="y"), low("c", 1, "c")]
BUDGETS = [budget("x", "x", 0), budget("y", "y", 1)]


@pytest.mark.parametrize(("allow_violations", "want"), [(False, ["b0", "b1", "c"]), (True, ["a", "b0", "b1", "c"])])
def test_who_breaks_a_budget_alone_may_leave_only_where_budgets_may_be_broken(allow_violations, want):
    result = task([*FULL, *BUDGETS, *gang(1, 2)], allow_violations=allow_violations)

    assert want == names(result.units, result.candidates)


@pytest.mark.parametrize("allow_violations", [False, True])
def test_units_that_break_a_budget_together_must_not_leave_together(allow_violations):
    result = task([*FULL, *BUDGETS, *gang(1, 2)], allow_violations=allow_violations)
    both = [number for number in result.candidates.tolist() if result.units.unit(number).pods[0].name.startswith("b")]

    assert [True, allow_violations] == [result.is_allowed(both[:1]), result.is_allowed(both)]


def test_each_domain_has_its_bound():
    result = task([*FULL, *BUDGETS, *gang(2, 2, "rack")])

    assert (IMPOSSIBLE, 2, IMPOSSIBLE) == result.bounds
    assert (1, 1, IMPOSSIBLE) == task([*FULL, *gang(1, 2, "rack")], allow_violations=True).bounds


def test_domains_are_promising_by_their_bounds_and_then_by_what_the_units_are_worth():
    objects = [node("a", 2, rack="r1"), node("b", 2, rack="r2"), node("c", 2, rack="r3"), node("d", 1, rack="r4")]
    objects += [low("a", 2, "a", priority=5), *(low(f"b{part}", 1, "b") for part in range(2)), low("c", 2, "c"), *gang(1, 2, "rack")]

    assert [(1, "r3"), (1, "r1"), (2, "r2")] == [(bound, domain.value) for bound, domain in task(objects).domains_by_bound()]


def test_the_units_on_nodes_are_those_with_a_pod_there():
    result = task([*FULL, *gang(1, 2)], allow_violations=True)

    assert ["a", "b0", "b1"] == names(result.units, result.shortage.units_on(result.requirements.state.nodes.everything[:2]))
    assert [] == result.shortage.units_on(result.requirements.state.nodes.everything[:0]).tolist()
