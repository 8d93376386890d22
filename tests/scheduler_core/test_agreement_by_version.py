"""Decisions with the behavior of each version of kube-scheduler, compared with recorded answers of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muster.render import answer_json
from muster.render.answer import Answer
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, KUBERNETES_1_38, SchedulerBehavior
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from tests.scheduler_core.test_agreement import objects_of, short

Json = dict[str, Any]
CASES: list[Json] = json.loads((Path(__file__).parent.parent / "cases" / "placement-1.38.json").read_text(encoding="utf-8"))
INVALID = frozenset(
    {
        *(
            "hierarchy-depth-5",
            "hierarchy-depth-5-topology-at-root",
            "validate-pod-priority-differs",
            "validate-child-group-priority-differs",
        ),
        *("k138-all-parent-single-child", "k138-other-workload", "k138-composite-at-level-4", "k138-scheduler-names-of-two-groups"),
    }
)
"""Trees that the KEPs forbid; kube-scheduler 1.37.1 places them, or reports another reason."""
EXPECTED = [
    pytest.param(case, behavior, id=f"{case['id']}-{behavior.version}")
    for case in CASES
    for behavior in (KUBERNETES_1_37, KUBERNETES_1_38)
    if behavior is KUBERNETES_1_38 or case["id"] not in INVALID
]


def expected(case: Json, behavior: SchedulerBehavior) -> Json:
    found: Json = case["expect" if behavior is KUBERNETES_1_38 else "expect137"]
    return found


def answered(case: Json, behavior: SchedulerBehavior) -> Json:
    evicts = expected(case, behavior).get("stage") == "after-preemption"
    options = CycleOptions(strategy="greedy", order=tuple(case.get("schedulingOrder") or ()), evict=evicts)
    result = run_cycle(load(objects_of(case), behavior=behavior), options)
    parsed: Json = json.loads(answer_json.render(Answer.from_decisions(result.decisions, result.pending, result.problems, None)))
    return parsed


def conditions_of(answer: Json) -> dict[tuple[str, str, str], Json]:
    """Return the conditions of groups by kind, name and type."""
    groups = [group for decision in answer["decisions"] for group in decision["groups"]]
    return {(group["kind"], group["name"], each["type"]): each for group in groups for each in group["conditions"]}


@pytest.mark.parametrize(("case", "behavior"), EXPECTED)
def test_decisions_are_those_of_the_version(case: Json, behavior: SchedulerBehavior) -> None:
    want, decisions = expected(case, behavior), answered(case, behavior)["decisions"]
    bound = {pod: on for decision in decisions for pod, on in short(decision["assignments"]).items()}
    victims = {pod.rpartition("/")[2] for decision in decisions for pod in decision["victims"]}
    allowed = {pod: on if isinstance(on, list) else [on] for pod, on in (want.get("bound") or {}).items()}

    assert {} == {pod: bound.get(pod) for pod, nodes in allowed.items() if bound.get(pod) not in nodes}
    assert want.get("boundCount", len(bound)) == len(bound)
    assert [] == [pod for pod in want.get("pending") or [] if pod in bound]
    if isinstance(expects := want.get("victims", []), list):
        assert set(expects) == victims
    else:
        assert expects["count"] == len(victims)
        assert victims <= set(expects["from"])
    labels = {node["name"]: node.get("labels") or {} for node in case["nodes"]}
    for rule in want.get("domainOf") or []:
        (domain,) = {labels[bound[pod]][rule["key"]] for pod in rule["pods"]}
        assert rule.get("value", domain) == domain


@pytest.mark.parametrize(("case", "behavior"), EXPECTED)
def test_statuses_are_those_of_the_version(case: Json, behavior: SchedulerBehavior) -> None:
    want, decisions = expected(case, behavior), answered(case, behavior)["decisions"]
    groups = {group["name"]: group["status"] for decision in decisions for group in decision["groups"]}
    # In the table, Wait is a root without a condition: until 1.37 no CompositePodGroup has one.
    status = decisions[-1]["status"] if decisions else "Wait"
    root_kind = decisions[-1]["root"]["kind"] if decisions else ""
    has_condition = behavior.writes_composites or root_kind != "CompositePodGroup"

    assert {"Invalid": "Error"}.get(status, status) == want["status"] or (not has_condition and want["status"] == "Wait")
    given = {name: {"Invalid": "Error"}.get(status, status) for name, status in groups.items()}
    assert want.get("perGroup", {}).items() <= given.items()


@pytest.mark.parametrize(("case", "behavior"), EXPECTED)
def test_conditions_of_groups_are_worded_as_the_version_does(case: Json, behavior: SchedulerBehavior) -> None:
    found = conditions_of(answered(case, behavior))
    for want in expected(case, behavior)["conditions"]:
        if want["kind"] == "Pod":
            continue
        condition = found[want["kind"], want["name"], want["type"]]
        assert {key: want[key] for key in ("status", "reason") if want.get(key)}.items() <= condition.items()
        assert want.get("messageContains", "") in condition["message"]
        assert want.get("messageAlso", "") in condition["message"]


@pytest.mark.parametrize("case", [case for case in CASES if case["expect"].get("pending")], ids=lambda case: case["id"])
def test_pods_state_no_more_than_that_their_group_is_unschedulable(case: Json) -> None:
    wanted = [each for each in case["expect"]["conditions"] if each["kind"] == "Pod" and each["reason"] == "Unschedulable"]
    hidden = {each["name"]: each["messageContains"] for each in wanted if each.get("messageContains", "").startswith("parent pod group")}
    found = {each["pod"].rpartition("/")[2]: each["reason"] for each in answered(case, KUBERNETES_1_38)["pending"]}

    # A pod whose equal pod was tried has the result of that one: "0/4 nodes are available".
    assert {} == {name: found[name] for name, words in hidden.items() if words != found[name] and not found[name].startswith("0/")}
