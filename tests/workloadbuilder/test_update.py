"""Update of an existing Workload to the desired one."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from kubeapi.field_path import FieldPath
from tests.workloadbuilder.trees import ALL, SINGLE, basic, builder, composite, config, gang, leaf
from workloadbuilder.errors import BuildError
from workloadbuilder.update import Action, Change, changes
from workloadbuilder.workload_item import ResourceClaim, WorkloadItem


def tree(minimum: int = 4, groups: int = 1, *more: WorkloadItem) -> WorkloadItem:
    return composite("root", leaf("driver"), leaf(default=config(gang(minimum))), *more, default=config(gang(groups)))


def steps(old: WorkloadItem, new: WorkloadItem, minor: int = 37) -> list[tuple[str, str, str]]:
    """Return the steps of an update in short form; the same for a tree and for its Workload."""
    there, expected = builder(old).build_workload(), builder(new).build_workload()
    by_tree, by_workload = changes(there, new, kubernetes=minor), changes(there, expected, kubernetes=minor)

    assert by_tree == by_workload
    return [(str(each.action), each.kind, each.template) for each in by_tree]


def test_nothing_changed_is_nothing_to_do():
    assert steps(tree(), tree()) == []


def test_a_gang_of_another_size_is_patched_in_workload_and_groups():
    old = builder(tree()).build_workload()

    body = copy.deepcopy(old["spec"]["compositePodGroupTemplates"])
    body[0]["podGroupTemplates"][1]["schedulingPolicy"]["gang"]["minCount"] = 6
    at = FieldPath("spec", "compositePodGroupTemplates", 0, "podGroupTemplates", 1, "schedulingPolicy", "gang", "minCount")
    assert changes(old, tree(6)) == (
        Change(
            Action.PATCH,
            "Workload",
            "",
            FieldPath("spec"),
            {"spec": {"compositePodGroupTemplates": body}},
            "the minimum changes in 'workers' (6)",
        ),
        Change(
            Action.PATCH,
            "PodGroup",
            "workers",
            at,
            {"spec": {"schedulingPolicy": {"gang": {"minCount": 6}}}},
            "minCount of template 'workers' is 6 now",
        ),
    )


def test_a_flat_workload_is_patched_too():
    change, *_ = changes(builder(leaf()).build_workload(), leaf(default=config(gang(6))))

    assert {"spec": {"podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 6}}}]}} == change.patch


@pytest.mark.parametrize(
    ("minor", "want"), [(37, ("recreate", None)), (38, ("patch", {"spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}}}))]
)
def test_a_composite_gang_of_another_size_is_made_again_before_1_38(minor, want):
    workload, group = changes(builder(tree()).build_workload(), tree(groups=2), kubernetes=minor)

    assert ("patch", "Workload") == (workload.action, workload.kind)
    assert 2 == workload.patch["spec"]["compositePodGroupTemplates"][0]["schedulingPolicy"]["gang"]["minGroupCount"]
    assert ("CompositePodGroup", "root", *want) == (group.kind, group.template, group.action, group.patch)


CLAIM = (ResourceClaim("a", "a"),)


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        pytest.param(config(gang(4)), config(basic()), "schedulingPolicy", id="gang to basic"),
        pytest.param(config(gang(4)), config(gang(4), "zone"), "schedulingConstraints", id="a level"),
        pytest.param(config(gang(4), "zone"), config(gang(4), "rack"), "schedulingConstraints", id="another level"),
        pytest.param(config(gang(4)), config(gang(4), mode=ALL), "disruptionMode", id="a mode"),
        pytest.param(config(gang(4), claims=CLAIM), config(gang(4)), "resourceClaims", id="a claim less"),
        pytest.param(config(gang(4)), config(gang(5), claims=CLAIM), "resourceClaims", id="a claim, and another size"),
    ],
)
def test_what_is_immutable_is_made_again_with_its_groups(before, after, where):
    old, new = (composite("root", leaf("driver"), leaf(default=each)) for each in (before, after))
    workload, group = changes(builder(old).build_workload(), new)

    assert [("recreate", "Workload", ""), ("recreate", "PodGroup", "workers")] == steps(old, new)
    assert f"spec.compositePodGroupTemplates[0].podGroupTemplates[1].{where}" == str(group.path) == str(workload.path)
    assert f"{where} of template 'workers' is immutable" == group.reason == workload.reason
    assert workload.patch is group.patch is None


def test_priority_makes_all_groups_again():
    old = composite("root", leaf("a"), leaf("b"))
    new = composite("root", leaf("a", priority=5), leaf("b", priority=5), priority=5)

    assert steps(old, new) == [
        ("recreate", "Workload", ""),
        ("recreate", "CompositePodGroup", "root"),
        ("recreate", "PodGroup", "a"),
        ("recreate", "PodGroup", "b"),
    ]


def test_templates_that_come_and_go_are_groups_to_create_and_delete_from_below():
    old = tree(4, 1, composite("gone", leaf("gone-below")))
    new = tree(6, 1, composite("come", leaf("come-below")))

    assert steps(old, new) == [
        ("recreate", "Workload", ""),
        ("create", "CompositePodGroup", "come"),
        ("patch", "PodGroup", "workers"),
        ("create", "PodGroup", "come-below"),
        ("delete", "PodGroup", "gone-below"),
        ("delete", "CompositePodGroup", "gone"),
    ]


def test_a_template_that_moves_is_made_again():
    old = composite("root", composite("a", leaf("x"), leaf("y")), composite("b", leaf("z")))
    new = composite("root", composite("a", leaf("x")), composite("b", leaf("y"), leaf("z")))

    assert [("recreate", "Workload", ""), ("recreate", "PodGroup", "y")] == steps(old, new)


def test_a_leaf_that_becomes_a_composite_goes_and_comes():
    assert steps(leaf("a"), composite("a", leaf("b"))) == [
        ("recreate", "Workload", ""),
        ("create", "CompositePodGroup", "a"),
        ("create", "PodGroup", "b"),
        ("delete", "PodGroup", "a"),
    ]


def test_ways_of_writing_the_same_are_no_change():
    old = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "Workload",
        "metadata": {"name": "train", "resourceVersion": "3", "uid": "u"},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
            "podGroupTemplates": [
                {
                    "name": "workers",
                    "schedulingPolicy": {"gang": {"minCount": 4}, "basic": None},
                    "schedulingConstraints": {"topology": []},
                    "resourceClaims": [
                        {"name": "b", "resourceClaimName": "b", "resourceClaimTemplateName": None},
                        {"name": "a", "resourceClaimName": "a"},
                    ],
                    "disruptionMode": {"single": {}},
                    "priorityClassName": "",
                    "priority": None,
                }
            ],
            "compositePodGroupTemplates": None,
        },
    }
    new = leaf(default=config(gang(4), claims=(*CLAIM, ResourceClaim("b", "b"))))

    assert changes(old, new) == ()
    assert changes(old, builder(new).build_workload()) == ()
    assert changes(old, leaf(default=config(gang(4), mode=SINGLE, claims=(*CLAIM, ResourceClaim("b", "b"))))) == ()
    change, *_ = changes(old, leaf(default=config(gang(5), claims=(*CLAIM, ResourceClaim("b", "b")))))
    (template,) = change.patch["spec"]["podGroupTemplates"]
    assert ["b", "a"] == [each["name"] for each in template["resourceClaims"]], "an order that the API server would not let change stays"
    assert {"gang": {"minCount": 5}} == template["schedulingPolicy"]


def test_another_controller_is_another_workload():
    old = builder(leaf()).build_workload()
    new = copy.deepcopy(old)
    new["spec"]["controllerRef"]["name"] = "other"

    (change,) = changes(old, new)
    assert ("recreate", "Workload", "spec.controllerRef") == (change.action, change.kind, str(change.path))


def test_order_of_templates_changes_nothing():
    one, other = (composite("root", *children) for children in ((leaf("a"), leaf("b")), (leaf("b"), leaf("a"))))
    bigger = composite("root", leaf("b", default=config(gang(5))), leaf("a", default=config(gang(5))))

    assert steps(one, other) == []
    assert steps(one, bigger) == steps(other, bigger) == [("patch", "Workload", ""), ("patch", "PodGroup", "a"), ("patch", "PodGroup", "b")]


def test_what_is_compared_stays_as_it_was():
    old, new = builder(tree()).build_workload(), builder(tree(6)).build_workload()
    before = copy.deepcopy((old, new))

    (patch, *_) = changes(old, new)
    patch.patch["spec"]["compositePodGroupTemplates"][0]["podGroupTemplates"].clear()

    assert before == (old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({}, tree(), id="no Workload there"),
        pytest.param(builder(tree()).build_workload(), {}, id="no Workload wanted"),
        pytest.param(builder(tree()).build_workload(), composite("root", None), id="no tree"),
        pytest.param(builder(tree()).build_workload(), dataclasses.replace(tree(), name=""), id="a tree that is not sound"),
        pytest.param(builder(tree()).build_workload(), leaf(default=config(gang())), id="a gang without a minimum"),
    ],
)
def test_what_is_not_sound_is_not_compared(old, new):
    with pytest.raises(BuildError):
        changes(old, new)
