"""No edit is reported twice, however many ways lead to it."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.raw_objects import net_changes
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
