"""Reported constraints conflict, and any of them can be satisfied without another one."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.whatif.edits.edits import Lowered, Widened
from scheduler_core.whatif.edits.raw_objects import Book
from scheduler_core.whatif.remedies.conflict import find_conflict
from scheduler_core.whatif.remedies.remedies import advise
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial
from scheduler_core.wording.constraints import constraint_text
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.plugins.device_objects import device_class, template
from tests.scheduler_core.whatif.cluster import COMPLETE, ZONE, decided, gang, node, not_placed, pod, tree, waiting

TWO_RACKS = [node("a1"), node("a2"), node("b1", "r2"), node("b2", "r2")]
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def children(*names, minimum=2, **spec):
    return [each for name in names for each in (gang(name, minimum, parent="t", template=name), *waiting(name, minimum, **spec))]


def conflict_of(objects, name):
    """Return the conflicting constraints of the root *name*."""
    (decision,) = (each for each in not_placed(objects) if each.root.name == name)
    return tuple(map(constraint_text, advise(objects, load(objects), decision, COMPLETE).conflict))


def demands(name, count):
    return f"PodGroup default/{name} needs {count} pods"


def stays(name):
    return f"PodGroup default/{name} must be in one rack (rack)"


SITUATIONS = {
    "a group too large for any rack": ([*TWO_RACKS, gang("g", 6), *waiting("g", 6)], (demands("g", 6), stays("g"))),
    "a taint": (
        [node("a1", taints=[TAINT]), gang("g", 1), *waiting("g", 1)],
        ("taint team=a:NoSchedule is not tolerated by the pods of PodGroup default/g",),
    ),
    "two taints of one node, of which the cause names the first": (
        [node("a1", taints=[TAINT, {**TAINT, "key": "zone"}]), gang("g", 1), *waiting("g", 1)],
        ("taint team=a:NoSchedule is not tolerated by the pods of PodGroup default/g",),
    ),
    "two taints of one node in another order": (
        [node("a1", taints=[{**TAINT, "key": "zone"}, TAINT]), gang("g", 1), *waiting("g", 1)],
        ("taint zone=a:NoSchedule is not tolerated by the pods of PodGroup default/g",),
    ),
    "pods that run": (
        [node("a1"), pod("r", on="a1"), gang("g", 2, ""), *waiting("g", 2)],
        (demands("g", 2), "running pods keep their nodes"),
    ),
    "a sibling that needs the same rack": (
        [node("a1"), tree("t", 2), *children("x", "y")],
        (demands("y", 2), "CompositePodGroup default/t needs 2 groups", "PodGroup default/x also takes capacity"),
    ),
    "one child too large, whatever the others take": (
        [*TWO_RACKS, tree("t", 2), *children("x", minimum=6), *children("y", minimum=1)],
        (demands("x", 6), stays("x"), "CompositePodGroup default/t needs 2 groups"),
    ),
    "a root before it": (
        [node("a1"), gang("first", 1, "", priority=1), *waiting("first", 1, priority=1), gang("g", 2, ""), *waiting("g", 2)],
        (demands("g", 2), "PodGroup default/first, placed before it, takes capacity"),
    ),
    "pods that are promised a node": (
        [
            node("a1"),
            {**pod("z"), "status": {"phase": "Pending", "nominatedNodeName": "a1"}},
            *(gang("g", 2, ""), *waiting("g", 2)),
        ],
        (demands("g", 2), "pods with a nominated node keep their capacity"),
    ),
}


@pytest.mark.parametrize(("objects", "want"), SITUATIONS.values(), ids=SITUATIONS)
def test_what_cannot_hold_together_is_reported(objects, want):
    (root,) = {each.root.name for each in not_placed(objects)} & {"g", "t"}
    assert sorted(want) == sorted(conflict_of(objects, root))


def test_an_ignored_claim_is_no_constraint_of_changed_pods():
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
    pods = waiting("g", 2, nodeSelector={"disk": "ssd"}, **claims)
    objects = [node("a1"), device_class(), template(), gang("g", 2), *pods]
    options = CycleOptions(strategy="complete", ignore=frozenset({"spec.resourceClaims"}))
    (decision,) = not_placed(objects, options)

    advice = advise(objects, load(objects), decision, options)
    assert ["node selector of the pods of PodGroup default/g applies"] == [constraint_text(each) for each in advice.conflict]
    assert 1 == len(advice.remedies)


def test_it_is_minimal():
    objects = [*TWO_RACKS, gang("g", 6, ZONE), gang("h", 6), *waiting("g", 0), *waiting("h", 6)]
    assert (demands("h", 6), stays("h")) == conflict_of(objects, "h")


def test_there_is_none_where_nothing_that_is_let_go_of_helps():
    assert () == conflict_of([node("a1"), pod("big", cpu=8)], "big")


def test_there_is_none_for_a_root_that_is_placed():
    objects = [node("a1"), gang("g", 2), *waiting("g", 2)]
    (decision,) = decided(objects).values()
    assert () == advise(objects, load(objects), decision, COMPLETE).conflict


def test_it_needs_few_tries_where_many_constraints_do_not_matter():
    names = [f"c{number}" for number in range(8)]
    objects = [*TWO_RACKS, tree("t", 8), *children(*names[1:], minimum=1), *children(names[0], minimum=6)]
    (decision,) = not_placed(objects)
    snapshot = load(objects)
    subject = Subject.from_snapshot(snapshot, decision.root)
    trial = Trial(snapshot, COMPLETE, subject, Book(objects))
    find_conflict(trial, subject)
    # One for each of its 27 constraints would be more.
    assert 160 - 24 <= trial.left


@pytest.mark.parametrize("seed", range(12))
def test_no_change_that_leaves_all_of_them_alone_helps(seed):
    objects = corpus.instance(seed, corpus.Make(depth=1 + seed % 3, short=2, largest=5, decoys=seed % 2))
    for decision in not_placed(objects):
        snapshot = load(objects)
        subject = Subject.from_snapshot(snapshot, decision.root)
        trial = Trial(snapshot, COMPLETE, subject, Book(objects))
        why = find_conflict(trial, subject)
        remaining = {each.group for each in why.constraints}
        for group in subject.groups:
            lowered, widened = Lowered(group.name, group.minimum, 1), Widened((group.name,), (group.key,), "")
            for edit in (lowered, widened):
                if group.name not in remaining:
                    assert not why.met_by(edit, subject)
                if not why.met_by(edit, subject):
                    trial.refill(100_000)
                    assert None is trial.placed(edit)
