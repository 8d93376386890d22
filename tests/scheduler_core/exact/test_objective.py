"""Objective by which the children of a composite are chosen: below a Basic root the strategies can choose different children."""

from __future__ import annotations

import pytest

from muster.render.answer_json import decision_json
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import IN_ORDER, MOST_PODS, Decision
from tests.scheduler_core.builders import composite, leaf, node, pods


def decision(strategy: str, *, cpu: str = "3", root: bool = True) -> Decision:
    """Decide on a Basic root with a child of one large pod and a younger one of three small pods."""
    parent = {"parent": "top"} if root else {}
    objects = [node("n1", cpu=cpu), leaf("a", 1, **parent), leaf("b", 3, **parent), *pods("a", 1, cpu="2"), *pods("b", 3, cpu="1")]
    (first, *_) = run_cycle(load([*objects, *([composite("top", 0)] if root else [])]), CycleOptions(strategy=strategy)).decisions
    return first


@pytest.mark.parametrize(
    ("strategy", "cpu", "objective", "placed"),
    [
        pytest.param("greedy", "3", IN_ORDER, {"a-0"}, id="greedy takes each child that fits"),
        pytest.param("complete", "3", MOST_PODS, {"b-0", "b-1", "b-2"}, id="complete places most pods"),
        pytest.param("complete", "5", IN_ORDER, {"a-0", "b-0", "b-1", "b-2"}, id="nothing is to be searched"),
        pytest.param("complete", "2", IN_ORDER, {"a-0"}, id="the search finds nothing better"),
    ],
)
def test_a_decision_names_the_objective_that_chose_the_children(strategy, cpu, objective, placed):
    result = decision(strategy, cpu=cpu)
    assert {f"default/{name}" for name in placed} == {*result.assignments}
    assert objective == result.search.objective
    assert objective == decision_json(result)["search"]["objective"]


@pytest.mark.parametrize(("cpu", "root"), [("1", True), ("5", False)], ids=["not placed", "no children"])
@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_there_is_none_where_no_children_were_chosen(strategy, cpu, root):
    result = decision(strategy, cpu=cpu, root=root)
    assert "" == result.search.objective
    assert "objective" not in decision_json(result)["search"]
