"""Steps that replace objects before an upgrade: what is stuck, what is created in its place, and the order of the steps."""

from __future__ import annotations

import itertools

import pytest

from validators.migrate.recreate import Action, recreations
from validators.migrate.stored_objects import ObjectsToUpgrade, name_of
from validators.rules.base import Operation

NEWER = 38
FINALIZER = "scheduling.k8s.io/podgroup-protection"
POLICIES = {"gang": {"minCount": 2}, "basic": {}}


def stored(kind, name, spec, version="v1beta1", **metadata):
    named = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "7", "labels": {"a": "b"}, **metadata}
    return {"apiVersion": f"scheduling.k8s.io/{version}", "kind": kind, "metadata": named, "spec": spec, "status": {"conditions": []}}


def leaf_template(name, policy, mode="single"):
    return {"name": name, "schedulingPolicy": {policy: POLICIES[policy]}, "disruptionMode": {mode: {}}}


def workload(*leaves, parent="gang", mode="single", **metadata):
    policy = {"gang": {"minGroupCount": 1}} if parent == "gang" else {"basic": {}}
    root = {"name": "root", "schedulingPolicy": policy, "disruptionMode": {mode: {}}, "podGroupTemplates": [*leaves]}
    return stored("Workload", "train", {"compositePodGroupTemplates": [root]}, **metadata)


def groups(policy="basic", owner=None):
    """The tree of a Workload with one template below another."""
    reference = {"workloadName": "train"}
    owned = {"ownerReferences": [owner]} if owner else {}
    root = {"workloadRef": {**reference, "templateName": "root"}, "schedulingPolicy": {"gang": {"minGroupCount": 1}}}
    leaf = {
        "workloadRef": {**reference, "templateName": "workers"},
        "parentCompositePodGroupName": "root-0",
        "schedulingPolicy": {policy: POLICIES[policy]},
    }
    return [
        stored("PodGroup", "workers-0", leaf, finalizers=[FINALIZER], **owned),
        stored("CompositePodGroup", "root-0", root, version="v1alpha3", **owned),
    ]


def shown(recreation):
    return [(step.action, name_of(step.content)[2]) for step in recreation.steps]


OWNER = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "name": "train", "uid": "uid-train"}


def test_a_legal_tree_needs_no_step():
    assert [] == recreations([workload(leaf_template("workers", "gang")), *groups("gang")], NEWER)
    assert [] == recreations([workload(leaf_template("workers", "basic"), parent="basic")], NEWER)


def test_a_gang_above_a_basic_child_is_created_again_with_its_groups():
    (found,) = recreations([*groups(owner=OWNER), workload(leaf_template("workers", "basic"))], NEWER)
    assert [
        (Action.REMOVE_FINALIZERS, "workers-0"),
        (Action.DELETE, "workers-0"),
        (Action.DELETE, "train"),
        (Action.CREATE, "train"),
        (Action.CREATE, "workers-0"),
        (Action.SET_OWNER, "workers-0"),
        (Action.SET_OWNER, "root-0"),
    ] == shown(found)
    assert ["workers-0"] == [name_of(each)[2] for each in found.waiting]


def test_what_is_created_has_what_the_person_wrote_and_nothing_of_the_server():
    (found,) = recreations([workload(leaf_template("workers", "basic"), finalizers=["a.com/x"])], NEWER)
    (created,) = (step.content for step in found.steps if step.action is Action.CREATE)
    assert {"name": "train", "namespace": "team", "labels": {"a": "b"}} == created["metadata"]
    assert "status" not in created
    (root,) = created["spec"]["compositePodGroupTemplates"]
    assert [{"gang": {"minCount": 1}}] == [each["schedulingPolicy"] for each in root["podGroupTemplates"]]
    assert {"gang": {"minGroupCount": 1}} == root["schedulingPolicy"]


def test_a_controller_that_owns_an_object_owns_the_new_one():
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "1", "controller": True}
    (found,) = recreations([workload(leaf_template("workers", "basic"), ownerReferences=[job])], NEWER)
    (created,) = (step.content for step in found.steps if step.action is Action.CREATE)
    assert [job] == created["metadata"]["ownerReferences"]


@pytest.mark.parametrize(
    ("parent", "mode", "child", "child_mode"), [*itertools.product(POLICIES, ("all", "single"), POLICIES, ("all", "single"))]
)
def test_whatever_is_created_is_legal_in_both_versions(parent, mode, child, child_mode):
    old = workload(leaf_template("workers", child, child_mode), leaf_template("driver", "gang", "all"), parent=parent, mode=mode)
    for found in recreations([old], NEWER):
        assert found.steps
        (created,) = (step.content for step in found.steps if step.action is Action.CREATE)
        assert () == ObjectsToUpgrade([created], NEWER).errors(created, Operation.CREATE)
        assert () == ObjectsToUpgrade([created], NEWER).errors(created, Operation.CREATE, NEWER - 1)
        assert [] == recreations([created], NEWER)


def test_what_cannot_be_mended_has_no_steps_and_says_why():
    old = workload(leaf_template("workers", "basic"))
    old["spec"]["compositePodGroupTemplates"][0]["podGroupTemplates"][0]["priority"] = -(2**40)
    (found,) = recreations([old], NEWER)
    assert ((), True) == (found.steps, bool(found.unmended))


def test_groups_that_are_each_others_parents_are_one_tree():
    gang = {"schedulingPolicy": {"gang": {"minGroupCount": 1}}}
    ring = [stored("CompositePodGroup", name, {**gang, "parentCompositePodGroupName": other}) for name, other in ("ab", "ba")]
    leaf = stored("PodGroup", "leaf", {"schedulingPolicy": {"basic": {}}, "parentCompositePodGroupName": "b"})
    objects = [*ring, leaf]

    assert [("team", "a")] * 3 == [ObjectsToUpgrade(objects, NEWER).tree(each) for each in objects]
    assert ["leaf", "b", "a"] == [name_of(each)[2] for each in ObjectsToUpgrade(objects, NEWER).upwards(leaf)]
