"""Conflicts that kube-scheduler overlooks in a group preemption: its victims are reprieved, and the group waits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.model.status import Status
from scheduler_core.sidecar.writes import Evict
from tests.scheduler_core.builders import decided, leaf, message_of, node, pod
from tests.scheduler_core.sidecar.test_scheduler import Scene
from tests.scheduler_core.test_agreement import answered

CASES = json.loads((Path(__file__).parents[2] / "cases" / "overlooked-conflicts.json").read_text(encoding="utf-8"))
NOTE = "kube-scheduler does not evict the pods in conflict with the group"
HOSTNAME = "kubernetes.io/hostname"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_greedy_evicts_nobody_and_says_so(case):
    (decision,) = answered(case, "greedy")["decisions"]
    (group,) = decision["groups"]
    assert (case["expect"]["status"], []) == (decision["status"], decision["victims"])
    assert NOTE in decision["message"]
    assert any("found a placement for podgroup, preempting 0 victims" in each["message"] for each in group["conditions"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_complete_evicts_the_pod_in_conflict(case):
    (decision,) = answered(case, "complete")["decisions"]
    assert ["default/x1"] == decision["victims"]
    assert NOTE not in decision["message"]


def avoiding(label: str):
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": label}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def running(name: str, **more):
    return pod(name, nodeName="n1", priority=1, affinity=avoiding("a"), **more)


def gang(*members):
    return [leaf("g", len(members), priority=100), *members]


def member(name: str, **more):
    return pod(name, group="g", priority=100, labels={"app": "a"}, **more)


def test_a_member_with_a_term_of_its_own_sees_the_conflict():
    objects = [node("n1", **{HOSTNAME: "n1"}), running("x"), *gang(member("p", affinity=avoiding("b")))]
    assert ("default/x",) == decided(objects, strategy="greedy").victims


def test_a_conflict_is_seen_while_another_pod_that_stays_forbids_the_member():
    stays = pod("y", nodeName="n2", priority=200, affinity=avoiding("a"))
    objects = [node("n1", **{HOSTNAME: "n1"}), node("n2", **{HOSTNAME: "n2"}), running("x"), stays, *gang(member("p"))]
    assert ("default/x",) == decided(objects, strategy="greedy").victims


def test_a_victim_that_is_also_in_the_way_otherwise_is_evicted():
    objects = [node("n1", cpu="1", **{HOSTNAME: "n1"}), running("x", cpu="1"), *gang(member("p", cpu="1"))]
    decision = decided(objects, strategy="greedy")
    assert (("default/x",), False) == (decision.victims, NOTE in message_of(decision))


def test_a_pod_without_a_group_sees_the_conflict():
    objects = [node("n1", **{HOSTNAME: "n1"}), running("x"), pod("p", priority=100, labels={"app": "a"})]
    decision = decided(objects, strategy="greedy")
    assert (Status.UNSCHEDULABLE, ("default/x",)) == (decision.status, decision.victims)


def test_the_sidecar_evicts_the_pod_in_conflict():
    objects = [node("n1", **{HOSTNAME: "n1"}), running("x"), *gang(member("p", schedulerName="muster"))]
    this = Scene(*objects, scheduler_name="muster", strategy="greedy", preempt=True)
    (attempt,) = this.scheduler.attempt(this.now)
    assert ["x"] == [each.target.name for each in attempt.plan if isinstance(each, Evict)]
