"""A message does not repeat the causes that those above it state; what they do not state is never left out."""

from __future__ import annotations

import pytest

from muster.render.tree_rows import Kinship, rows
from scheduler_core.causes.attempts import AttemptResult, FitError, PluginReason
from scheduler_core.causes.claims import BindingConditionsAwaited, ClaimFull, PodsAwaitDevices, PodsLeftOut, WaitingPod
from scheduler_core.causes.domains import DomainCause
from scheduler_core.causes.groups import (
    AttemptError,
    ChildrenDoNotFit,
    ChildrenInDomain,
    GroupUnschedulable,
    PodDemand,
    PodsDoNotFit,
    VictimsAwaited,
)
from scheduler_core.causes.pre_enqueue import (
    ClaimMissing,
    GatedPod,
    GroupViolations,
    InvalidTree,
    MembersGated,
    MembersWithoutClaims,
    PodWithoutClaim,
    RuleViolation,
)
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Domain, Name, NamedClaim
from scheduler_core.model.status import Status
from scheduler_core.wording.conditions import conditions
from scheduler_core.wording.decision_words import by_causes, by_words, cause_words, group_message, message, most_frequent, own_causes
from scheduler_core.wording.stated_causes import Statements, reasons_left, without_stated
from tests.scheduler_core.wording.refused_clusters import refused_cluster

ROOT, A, B = Name("CompositePodGroup", "ml", "run"), Name("PodGroup", "ml", "a"), Name("PodGroup", "ml", "b")
RACK = Domain("rack", "r1")


def too_large(name):
    return PodsDoNotFit((ROOT, name), RACK, PodDemand(2, 2, 0, ()), (DomainCause(RACK, 1, 0, 2),), "rack")


def tree(*failing):
    return ChildrenDoNotFit((ROOT,), 2, 2, (ChildrenInDomain(RACK, 0, failing),), "rack")


def stated_by(*causes):
    return Statements(Decision(ROOT, Status.UNSCHEDULABLE, causes)).above(())


def violations(number):
    return tuple(RuleViolation(f"spec.field{each}", "a text of some length about the field", "tree-depth") for each in range(number))


@pytest.mark.parametrize(
    ("above", "causes", "left"),
    [
        pytest.param((tree(too_large(A)),), (too_large(A),), (), id="the child that fails first"),
        pytest.param((tree(too_large(A), too_large(B)),), (too_large(B),), (too_large(B),), id="a child that is only named"),
        pytest.param((tree(too_large(A)), PluginReason("x")), (PluginReason("x"), FitError(3)), (FitError(3),), id="a part of the causes"),
        pytest.param((AttemptError((ROOT,), PluginReason("x")),), (PluginReason("x"),), (), id="the reason of an error"),
        pytest.param((VictimsAwaited(),), (AttemptResult.VICTIMS_AWAITED,), (), id="a result with the same words"),
        pytest.param((GroupUnschedulable(PluginReason("x")),), (GroupUnschedulable(PluginReason("y")),), None, id="another result"),
        pytest.param((InvalidTree((GroupViolations(A, violations(2)),)),), violations(2), (), id="violations"),
        pytest.param(
            (MembersGated((GatedPod("ml/a", ("g",)), GatedPod("ml/b", ("g",)))),),
            (MembersGated((GatedPod("ml/b", ("g",)),)), MembersGated((GatedPod("ml/c", ("g",)),))),
            (MembersGated((GatedPod("ml/c", ("g",)),)),),
            id="members of a group",
        ),
        pytest.param(
            (MembersGated((GatedPod("ml/a", ("g",)), GatedPod("ml/b", ("g",)))),),
            (MembersGated((GatedPod("ml/b", ("g",)), GatedPod("ml/c", ("g",)))),),
            (MembersGated((GatedPod("ml/b", ("g",)), GatedPod("ml/c", ("g",)))),),
            id="members of which one is stated, and another is not",
        ),
        pytest.param(
            (PodsLeftOut(1, (ClaimFull(NamedClaim("ml/c", None), None),)),),
            (ClaimFull(NamedClaim("ml/c", None), None),),
            (),
            id="pods that are left out",
        ),
        pytest.param(
            (MembersWithoutClaims((PodWithoutClaim("ml/a", "no claim"),)),), (ClaimMissing("no claim"),), (), id="a missing claim"
        ),
        pytest.param(
            (PodsAwaitDevices((WaitingPod("ml/a", "n"),)),), (BindingConditionsAwaited("n"),), (), id="pods that wait for devices"
        ),
    ],
)
def test_causes_that_are_stated_above_are_left_out(above, causes, left):
    assert (causes if left is None else left) == without_stated(causes, stated_by(*above))


def test_what_a_long_message_does_not_reach_is_not_stated():
    many = violations(40)
    left = without_stated(many, stated_by(InvalidTree((GroupViolations(A, many),))))

    text = message(Decision(ROOT, Status.INVALID, (InvalidTree((GroupViolations(A, many),)),)))
    assert f"{len(left)} more" in text
    assert left == many[-len(left) :]

    long = too_large(Name("PodGroup", "ml", "a" * 1000))
    assert (long,) == without_stated((long,), stated_by(tree(long)))


def test_a_condition_states_the_result_that_the_pods_of_the_group_share():
    group = GroupDecision(A, Status.UNSCHEDULABLE, (too_large(A),), reason=PluginReason("x"))
    decision = Decision(A, Status.UNSCHEDULABLE, (too_large(A),), groups=(group,), post_filter=FitError(3))
    shared = (GroupUnschedulable(), GroupUnschedulable(PluginReason("x")), FitError(3))

    assert shared == without_stated(shared, Statements(decision).above(()))
    assert () == without_stated(shared, Statements(decision).of_group(group))


def test_pods_with_equal_causes_are_reported_together_the_most_frequent_first():
    x, y, w = ((PluginReason(text),) for text in "xyw")
    pending = {"default/a": x, "default/b": y, "default/c": (PluginReason("y"),), "default/d": w}

    assert {x: ["default/a"], y: ["default/b", "default/c"], w: ["default/d"]} == by_causes(pending.items())
    assert [("y", ["default/b", "default/c"]), ("w", ["default/d"]), ("x", ["default/a"])] == most_frequent(pending.items())
    assert [("w", ["default/d"]), ("x", ["default/a"])] == reasons_left(pending, frozenset(y))


def test_pods_whose_different_causes_have_the_same_words_are_reported_together():
    same, other = AttemptResult.NOTHING_NEW, PluginReason(cause_words(AttemptResult.NOTHING_NEW))
    pending = {"ml/a": (PluginReason("x"),), "ml/b": (other,), "ml/c": (same,), "ml/d": (other,)}

    assert (3, 2) == (len(by_causes(pending.items())), len(by_words(pending.items())))
    assert [(cause_words(same), ["ml/b", "ml/c", "ml/d"]), ("x", ["ml/a"])] == most_frequent(pending.items())


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_every_cause_that_is_left_out_is_in_a_text_above(strategy):
    left_out = 0
    for seed in range(60):
        snapshot = load(refused_cluster(seed))
        for decision in run_cycle(snapshot, CycleOptions(strategy=strategy)).decisions:
            statements = Statements(decision)
            for row in rows(decision, Kinship.from_snapshot(snapshot)):
                above = [message(decision), *texts(decision, *row.above)]
                left_out += hidden(own_causes(row.decision), statements.above(row.above), above)
                stated = statements.above((*row.above, row.decision))
                for causes in row.pending.values():
                    left_out += hidden(causes, stated, [*above, *texts(decision, row.decision)])
    assert left_out > 100


def texts(decision, *groups):
    return [text for group in groups for text in (group_message(group), *(each.message for each in conditions(decision, group)))]


def hidden(causes, stated, above):
    left = without_stated(causes, stated)
    gone = [cause for cause in causes if cause not in left]
    for cause in gone:
        assert any(cause_words(cause).rstrip(".") in text for text in above)
    return len(gone)
