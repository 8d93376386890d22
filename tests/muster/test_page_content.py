"""What stands on a page, and how much of it."""

# ruff: noqa: RUF001 - the multiplication sign is meant to be one

from __future__ import annotations

import pytest

from kubeapi.base_structs import replaced
from kubeapi.problem import Problem
from muster.html import page_content
from muster.html.page_content import content
from muster.html.page_data import Listed
from muster.render.file_notes import DocumentUnreadable
from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis.fragmentation import Fragment
from tests.muster import paged
from tests.muster.paged import RACK, gang, member, racks


def shown(objects, **options):
    return content(*paged.decided(objects, **options))


@pytest.mark.parametrize(
    ("objects", "options", "want"),
    [
        pytest.param(paged.placed_tree(), {}, [("8", "pods placed", "placed"), ("5", "nodes", "cluster")], id="placed"),
        pytest.param(
            paged.evicting(),
            {},
            [("0", "pods placed", ""), ("1", "pending", "open"), ("1", "would be evicted", "leaving"), ("1", "node", "cluster")],
            id="others would leave",
        ),
        pytest.param(
            paged.evicting(),
            {"evict": True},
            [("1", "pod placed", "placed"), ("1", "evicted", "leaving"), ("1", "node", "cluster")],
            id="others have left",
        ),
    ],
)
def test_facts(objects, options, want):
    assert want == [(fact.number, fact.text, fact.anchor) for fact in shown(objects, **options).facts]


def test_problems_are_a_fact():
    answer, snapshot, options = paged.decided(racks(1))
    found = content(replaced(answer, problems=(Problem(DocumentUnreadable("bad", left_out=False), place="Pod x"),)), snapshot, options)
    assert [("1", "problem in the input", "problems")] == [
        (fact.number, fact.text, fact.anchor) for fact in found.facts if fact.anchor == "problems"
    ]
    assert Listed((("Pod x", "bad"),)) == found.problems


def test_victims_are_reported_with_the_preemptor_and_their_progress():
    assert [("Pod default/leaves", "urgent", False)] == [
        (each.victims, each.root.name, each.gone) for each in shown(paged.evicting()).leaving.shown
    ]
    assert [True] == [each.gone for each in shown(paged.evicting(), evict=True).leaving.shown]


def test_a_root_that_is_placed_in_the_end_is_placed():
    found = shown(paged.evicting(), evict=True)
    assert (0, ["urgent"]) == (len(found.open.cards), [lines[0].group.name for lines in found.trees.shown])


def test_pods_without_a_node_are_reported_by_reason():
    found = shown([*racks(1), *(member(name, cpu="9") for name in "abc")])
    assert [("2 pods", "b, c", "0/1 nodes are available: 1 Insufficient cpu.")] == [
        (left.number, left.names, left.reason) for left in found.pending.shown
    ]


def test_few_pods_without_a_group_are_reported_one_by_one_and_many_together(monkeypatch):
    monkeypatch.setattr(page_content, "ALONE", 3)
    few, many = ([*racks(2), *(member(f"p{number}", cpu="1") for number in range(count))] for count in (3, 4))
    assert (3, "") == (len(shown(few).trees.shown), shown(few).alone)
    assert (0, "4 pods without a group on r1-1 ×2, r1-2 ×2") == (len(shown(many).trees.shown), shown(many).alone)


def test_trees_beyond_a_number_are_counted(monkeypatch):
    monkeypatch.setattr(page_content, "TREES", 2)
    found = shown([*racks(1), *(each for number in range(3) for each in gang(f"g{number}", 1, cpu="1"))])
    assert (2, 1) == (len(found.trees.shown), found.trees.more)


def test_fragmentation_is_reported_for_the_requested_resources():
    answer, snapshot, options = paged.decided(racks(1))
    row = Fragment(RACK, (Amount("cpu", 1000),), "default/p", 3, "r1", 7)
    assert () == content(answer, snapshot, options).fragments.shown
    assert (row,) == content(replaced(answer, fragments=(row,)), snapshot, options).fragments.shown


@pytest.mark.parametrize(
    ("strategy", "want"), [("greedy", "Decided as kube-scheduler 1.37 does."), ("complete", "Decided with the strategy complete.")]
)
def test_foot_says_how_it_was_decided(strategy, want):
    assert (want,) == shown([*racks(1), *gang("g", 2, cpu="9")], strategy=strategy).foot


def test_footer_shows_the_duration_on_request():
    answer, snapshot, options = paged.decided(racks(1))
    assert ("It took 1.500 s.",) == content(replaced(answer, seconds=1.5), snapshot, options).foot
