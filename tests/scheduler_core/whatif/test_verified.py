"""No edit is reported twice, however many ways lead to it."""

from __future__ import annotations

import pytest

from kubeapi.nodes import Taint
from scheduler_core.cluster.load import load
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edits import Both, Lowered
from scheduler_core.whatif.edits.pod_edits import tolerating
from scheduler_core.whatif.edits.raw_objects import Book, net_changes
from scheduler_core.whatif.remedies.conflict import Conflict
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial
from scheduler_core.wording.changes import remedy_text
from tests.scheduler_core.whatif.cluster import COMPLETE, RACK, after, decided, gang, node, not_placed, remedies, tree, waiting

SHAPE = {"schedulingPolicy": {"gang": {"minCount": 3}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}
TOP = {"name": "top", "schedulingPolicy": {"gang": {"minGroupCount": 2}}, "podGroupTemplates": [{"name": "t", **SHAPE}]}
WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1alpha3",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"compositePodGroupTemplates": [TOP]},
}


def trees_of_one_template(pods):
    groups = [each for name in ("x", "y") for each in (gang(name, 3, parent="t"), *waiting(name, pods))]
    return [node("a1", cpu=6), node("a2"), node("b1", "r2"), WORKLOAD, tree("t", 2), *groups]


SITUATIONS = {
    "a minimum is what is lacking, and what is lowered": (
        [node("a1"), gang("g", 2), *waiting("g", 1)],
        Status.WAIT,
        "minCount of PodGroup default/g lowered from 2 to 1",
    ),
    "minimums of one template are lacking": (
        trees_of_one_template(2),
        Status.WAIT,
        "minCount of PodGroup default/x and PodGroup default/y lowered from 3 to 2",
    ),
    "groups of one template are confined": (
        trees_of_one_template(3),
        Status.UNRESOLVABLE,
        "topology constraints of PodGroup default/x and PodGroup default/y widened from rack to zone (zone)",
    ),
}


@pytest.mark.parametrize(("objects", "status", "change"), SITUATIONS.values(), ids=SITUATIONS)
def test_a_change_that_two_ways_lead_to_is_reported_once_and_of_all_its_groups(objects, status, change):
    (decision,) = not_placed(objects)
    result = remedies(objects, load(objects), decision, COMPLETE)
    (own,) = (each for each in result if remedy_text(each) == change)

    assert status is decision.status
    assert [own] == [each for each in result if net_changes(each.steps) == net_changes(own.steps)]
    assert decided(after(objects, own.steps))[decision.root].status is Status.SUCCESS


def test_a_change_that_makes_all_of_another_one_is_no_remedy():
    host = "kubernetes.io/hostname"
    groups = [each for name, pods in (("x", 1), ("y", 3)) for each in (gang(name, pods, host, parent="t"), *waiting(name, pods))]
    objects = [*(node(f"{rack}-{number}", rack) for rack in ("r1", "r2") for number in range(2)), tree("t", 2, RACK), *groups]
    (decision,) = not_placed(objects)
    found = [*map(remedy_text, remedies(objects, load(objects), decision, COMPLETE))]

    assert "topology constraint of PodGroup default/y widened from node to rack (rack)" in found
    assert not [each for each in found if "PodGroup default/x" in each]


def test_a_combination_with_a_change_that_works_alone_is_no_remedy():
    objects = [node("a1"), gang("g", 3), *waiting("g", 3)]
    (decision,) = not_placed(objects)
    subject = Subject.from_snapshot(load(objects), decision.root)
    finding = Finding(Trial(load(objects), COMPLETE, subject, Book(objects)), subject, why=Conflict())
    lowered, toleration = Lowered(decision.root, 3, 2), tolerating(["default/g-0"], Taint("a", "NoSchedule"), decision.root)
    for edit in (Both(toleration, Both(toleration, lowered)), lowered):
        assert finding.keep_if_verified(edit)

    assert [lowered] == [edit for edit, _ in finding.verified_edits()]
