"""Groups of a Workload that exists already."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.trees import WITH_UID, builder, composite, error_lines, leaf
from workloadbuilder.builder import Builder
from workloadbuilder.errors import BuildError
from workloadbuilder.workload_item import Owner

WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {
        "name": "train-647cf7d9",
        "namespace": "research",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "uid-0"},
            {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-1", "controller": True, "blockOwnerDeletion": True},
        ],
    },
    "spec": {
        "podGroupTemplates": None,
        "compositePodGroupTemplates": [
            {
                "name": "replica",
                "schedulingPolicy": {"basic": {}},
                "priorityClassName": "",
                "podGroupTemplates": [
                    {
                        "name": "workers",
                        "schedulingPolicy": {"gang": {"minCount": 4}},
                        "schedulingConstraints": None,
                        "resourceClaims": [],
                        "preemptionPolicy": "Never",
                    }
                ],
            }
        ],
    },
}


def test_a_leaf_below_a_composite_is_found_and_linked():
    group = Builder.from_workload(WORKLOAD).pod_group("workers", parent="replica-7", index=7)

    assert group == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": "train-647cf7d9-workers-7-5594d89975",
            "namespace": "research",
            "ownerReferences": [WORKLOAD["metadata"]["ownerReferences"][1]],
        },
        "spec": {
            "parentCompositePodGroupName": "replica-7",
            "workloadRef": {"workloadName": "train-647cf7d9", "templateName": "workers"},
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "preemptionPolicy": "Never",
        },
    }


def test_a_childs_controller_owns_the_group_that_it_makes():
    group = Builder.from_workload(WORKLOAD).pod_group("workers", owner=Owner("batch/v1", "Job", "train-0", "uid-9"))

    assert ["uid-9"] == [each["uid"] for each in group["metadata"]["ownerReferences"]]


def test_parent_is_that_of_the_same_places_where_none_is_named():
    stored = Builder.from_workload(WORKLOAD)

    assert stored.composite_pod_group("replica")["metadata"]["name"] == stored.pod_group("workers")["spec"]["parentCompositePodGroupName"]
    assert (
        stored.composite_pod_group("replica", index=2)["metadata"]["name"]
        == stored.pod_group("workers", index=(2, 5))["spec"]["parentCompositePodGroupName"]
    )


def test_without_a_controller_nobody_owns_the_groups_and_names_have_no_hash():
    bare = {**WORKLOAD, "metadata": {"name": "train"}}

    assert {"name": "train-workers"} == Builder.from_workload(bare).pod_group("workers")["metadata"]


def test_version_of_the_workload_is_that_of_its_pod_groups():
    stored = Builder.from_workload({**WORKLOAD, "apiVersion": "scheduling.k8s.io/v1alpha3"})

    assert "scheduling.k8s.io/v1alpha3" == stored.pod_group("workers")["apiVersion"]


@pytest.mark.parametrize(
    ("workload", "want"),
    [
        pytest.param(None, "must be a mapping: a Workload", id="nothing"),
        pytest.param([WORKLOAD], "must be a mapping: a Workload", id="a list"),
        pytest.param(
            {**WORKLOAD, "apiVersion": "scheduling.k8s.io/v1alpha2"},
            'apiVersion: Unsupported value: "scheduling.k8s.io/v1alpha2"',
            id="retired",
        ),
        pytest.param({**WORKLOAD, "kind": "PodGroup"}, 'kind: Unsupported value: "PodGroup"', id="another kind"),
        pytest.param({**WORKLOAD, "spec": 3}, "spec: Invalid value: 3: must be a mapping", id="a wrong type"),
        pytest.param({**WORKLOAD, "spec": {}}, "spec: Invalid value: ", id="no templates"),
        pytest.param({**WORKLOAD, "metadata": {}}, "metadata.name: Required value: name or generateName is required", id="no name"),
        pytest.param(
            {**WORKLOAD, "metadata": {"generateName": "train-"}}, "metadata.name: Required value: ", id="a name that is to be made"
        ),
        pytest.param(
            {**WORKLOAD, "spec": {"podGroupTemplates": [{"schedulingPolicy": {"basic": {}}}]}},
            "podGroupTemplates[0].name",
            id="no template name",
        ),
        pytest.param({**WORKLOAD, "spec": {"podGroupTemplates": [{"name": "a"}]}}, "podGroupTemplates[0].schedulingPolicy", id="no policy"),
        pytest.param({**WORKLOAD, "metadata": {"name": "train", "labels": {"a": object()}}}, "metadata.labels[a]", id="no JSON"),
        pytest.param({**WORKLOAD, "spec": {1: 2}}, "must be JSON", id="a number as key"),
        pytest.param({**WORKLOAD, "metadata": {"name": "train", "ownerReferences": 5}}, "must be a list of mappings", id="owners"),
    ],
)
def test_what_is_no_sound_workload_is_refused(workload, want):
    with pytest.raises(BuildError) as caught:
        Builder.from_workload(workload)

    assert want in "\n".join(error_lines(caught.value.errors))


def test_a_workload_nested_without_end_is_refused():
    deep: dict = {}
    for _ in range(100_000):
        deep = {"compositePodGroupTemplates": [deep]}

    with pytest.raises(BuildError):
        Builder.from_workload({**WORKLOAD, "spec": deep})


def test_there_is_no_tree_to_read():
    stored = Builder.from_workload(WORKLOAD)

    assert ["Invalid value: cannot validate a builder constructed from an existing workload"] == [str(error) for error in stored.validate()]
    assert stored.warnings() == ()
    with pytest.raises(BuildError, match="BuildWorkload is not available on a Builder created from an existing Workload"):
        stored.build_workload()
    for request in (stored.groups, stored.resolved):
        with pytest.raises(BuildError, match="has no tree of items"):
            request()


def test_a_workload_that_was_built_is_read():
    built = builder(composite("root", leaf()), owner=WITH_UID).build_workload()

    assert "train-root-9545bcbb9" == Builder.from_workload(built).composite_pod_group("root")["metadata"]["name"]
