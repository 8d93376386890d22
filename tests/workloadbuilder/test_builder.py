"""Workload and groups of a tree of items, or a message for why there are none."""

from __future__ import annotations

import dataclasses

import pytest

from tests.workloadbuilder.trees import ALL, WITH_UID, basic, builder, composite, config, error_lines, gang, intent, leaf
from workloadbuilder import changes, groups
from workloadbuilder.errors import BuildError
from workloadbuilder.workload_item import Owner, ResourceClaim

FABRIC = ResourceClaim("fabric", None, "fabric")
TREE = composite(
    "root",
    leaf("driver", default=config(basic())),
    composite("stage", leaf("workers", default=config(gang(8), "zone", mode=ALL, claims=(FABRIC,))), default=config(gang(1), mode=ALL)),
)


def names(groups) -> list[tuple[str, str]]:
    """Return each group with its parent."""
    return [(each["metadata"]["name"], each["spec"].get("parentCompositePodGroupName", "")) for each in groups]


def test_groups_of_a_tree_refer_to_their_templates_and_parents():
    groups = builder(TREE).groups()

    assert [("train-root", ""), ("train-driver", "train-root"), ("train-stage", "train-root"), ("train-workers", "train-stage")] == names(
        groups
    )
    assert groups[3] == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train-workers", "namespace": "research"},
        "spec": {
            "parentCompositePodGroupName": "train-stage",
            "workloadRef": {"workloadName": "train", "templateName": "workers"},
            "schedulingPolicy": {"gang": {"minCount": 8}},
            "schedulingConstraints": {"topology": [{"key": "zone"}]},
            "resourceClaims": [{"name": "fabric", "resourceClaimTemplateName": "fabric"}],
            "disruptionMode": {"all": {}},
        },
    }


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_composite_groups_are_v1alpha3_always(version):
    one = builder(TREE, version=version)

    assert f"scheduling.k8s.io/{version}" == one.build_workload()["apiVersion"]
    assert [f"scheduling.k8s.io/{each}" for each in ("v1alpha3", version, "v1alpha3", version)] == [
        each["apiVersion"] for each in one.groups()
    ]


def test_all_groups_of_the_custom_api_group_have_its_version_and_names_for_labels():
    """Those of composites are not named by labels, and have names of any length; rules do not depend on the API server."""
    long = composite("root", composite("s" * 63, leaf("w" * 63), default=config(basic())), default=config(basic()))
    one = builder(long, name="n" * 100, api_group="scheduling.muster.dev", kubernetes=30)
    workload, made = one.build_workload(), one.groups()

    assert {"scheduling.muster.dev/v1beta1"} == {each["apiVersion"] for each in (workload, *made)}
    assert [f"{'n' * 100}-root", f"{'n' * 100}-{'s' * 63}"] == [each["metadata"]["name"] for each in made[:2]]
    assert 63 == len(made[2]["metadata"]["name"])
    assert made[2] == one.pod_group("w" * 63)
    assert changes(workload, {**workload, "metadata": {"name": "m"}}) == ()


def test_priority_of_the_templates_is_that_of_the_groups():
    groups = builder(composite("root", leaf(priority_class_name="high", priority=0), priority_class_name="high", priority=0)).groups()

    assert [("high", 0)] * 2 == [(each["spec"]["priorityClassName"], each["spec"]["priority"]) for each in groups]


def test_an_item_with_replicas_has_as_many_groups_with_children_of_their_own():
    root = composite("lws", leaf("leader"), leaf("workers", replicas=2), replicas=2)

    assert names(builder(root).groups()) == [
        ("train-lws-0", ""),
        ("train-leader-0", "train-lws-0"),
        ("train-workers-0-0", "train-lws-0"),
        ("train-workers-0-1", "train-lws-0"),
        ("train-lws-1", ""),
        ("train-leader-1", "train-lws-1"),
        ("train-workers-1-0", "train-lws-1"),
        ("train-workers-1-1", "train-lws-1"),
    ]


def test_of_an_item_without_replicas_there_is_no_group_and_none_below():
    assert [("train-root", "")] == names(builder(composite("root", composite("none", leaf(), replicas=0))).groups())


def test_groups_of_an_owner_with_a_uid_belong_to_it_and_have_a_hash_in_their_names():
    one = builder(composite("lws", leaf("leader"), replicas=2), owner=WITH_UID, name="")
    groups = one.groups()

    assert ["train-647cf7d9-lws-0-7c8fc574ff", "train-647cf7d9-leader-0-6899f4bf4d"] == [each["metadata"]["name"] for each in groups[:2]]
    assert all(each["metadata"]["ownerReferences"] == one.build_workload()["metadata"]["ownerReferences"] for each in groups)
    assert 4 == len({each["metadata"]["name"] for each in groups})


@pytest.mark.parametrize(("replicas", "refused"), [(9, False), (10, True)], ids=["as many as may be", "one more"])
def test_there_are_only_so_many_groups(monkeypatch, replicas, refused):
    monkeypatch.setattr(groups, "MAX_GROUPS", 10)
    one = builder(composite("root", leaf("workers", replicas=replicas)))

    if not refused:
        assert 10 == len(one.groups())
        return
    with pytest.raises(BuildError) as caught:
        one.groups()
    want = "spec.workers: Invalid value: 10: all items together must have at most 10 groups: the replicas of nested items multiply"
    assert [want] == error_lines(caught.value.errors)
    assert one.build_workload()


def test_replicas_that_multiply_are_counted_before_anything_is_made():
    many = 2**31 - 1

    with pytest.raises(BuildError, match="the replicas of nested items multiply"):
        builder(composite("root", composite("a", leaf("b", replicas=many), replicas=many), replicas=many)).groups()


def test_one_group_is_the_one_that_groups_makes():
    one = builder(composite("lws", leaf("leader"), leaf("workers", replicas=2), replicas=2))
    lws, leader, _, worker, *_ = one.groups()

    assert lws == one.composite_pod_group("lws", index=0)
    assert leader == one.pod_group("leader", index=0)
    assert worker == one.pod_group("workers", index=(0, 1))


def test_a_leaf_is_found_at_any_depth():
    one = builder(TREE)

    assert one.groups()[3] == one.pod_group("workers")
    assert one.groups()[2] == one.composite_pod_group("stage")


def test_name_parent_and_owner_may_be_named():
    group = builder(TREE).pod_group("workers", name="mine", parent="other", owner=Owner("batch/v1", "Job", "child", "uid-2"))

    assert [("mine", "other")] == names([group])
    (reference,) = group["metadata"]["ownerReferences"]
    assert ("child", "uid-2", True) == (reference["name"], reference["uid"], reference["controller"])


@pytest.mark.parametrize(
    ("call", "want"),
    [
        pytest.param(
            lambda one: one.pod_group("nobody"),
            'spec: Not found: "nobody": podGroupTemplate "nobody" not found in workload "train" (have [driver workers])',
            id="no such template",
        ),
        pytest.param(
            lambda one: one.pod_group("stage"),
            'spec: Not found: "stage": podGroupTemplate "stage" not found in workload "train" (have [driver workers])',
            id="a composite",
        ),
        pytest.param(
            lambda one: one.composite_pod_group("workers"),
            'spec: Not found: "workers": compositePodGroupTemplate "workers" not found in workload "train" (have [root stage])',
            id="a leaf",
        ),
        pytest.param(
            lambda one: one.pod_group("workers", index=0),
            "the index of template 'workers' must be absent: the template has only one group",
            id="an index of the only group",
        ),
        pytest.param(
            lambda one: one.pod_group("workers", index=-1), "an index of template 'workers' must be a number of at least 0", id="negative"
        ),
        pytest.param(lambda one: one.pod_group("workers", index=(True,)), "must be a number of at least 0", id="true"),
    ],
)
def test_what_is_not_in_the_workload_cannot_be_made(call, want):
    with pytest.raises(BuildError) as caught:
        call(builder(TREE))

    assert want in str(caught.value)


@pytest.mark.parametrize("index", [None, 0, (0, 0, 0)])
def test_which_of_several_groups_it_is_must_be_said(index):
    one = builder(composite("lws", leaf("workers", replicas=2), replicas=2))

    with pytest.raises(BuildError, match="the index of template 'workers' must be one number for each of lws, workers"):
        one.pod_group("workers", index=index)
    assert "mine" == one.pod_group("workers", name="mine", parent="above", index=index)["metadata"]["name"]


def test_callbacks_run_once_for_any_request():
    calls = []

    def count(item, resolved):
        calls.append(item.name)
        return dataclasses.replace(resolved, policy=gang(resolved.policy.minimum * 2))

    one = builder(leaf(callbacks=(count,)))
    for _ in range(2):
        assert one.validate() == ()
        assert config(gang(8)) == one.resolved().config
        assert 8 == one.build_workload()["spec"]["podGroupTemplates"][0]["schedulingPolicy"]["gang"]["minCount"]
        assert 1 == len(one.groups())

    assert ["workers"] == calls


def test_what_was_built_may_be_changed_by_the_caller():
    one = builder(composite("root", leaf(replicas=2, default=config(gang(4), "zone"))), owner=WITH_UID)
    want = (one.build_workload(), one.groups())

    workload, groups = one.build_workload(), one.groups()
    workload["spec"]["compositePodGroupTemplates"][0]["podGroupTemplates"][0]["schedulingPolicy"]["gang"]["minCount"] = 9
    workload["metadata"]["ownerReferences"][0]["uid"] = "other"
    groups[1]["spec"]["schedulingPolicy"]["gang"]["minCount"] = 9
    groups[1]["spec"]["schedulingConstraints"]["topology"].clear()
    groups[1]["metadata"]["ownerReferences"][0]["uid"] = "other"

    assert 4 == groups[2]["spec"]["schedulingPolicy"]["gang"]["minCount"]
    assert want == (one.build_workload(), one.groups())


def test_a_tree_that_cannot_be_walked_is_not_resolved():
    broken = builder(composite("root", None))

    for call in (broken.resolved, broken.build_workload, broken.groups, lambda: broken.pod_group("a")):
        with pytest.raises(BuildError, match=r"spec\.root: Invalid value: workload item cannot be nil"):
            call()
    assert ["spec.root: Invalid value: workload item cannot be nil"] == error_lines(broken.validate())


def test_a_root_that_is_no_item_is_reported():
    assert ["Invalid value: workload item cannot be nil"] == [str(error) for error in builder(None).validate()]


def test_all_errors_come_at_once_in_order_of_path():
    root = composite("root", leaf("z", default=config(gang(0))), leaf("a", default=config(None, "x", "y")), None, priority=5)

    result = error_lines(builder(root, namespace="A", allowed_policies=frozenset()).validate())

    paths = [each.partition(": ")[0] for each in result]
    assert ["metadata.namespace", "spec.a", "spec.root", "spec.z"] == sorted(set(paths))
    assert sorted(paths) == paths
    assert len(result) == 8


def test_a_block_that_could_not_be_read_is_not_built():
    given = intent(config(gang()))
    item = leaf(default=config(basic()), intent=dataclasses.replace(given, unread=(given.paths[0][0],)))

    assert builder(item).validate() == ()
    with pytest.raises(BuildError, match="gang scheduling requires minCount to be set after resolution"):
        builder(item).build_workload()


def test_warns_of_a_gang_that_is_never_complete():
    root = composite("root", leaf("a", replicas=2), leaf("b"), intent=intent(config(gang(4))))

    want = (
        "spec.scheduling.schedulingPolicy.gang.minGroupCount: Invalid value: 4: must be at most 3, the number of its child groups: "
        "otherwise the gang is never complete"
    )
    assert [want] == error_lines(builder(root, owner=WITH_UID).warnings())
    assert builder(composite("root", leaf("a", replicas=2), default=config(gang(2))), owner=WITH_UID).warnings() == ()


def test_warns_of_an_owner_without_a_uid():
    assert ["metadata.uid"] == [str(error.path) for error in builder(leaf()).warnings()]


def test_tree_of_before_says_what_must_not_change():
    errors = builder(leaf(default=config(basic()))).validate(leaf())

    assert ["spec.workers: Invalid value: the basic/gang policy variant is immutable after creation"] == error_lines(errors)
    assert builder(leaf(default=config(gang(5)))).validate(leaf()) == ()
