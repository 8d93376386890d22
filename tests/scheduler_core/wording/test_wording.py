"""Every cause is a hashable value, and is worded."""

from __future__ import annotations

import enum
import importlib
import pkgutil
import re

import pytest

from kubeapi.base_structs import Record
from kubeapi.problem import Problem
from muster.render.cause_keys import ProblemFact
from muster.render.problem_words import problem_words
from scheduler_core import causes
from scheduler_core.causes.attempts import PreemptionReason
from scheduler_core.causes.binding_failures import PreBindAwaited, PreBindFailed
from scheduler_core.causes.built_groups import GroupsCause
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.changes import Change, MoreThanSums, SearchLimit, TakenAhead, Waste
from scheduler_core.causes.constraints import Constraint
from scheduler_core.causes.domains import AttemptFailed, NodeCause, Relaxable
from scheduler_core.causes.groups import GroupUnschedulable, NotTried, TooFewMembers
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.causes.node_states import UnusableCapacity
from scheduler_core.causes.pre_enqueue import NotARoot, TreeViolation
from scheduler_core.causes.resources import FragmentedResource
from scheduler_core.causes.searches import PlacementMissed, ProofMissing
from scheduler_core.model.names import Name
from scheduler_core.wording.binding_words import pre_bind_awaited, pre_bind_failed
from scheduler_core.wording.decision_words import cause_words, causes_words, pending, proof_missing_words
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.kube_scheduler import attempt_words, preemption_words
from scheduler_core.wording.node_words import node_words, unusable_words, without_filter
from scheduler_core.wording.pre_enqueue_words import order_words
from tests.scheduler_core.wording.examples import examples, field_names, members, types_within

WORDED = {
    **dict.fromkeys((*members(NodeCause), AttemptFailed), node_words),
    **{kind: lambda limit: cause_words(PlacementMissed((limit,))) for kind in members(GreedyLimit)},
    **dict.fromkeys(members(PreemptionReason), preemption_words),
    **dict.fromkeys(members(ProblemFact), lambda fact: problem_words(Problem(fact, (Name("Pod", "a", "p"),)))),
    **dict.fromkeys(members(ProofMissing), proof_missing_words),
    UnusableCapacity: unusable_words,
    NotARoot: order_words,
    PreBindFailed: pre_bind_failed,
    PreBindAwaited: pre_bind_awaited,
    **dict.fromkeys((*members(TreeViolation), *members(Cause)), cause_words),
}
WORDED_ELSEWHERE = (
    *(*members(Change), *members(Constraint), *members(Relaxable), *members(GroupsCause)),
    *(SearchLimit, TakenAhead, MoreThanSums, Waste),
)
"""Values that are no cause of a pod, a group or a domain; ``test_changes`` and a test below have their words."""
SHOWN_VALUES = re.compile(r"None|True|False|<\w|\(\)|\w\((?!s\))|\[\'|NodeCount|Amount")
"""Parts of a value that was formatted in place of a text; ``node(s)`` is none."""
OF_CEL = re.compile(r"(has|orValue)\(\)")
"""Functions of CEL that a text names."""


@pytest.mark.parametrize(("kind", "words"), [*WORDED.items()], ids=lambda each: getattr(each, "__name__", ""))
def test_every_cause_is_worded(kind, words):
    texts = []
    for cause in examples(kind):
        if not getattr(cause, "rule", "an id"):
            continue  # Every rule has an id.
        text = words(cause)
        texts.append(text)

        if not isinstance(cause, enum.Enum):
            assert hash(cause) == hash(type(cause)(*(getattr(cause, name) for name in field_names(kind))))
        assert "\n" not in text
        assert [] == SHOWN_VALUES.findall(OF_CEL.sub("", text))

    assert any(texts)
    if issubclass(kind, enum.Enum):
        assert len(kind) == len({*texts}) == len([*filter(None, texts)])


def test_every_class_of_the_causes_is_part_of_one_that_is_worded():
    modules = [importlib.import_module(f"{causes.__name__}.{each.name}") for each in pkgutil.iter_modules(causes.__path__)]
    defined = {
        each for module in modules for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
    }
    used = {part for kind in (*WORDED, *WORDED_ELSEWHERE) for part in types_within(kind)}

    assert set() == defined - used
    assert all(issubclass(each, enum.Enum | tuple | Record) for each in defined)


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
    causes_of_both = (next(examples(next(members(Cause)))),)
    first, second = pending({"a/p": causes_of_both, "a/q": causes_of_both}).values()

    assert first is second


def test_without_causes_there_is_no_text():
    assert ("", "", {}) == (causes_words(()), attempt_words(None), pending({}))
    assert {"a/p": ""} == pending({"a/p": ()})


def test_a_pod_without_a_reason_of_its_group_is_reported_as_unschedulable():
    assert "pod group is unschedulable" == cause_words(GroupUnschedulable())


@pytest.mark.parametrize(
    ("resource", "free", "words"),
    [
        ("cpu", 1000, "1 cpu is free"),
        ("cpu", 1500, "1.5 cpu are free"),
        ("memory", 23 * 2**30, "23Gi memory is free"),
        ("hugepages-2Mi", 2**30, "1Gi hugepages-2Mi is free"),
        ("nvidia.com/gpu", 4, "4 nvidia.com/gpu are free"),
    ],
)
def test_bytes_and_one_of_a_resource_have_the_verb_in_the_singular(resource, free, words):
    assert f"fragmented: {words}, but " in node_words(FragmentedResource(resource, free + 1, free, free, others_fit=False))
