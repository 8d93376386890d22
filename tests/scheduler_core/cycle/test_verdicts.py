"""Verdicts on every group of a tree from the outcome of its root."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.causes.attempts import PluginReason
from scheduler_core.cycle.verdicts import verdicts
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.scheduler_core.builders import composite, conditions_of, decided, leaf, message_of, node, pod
from tests.scheduler_core.plugins.test_volumes import claim, storage_class, using

SUCCESS, UNSCHEDULABLE, UNRESOLVABLE, ERROR = Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE, Status.ERROR


def request(name: str, *children: PlacementRequest, key: str = "") -> PlacementRequest:
    kind = "CompositePodGroup" if children else "PodGroup"
    entity = Entity(Name(kind, "default", name), 1, True, key, 0, True, "", tuple(child.entity for child in children))
    return PlacementRequest(entity, 0, (), children, (), special=False)


def outcome(status: Status, reason: str = "", *children: PlacementOutcome | None, value: str = "") -> PlacementOutcome:
    return PlacementOutcome(
        status,
        Placement(0, "rack" if value else "", value, np.zeros(0, dtype=np.int64)),
        0,
        PluginReason(reason) if reason else None,
        children=children,
    )


def verdicts_by_name(tree: PlacementRequest, came: PlacementOutcome) -> dict[str, tuple[Status, str]]:
    return {each.name.name: (each.status, attempt_words(each.reason)) for each in verdicts(tree, came)}


TREE = request("root", request("left", request("deep")), request("right"))


def test_groups_come_parents_first_and_in_order():
    good = outcome(SUCCESS, "", outcome(SUCCESS, "", outcome(SUCCESS)), outcome(SUCCESS))

    assert ["root", "left", "deep", "right"] == [each.name.name for each in verdicts(TREE, good)]


@pytest.mark.parametrize(
    ("came", "want"),
    [
        pytest.param(
            outcome(SUCCESS, "", outcome(UNSCHEDULABLE, "no room", outcome(SUCCESS)), outcome(SUCCESS)),
            {"root": (SUCCESS, ""), "left": (UNSCHEDULABLE, "no room"), "deep": (UNSCHEDULABLE, "no room"), "right": (SUCCESS, "")},
            id="a child that failed takes its own with it",
        ),
        pytest.param(
            outcome(UNSCHEDULABLE, "too few", outcome(UNSCHEDULABLE, "no room", outcome(UNSCHEDULABLE, "own")), outcome(SUCCESS)),
            {
                "root": (UNSCHEDULABLE, "too few"),
                "left": (UNSCHEDULABLE, "no room"),
                "deep": (UNSCHEDULABLE, "own"),
                "right": (UNSCHEDULABLE, "too few"),
            },
            id="who failed by itself keeps its own words",
        ),
        pytest.param(
            outcome(UNSCHEDULABLE, "too few", outcome(UNSCHEDULABLE, "no room"), None),
            {
                "root": (UNSCHEDULABLE, "too few"),
                "left": (UNSCHEDULABLE, "no room"),
                "deep": (UNSCHEDULABLE, "no room"),
                "right": (UNSCHEDULABLE, "too few"),
            },
            id="who was never tried has what is above it",
        ),
        pytest.param(
            outcome(UNSCHEDULABLE, "nowhere"),
            dict.fromkeys(("root", "left", "deep", "right"), (UNSCHEDULABLE, "nowhere")),
            id="a root that had no placement to try",
        ),
        pytest.param(
            outcome(ERROR, "two domains", outcome(UNSCHEDULABLE, "no room", outcome(SUCCESS)), outcome(SUCCESS)),
            dict.fromkeys(("root", "left", "deep", "right"), (ERROR, "two domains")),
            id="an error overrules everything",
        ),
        pytest.param(
            outcome(SUCCESS, "", outcome(UNRESOLVABLE, "too few members"), outcome(SUCCESS)),
            {
                "root": (SUCCESS, ""),
                "left": (UNRESOLVABLE, "too few members"),
                "deep": (UNRESOLVABLE, "too few members"),
                "right": (SUCCESS, ""),
            },
            id="what no eviction could help",
        ),
    ],
)
def test_what_is_above_counts_for_what_is_below(came, want):
    assert want == verdicts_by_name(TREE, came)


def test_a_group_that_is_placed_has_the_domain_of_its_own_key():
    tree = request("root", request("a", key="rack"), request("b"), request("c", key="rack"), key="zone")
    children = (outcome(SUCCESS, value="r1"), outcome(SUCCESS, value="z1"), outcome(UNSCHEDULABLE, "no room", value="r2"))
    result = {each.name.name: each.domain for each in verdicts(tree, outcome(SUCCESS, "", *children, value="z1"))}

    assert {"root": Domain("zone", "z1"), "a": Domain("rack", "r1"), "b": None, "c": None} == result


def test_who_is_overruled_has_no_domain():
    tree = request("root", request("a", key="rack"))
    (_, below) = verdicts(tree, outcome(UNSCHEDULABLE, "too few", outcome(SUCCESS, value="r1")))

    assert (UNSCHEDULABLE, None) == (below.status, below.domain)


def with_claim(name: str):
    """Return a member of group g with a claim that does not exist."""
    return using("c", name=name, schedulingGroup={"podGroupName": "g"})


def large(name: str):
    return pod(name, "g", "99")


UNTIL_BOUND = [claim(), storage_class("Immediate")]
WITHOUT_DEVICES = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}}],
}


@pytest.mark.parametrize(
    ("objects", "status"),
    [
        pytest.param([leaf("g", 2), with_claim("p"), with_claim("q")], ERROR, id="a gang whose claims do not exist"),
        pytest.param([*UNTIL_BOUND, leaf("g", 1), with_claim("p")], ERROR, id="a claim that does not wait for a pod and has no volume"),
        pytest.param([leaf("g"), with_claim("p"), with_claim("q")], ERROR, id="a basic group"),
        pytest.param([leaf("g", 2), with_claim("p"), large("q")], ERROR, id="kube-scheduler stops at the first pod"),
        pytest.param([leaf("g", 1), pod("o", "g", on="n"), with_claim("p")], ERROR, id="a gang that runs, and a new pod"),
        pytest.param([leaf("g", 1), with_claim("p"), large("q")], UNSCHEDULABLE, id="another pod is refused later"),
        pytest.param([leaf("g", 2), large("p"), with_claim("q")], UNSCHEDULABLE, id="the first pod is refused later"),
        pytest.param([leaf("g", 1, "zone"), with_claim("p")], UNSCHEDULABLE, id="a group with a topology constraint"),
        pytest.param([composite("r", 1), leaf("g", 1, parent="r"), with_claim("p")], UNSCHEDULABLE, id="a tree"),
        pytest.param([using("c")], UNSCHEDULABLE, id="a pod without a group"),
        pytest.param([WITHOUT_DEVICES, leaf("g", 1), with_claim("p")], UNSCHEDULABLE, id="a profile without DynamicResources"),
    ],
)
def test_greedy_has_the_error_of_kube_scheduler_if_no_pod_reaches_dynamic_resources(objects, status):
    decision = decided([node("n", zone="z"), *objects], strategy="greedy")
    text = 'error in "DynamicResources" PodGroupPostFilter plugins: not found'
    conditions = [(each.reason, each.message) for each in conditions_of(decision)]

    assert (status, status is ERROR) == (
        decision.status,
        f". kube-scheduler ends the attempt with an error instead: {text}" in message_of(decision),
    )
    assert (("SchedulerError", text) in conditions) is (status is ERROR)


def test_complete_reports_the_reason_without_that_error():
    decision = decided([node("n"), leaf("g", 1), with_claim("p")], strategy="complete")

    assert (UNRESOLVABLE, False) == (decision.status, "error" in message_of(decision))
