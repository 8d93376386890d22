"""Templates of a Workload from a resolved tree."""

from __future__ import annotations

import dataclasses

from tests.workloadbuilder.trees import ALL, ANY, SINGLE, WITH_UID, basic, composite, config, gang, leaf
from workloadbuilder import templates
from workloadbuilder.resolve import resolve
from workloadbuilder.workload_item import ResourceClaim, WorkloadItem


def template(item: WorkloadItem) -> dict:
    root = resolve(item).root
    assert root is not None
    return templates.template(root)


def test_a_leaf_has_all_that_was_resolved():
    claims = (ResourceClaim("fabric", "fabric-0"), ResourceClaim("disk", None, "disk"))
    item = leaf(default=config(gang(4), "zone", mode=ALL, claims=claims), priority_class_name="high", priority=7)

    assert template(item) == {
        "name": "workers",
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "schedulingConstraints": {"topology": [{"key": "zone"}]},
        "resourceClaims": [{"name": "fabric", "resourceClaimName": "fabric-0"}, {"name": "disk", "resourceClaimTemplateName": "disk"}],
        "disruptionMode": {"all": {}},
        "priorityClassName": "high",
        "priority": 7,
    }


def test_what_is_not_given_is_left_out_and_no_policy_is_basic():
    assert {"name": "workers", "schedulingPolicy": {"basic": {}}} == template(leaf(default=config()))
    assert 0 == template(leaf(priority=0))["priority"]


def test_a_composite_counts_groups_and_holds_its_children_by_kind():
    root = composite("root", leaf("a", default=config(basic())), composite("b", leaf("c")), leaf("d"), default=config(gang(2), mode=SINGLE))

    workers = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    assert template(root) == {
        "name": "root",
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "disruptionMode": {"single": {}},
        "podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}, {"name": "d", **workers}],
        "compositePodGroupTemplates": [{"name": "b", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [{"name": "c", **workers}]}],
    }


def test_workload_has_one_root_template_its_owner_and_its_controller():
    root = resolve(leaf()).root
    assert root is not None

    assert templates.workload(root, dataclasses.replace(ANY, name="", owner=WITH_UID)) == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "name": "train-647cf7d9",
            "namespace": "research",
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-1", "controller": True, "blockOwnerDeletion": True}
            ],
        },
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
            "podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}],
        },
    }


def test_without_namespace_and_uid_there_is_no_word_of_them():
    root = resolve(leaf()).root
    assert root is not None

    assert {"name": "train"} == templates.workload(root, dataclasses.replace(ANY, namespace=""))["metadata"]
