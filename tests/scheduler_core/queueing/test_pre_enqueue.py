"""Roots that are Invalid, Wait or Error, and the messages of their groups and pods."""

from __future__ import annotations

import pytest

from kubeapi.meta import ObjectMeta
from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision, GroupCondition
from scheduler_core.model.status import Status
from scheduler_core.queueing.pre_enqueue import decision, refusal
from scheduler_core.queueing.trees import Trees
from scheduler_core.wording.conditions import conditions
from scheduler_core.wording.decision_words import group_message
from scheduler_core.wording.truncation import LONGEST
from tests.scheduler_core.builders import conditions_of, message_of, reasons_of
from tests.scheduler_core.planted import composite, leaf, pod, snapshot
from validators.gates import Gates
from validators.model.objects import Named

ALL_ON = Gates()
POLICY_OFF = Gates(frozenset({"PodGroupPreemptionPolicy"}))
QUORUM = 'waiting for composite pod group "root" tree to meet quorum'


def refused(groups, pods, gates=ALL_ON, others=()) -> Decision | None:
    """Return the decision on the first tree before it is tried."""
    given = snapshot(groups, pods, others=others)
    trees = Trees(given)
    why = refusal(trees.all[0], trees, gates)
    return None if why is None else decision(trees.all[0], trees, why, Conditions(given.groups))


def messages(found: Decision) -> dict[str, str]:
    return {group.group.name: group_message(group) for group in found.groups}


@pytest.mark.parametrize(
    ("groups", "pods"),
    [
        pytest.param([leaf("a", gang=2)], [pod("p0", "a"), pod("p1", "a")], id="gang"),
        pytest.param([composite("root"), leaf("a", "root")], [pod("p", "a")], id="tree"),
        pytest.param([leaf("a", preemptionPolicy="Never")], [pod("p", "a", preempts=False)], id="of one preemption policy"),
    ],
)
def test_a_root_in_order_is_tried(groups, pods):
    assert refused(groups, pods) is None


def test_an_invalid_tree_reports_each_group_its_errors_and_the_root_all():
    groups = [composite("root"), leaf("a", "root", workload="other"), leaf("b", "root")]
    result = refused(groups, [pod("p", "b")])
    breach = "spec.workloadRef.workloadName: Invalid value: \"other\": must be 'train', the Workload of the tree's root CompositePodGroup root (tree-one-workload)"
    whole = f'the tree is invalid: PodGroup "a": {breach}'

    assert (Status.INVALID, whole) == (result.status, message_of(result))
    assert messages(result) == {"root": whole, "a": breach, "b": whole}
    assert {Status.INVALID} == {group.status for group in result.groups}
    assert {"default/p": whole} == reasons_of(result)
    assert conditions(result, result.groups[1]) == (GroupCondition("PodGroupInitiallyScheduled", "False", "Invalid", breach),)
    assert conditions(result, result.groups[0]) == (GroupCondition("CompositePodGroupInitiallyScheduled", "False", "Invalid", whole),)


def test_nothing_is_placed_of_what_is_refused():
    result = refused([leaf("a", gang=2)], [pod("p", "a")])

    assert ({}, {}, (), "not-searched") == (result.assignments, result.nominations, result.victims, result.search.outcome)


def test_many_breaches_are_cut_and_counted():
    groups = [composite("root"), *(leaf(f"a{number:04}", "root", workload="other") for number in range(300))]
    result = refused(groups, [pod("p", "a0000")])

    assert len(message_of(result)) <= LONGEST
    assert message_of(result).endswith(" more")
    assert all(len(condition.message) <= LONGEST for condition in conditions_of(result))


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param([leaf("a", "nobody")], ["a"], id="of a leaf"),
        pytest.param([composite("b", "nobody"), leaf("a", "b")], ["b", "a"], id="of an inner group"),
        pytest.param([composite("c", "nobody"), composite("b", "c"), leaf("a", "b")], ["c", "b", "a"], id="two levels above"),
    ],
)
def test_a_tree_waits_for_a_missing_parent_and_names_it(groups, want):
    result = refused(groups, [pod("p", "a")])
    top = groups[0]
    message = f'waiting for CompositePodGroup "nobody", the parent of {top.kind} "{top.metadata.name}", to appear in scheduling queue'

    assert (Status.WAIT, message) == (result.status, message_of(result))
    assert dict.fromkeys(want, message) == messages(result)
    assert [()] * len(want) == [conditions(result, group) for group in result.groups]
    assert {"default/p": message} == reasons_of(result)


def test_a_parent_that_cannot_be_read_is_distinguished():
    result = refused([leaf("a", "b")], [pod("p", "a")], others=[Named("CompositePodGroup", ObjectMeta(name="b"))])

    assert result.status is Status.WAIT
    assert message_of(result).endswith("to appear in scheduling queue: it exists but cannot be used")


def test_a_flat_gang_waits_for_its_members():
    result = refused([leaf("a", gang=3)], [pod("p", "a")])

    assert result.status is Status.WAIT
    assert message_of(result) == (
        'waiting for minCount pods from a gang to appear in scheduling queue: PodGroup "a" has 1 of 3 pods, 2 missing'
    )
    assert messages(result) == {"a": 'PodGroup "a" has 1 of 3 pods, 2 missing'}


def test_a_tree_waits_for_its_quorum_and_says_who_is_short():
    groups = [composite("root", gang=2), leaf("a", "root"), leaf("b", "root", gang=2)]
    result = refused(groups, [pod("a-0", "a"), pod("b-0", "b")])
    root, short = 'CompositePodGroup "root" has 1 of 2 ready child groups, 1 missing', 'PodGroup "b" has 1 of 2 pods, 1 missing'

    assert f"{QUORUM}: {root}; {short}" == message_of(result)
    assert messages(result) == {"root": root, "a": message_of(result), "b": short}


def test_one_gated_member_holds_back_its_whole_root():
    groups = [composite("root"), leaf("a", "root"), leaf("b", "root")]
    result = refused(groups, [pod("a-0", "a"), pod("b-0", "b", gates=("x", "y"))])
    message = "waiting for scheduling gates of members: default/b-0 [x y]"

    assert (Status.WAIT, message) == (result.status, message_of(result))
    assert {"default/a-0": message, "default/b-0": "waiting for scheduling gates: [x y]"} == reasons_of(result)


def test_a_gate_of_a_pod_that_is_leaving_holds_back_nobody():
    assert refused([leaf("a")], [pod("p", "a"), pod("q", "a", gates=("x",), terminating=True)]) is None


def test_quorum_and_gates_are_reported_together():
    result = refused([leaf("a", gang=2)], [pod("p", "a", gates=("x",))])
    short, gate = 'PodGroup "a" has 1 of 2 pods, 1 missing', "waiting for scheduling gates of members: default/p [x]"

    assert f"waiting for minCount pods from a gang to appear in scheduling queue: {short}; {gate}" == message_of(result)
    assert messages(result) == {"a": f"{short}; {gate}"}


def test_many_shortages_and_gates_are_cut():
    groups = [composite("root", gang=200), *(leaf(f"a{number:04}", "root", gang=2) for number in range(200))]
    result = refused(groups, [pod(f"p{number}", f"a{number:04}", gates=("gate",)) for number in range(200)])

    assert len(message_of(result)) <= LONGEST
    assert "more; waiting for scheduling gates of members: default/p0 [gate], " in message_of(result)
    assert message_of(result).endswith(" more")


UNLIKE = "all pods in a single pod group should have the same"


@pytest.mark.parametrize(
    ("groups", "pods", "gates", "message"),
    [
        pytest.param(
            [leaf("a")],
            [pod("p0", "a", scheduler="x"), pod("p1", "a", scheduler="y"), pod("p2", "a", scheduler="y")],
            ALL_ON,
            f'{UNLIKE} .spec.schedulerName set, got: "y" and "x": default/p1 and 1 more',
            id="two schedulers",
        ),
        pytest.param(
            [composite("root"), leaf("a", "root"), leaf("b", "root")],
            [pod("a-0", "a", scheduler="x"), pod("b-0", "b", scheduler="y", node=0)],
            ALL_ON,
            f'{UNLIKE} .spec.schedulerName set, got: "y" and "x": default/b-0',
            id="another scheduler's pod runs in another leaf",
        ),
        pytest.param(
            [composite("root", preemptionPolicy="Never"), leaf("a", "root")],
            [pod("p0", "a", preempts=False), pod("p1", "a")],
            ALL_ON,
            f"{UNLIKE} preemption policy as the pod group's preemption policy, got PreemptLowerPriority and Never: default/p1",
            id="a pod unlike the root's preemption policy",
        ),
        pytest.param(
            [leaf("a", preemptionPolicy="Never")],
            [pod("p0", "a"), pod("p1", "a", preempts=False)],
            POLICY_OFF,
            f"{UNLIKE} preemption policy, got Never and PreemptLowerPriority: default/p1",
            id="gate off: two preemption policies",
        ),
    ],
)
def test_pods_unlike_each_other_are_an_error(groups, pods, gates, message):
    result = refused(groups, pods, gates)

    assert (Status.ERROR, message) == (result.status, message_of(result))
    assert {message} == {*messages(result).values()}
    assert {("False", "SchedulerError", message)} == {
        (condition.status, condition.reason, condition.message) for condition in conditions_of(result)
    }


def test_with_the_gate_off_pods_need_not_be_as_their_group():
    assert refused([leaf("a", preemptionPolicy="Never")], [pod("p", "a")], POLICY_OFF) is None


@pytest.mark.parametrize(
    ("groups", "pods", "want"),
    [
        pytest.param(
            [composite("a", "nobody"), leaf("b", "a", workload="other")],
            [pod("p", "b")],
            Status.INVALID,
            id="invalid before a missing parent",
        ),
        pytest.param([leaf("a", gang=2)], [pod("p", "a", priority=3)], Status.INVALID, id="invalid before quorum"),
        pytest.param([leaf("a", gang=3)], [pod("p", "a"), pod("q", "a", scheduler="other")], Status.WAIT, id="quorum before unlike pods"),
    ],
)
def test_what_no_waiting_cures_is_reported_first(groups, pods, want):
    assert want == refused(groups, pods).status


def test_a_group_that_was_scheduled_once_keeps_saying_so():
    reported = [{"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}]
    result = refused([leaf("a", "b", conditions=reported), composite("b", "b")], [pod("p", "a")])

    assert {"a": ["Scheduled"], "b": ["Invalid"]} == {
        group.group.name: [each.reason for each in conditions(result, group)] for group in result.groups
    }
