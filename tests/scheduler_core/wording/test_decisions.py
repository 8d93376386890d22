"""Decisions have causes only; their texts, which the library returns, are the causes in words."""

from __future__ import annotations

import pytest

from scheduler_core import facade
from scheduler_core.causes.attempts import PluginReason, VictimsFound
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import (
    DevicesAwaited,
    PodsAwaitDevices,
    PodsLeftOut,
    ReservationRefused,
    SelectorNotEvaluated,
    SelectorsNotEvaluated,
)
from scheduler_core.causes.filter_reasons import DeviceAdvice
from scheduler_core.causes.groups import PartlyPlaced, TooFewMembers
from scheduler_core.causes.pre_enqueue import (
    MembersGated,
    MembersWithoutClaims,
    PodGroupAwaited,
    QuorumAwaited,
    QuorumShortage,
    RuleViolation,
    SchedulingGated,
)
from scheduler_core.causes.searches import NoPlacementExists, PlacementMissed
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.device_claims import claim_of
from scheduler_core.model.names import Name, NamedClaim
from scheduler_core.model.status import Status
from scheduler_core.wording.decision_words import cause_words, causes_words, group_message
from scheduler_core.wording.truncation import LONGEST
from tests.scheduler_core.builders import conditions_of, decided, message_of, node, pod, reasons_of
from tests.scheduler_core.wording.examples import members
from tests.scheduler_core.wording.refused_clusters import refused_cluster

SEEDS = range(60)
TRIED = {Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE, Status.ERROR}
GROUP = Name("PodGroup", "default", "g")


def decisions(strategy):
    found = [each for seed in SEEDS for each in run_cycle(load(refused_cluster(seed)), CycleOptions(strategy=strategy)).decisions]
    return [each for each in found if each.status in TRIED]


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_every_pod_and_every_group_that_is_not_placed_has_causes(strategy):
    found = decisions(strategy)
    kinds = tuple(members(Cause))
    for decision in found:
        refused = decision.status is not Status.SUCCESS
        assert all(isinstance(each, kinds) for causes in (decision.causes, *decision.pending.values()) for each in causes)
        assert all(reasons_of(decision).values())
        assert bool(message_of(decision)) or not refused
        assert all(group_message(each) for each in decision.groups if each.status is not Status.SUCCESS)
        missed = {each for each in decision.causes if isinstance(each, PlacementMissed)}
        if not decision.assignments and decision.search.outcome != "budget":
            assert all(missed <= {*causes} for causes in decision.pending.values())
        assert not missed or not any(isinstance(each, NoPlacementExists) for each in decision.causes)

    assert min(sum(len(each.pending) for each in found), sum(bool(group.causes) for each in found for group in each.groups)) > 20
    assert any(isinstance(each, PlacementMissed) for decision in found for each in decision.causes) or strategy == "complete"


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_the_library_returns_the_causes_in_words(strategy):
    for decision in decisions(strategy):
        worded = facade.Decision.worded(decision)

        assert (message_of(decision), reasons_of(decision)) == (worded.message, worded.pending)
        groups = [each for each in decision.groups if each.group.kind != "Pod"]
        assert [(each.group, each.status, group_message(each)) for each in groups] == [
            (each.group, each.status, each.message) for each in worded.groups
        ]
        assert conditions_of(decision) == [condition for each in worded.groups for condition in each.conditions]


UNEVALUATED = SelectorNotEvaluated(NamedClaim("default/c", None), "", 0, "d/p/a", "no such key: model", DeviceAdvice.TEST_ATTRIBUTE)
FEW, OTHER = TooFewMembers((GROUP,), 1, 2), PluginReason("down")
GATED, SHORT = SchedulingGated(("x",)), QuorumShortage(GROUP, 2, 1)
AWAITED, REFUSED = PodsAwaitDevices((("default/p", "n1"),)), ReservationRefused(claim_of("default/c"), too_many=False)


@pytest.mark.parametrize(
    ("causes", "joints"),
    [
        pytest.param((FEW, OTHER), (". ",), id="sentences"),
        pytest.param((OTHER, AWAITED, REFUSED), ("; ", "; "), id="clauses after a sentence"),
        pytest.param(
            (PodsLeftOut(1, (DevicesAwaited(claim_of("default/c")),)), AWAITED),
            (". ",),
            id="pods that are left out have their own sentence",
        ),
        pytest.param((PodGroupAwaited(Name("PodGroup", "default", "g"), exists=False), GATED), ("; ",), id="clauses"),
        pytest.param((QuorumAwaited(GROUP, (SHORT,)), MembersGated((("default/p", ("x",)),))), ("; ",), id="a root that waits"),
        pytest.param((SHORT, MembersGated((("default/p", ("x",)),))), ("; ",), id="a group that waits"),
        pytest.param((REFUSED, SelectorsNotEvaluated((UNEVALUATED,))), (". ",), id="a sentence after a clause"),
    ],
)
def test_causes_are_joined_as_sentences_or_clauses(causes, joints):
    first, *rest = map(cause_words, causes)

    assert first + "".join(f"{joint}{text}" for joint, text in zip(joints, rest, strict=True)) == causes_words(causes)


def test_a_sentence_has_one_point_at_its_end():
    assert "0/1 nodes are available: 1 Insufficient cpu" == reasons_of(decided([node("n", "1"), pod("p", cpu="2")]))["default/p"].rstrip(
        "."
    )
    assert "down. down" == causes_words((PluginReason("down."), OTHER))


def test_of_many_violations_as_many_are_listed_as_fit():
    violations = tuple(RuleViolation("spec", f"must not be {number:04}", "rule") for number in range(200))
    text = causes_words(violations)

    assert len(text) <= LONGEST
    assert text.startswith("spec: must not be 0000 (rule); spec: must not be 0001 (rule); ")
    assert text.endswith(" more")


def test_a_root_with_many_gated_members_is_cut():
    names = [f"default/{'p' * 100}{number}" for number in range(9)]
    gated, without = (
        MembersGated(tuple((name, ("x",)) for name in names)),
        MembersWithoutClaims(tuple((name, "no claim") for name in names)),
    )
    text = causes_words((QuorumAwaited(GROUP, (SHORT,) * 90), gated, without))

    assert len(text) <= LONGEST
    assert text.endswith("more characters")


PARTLY, EVICTED = PartlyPlaced((FEW,)), VictimsFound(1)


@pytest.mark.parametrize(
    ("decision", "stated"),
    [
        pytest.param(Decision(GROUP, Status.SUCCESS, (PARTLY,), groups=(GroupDecision(GROUP, Status.SUCCESS),)), False, id="placed"),
        pytest.param(
            Decision(GROUP, Status.WAIT, (PARTLY,), groups=(GroupDecision(GROUP, Status.SUCCESS),)),
            False,
            id="placed, but devices are awaited",
        ),
        pytest.param(
            Decision(GROUP, Status.SUCCESS, (PARTLY,), groups=(GroupDecision(GROUP, Status.SUCCESS),), post_filter=EVICTED),
            True,
            id="pods are evicted for what is left over",
        ),
        pytest.param(
            Decision(GROUP, Status.UNSCHEDULABLE, (PARTLY,), groups=(GroupDecision(GROUP, Status.UNSCHEDULABLE),)), True, id="nothing new"
        ),
    ],
)
def test_what_a_placed_root_leaves_over_is_stated_by_its_groups(decision, stated):
    assert (cause_words(PARTLY) if stated else "") == message_of(decision)
