"""Roots for which pods were evicted: the nominated pods are placed before others of the root, and no capacity is taken from them."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, composite, decided, leaf, message_of, node, placed, pod, pods, taint

A = {f"default/a-{number}": f"n{number}" for number in range(3)}


def leaving(name: str, on: str, **more: Any) -> Json:
    each = pod(name, cpu="3", on=on, priority=0, **more)
    each["metadata"]["deletionTimestamp"] = "2026-08-02T00:00:00Z"
    each["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    return each


def tree() -> list[Json]:
    """Two gangs, one of which is enough; the larger one is nominated, and the smaller one fits on two of its nodes."""
    members = [pod(f"a-{number}", "a", "3", priority=9, nominated=f"n{number}") for number in range(3)]
    return [
        composite("top", 1, priority=9),
        leaf("a", 3, parent="top", priority=9),
        leaf("b", 2, parent="top", priority=9),
        *members,
        *pods("b", 2, "2", priority=9),
    ]


def nodes(**more: Any) -> list[Json]:
    return [node(f"n{number}", "3", **(more if number == 2 else {})) for number in range(3)]


@pytest.mark.parametrize("reason", [pytest.param(True, id="victims"), pytest.param(False, id="pods that others deleted")])
def test_capacity_of_a_plan_is_not_used_by_other_groups_while_victims_terminate(reason):
    last = leaving("low", "n2")
    if not reason:
        del last["status"]["conditions"]
    decision = decided([*nodes(), last, *tree()], strategy="complete")
    assert (Status.UNSCHEDULABLE, {}, A, ()) == (decision.status, decision.assignments, decision.nominations, decision.victims)
    assert "waiting for pods that terminate on the nominated nodes" in message_of(decision)


def test_gang_is_not_placed_in_part_while_its_victims_terminate():
    members = [pod(f"a-{number}", "a", "3", priority=9, nominated=f"n{number}") for number in range(3)]
    objects = [*nodes(), leaf("a", 2, priority=9), *members]
    assert {} == placed(decided([*objects, leaving("low", "n2")], strategy="complete"))
    assert {"a-0", "a-1", "a-2"} == placed(decided(objects, strategy="complete")).keys()


@pytest.mark.parametrize(("nominated", "want"), [(0, "b"), (3, "a")], ids=["without a plan", "with a plan"])
def test_planned_group_is_placed_before_an_older_one(nominated, want):
    older = [composite("top", 1, priority=9), leaf("b", 3, parent="top", priority=9), *pods("b", 3, "2", priority=9)]
    planned = [pod(f"a-{number}", "a", "3", priority=9, nominated=f"n{number}" if nominated else "") for number in range(3)]
    decision = decided([*nodes(), *older, leaf("a", 3, parent="top", priority=9), *planned], strategy="complete")
    assert {f"{want}-{number}" for number in range(3)} == placed(decision).keys()


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        pytest.param({}, [pod("high", cpu="1", on="n2", priority=10)], id="a pod of higher priority has its capacity"),
        pytest.param({"unschedulable": True}, [], id="its node is cordoned"),
        pytest.param({"taints": [taint("node.kubernetes.io/unreachable=:NoSchedule")]}, [], id="its node is unreachable"),
    ],
)
def test_plan_that_cannot_be_carried_out_any_more_holds_nothing_back(changed, more):
    decision = decided([*nodes(**changed), leaving("low", "n2"), *more, *tree()], strategy="complete")
    assert {"b-0", "b-1"} == placed(decision).keys()


def test_other_victims_on_nominated_nodes_do_not_count_if_pods_need_them_gone():
    """They were evicted for another root: this one has no plan, and makes one."""
    objects = [node("n1", "4"), leaving("gone", "n1"), pod("there", cpu="1", on="n1", priority=0)]
    decision = decided([*objects, leaf("g", 1, priority=9), pod("g-0", "g", "4", priority=9, nominated="n1")], strategy="complete")
    assert ("default/there",) == decision.victims
