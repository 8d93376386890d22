"""Roots on a page: lines, cards, and who leaves."""

from __future__ import annotations

import dataclasses

import pytest

from muster.html import root_cards
from muster.html.sentences import CountedSentence
from scheduler_core.causes.attempts import AttemptResult
from scheduler_core.causes.changes import AddedNodes, SearchLimit, UncordonedNodes
from scheduler_core.causes.constraints import EarlierRoots, NominatedPodsKeepCapacity
from scheduler_core.causes.missed_placements import FeasibilityChecks, UnequalPods
from scheduler_core.causes.searches import PlacementMissed
from scheduler_core.model.decision import Decision, Eviction, GroupDecision, Remedy, Search, Step
from scheduler_core.model.names import Domain
from scheduler_core.model.status import Status
from tests.muster.simulated import composite, failed_gang, kinship, leaf, members, placed_tree, preempting, single_left, stated, told

KIN = kinship({"a": "run", "b": "run"}, a=2, b=2, g=3, urgent=2, low=2)


def nowhere(*_):
    return None


def card(decision, **more):
    return root_cards.card(decision, KIN, nowhere, **more)


def test_lines_of_a_placed_tree():
    found = root_cards.lines(placed_tree(), KIN, lambda domain, nodes: {("z1", "n1"): 1, ("r1", "n1"): 2}.get((domain.value, nodes[0])))
    assert [
        (0, "run", "", "✓", "zone z1", 1, "4 of 4 pods", ""),
        (1, "a", "run", "✓", "rack r1", 2, "2 of 2 pods", "n1 ×2"),  # noqa: RUF001 - it is meant to be a multiplication sign
        (1, "b", "run", "✓", "rack r2", None, "2 of 2 pods", "n2, n10"),
    ] == [(line.depth, line.group.name, line.parent, line.mark, line.domain, line.area, line.count, line.nodes) for line in found]


def test_a_domain_whose_name_contains_its_level_is_not_named_twice():
    decision = Decision(leaf("a"), Status.SUCCESS, groups=(told(leaf("a"), domain="rack-1"),))
    assert ["rack-1"] == [line.domain for line in root_cards.lines(decision, KIN, nowhere)]


def test_a_pod_has_no_count():
    assert [("", "default")] == [(line.count, line.group.namespace) for line in root_cards.lines(single_left("p"), KIN, nowhere)]


def test_leftover_pods_are_reported_with_their_reasons():
    decision = dataclasses.replace(placed_tree(), pending={"default/a-9": stated("no room")})
    assert [(), (), ()] == [line.why for line in root_cards.lines(placed_tree(), KIN, nowhere)]
    assert "a-9: no room" in [why for line in root_cards.lines(decision, KIN, nowhere) for why in line.why]


def test_a_group_of_a_tree_says_what_the_root_does_not():
    groups = (
        told(composite("run"), Status.UNSCHEDULABLE, "group b does not fit in any rack"),
        told(leaf("a"), Status.UNSCHEDULABLE, "fits by itself, but group b does not"),
        told(leaf("b"), Status.UNSCHEDULABLE, "group b does not fit in any rack"),
    )
    decision = Decision(composite("run"), Status.UNSCHEDULABLE, stated("group b does not fit in any rack: r1 can hold 1"), groups=groups)
    assert [(), ("fits by itself, but group b does not",), ()] == [line.why for line in root_cards.lines(decision, KIN, nowhere)]


def test_card_of_a_gang_that_does_not_fit():
    limit = PlacementMissed((UnequalPods(leaf("g")), FeasibilityChecks()))
    found = card(dataclasses.replace(failed_gang("group g does not fit: x; y"), causes=(*stated("no: a; b"), limit)), headline="No room")
    assert ("✗", "Unschedulable", "not placed", "0 of 3 pods placed", "No room", ()) == (
        *(found.mark, found.word, found.label, found.count, found.headline, found.lines),
    )
    missed = "The greedy algorithm may have missed a placement"
    unequal = "the pods of group g are not equal (KEP-4671, Algorithm Limitations: heterogeneous pod groups)"
    assert (CountedSentence("no: a; b"), CountedSentence(missed, (unequal, "a plugin decides what is feasible"))) == found.sentences
    assert ("g-1, g-2", "g-0") == tuple(pods for pods, _ in found.reasons)
    assert "" == found.search


@pytest.mark.parametrize("status", [Status.INVALID, Status.WAIT, Status.ERROR])
def test_what_is_not_counted_up_stays_in_one_piece(status):
    decision = dataclasses.replace(failed_gang("wrong: a; b"), status=status)
    assert (CountedSentence("wrong: a; b"),) == card(decision).sentences


def test_words_of_the_scheduler_are_not_the_reason_of_a_group():
    bare = GroupDecision(leaf("a"), Status.UNSCHEDULABLE, (AttemptResult.NOTHING_NEW,))
    groups = (told(composite("run"), Status.UNSCHEDULABLE, "m"), bare)
    decision = Decision(composite("run"), Status.UNSCHEDULABLE, stated("m"), groups=groups)

    assert [(), ()] == [line.why for line in root_cards.lines(decision, KIN, nowhere)]


def test_card_of_a_root_for_which_others_leave():
    found = card(preempting())
    assert ("→", "placed after 3 pods are evicted", "n1, n2", "") == (found.mark, found.label, found.then, found.plan)
    assert ("Pod default/web", "PodGroup default/low: low-0, low-1") == found.leaving


@pytest.mark.parametrize(
    ("plan", "want"),
    [
        pytest.param(Eviction(2, 2), "2 preemption units: it is proved that fewer are not enough", id="the fewest"),
        pytest.param(Eviction(3, 2), "3 preemption units: 1 unit fewer might be enough", id="perhaps not the fewest"),
        pytest.param(
            Eviction(1, 1, 2),
            "1 preemption unit: it is proved that fewer are not enough; 2 pods that a PodDisruptionBudget protects",
            id="against a budget",
        ),
    ],
)
def test_how_good_the_choice_of_victims_is(plan, want):
    assert want == card(dataclasses.replace(preempting(), preemption=plan)).plan


def test_many_pods_without_a_group_leave_together():
    decision = dataclasses.replace(preempting(), victims=tuple(f"default/p{number}" for number in range(12)))
    (who,) = card(decision).leaving
    assert who.startswith("12 pods without a group in default: p0, p1, ")
    assert who.endswith(" and 4 more")


def test_remedies_are_reported_step_by_step():
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}}
    gone = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"}
    decision = dataclasses.replace(
        failed_gang(),
        remedies=(
            Remedy(AddedNodes(1, (), "n1"), (Step(apply=made), Step(delete=gone))),
            Remedy(UncordonedNodes(("n2",)), (), Status.WAIT),
        ),
        remedies_note=SearchLimit.TRIES,
        conflict=(EarlierRoots(17), NominatedPodsKeepCapacity()),
    )
    found = card(decision)

    assert "the search for remedies stopped at the maximum number of tries; there may be more" == found.remedies_note
    assert ("17 roots placed before it take capacity", "pods with a nominated node keep their capacity") == found.conflict
    assert [("1 more node like n1", "Success"), ("node n2 uncordoned", "Wait")] == [
        (remedy.change, remedy.then) for remedy in found.remedies
    ]
    apply, delete = found.remedies[0].steps
    assert ("apply Node n9", "{") == (apply[0], apply[1][0])
    assert ("delete Pod default/p", ()) == delete


def test_search_is_reported_where_there_was_one():
    decision = dataclasses.replace(failed_gang(), search=Search("complete", "infeasible", 7))
    assert "strategy complete: infeasible, 7 steps" == card(decision, searched=True).search


def test_a_domain_is_identified_by_the_nodes_of_the_group():
    asked = []
    groups = (GroupDecision(leaf("a"), Status.SUCCESS, domain=Domain("k", "v")),)
    decision = Decision(leaf("a"), Status.SUCCESS, assignments=dict.fromkeys(members("a", 1), "n7"), groups=groups)
    root_cards.lines(decision, KIN, lambda domain, nodes: asked.append((domain, list(nodes))))
    assert [(Domain("k", "v"), ["n7"])] == asked
