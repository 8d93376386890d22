"""Conditions of groups: types, reasons, messages, and what stays once they are True."""

from __future__ import annotations

import dataclasses

import pytest

from scheduler_core.causes.attempts import AttemptResult, PluginReason, PreemptionReason, PreemptionResult
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.groups import TooFewMembers
from scheduler_core.causes.searches import AttemptNote
from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision, GroupCondition, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.conditions import conditions, disruption_target, scheduler_message
from scheduler_core.wording.decision_words import cause_words
from scheduler_core.wording.truncation import LONGEST
from tests.scheduler_core.planted import composite, leaf

WORKERS = Name("PodGroup", "default", "workers")
NO_ROOM = PluginReason("no room")
TOO_FEW = TooFewMembers((WORKERS,), 1, 2)
NOTE = AttemptNote.REST_POSTPONED


def stored_condition(status: str, kind: str = "PodGroup", message: str = "") -> list[dict[str, str]]:
    return [{"type": f"{kind}InitiallyScheduled", "status": status, "reason": "Was", "message": message}]


def condition_of(
    status: Status,
    reason: PluginReason | AttemptResult | None = None,
    causes: tuple[Cause, ...] = (),
    *,
    group: Name = WORKERS,
    before: Conditions | None = None,
    post_filter: PreemptionReason | None = None,
    notes: tuple[Cause, ...] = (),
) -> GroupCondition | None:
    """Return the condition of a group after a cycle with result *status*; None without one."""
    present = before.present(group) if before is not None else None
    decided = GroupDecision(group, status, causes, reason=reason, present=present, notes=notes)
    return next(iter(conditions(Decision(group, status, groups=(decided,), post_filter=post_filter), decided)), None)


def message_after(status: Status, reason: PluginReason | AttemptResult | None = None, causes: tuple[Cause, ...] = (), **more) -> str:
    condition = condition_of(status, reason, causes, **more)
    assert condition is not None
    return condition.message


@pytest.mark.parametrize(
    ("kind", "status", "reason", "want"),
    [
        pytest.param(
            "PodGroup", Status.SUCCESS, None, GroupCondition("PodGroupInitiallyScheduled", "True", "Scheduled", ""), id="scheduled"
        ),
        pytest.param(
            "CompositePodGroup",
            Status.SUCCESS,
            None,
            GroupCondition("CompositePodGroupInitiallyScheduled", "True", "Scheduled", ""),
            id="composite",
        ),
        pytest.param(
            "PodGroup",
            Status.UNSCHEDULABLE,
            PluginReason("0/3 placements are available"),
            GroupCondition(
                "PodGroupInitiallyScheduled", "False", "Unschedulable", "pod group is unschedulable, 0/3 placements are available"
            ),
            id="unschedulable",
        ),
        pytest.param(
            "PodGroup",
            Status.UNRESOLVABLE,
            PluginReason("too few"),
            GroupCondition("PodGroupInitiallyScheduled", "False", "Unschedulable", "pod group is unschedulable, too few"),
            id="no eviction could help",
        ),
        pytest.param(
            "PodGroup",
            Status.ERROR,
            PluginReason("two names"),
            GroupCondition("PodGroupInitiallyScheduled", "False", "SchedulerError", "two names"),
            id="error",
        ),
        pytest.param(
            "CompositePodGroup",
            Status.INVALID,
            PluginReason("a circle"),
            GroupCondition("CompositePodGroupInitiallyScheduled", "False", "Invalid", "a circle"),
            id="invalid",
        ),
    ],
)
def test_each_status_has_its_condition(kind, status, reason, want):
    assert want == condition_of(status, reason, group=Name(kind, "default", "workers"))


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        pytest.param(None, "pod group is unschedulable", id="bare"),
        pytest.param(NO_ROOM, "pod group is unschedulable, no room", id="cause"),
        pytest.param(AttemptResult.NOTHING_NEW, "pod group is unschedulable", id="not twice"),
    ],
)
def test_unschedulable_begins_as_upstream_has_it(reason, want):
    assert want == message_after(Status.UNSCHEDULABLE, reason)


@pytest.mark.parametrize(
    ("reason", "causes", "post_filter", "want"),
    [
        pytest.param(NO_ROOM, (TOO_FEW,), None, f"no room; {cause_words(TOO_FEW)}", id="own causes"),
        pytest.param(NO_ROOM, (NO_ROOM,), None, "no room", id="the same cause is stated once"),
        pytest.param(
            NO_ROOM,
            (TOO_FEW,),
            PreemptionResult.NO_VICTIMS,
            f"no room, pod group preemption: No preemption victims found for incoming preemptor; {cause_words(TOO_FEW)}",
            id="a preemption",
        ),
        pytest.param(
            NO_ROOM, (NO_ROOM,), PluginReason("no room"), "no room, pod group preemption: no room", id="a preemption that ends likewise"
        ),
    ],
)
def test_own_causes_follow_the_message_of_kube_scheduler(reason, causes, post_filter, want):
    assert f"pod group is unschedulable, {want}" == message_after(Status.UNSCHEDULABLE, reason, causes, post_filter=post_filter)


@pytest.mark.parametrize("status", [Status.INVALID, Status.ERROR])
def test_without_an_attempt_its_causes_are_the_message(status):
    assert cause_words(TOO_FEW) == message_after(status, None, (TOO_FEW,))


def test_an_error_is_that_of_the_attempt_without_the_preemption():
    assert "no room" == message_after(Status.ERROR, NO_ROOM, (TOO_FEW,), post_filter=PreemptionResult.NEVER)


def test_the_message_of_kube_scheduler_is_without_own_causes():
    failed = GroupDecision(WORKERS, Status.UNSCHEDULABLE, (TOO_FEW,), reason=NO_ROOM)
    decision = Decision(WORKERS, Status.UNSCHEDULABLE, groups=(failed,), post_filter=PreemptionResult.NEVER)
    final = dataclasses.replace(failed, present=GroupCondition("PodGroupInitiallyScheduled", "True", "Scheduled", ""))
    invalid = dataclasses.replace(failed, status=Status.INVALID)
    want = "pod group is unschedulable, no room, pod group preemption: not eligible due to preemptionPolicy=Never."

    assert [want, "", ""] == [scheduler_message(decision, group) for group in (failed, final, invalid)]


def test_a_message_is_cut_and_says_so():
    message = message_after(Status.UNSCHEDULABLE, PluginReason("x" * 40_000))

    assert len(message) <= LONGEST
    assert message.endswith("more characters")


def test_notes_are_last_and_whole():
    assert f"pod group is unschedulable, no room; {cause_words(NOTE)}" == message_after(Status.UNSCHEDULABLE, NO_ROOM, notes=(NOTE,))

    message = message_after(Status.UNSCHEDULABLE, PluginReason("x" * 40_000), notes=(NOTE,))
    assert len(message) <= LONGEST
    assert message.endswith(f"more characters; {cause_words(NOTE)}")


def test_notes_do_not_change_a_group_that_is_placed():
    assert "" == message_after(Status.SUCCESS, notes=(NOTE,))


def test_nothing_is_written_while_a_group_waits():
    assert condition_of(Status.WAIT, None, (TOO_FEW,), before=Conditions([leaf("workers")])) is None


def test_a_single_pod_has_no_condition():
    assert condition_of(Status.UNSCHEDULABLE, NO_ROOM, group=Name("Pod", "default", "p")) is None


def test_what_is_there_stays_while_a_group_waits():
    before = Conditions([leaf("workers", conditions=stored_condition("False", message="no room"))])

    assert condition_of(Status.WAIT, before=before) == GroupCondition("PodGroupInitiallyScheduled", "False", "Was", "no room")


@pytest.mark.parametrize("status", list(Status))
def test_once_true_it_stays(status):
    before = Conditions([leaf("workers", conditions=stored_condition("True"))])

    want = GroupCondition("PodGroupInitiallyScheduled", "True", "Was", "")
    assert want == condition_of(status, NO_ROOM, before=before, notes=(NOTE,))


def test_false_is_written_over():
    before = Conditions([leaf("workers", conditions=stored_condition("False"))])
    condition = condition_of(Status.SUCCESS, before=before)

    assert condition is not None
    assert condition.reason == "Scheduled"


def test_a_condition_of_another_type_does_not_count():
    before = Conditions([leaf("workers", conditions=stored_condition("True", "CompositePodGroup"))])
    condition = condition_of(Status.INVALID, PluginReason("a circle"), before=before)

    assert condition is not None
    assert condition.reason == "Invalid"


def test_a_pod_group_and_a_composite_of_one_name_have_each_their_own():
    before = Conditions([leaf("workers"), composite("workers", conditions=stored_condition("True", "CompositePodGroup"))])
    condition = condition_of(Status.ERROR, before=before)

    assert condition is not None
    assert condition.status == "False"


def test_a_victim_is_a_disruption_target():
    assert disruption_target("for a higher priority") == GroupCondition(
        "DisruptionTarget", "True", "PreemptionByScheduler", "for a higher priority"
    )


def test_a_victims_message_is_cut_too():
    assert len(disruption_target("x" * 40_000).message) <= LONGEST
