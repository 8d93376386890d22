"""Pods of controllers: their number, the event that they wait for, and input of any shape."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.versions.kubernetes_releases import TODAY
from validators import pipeline
from validators.model.controllers import pods_of, raw_templates
from validators.model.own_gangs import own_gang
from validators.rules.base import Settings

TEMPLATE = "{spec: {schedulingGroup: {podGroupName: g}}}"


def pods(api_version: str, kind: str, spec: str, status: str = "{}") -> list[tuple[int | None, str]]:
    content = yaml.safe_load(spec.replace("TEMPLATE", TEMPLATE))
    written = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": content, "status": yaml.safe_load(status)}
    return [(each.count, each.wait.words if each.wait else "") for each in pods_of(pipeline.decode_for_lookup(written)) if each.group]


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "want"),
    [
        ("apps/v1", "Deployment", "{replicas: 3, template: TEMPLATE}", [(3, "")]),
        ("apps/v1", "StatefulSet", "{template: TEMPLATE}", [(None, "")]),
        ("apps/v1", "StatefulSet", "{replicas: 3, template: TEMPLATE}", [(1, ""), (2, "the pod before it is ready")]),
        ("apps/v1", "StatefulSet", "{replicas: 3, podManagementPolicy: Parallel, template: TEMPLATE}", [(3, "")]),
        ("apps/v1", "DaemonSet", "{template: TEMPLATE}", [(None, "")]),
        ("batch/v1", "Job", "{template: TEMPLATE}", [(1, "")]),
        ("batch/v1", "Job", "{parallelism: 4, completions: 3, template: TEMPLATE}", [(3, "")]),
        ("batch/v1", "CronJob", "{jobTemplate: {spec: {parallelism: 2, template: TEMPLATE}}}", [(None, "")]),
        ("batch/v1", "CronJob", "{concurrencyPolicy: Forbid, jobTemplate: {spec: {parallelism: 2, template: TEMPLATE}}}", [(2, "")]),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            (
                "{replicatedJobs: [{name: a, template: {spec: {template: TEMPLATE}}},"
                " {name: b, replicas: 3, dependsOn: [{name: a, status: Ready}],"
                " template: {spec: {parallelism: 4, completions: 2, template: TEMPLATE}}}]}"
            ),
            [(1, ""), (6, "replicated job 'a' has started")],
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "{replicas: 2, startupPolicy: LeaderReady, leaderWorkerTemplate: {size: 4, workerTemplate: TEMPLATE}}",
            [(2, ""), (6, "the leader is ready")],
        ),
        (
            "ray.io/v1",
            "RayJob",
            (
                "{rayClusterSpec: {enableInTreeAutoscaling: true, headGroupSpec: {template: TEMPLATE}, workerGroupSpecs:"
                " [{replicas: 1, maxReplicas: 3, numOfHosts: 2, template: TEMPLATE}]}, submitterPodTemplate: TEMPLATE}"
            ),
            [(1, ""), (2, ""), (4, "the autoscaler in the head pod demands them"), (1, "the Ray cluster is ready")],
        ),
        (
            "ray.io/v1",
            "RayCluster",
            "{headGroupSpec: {}, workerGroupSpecs: [{suspend: true, replicas: 4, template: TEMPLATE}]}",
            [(0, "")],
        ),
        (
            "kubeflow.org/v2beta1",
            "MPIJob",
            (
                "{launcherCreationPolicy: WaitForWorkersReady, mpiReplicaSpecs:"
                " {Launcher: {template: TEMPLATE}, Worker: {replicas: 4, template: TEMPLATE}}}"
            ),
            [(1, "the workers are ready"), (4, "")],
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            "{elasticPolicy: {}, pytorchReplicaSpecs: {Master: {template: TEMPLATE}, Worker: {replicas: 4, template: TEMPLATE}}}",
            [(1, ""), (None, "")],
        ),
    ],
)
def test_the_pods_of_each_template_are_counted(api_version: str, kind: str, spec: str, want: list[tuple[int | None, str]]) -> None:
    assert want == pods(api_version, kind, spec)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        ("{}", 4),
        ("{succeeded: 5}", 3),
        ("{completedIndexes: '0-2,5', succeeded: 4}", 4),
        ("{completedIndexes: '0-2,5', failedIndexes: '3', succeeded: 4}", 3),
        ("{completedIndexes: '0-7', succeeded: 8}", 0),
        ("{completedIndexes: 'none,1-'}", 4),
    ],
)
def test_ended_indexes_of_a_job_have_no_more_pods(status: str, want: int) -> None:
    assert [(want, "")] == pods("batch/v1", "Job", "{parallelism: 4, completions: 8, template: TEMPLATE}", status)


@pytest.mark.parametrize("api_version", ["apps/v1beta3", "example.com/v1"])
def test_a_controller_is_known_by_its_api_group(api_version: str) -> None:
    want = [(3, "")] if api_version.startswith("apps/") else []
    assert want == pods(api_version, "Deployment", "{replicas: 3, template: TEMPLATE}")


def test_a_controller_without_a_group_is_foreign() -> None:
    content = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec": {}}}}
    assert pipeline.examine(content, Settings(linting=True)).foreign


def test_the_shape_of_a_pod_template_is_validated_at_its_place() -> None:
    workers = {"template": {"spec": {"schedulingGroup": {"podGroup": "g"}, "priority": "high"}}}
    content = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "spec": {"workerGroupSpecs": [workers]}}
    examined = pipeline.examine(content, Settings(linting=True, minor=TODAY))
    at = "spec.workerGroupSpecs[0].template.spec"
    assert {f"{at}.schedulingGroup.podGroup", f"{at}.priority"} == {str(each.error.path) for each in examined.violations}


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just({"schedulingGroup": {"podGroupName": "g"}})
NAMES = st.sampled_from(
    [
        "template",
        "spec",
        "replicas",
        "jobTemplate",
        "replicatedJobs",
        "leaderWorkerTemplate",
        "leaderTemplate",
        "workerTemplate",
        "size",
        "startupPolicy",
        "rayClusterSpec",
        "rayClusterConfig",
        "headGroupSpec",
        "workerGroupSpecs",
        "maxReplicas",
        "enableInTreeAutoscaling",
        "submitterPodTemplate",
        "submissionMode",
        "mpiReplicaSpecs",
        "Worker",
        "elasticPolicy",
        "launcherCreationPolicy",
        "concurrencyPolicy",
        "schedulingGroup",
        *(
            "runPolicy",
            "schedulingPolicy",
            "podGroupPolicy",
            "coscheduling",
            "volcano",
            "mlPolicy",
            "tasks",
            "dependsOn",
            "name",
            "minAvailable",
        ),
        *("scheduling", "gang", "startupPolicyOrder", "podManagementPolicy", "metadata", "labels"),
    ]
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        *(("apps", "Deployment"), ("apps", "StatefulSet"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), ("ray.io", "RayJob")),
        *(("ray.io", "RayService"), ("kubeflow.org", "MPIJob"), ("trainer.kubeflow.org", "TrainingRuntime")),
        *(("trainer.kubeflow.org", "ClusterTrainingRuntime"), ("batch.volcano.sh", "Job")),
    ],
)
@given(spec=ANYTHING)
def test_no_shape_of_a_controller_is_an_exception(group: str, kind: str, spec: Any) -> None:
    content = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    examined = pipeline.examine(content, Settings(linting=True))
    assert examined.foreign is not bool(raw_templates(group, kind, content) or own_gang(group, kind, content))
