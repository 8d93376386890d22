"""Changes in an object of a retired version, and its fields that are lost."""

from __future__ import annotations

import pytest

from kubeapi.field_path import FieldPath
from tests.validators.migrate.migrating import CURRENT, GROUP, WORKLOAD, objects_in
from validators.migrate import migrate_object
from validators.migrate.change import Change, applied
from validators.migrate.migrate_object import Lost, Noted

LIVE = {"name": "w", "resourceVersion": "7"}


def migrated(content: dict[str, object], to: str = "v1beta1") -> dict[str, object]:
    return applied(content, [step for step in migrate_object.steps(content, to) if not isinstance(step, (Lost, Noted))])


def lost_fields(content: dict[str, object]) -> list[str]:
    return [str(FieldPath(*step.path)) for step in migrate_object.steps(content, "v1beta1") if isinstance(step, Lost)]


def scheduling(version: str, kind: str, **fields: object) -> dict[str, object]:
    return {"apiVersion": f"scheduling.k8s.io/{version}", "kind": kind, **fields}


@pytest.mark.parametrize(
    ("api_version", "kind", "want"),
    [
        ("scheduling.k8s.io/v1alpha1", "Workload", True),
        ("scheduling.k8s.io/v1alpha2", "Workload", True),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", True),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", True),
        ("scheduling.k8s.io/v1alpha1", "PodGroup", False),
        ("scheduling.k8s.io/v1beta1", "Workload", False),
        ("scheduling.k8s.io/v1alpha3", "CompositePodGroup", False),
        ("scheduling.k8s.io/v1", "PriorityClass", False),
        ("kueue.x-k8s.io/v1alpha1", "Workload", False),
        ("v1", "Pod", False),
        (None, 4, False),
    ],
)
def test_retired_versions(api_version: object, kind: object, want: bool) -> None:
    assert want is migrate_object.is_retired(api_version, kind)


@pytest.mark.parametrize(
    ("kind", "to", "want"),
    [
        ("Workload", "v1beta1", "scheduling.k8s.io/v1beta1"),
        ("PodGroup", "v1alpha3", "scheduling.k8s.io/v1alpha3"),
        ("PriorityClass", "v1alpha3", "scheduling.k8s.io/v1"),
    ],
)
def test_what_a_kind_is_migrated_to(kind: str, to: str, want: str) -> None:
    assert want == migrate_object.target_of("scheduling.k8s.io/v1beta1", kind, to)


def test_a_workload_of_v1alpha1() -> None:
    (content,) = objects_in(WORKLOAD)

    assert migrated(content) == scheduling(
        "v1beta1",
        "Workload",
        metadata={"name": "train"},
        spec={
            "podGroupTemplates": [
                {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}},
                {"name": "driver", "schedulingPolicy": {"basic": {}}},
            ]
        },
    )


def test_a_workload_of_v1alpha2() -> None:
    templates = [{"name": "a", "disruptionMode": "Pod"}, {"name": "b", "disruptionMode": "PodGroup"}, {"name": "c"}]
    content = scheduling("v1alpha2", "Workload", spec={"podGroupTemplates": templates})

    assert migrated(content)["spec"] == {
        "podGroupTemplates": [{"name": "a", "disruptionMode": {"single": {}}}, {"name": "b", "disruptionMode": {"all": {}}}, {"name": "c"}]
    }


def test_a_pod_group_of_v1alpha2() -> None:
    (content,) = objects_in(GROUP)
    content["status"] = {"conditions": [{"type": "PodGroupScheduled"}, {"type": "DisruptionTarget"}]}

    assert migrated(content, "v1alpha3") == scheduling(
        "v1alpha3",
        "PodGroup",
        metadata={"name": "workers"},
        spec={
            "workloadRef": {"workloadName": "train", "templateName": "workers"},
            "disruptionMode": {"all": {}},
            "schedulingPolicy": {"gang": {"minCount": 4}},
        },
        status={"conditions": [{"type": "PodGroupInitiallyScheduled"}, {"type": "DisruptionTarget"}]},
    )


def test_a_desired_count_is_lost() -> None:
    content = scheduling("v1alpha1", "Workload", spec={"podGroups": [{"name": "a", "policy": {"basic": {"desiredCount": 3}}}]})

    assert migrated(content)["spec"] == {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}
    assert lost_fields(content) == ["spec.podGroups[0].policy.basic.desiredCount"]


def test_a_desired_count_of_null_goes_without_a_word() -> None:
    content = scheduling("v1alpha1", "Workload", spec={"podGroups": [{"policy": {"basic": {"desiredCount": None}}}]})

    assert lost_fields(content) == []


def test_an_owner_of_a_retired_version_gets_its_new_version_and_no_uid() -> None:
    owner = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "Workload", "name": "w", "uid": "abc"}
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job"}, owner]}}

    assert migrated(content)["metadata"] == {
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job"}, {**owner, "apiVersion": "scheduling.k8s.io/v1beta1"}]
    }
    assert lost_fields(content) == ["metadata.ownerReferences[1].uid"]


@pytest.mark.parametrize(("metadata", "want"), [(LIVE, ["metadata.resourceVersion"]), ({"name": "w"}, [])])
def test_the_copy_of_a_live_object_is_noted(metadata: dict[str, str], want: list[str]) -> None:
    content = scheduling("v1alpha2", "Workload", metadata=metadata)

    assert want == [str(FieldPath(*step.path)) for step in migrate_object.steps(content, "v1beta1") if isinstance(step, Noted)]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(objects_in(CURRENT)[0], id="a current PodGroup"),
        pytest.param(scheduling("v1alpha3", "CompositePodGroup", metadata=LIVE), id="a CompositePodGroup"),
        pytest.param(
            {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "spec": {"podGroups": []}}, id="a Workload of another group"
        ),
        pytest.param({"kind": "Workload"}, id="no version"),
    ],
)
def test_nothing_else_changes(content: dict[str, object]) -> None:
    steps: list[Change | Lost | Noted] = list(migrate_object.steps(content, "v1beta1"))

    assert steps == []


@pytest.mark.parametrize(
    "spec", [None, 4, {"podGroups": 4}, {"podGroups": [4, {"policy": 4}, {"policy": {"basic": 4}}]}, {"podGroups": None}]
)
def test_what_has_the_wrong_type_passes_through(spec: object) -> None:
    assert migrated(scheduling("v1alpha1", "Workload", spec=spec))["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert migrated(scheduling("v1alpha2", "PodGroup", spec=spec, status=spec))["apiVersion"] == "scheduling.k8s.io/v1beta1"


@pytest.mark.parametrize(
    ("api_version", "kind", "current"),
    [
        ("resource.k8s.io/v1alpha2", "ResourceClaim", "resource.k8s.io/v1"),
        ("resource.k8s.io/v1alpha3", "ResourceClaimTemplate", "resource.k8s.io/v1"),
        ("resource.k8s.io/v1alpha3", "DeviceClass", "resource.k8s.io/v1"),
        ("scheduling.k8s.io/v1alpha1", "PodGroup", "scheduling.k8s.io/v1beta1"),
        ("scheduling.k8s.io/v1alpha2", "CompositePodGroup", "scheduling.k8s.io/v1alpha3"),
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("resource.k8s.io/v1alpha2", "ResourceClass", "a DeviceClass takes its place"),
        ("resource.k8s.io/v1alpha2", "PodSchedulingContext", "kube-scheduler allocates devices itself"),
    ],
)
def test_an_object_that_cannot_be_converted_is_a_loss(api_version: str, kind: str, current: str) -> None:
    (step,) = migrate_object.steps({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}, "v1beta1")

    assert isinstance(step, Lost)
    assert (step.path, f"{kind} of {api_version}" in step.lost, current in step.remedy) == (("apiVersion",), True, True)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("resource.k8s.io/v1beta1", "ResourceClaim"),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule"),
        ("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest"),
        ("scheduling.k8s.io/v1alpha3", "CompositePodGroup"),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
        ("jobset.x-k8s.io/v1alpha1", "JobSet"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        (None, 4),
    ],
)
def test_other_objects_are_none(api_version: object, kind: object) -> None:
    assert [] == [*migrate_object.steps({"apiVersion": api_version, "kind": kind}, "v1beta1")]


OLD = {"name": "gpu", "source": {"resourceClaimTemplateName": "one"}}
NEW = {"name": "nic", "resourceClaimName": "one"}


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod", "spec": {"resourceClaims": [OLD, NEW]}}, ["spec.resourceClaims[0].source"], id="a Pod"
        ),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"resourceClaims": [NEW, OLD]}}}},
            ["spec.template.spec.resourceClaims[1].source"],
            id="a Deployment",
        ),
        pytest.param(
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "spec": {
                    "workerGroupSpecs": [{"template": {"spec": {"resourceClaims": [{"name": "a", "source": {"resourceClaimName": "b"}}]}}}]
                },
            },
            ["spec.workerGroupSpecs[0].template.spec.resourceClaims[0].source"],
            id="a custom kind",
        ),
        pytest.param(scheduling("v1beta1", "PodGroup", spec={"resourceClaims": [OLD]}), ["spec.resourceClaims[0].source"], id="a group"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "spec": {"resourceClaims": [NEW]}}, [], id="a current one"),
        pytest.param(
            {"apiVersion": "x/v1", "kind": "Y", "spec": {"resourceClaims": [{"name": "a", "source": {"url": "b"}}]}},
            [],
            id="another source",
        ),
    ],
)
def test_the_source_of_an_old_claim_is_a_loss(content: dict[str, object], want: list[str]) -> None:
    assert want == lost_fields(content)
