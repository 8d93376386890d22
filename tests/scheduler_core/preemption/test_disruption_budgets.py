"""Disruption budgets: the victims that would violate one."""

from __future__ import annotations

import pytest

from kubeapi.selectors import LabelSelector, Requirement
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from tests.scheduler_core.preemption.scene import budget, cases, pod, units_of


@pytest.mark.parametrize("case", cases("pdbSplit"), ids=lambda case: case["id"])
def test_victims_are_split_as_upstream_does(case):
    budgets = [
        budget(f"budget-{index}", each["disruptionsAllowed"], each["selector"], disrupted=each.get("disruptedPods", ()))
        for index, each in enumerate(case["pdbs"])
    ]
    victims = [[pod(each["name"], 0, labels=each["labels"]) for each in victim["pods"]] for victim in case["victims"]]
    counts = dict(zip((victim["name"] for victim in case["victims"]), DisruptionBudgets(budgets).violations(victims), strict=True))

    assert case["expect"]["violating"] == [{"name": name, "count": count} for name, count in counts.items() if count]
    assert case["expect"]["nonViolating"] == [name for name, count in counts.items() if not count]


FOO = pod("p", 0, labels={"app": "foo"})


def guarded(one, *pods):
    units = units_of(pods)
    return DisruptionBudgets([one]).protected_pods(units, units.potential_victims(1))


def test_only_pods_that_a_budget_counts_are_guarded():
    pods = [FOO, pod("a", 0), pod("z", 0, labels={"app": "foo"}), pod("high", 0, 1, labels={"app": "foo"})]

    # By name: a, high, p, z.
    assert {2: [FOO], 3: [pods[2]]} == guarded(budget("b", 9, {"app": "foo"}), *pods)


@pytest.mark.parametrize(
    ("one", "victim"),
    [
        pytest.param(budget("b", 0, None), FOO, id="no selector"),
        pytest.param(budget("b", 0, {}), FOO, id="an empty selector"),
        pytest.param(budget("b", 0, selector=LabelSelector(match_expressions=())), FOO, id="a selector of no expressions"),
        pytest.param(budget("b", 0, selector=LabelSelector(match_expressions=(Requirement("app", "In"),))), FOO, id="an unsound selector"),
        pytest.param(budget("b", 0, {"app": "bar"}), FOO, id="another label"),
        pytest.param(budget("b", 0, {"app": "foo"}, namespace="other"), FOO, id="another namespace"),
        pytest.param(
            budget("b", 0, selector=LabelSelector(match_expressions=(Requirement("app", "DoesNotExist"),))),
            pod("p", 0),
            id="a pod without labels",
        ),
    ],
)
def test_a_budget_is_not_about(one, victim):
    assert [0] == DisruptionBudgets([one]).violations([[victim]])
    assert {} == guarded(one, victim)


@pytest.mark.parametrize(
    "expression", [Requirement("app", "In", ("foo", "bar")), Requirement("app", "Exists"), Requirement("tier", "DoesNotExist")], ids=repr
)
def test_expressions_match_as_labels_do(expression):
    one = budget("b", 0, selector=LabelSelector(match_expressions=(expression,)))

    assert [1] == DisruptionBudgets([one]).violations([[FOO]])
    assert {0: [FOO]} == guarded(one, FOO)


def test_without_budgets_nothing_is_requested():
    assert not DisruptionBudgets([])
    assert not DisruptionBudgets([budget("b", 0, {})])
    assert DisruptionBudgets([budget("b", 0, {"app": "foo"})])


def test_budgets_are_used_up_in_the_order_of_the_victims():
    victims = [[pod("a", 0, labels={"app": "foo"})], [FOO, pod("q", 0, labels={"app": "foo"})], [pod("z", 0, labels={"app": "foo"})]]

    assert [0, 1, 1] == DisruptionBudgets([budget("b", 2, {"app": "foo"})]).violations(victims)


def test_a_budget_after_one_that_is_spent_is_not_charged():
    victims = [[pod("a", 0, labels={"app": "foo", "tier": "web"})], [pod("b", 0, labels={"tier": "web"})]]
    spent, other = budget("one", 0, {"app": "foo"}), budget("two", 1, {"tier": "web"})

    assert [1, 0] == DisruptionBudgets([other, spent]).violations(victims)


def test_a_budget_before_one_that_is_spent_is_charged():
    victims = [[pod("a", 0, labels={"app": "foo", "tier": "web"})], [pod("b", 0, labels={"tier": "web"})]]
    spent, other = budget("two", 0, {"app": "foo"}), budget("one", 1, {"tier": "web"})

    assert [1, 1] == DisruptionBudgets([spent, other]).violations(victims)


def test_counting_again_starts_from_the_beginning():
    budgets = DisruptionBudgets([budget("b", 1, {"app": "foo"})])

    assert [[0], [0]] == [budgets.violations([[FOO]]), budgets.violations([[FOO]])]


def test_pods_that_differ_in_other_labels_are_matched_alike():
    pods = [[pod(f"p{index}", 0, labels={"app": "foo", "index": str(index)})] for index in range(3)]
    budgets = DisruptionBudgets([DisruptionBudget("default", "b", LabelSelector(match_labels={"app": "foo"}), 1, frozenset({"p1"}))])

    assert [0, 0, 1] == budgets.violations(pods)
