"""Differences that ``compare`` reports, and those that it accepts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.sampling import sampled
from tests.scheduler_core.oracle import cycle
from tests.scheduler_core.oracle.compare import CONDITIONS, INITIALLY, compare, compare_complete
from tests.scheduler_core.oracle.model import Objects, read
from tests.scheduler_core.oracle.strategies import clusters
from tests.scheduler_core.oracle.test_brute import leaf, members, node


def answer_of(objects: Objects) -> dict[str, Any]:
    """Return the oracle's decisions in the form of ``muster simulate``."""
    cluster = read(objects)
    kinds = {name: kind for kind, _, name in cluster.groups}
    decisions = copy.deepcopy(cycle.run(objects))
    for decision in decisions:
        decision["groups"] = [
            {
                "kind": kinds[name],
                "name": name,
                "status": status,
                "domain": decision["domains"].get(name),
                "conditions": [dict(zip(("type", "status", "reason"), (INITIALLY, *CONDITIONS.get(status, ("", ""))), strict=True))],
            }
            for name, status in decision["groups"].items()
        ]
    return {"version": 1, "decisions": decisions}


@settings(deadline=None, max_examples=sampled(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(clusters())
def test_the_oracles_own_answer_has_no_differences(objects):
    assert [] == compare(objects, answer_of(objects))


def standalone(name: str, minimum: int, second: int, key: str = "", priority: int = 0) -> dict[str, Any]:
    one = leaf(name, minimum, second, key)
    del one["spec"]["parentCompositePodGroupName"]
    one["spec"]["priority"] = priority
    return one


BASE = [
    node("n1", 2, rack="r1"),
    node("n2", 2, rack="r2"),
    standalone("placed", 2, 0, "rack", 9),
    *members("placed", 2, priority=9),
    standalone("room", 1, 1, priority=8),
    *members("room", 1, 2, priority=8),
    {"kind": "Pod", "metadata": {"name": "low"}, "spec": {"nodeName": "n2", "containers": [{"resources": {"requests": {"cpu": "2"}}}]}},
    standalone("waits", 2, 2, priority=7),
    *members("waits", 1, priority=7),
]


def change(number: int, **fields: Any) -> Any:
    return lambda answer: answer["decisions"][number].update(fields)


@pytest.mark.parametrize(
    ("alter", "want"),
    [
        pytest.param(lambda answer: None, [], id="nothing"),
        pytest.param(change(2, status="Invalid"), [], id="invalid where upstream waits"),
        pytest.param(lambda answer: answer["decisions"].pop(2), [], id="no decision on what waits"),
        pytest.param(change(0, status="Unschedulable"), ["status Unschedulable"], id="a status"),
        pytest.param(
            change(0, assignments={"default/placed-0": "n1"}),
            ["default/placed-1 assigned to None, want n1", "the answer breaks a constraint"],
            id="an assignment",
        ),
        pytest.param(change(1, victims=[]), ["default/low stays, want it to leave"], id="a victim kept"),
        pytest.param(change(1, nominations={}), ["default/room-0 nominated to None, want n2"], id="a nomination"),
        pytest.param(change(2, victims=["default/low"]), ["want Wait"], id="a victim for what waits"),
        pytest.param(change(1, status="Invalid"), ["status Invalid"], id="invalid where upstream preempts"),
        pytest.param(lambda answer: answer["decisions"].pop(0), ["no decision, want Success"], id="a root forgotten"),
        pytest.param(lambda answer: answer["decisions"].reverse(), ["the roots come in the order"], id="the order"),
        pytest.param(lambda answer: answer["decisions"][0]["groups"][0].update(domain=None), ["has domain"], id="a domain"),
        pytest.param(lambda answer: answer["decisions"][0]["groups"][0].update(conditions=[]), ["has conditions"], id="a condition"),
    ],
)
def test_differences_are_reported(alter, want):
    answer = answer_of(BASE)
    alter(answer)
    messages = compare(BASE, answer)

    assert len(want) == len(messages)
    assert all(part in line for part, line in zip(want, messages, strict=True))


def test_a_group_that_was_scheduled_once_may_keep_its_condition():
    group = standalone("late", 1, 0)
    group["status"] = {"conditions": [{"type": INITIALLY, "status": "True", "reason": "Scheduled"}]}
    objects = [node("n1"), group, *members("late", 1, 2)]
    answer = answer_of(objects)
    answer["decisions"][0]["groups"][0]["conditions"] = group["status"]["conditions"]

    assert [] == compare(objects, answer)


GANG = [standalone("g", 2, 0), *members("g", 2)]


@pytest.mark.parametrize(
    ("cpu", "status", "outcome", "want"),
    [
        pytest.param(2, "Success", "placed", [], id="what can be placed is placed"),
        pytest.param(2, "Unschedulable", "budget", [], id="it is not known"),
        pytest.param(2, "Unschedulable", "infeasible", ["PodGroup default/g: infeasible, and there is a placement"], id="refuted"),
        pytest.param(1, "Unschedulable", "infeasible", [], id="what cannot be placed is refuted"),
        pytest.param(1, "Success", "placed", ["PodGroup default/g: Success, and there is no placement"], id="placed"),
        pytest.param(1, "Wait", "", [], id="it is not tried"),
    ],
)
def test_statements_of_complete_are_judged_by_brute_force(cpu, status, outcome, want):
    root = {"kind": "PodGroup", "namespace": "default", "name": "g"}
    decision = {"root": root, "status": status, "search": {"outcome": outcome}, "assignments": {}}

    assert want == compare_complete([node("n", cpu), *GANG], {"decisions": [decision]})


def test_a_constraint_that_complete_breaks_is_reported():
    assignments = {"default/g-0": "n", "default/g-1": "n"}
    decision = {"status": "Wait", "assignments": assignments}

    assert 0 < len(compare_complete([node("n", 1), *GANG], {"decisions": [decision]}))
    assert [] == compare_complete([node("n", 2), *GANG], {"decisions": [decision]})
