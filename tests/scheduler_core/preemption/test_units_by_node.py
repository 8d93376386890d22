"""Units and their nodes."""

from __future__ import annotations

from scheduler_core.model.nodes import CPU, PODS
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.units_by_node import UnitsByNode
from tests.scheduler_core.preemption.scene import budget, leaf, names, pod, units_of

PODS_THERE = [
    pod("a", 2, 5, 100, group="low"),
    pod("b", 0, 5, 200, group="low", labels={"app": "db"}),
    pod("c", 0, 9, 400),
    pod("d", 0, 5, 800, group="low"),
    pod("e", 0, 50, 1600),
]
UNITS = units_of(PODS_THERE, [leaf("low", "all")], {"low": 5})


def pairs(*budgets):
    return UnitsByNode(UNITS, UNITS.potential_victims(50), DisruptionBudgets(budgets), UNITS.amounts(4), 3)


def units_on_nodes(found):
    return [
        [(names(UNITS.unit(int(found.unit[pair])).pods), int(found.amounts[CPU, pair])) for pair in found.pairs_on(node)]
        for node in range(3)
    ]


def test_each_unit_is_listed_for_each_node_with_what_it_uses_there():
    low = ["a", "b", "d"]

    assert [[(["c"], 400), (low, 1000)], [], [(low, 100)]] == units_on_nodes(pairs())
    assert [1400, 0, 100] == pairs().freed[CPU].tolist()
    assert [3, 0, 1] == pairs().freed[PODS].tolist()


def test_who_would_break_a_budget_comes_first_on_its_node():
    result = pairs(budget("b", 0, {"app": "db"}))

    assert [["a", "b", "d"], ["c"]] == [unit for unit, _ in units_on_nodes(result)[0]]
    assert [1, 0, 1] == result.violations.tolist()


def test_the_budget_of_pods_on_several_nodes_is_counted_node_by_node():
    """One of them may go: each node alone breaks nothing."""
    pods = [pod(name, node, labels={"app": "db"}) for node, name in enumerate("abc")]
    units = units_of(pods, [])
    result = UnitsByNode(units, units.potential_victims(1), DisruptionBudgets([budget("b", 1, {"app": "db"})]), units.amounts(4), 3)

    assert [0, 0, 0] == result.violations.tolist()


def test_nothing_below_makes_no_pairs():
    result = UnitsByNode(UNITS, UNITS.potential_victims(0), DisruptionBudgets([budget("b", 0, {"app": "db"})]), UNITS.amounts(4), 3)

    assert [[], [], []] == units_on_nodes(result)


def test_ports_that_clash_bar_a_unit_on_the_node_where_it_has_them():
    port = (("TCP", "0.0.0.0", 80),)
    pods = [pod("a", 0, group="low"), pod("b", 1, group="low", ports=port), pod("c", 1)]
    units = units_of(pods, [leaf("low", "all")])
    result = UnitsByNode(units, units.potential_victims(1), DisruptionBudgets([]), units.amounts(4), 2)

    assert [False, True, False] == result.port_conflicts(port).tolist()
