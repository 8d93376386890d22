"""Conditions of groups: types, reasons, messages, and what stays once they are True."""

from __future__ import annotations

import pytest

from scheduler_core.model.conditions import Conditions, disruption_target, initially_scheduled, unschedulable
from scheduler_core.model.decision import GroupCondition, Name, Status
from scheduler_core.model.wording import LONGEST
from tests.scheduler_core.planted import composite, leaf

WORKERS = Name("PodGroup", "default", "workers")


def stored_condition(status: str, kind: str = "PodGroup", message: str = "") -> list[dict[str, str]]:
    return [{"type": f"{kind}InitiallyScheduled", "status": status, "reason": "Was", "message": message}]


@pytest.mark.parametrize(
    ("kind", "status", "message", "want"),
    [
        pytest.param("PodGroup", Status.SUCCESS, "", GroupCondition("PodGroupInitiallyScheduled", "True", "Scheduled", ""), id="scheduled"),
        pytest.param(
            "CompositePodGroup",
            Status.SUCCESS,
            "",
            GroupCondition("CompositePodGroupInitiallyScheduled", "True", "Scheduled", ""),
            id="composite",
        ),
        pytest.param(
            "PodGroup",
            Status.UNSCHEDULABLE,
            "0/3 placements are available",
            GroupCondition(
                "PodGroupInitiallyScheduled", "False", "Unschedulable", "pod group is unschedulable, 0/3 placements are available"
            ),
            id="unschedulable",
        ),
        pytest.param(
            "PodGroup",
            Status.UNRESOLVABLE,
            "too few",
            GroupCondition("PodGroupInitiallyScheduled", "False", "Unschedulable", "pod group is unschedulable, too few"),
            id="no eviction could help",
        ),
        pytest.param(
            "PodGroup",
            Status.ERROR,
            "two names",
            GroupCondition("PodGroupInitiallyScheduled", "False", "SchedulerError", "two names"),
            id="error",
        ),
        pytest.param(
            "CompositePodGroup",
            Status.INVALID,
            "a circle",
            GroupCondition("CompositePodGroupInitiallyScheduled", "False", "Invalid", "a circle"),
            id="invalid",
        ),
    ],
)
def test_each_status_has_its_condition(kind, status, message, want):
    assert want == initially_scheduled(kind, status, message)


@pytest.mark.parametrize(
    ("cause", "want"),
    [
        pytest.param("", "pod group is unschedulable", id="bare"),
        pytest.param("no room", "pod group is unschedulable, no room", id="cause"),
        pytest.param("pod group is unschedulable, no room", "pod group is unschedulable, no room", id="not twice"),
    ],
)
def test_unschedulable_begins_as_upstream_has_it(cause, want):
    assert want == unschedulable(cause)


def test_a_message_is_cut_and_says_so():
    message = initially_scheduled("PodGroup", Status.UNSCHEDULABLE, "x" * 40_000).message

    assert len(message) <= LONGEST
    assert message.endswith("more characters")


def test_nothing_is_written_while_a_group_waits():
    assert Conditions([leaf("workers")]).conditions_after(WORKERS, Status.WAIT, "for members") == ()


def test_what_is_there_stays_while_a_group_waits():
    conditions = Conditions([leaf("workers", conditions=stored_condition("False", message="no room"))])

    assert conditions.conditions_after(WORKERS, Status.WAIT) == (GroupCondition("PodGroupInitiallyScheduled", "False", "Was", "no room"),)


@pytest.mark.parametrize("status", list(Status))
def test_once_true_it_stays(status):
    conditions = Conditions([leaf("workers", conditions=stored_condition("True"))])

    assert conditions.conditions_after(WORKERS, status, "no room") == (GroupCondition("PodGroupInitiallyScheduled", "True", "Was", ""),)


def test_false_is_written_over():
    conditions = Conditions([leaf("workers", conditions=stored_condition("False"))])

    assert [each.reason for each in conditions.conditions_after(WORKERS, Status.SUCCESS)] == ["Scheduled"]


def test_a_condition_of_another_type_does_not_count():
    conditions = Conditions([leaf("workers", conditions=stored_condition("True", "CompositePodGroup"))])

    assert [each.reason for each in conditions.conditions_after(WORKERS, Status.INVALID, "a circle")] == ["Invalid"]


def test_a_pod_group_and_a_composite_of_one_name_have_each_their_own():
    conditions = Conditions([leaf("workers"), composite("workers", conditions=stored_condition("True", "CompositePodGroup"))])

    assert [each.status for each in conditions.conditions_after(WORKERS, Status.ERROR)] == ["False"]


def test_a_victim_is_a_disruption_target():
    assert disruption_target("for a higher priority") == GroupCondition(
        "DisruptionTarget", "True", "PreemptionByScheduler", "for a higher priority"
    )


def test_a_victims_message_is_cut_too():
    assert len(disruption_target("x" * 40_000).message) <= LONGEST
