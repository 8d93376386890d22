"""What an answer counts, whom it leaves, and the exit status."""

from __future__ import annotations

import dataclasses

import pytest

from kubeapi.problem import ObjectLeftOut, Problem
from muster.render.answer import Answer
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from tests.muster.simulated import failed_gang, leaf, placed_tree, preempting, single, single_left, told

PROBLEM = Problem.about(Name("Node", "", "n"), ObjectLeftOut("status.allocatable is missing"))


def gang_placed(*pods, left=()):
    return Decision(
        leaf("urgent"),
        Status.SUCCESS,
        assignments=dict.fromkeys(pods, "n1"),
        groups=(told(leaf("urgent")),),
        pending=dict.fromkeys(left, "no room"),
    )


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(Answer.from_decisions([placed_tree(), single("p", "n1")]), 0, id="all placed"),
        pytest.param(Answer.from_decisions([placed_tree(), failed_gang()]), 1, id="a gang is not"),
        pytest.param(Answer.from_decisions([preempting()]), 1, id="room would have to be made first"),
        pytest.param(
            Answer.from_decisions([gang_placed("default/a", left=["default/b"])]), 1, id="one pod of a gang that is satisfied is not"
        ),
        pytest.param(Answer.from_decisions([], [("default/p", "its group is not there")]), 1, id="a pod without a root"),
        pytest.param(Answer.from_decisions([single_left("p", status=Status.WAIT)]), 1, id="a pod that waits"),
        pytest.param(Answer.from_decisions([placed_tree()], (), [PROBLEM]), 0, id="all placed, with a problem"),
        pytest.param(Answer.from_decisions([failed_gang()], (), [PROBLEM]), 1, id="not placed, with a problem"),
        pytest.param(Answer.from_decisions([], (), [PROBLEM]), 2, id="nothing but a problem"),
        pytest.param(Answer.from_decisions([]), 0, id="nothing to place"),
        pytest.param(
            Answer.from_decisions([preempting(), gang_placed("default/urgent-0", "default/urgent-1")]), 0, id="placed after the eviction"
        ),
    ],
)
def test_exit_status(answer, want):
    assert want == answer.exit_status


def test_roots_count_once_and_by_what_became_of_them_last():
    answer = Answer.from_decisions([preempting(), placed_tree(), gang_placed("default/urgent-0", left=["default/urgent-1"])])

    assert (answer.roots, answer.placed, answer.pods) == (2, 2, 5)


def test_pods_left_are_those_of_the_last_word_on_their_root_by_name():
    later = gang_placed("default/urgent-0", left=["default/urgent-1"])
    answer = Answer.from_decisions([preempting(), failed_gang(), later], [("default/a", "no group")])

    assert [pod for pod, _ in answer.pending] == ["default/a", "default/g-0", "default/g-1", "default/g-2", "default/urgent-1"]
    assert dict(answer.pending)["default/urgent-1"] == "no room"


def test_pod_placed_in_a_later_cycle_is_not_left():
    first = gang_placed("default/urgent-0", left=["default/urgent-1"])
    second = dataclasses.replace(preempting(), pending={"default/urgent-0": "stale"})

    assert Answer.from_decisions([first, second]).pending == ()


def test_a_cycle_ends_where_a_root_comes_again():
    decisions = [preempting(), placed_tree(), gang_placed("default/urgent-0"), failed_gang()]

    assert [decisions[:2], decisions[2:]] == Answer.from_decisions(decisions).cycles()
