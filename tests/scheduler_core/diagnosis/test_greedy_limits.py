"""Features through which greedy placement may miss a placement, and verdicts of plugins."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import diagnosis
from scheduler_core.model.entity import Entity
from scheduler_core.placement.extension_points import Plugins
from tests.scheduler_core.diagnosis.diagnosing import (
    ANTI,
    RACK,
    SPREAD,
    composite,
    diagnosed,
    greedy_trap,
    group,
    labelled,
    node,
    outcomes,
    pod,
    pods,
    worded,
)


@pytest.mark.parametrize(
    ("objects", "cause"),
    [
        pytest.param(
            [node("n1", "3"), node("n2", "3"), group("g", 4), *pods("g", 2), *(pod(f"h-{number}", "g", "2") for number in range(2))],
            "",
            id="unlike pods, all placed",
        ),
        pytest.param(
            [node("n1", "2"), node("n2", "2"), group("g", 3), *pods("g", 2), pod("h-0", "g", "2")],
            "the pods of group g are not equal (KEP-4671, Algorithm Limitations: heterogeneous pod groups)",
            id="unlike pods",
        ),
        pytest.param(
            [node("n1", "1"), node("n2", "1"), group("g", 3), *pods("g", 2), pod("h-0", "g", "2")],
            "",
            id="unlike pods, one too large for any node",
        ),
        pytest.param([node("n1"), pod("r", "r", on="n1", affinity=ANTI), group("g", 1), *pods("g", 1)], "", id="one pod"),
        pytest.param(
            [node("n1"), node("n2"), group("g", 3), *pods("g", 3, affinity=ANTI)],
            "the pods of group g depend on other pods through pod anti-affinity (KEP-4671, Algorithm Limitations: inter-pod dependencies)",
            id="anti-affinity",
        ),
        pytest.param(
            [node("n1"), node("n2", "1"), group("g", 4), *pods("g", 4, topologySpreadConstraints=SPREAD)],
            "the pods of group g depend on other pods through topology spread constraints "
            "(KEP-4671, Algorithm Limitations: inter-pod dependencies)",
            id="spread",
        ),
        pytest.param(
            [node(f"n{number}", "1", rack="r1") for number in range(7)]
            + [
                composite("w", 2, key=RACK),
                group("a", 4, parent="w", age=1),
                group("b", 4, parent="w", age=2),
                *pods("a", 4),
                *pods("b", 4),
            ],
            "",
            id="siblings that are too many together",
        ),
        pytest.param(
            [
                *(node("n1", "3", rack="r1"), composite("w", 2)),
                *(group("a", 2, parent="w"), group("b", 1, parent="w"), group("c", 1, parent="w")),
                *(*pods("a", 2, "1500m"), *pods("b", 1), *pods("c", 1)),
            ],
            "a keeps its placement, although a sibling may need the capacity (KEP-6012, No-Backtracking)",
            id="a child that could be left out",
        ),
    ],
)
def test_a_failure_says_which_feature_may_have_missed_a_placement(objects, cause):
    [(greedy, request, outcome)] = outcomes(objects)

    result = worded(diagnosis.explain(greedy, request, outcome)).uncertain

    assert (f"The greedy algorithm may have missed a placement: {cause}" if cause else "") == result


def test_a_doubt_about_one_of_many_domains_is_not_lost():
    small = [labelled(node(f"small-{number:03}", "1", rack="r1"), zone=f"a{number:03}") for number in range(100)]
    trap = [labelled(each, zone="last") if each["kind"] == "Node" else each for each in greedy_trap()]

    assert diagnosed([*small, *trap]).uncertain.endswith("(KEP-6012, No-Backtracking)")


def test_domains_that_were_not_examined_are_a_doubt():
    racks = [(zone, rack, number) for zone in range(70) for rack in range(3) for number in range(2)]
    nodes = [labelled(node(f"n{zone}-{rack}-{number}", "1", rack=f"r{rack}"), zone=f"z{zone}") for zone, rack, number in racks]
    created = [composite("w", 2, key="zone"), *(group(name, 3, key=RACK, parent="w") for name in "ab")]

    result = diagnosed([*nodes, *created, *pods("a", 3), *pods("b", 3)])

    assert result.uncertain == "The greedy algorithm may have missed a placement: 6 more zones for w were not examined"


class Halves:
    def generate(self, entity: Entity, parent: Any, nodes: Any) -> dict[str, Any]:
        return {"even": parent[::2], "odd": parent[1::2]}


class Veto:
    def check(self, entity: Entity, assigned: Any, nodes: Any) -> str:
        return "the budget of the team is spent"


def test_placements_of_a_plugin_are_reported_by_name():
    nodes = [node(f"n{number}", "1") for number in range(5)]

    result = diagnosed([*nodes, group("g", 4), *pods("g", 4)], plugins=Plugins(generators=(Halves(),)))

    assert result.message == (
        "group g does not fit in the cluster (4 pods with 1 cpu each): even can hold 3 (short of 1 cpu: 3 free, 4 needed); "
        "odd can hold 2 (short of 2 cpu: 2 free, 4 needed)"
    )


def test_a_veto_of_a_plugin_is_reported_and_is_no_proof():
    result = diagnosed([node("n1"), group("g", 2), *pods("g", 2)], plugins=Plugins(checks=(Veto(),)))

    assert result.message == (
        "group g does not fit in the cluster (2 pods with 1 cpu each): the cluster can hold 2 (the budget of the team is spent)"
    )
    assert result.uncertain == "The greedy algorithm may have missed a placement: a plugin decides what is feasible"
