"""The index of roots: every root with its result and sign, and the number of each result."""

from __future__ import annotations

import pytest

from kubeapi.base_structs import replaced
from muster.html.root_index import RootResult, index_roots, result_of
from scheduler_core.model.decision import Decision, Search
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from tests.muster import paged
from tests.muster.paged import gang, racks

ROOT = Name("PodGroup", "default", "g")


def decision(status, **more):
    return Decision(root=ROOT, status=status, **more)


def searched(outcome):
    return Search("complete", outcome, 9)


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (decision(Status.SUCCESS, assignments={"default/p": "n"}), RootResult.PLACED),
        (decision(Status.SUCCESS, assignments={"default/p": "n"}, pending={"default/q": "why"}), RootResult.PARTLY),
        (decision(Status.UNSCHEDULABLE, victims=("default/v",)), RootResult.EVICTING),
        (decision(Status.WAIT), RootResult.WAITING),
        (decision(Status.UNSCHEDULABLE, search=searched("budget")), RootResult.UNDECIDED),
        (decision(Status.UNSCHEDULABLE, search=searched("infeasible")), RootResult.FAILED),
        (decision(Status.INVALID), RootResult.FAILED),
    ],
    ids=lambda each: each if isinstance(each, RootResult) else None,
)
def test_result_of_a_root(made, want):
    assert want is result_of(made)


def test_roots_are_in_the_order_of_the_page_and_counted():
    case = paged.case([*racks(1), *gang("large", 2, cpu="90"), *gang("small", 1)])
    roots = {each.root.name: each.root for each in (*case.unplaced, *case.placed)}
    found = index_roots(case, [roots["large"], roots["small"]], frozenset({roots["small"]}))

    assert [("large", 0, "✗", "not placed", False), ("small", 1, "✓", "placed", True)] == [
        (each.root.name, each.number, each.mark, each.label, each.own) for each in found.entries.shown
    ]
    assert (("failed", "not placed", 1), ("placed", "placed", 1)) == found.counts
    assert {roots["large"]: 0, roots["small"]: 1} == found.numbers


def test_roots_that_the_page_sums_up_are_counted():
    case = paged.case([*racks(1), *gang("large", 2, cpu="90"), *gang("small", 1)])
    found = index_roots(case, [case.placed[0].root], frozenset())
    assert (1, 2) == (found.entries.more, sum(count for _, _, count in found.counts))


def test_roots_at_path_come_first_unless_all_are():
    answer, snapshot, options = paged.decided([*racks(2), *gang("a", 1), *gang("b", 1)])
    last = Name("PodGroup", "default", "b")
    both = frozenset({last, Name("PodGroup", "default", "a")})
    cases = [paged.Case.from_answer(replaced(answer, path_roots=each), snapshot, options) for each in (None, frozenset({last}), both)]
    assert [["a", "b"], ["b", "a"], ["a", "b"]] == [[each.root.name for each in case.placed] for case in cases]
    assert [0, 1, 0] == [len(case.own) for case in cases]
