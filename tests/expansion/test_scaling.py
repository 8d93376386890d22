"""Numbers by which objects are scaled, and the ranges that autoscalers allow."""

from __future__ import annotations

from typing import Any

import pytest

from expansion.scaling import ScaledField, scaled_fields, with_number
from kubeapi.names import Name

Json = dict[str, Any]


def content(api_version: str, kind: str, spec: Json, name: str = "a") -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def fields(manifest: Json, *autoscalers: Json) -> list[tuple[str, int, int, int | None, str]]:
    return [(each.text, each.now, each.least, each.most, each.limiter) for each in scaled_fields(manifest, autoscalers)]


@pytest.mark.parametrize(
    ("manifest", "want"),
    [
        (content("apps/v1", "Deployment", {"replicas": 3}), ("spec.replicas", 3)),
        (content("apps/v1", "StatefulSet", {}), ("spec.replicas", 1)),
        (content("batch/v1", "Job", {"parallelism": 4}), ("spec.parallelism", 4)),
        (content("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": 2}), ("spec.replicas", 2)),
        (content("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {"numNodes": 8}}), ("spec.trainer.numNodes", 8)),
        (content("trainer.kubeflow.org/v1alpha1", "TrainJob", {}), ("spec.trainer.numNodes", 1)),
        (
            content("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}),
            ("spec.pytorchReplicaSpecs.Worker.replicas", 2),
        ),
        (content("ray.io/v1", "RayCluster", {"workerGroupSpecs": [{"replicas": 5}]}), ("spec.workerGroupSpecs[0].replicas", 5)),
        (
            content("ray.io/v1", "RayService", {"rayClusterConfig": {"workerGroupSpecs": [{"replicas": 5}]}}),
            ("spec.rayClusterConfig.workerGroupSpecs[0].replicas", 5),
        ),
        (
            content("ray.io/v1", "RayJob", {"rayClusterSpec": {"workerGroupSpecs": [{"replicas": 5}]}}),
            ("spec.rayClusterSpec.workerGroupSpecs[0].replicas", 5),
        ),
    ],
)
def test_the_field_of_each_kind(manifest, want):
    assert [(*want, 0, None, "")] == fields(manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        content("apps/v1", "DaemonSet", {}),
        content("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Master": {}}}),
        content("ray.io/v1", "RayCluster", {"workerGroupSpecs": 3}),
        content("batch.volcano.sh/v1alpha1", "Job", {"parallelism": 3}),
        {"kind": "Deployment"},
    ],
)
def test_objects_that_are_not_scaled(manifest):
    assert [] == fields(manifest)


def autoscaler(kind: str = "HorizontalPodAutoscaler", target: str = "a", **spec: Any) -> Json:
    group = "autoscaling/v2" if kind == "HorizontalPodAutoscaler" else "keda.sh/v1alpha1"
    return content(group, kind, {"scaleTargetRef": {"kind": "Deployment", "name": target}, **spec}, "s")


@pytest.mark.parametrize(
    ("scaler", "want"),
    [
        (autoscaler(minReplicas=2, maxReplicas=9), (2, 9, "HorizontalPodAutoscaler s")),
        (autoscaler(maxReplicas=9), (1, 9, "HorizontalPodAutoscaler s")),
        (autoscaler("ScaledObject", maxReplicaCount=7, minReplicaCount=0), (0, 7, "ScaledObject s")),
        (autoscaler("ScaledObject"), (0, 100, "ScaledObject s")),
        (autoscaler(target="b", maxReplicas=9), (0, None, "")),
        (autoscaler(maxReplicas="9"), (0, None, "")),
        ({**autoscaler(maxReplicas=9), "metadata": {"name": "s", "namespace": "other"}}, (0, None, "")),
    ],
)
def test_the_range_of_an_autoscaler(scaler, want):
    ((_, _, *found),) = fields(content("apps/v1", "Deployment", {"replicas": 3}), scaler)
    assert want == tuple(found)


def test_the_ranges_of_rays_autoscaler_and_of_an_elastic_policy():
    groups = [{"replicas": 1, "minReplicas": 1, "maxReplicas": 4}, {"replicas": 2}]
    ray = {"enableInTreeAutoscaling": True, "workerGroupSpecs": groups}
    assert [(1, 1, 4, "maxReplicas"), (2, 0, None, "")] == [each[1:] for each in fields(content("ray.io/v1", "RayCluster", ray))]
    torch = {"elasticPolicy": {"minReplicas": 2, "maxReplicas": 6}, "pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}
    assert [(3, 2, 6, "elasticPolicy")] == [each[1:] for each in fields(content("kubeflow.org/v1", "PyTorchJob", torch))]


def test_another_number():
    groups = {"workerGroupSpecs": [{"replicas": 1}, {"replicas": 2}]}
    changed = with_number(content("ray.io/v1", "RayCluster", groups), ("spec", "workerGroupSpecs", 1, "replicas"), 7)
    assert [1, 7] == [each["replicas"] for each in changed["spec"]["workerGroupSpecs"]]
    assert [1, 2] == [each["replicas"] for each in groups["workerGroupSpecs"]]
    wide = with_number(content("batch/v1", "Job", {"parallelism": 2, "completions": 2}), ("spec", "parallelism"), 5)
    assert {"parallelism": 5, "completions": 5} == wide["spec"]
    long = with_number(content("batch/v1", "Job", {"parallelism": 2, "completions": 9}), ("spec", "parallelism"), 5)
    assert {"parallelism": 5, "completions": 9} == long["spec"]
    for spec in ({}, {"trainer": []}, {"trainer": "x"}):
        replaced = with_number(content("trainer.kubeflow.org/v1alpha1", "TrainJob", spec), ("spec", "trainer", "numNodes"), 2)
        assert {"trainer": {"numNodes": 2}} == replaced["spec"], spec


def test_a_field_has_its_path_in_words():
    assert "spec.a[0].b" == ScaledField(Name("X", "", "x"), ("spec", "a", 0, "b"), "replica", 1).text
