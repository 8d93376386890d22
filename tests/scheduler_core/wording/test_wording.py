"""Every cause is a hashable value, and is worded."""

from __future__ import annotations

import pytest

from scheduler_core.causes.domains import AttemptFailed, NodeCause, Relaxable
from scheduler_core.causes.groups import GroupCause, NotTried, PodCause, TooFewMembers
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.model.names import Name
from scheduler_core.wording.greedy_words import greedy_words
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.kube_scheduler import pod_words, pods_words
from scheduler_core.wording.node_words import node_words, without_filter
from tests.scheduler_core.wording.examples import examples, members

WORDED = {
    **dict.fromkeys((*members(NodeCause), AttemptFailed), node_words),
    **dict.fromkeys(members(GroupCause), group_words),
    **{kind: pod_words for kind in members(PodCause) if kind not in {*members(GroupCause)}},
    **{kind: lambda limit: greedy_words((limit,)) for kind in members(GreedyLimit)},
}


@pytest.mark.parametrize(("kind", "words"), [*WORDED.items()], ids=lambda each: getattr(each, "__name__", ""))
def test_every_cause_is_worded(kind, words):
    for cause in examples(kind):
        text = words(cause)

        assert hash(cause) == hash(type(cause)(*(getattr(cause, name) for name in cause.__slots__)))
        assert "\n" not in text
        assert [] == [each for each in ("None", "NodeCount", "Amount(", "()") if each in text]


@pytest.mark.parametrize("kind", [*members(Relaxable)], ids=lambda each: each.__name__)
def test_every_filter_that_can_be_dropped_is_worded(kind):
    assert all(without_filter(dropped) for dropped in examples(kind))


def test_distinct_causes_of_a_group_have_distinct_words():
    path = (Name("CompositePodGroup", "a", "c"), Name("PodGroup", "a", "g"))
    few = TooFewMembers(path, 1, 2)

    assert "group g of c has 1 of the 2 pods that it needs" == group_words(few)
    assert "group c has 1 of the 2 groups that it needs" == group_words(TooFewMembers(path[:1], 1, 2))
    assert "not tried: c has 1 of the 2 groups that it needs" == group_words(NotTried(TooFewMembers(path[:1], 1, 2)))


def test_equal_pods_share_their_text():
    kind = next(iter(members(PodCause)))
    cause = next(examples(kind))
    first, second = pods_words({"a/p": cause, "a/q": cause}).values()

    assert first is second
