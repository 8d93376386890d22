"""Nominations, preemption and the roots that are tried: small clusters worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduler_core.oracle import cycle
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.test_brute import composite, leaf, members
from tests.scheduler_core.oracle.test_compare import standalone
from tests.scheduler_core.oracle.test_parts import node, pod


def nominated(name: str, to: str, **spec: Any) -> dict[str, Any]:
    return {**pod(name, "1", **spec), "status": {"nominatedNodeName": to}}


def status(objects: Objects) -> dict[str, tuple[str, dict[str, str]]]:
    return {each["root"]["name"]: (each["status"], each["assignments"]) for each in cycle.run(objects)}


def test_the_nominated_node_is_taken_without_scoring():
    objects = [node("a", "8"), node("b", "1"), nominated("p", "b")]

    assert {"p": ("Success", {"default/p": "b"})} == status(objects)


@pytest.mark.parametrize(
    ("priority", "want"),
    [
        pytest.param(0, ("Unschedulable", {}), id="the same"),
        pytest.param(1, ("Success", {"default/first": "n"}), id="higher"),
    ],
)
def test_capacity_promised_to_a_pod_of_the_same_priority_is_not_taken(priority, want):
    first = {**pod("first", "1", priority=priority, preemptionPolicy="Never")}
    first["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    promised = nominated("promised", "n", preemptionPolicy="Never")
    promised["metadata"]["creationTimestamp"] = "2026-01-01T00:00:01Z"

    assert want == status([node("n", "1"), first, promised])["first"]


def test_members_that_were_promised_the_same_node_are_not_counted_twice():
    objects = [node("n", "2"), standalone("g", 2, 0)]
    objects += [{**each, "status": {"nominatedNodeName": "n"}} for each in members("g", 2)]

    assert {"g": ("Success", {"default/g-0": "n", "default/g-1": "n"})} == status(objects)


def running(name: str, cpu: str, on: str, **spec: Any) -> dict[str, Any]:
    return pod(name, cpu, nodeName=on, **spec)


def test_what_one_root_is_promised_counts_for_the_next():
    objects = [node("n", "1"), running("low", "1", "n", priority=0)]
    for name, priority in (("first", 9), ("second", 8)):
        objects += [standalone(name, 1, 0, priority=priority), *members(name, 1, priority=priority)]
    first, second = cycle.run(objects)

    assert (["default/low"], {"default/first-0": "n"}) == (first["victims"], first["nominations"])
    assert ("Unschedulable", [], {}) == (second["status"], second["victims"], second["nominations"])


@pytest.mark.parametrize(
    ("failed_leaves", "want"),
    [
        pytest.param(True, {"default/a-0": "n", "default/b-0": "n"}, id="as upstream"),
        pytest.param(False, {"default/a-0": "n"}, id="otherwise"),
    ],
)
def test_pods_of_a_leaf_that_fails_are_promised_capacity_when_their_root_succeeds(failed_leaves, want):
    tree = [composite(1), leaf("a", 1, 0), leaf("b", 2, 1)]
    for group in tree:
        group["spec"]["priority"] = 9
    objects = [node("n", "2"), running("low", "2", "n"), *tree, *members("a", 1, priority=9), *members("b", 2, priority=9)]
    (decision,) = cycle.run(objects, failed_leaves=failed_leaves)

    assert want == decision["nominations"]
    assert ["default/low"] == decision["victims"]


def test_no_pod_is_preempted_where_somebody_is_leaving_already():
    leaving = running("leaving", "1", "n")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    leaving["status"] = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    promised = [{**each, "status": {"nominatedNodeName": "n"}} for each in members("g", 1, priority=9)]
    objects = [node("n", "2"), leaving, running("low", "1", "n"), standalone("g", 1, 0, priority=9), *promised]
    (decision,) = cycle.run(objects)

    assert ("Unschedulable", []) == (decision["status"], decision["victims"])
    assert "ongoing preemption" in decision["message"]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([standalone("g", 1, 0), *members("g", 1, schedulingGates=[{"name": "x"}])], "Wait", id="a gated member"),
        pytest.param([standalone("g", 2, 0), *members("g", 1)], "Wait", id="too few members"),
        pytest.param([composite(1), leaf("g", 2, 0), *members("g", 1)], "Wait", id="no child is ready"),
        pytest.param([*members("g", 1)], "Wait", id="no group"),
        pytest.param([leaf("g", 1, 0), *members("g", 1)], "Wait", id="no parent"),
        pytest.param([standalone("g", 1, 0), *members("g", 1, priority=1)], "Error", id="another priority"),
        pytest.param([standalone("g", 1, 0), *members("g", 1, preemptionPolicy="Never")], "Error", id="another policy"),
        pytest.param([standalone("g", 1, 0), *members("g", 1)], "Success", id="as it should be"),
    ],
)
def test_a_root_is_attempted_or_not(objects, want):
    (decision,) = cycle.run([node(), *objects])

    assert want == decision["status"]


def test_an_order_goes_before_priority():
    objects = [
        node("n", "1"),
        standalone("high", 1, 0, priority=9),
        standalone("low", 1, 1),
        *members("high", 1, priority=9),
        *members("low", 1),
    ]
    first, second = cycle.run(objects, ["low"])

    assert ("low", "Success") == (first["root"]["name"], first["status"])
    assert ("high", ["default/low-0"]) == (second["root"]["name"], second["victims"])


def test_of_units_alike_the_first_by_name_stays():
    objects = [
        node("n", "2"),
        running("b", "1", "n"),
        running("a", "1", "n"),
        standalone("g", 1, 0, priority=9),
        *members("g", 1, priority=9),
    ]
    (decision,) = cycle.run(objects)

    assert ["default/b"] == decision["victims"]


def test_after_the_eviction_the_victims_are_gone_and_the_root_is_placed():
    objects = [node("n", "1"), running("a", "1", "n"), standalone("g", 1, 0, priority=9), *members("g", 1, priority=9)]
    first, second = cycle.run(objects, evict=True)

    assert ("Unschedulable", {}, {"default/g-0": "n"}) == (first["status"], first["assignments"], first["nominations"])
    assert ("Success", {"default/g-0": "n"}, {}) == (second["status"], second["assignments"], second["nominations"])


def test_capacity_promised_to_a_member_is_not_taken_by_one_tried_before_it():
    late, early = members("g", 2)
    objects = [node("n", "1"), standalone("g", 1, 0), early, late]
    late["status"] = {"nominatedNodeName": "n"}
    late["metadata"]["creationTimestamp"] = "2026-01-01T00:00:01Z"

    assert {"g": ("Success", {"default/g-0": "n"})} == status(objects)
