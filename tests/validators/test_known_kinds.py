"""Groups, versions and kinds that differ from known ones by one letter are reported; others are not judged."""

from __future__ import annotations

import pytest

from validators import known_kinds
from workloadbuilder.adapters.kinds import KINDS

MISSPELT = {
    ("sheduling.k8s.io/v1beta1", "PodGroup"): ("apiVersion", ["scheduling.k8s.io/v1beta1"]),
    ("scheduling.k8s.oi/v1alpha3", "Workload"): ("apiVersion", ["scheduling.k8s.io/v1alpha3"]),
    ("app/v1", "Deployment"): ("apiVersion", ["apps/v1"]),
    ("batch.volcano.hs/v1alpha1", "Job"): ("apiVersion", ["batch.volcano.sh/v1alpha1"]),
    ("kueu.x-k8s.io/v1beta1", "ClusterQueue"): ("apiVersion", ["kueue.x-k8s.io/v1beta1"]),
    ("jobset.x-k8s.io/v1alpah2", "JobSet"): ("apiVersion", ["jobset.x-k8s.io/v1alpha2"]),
    ("kubeflow.org/v2bata1", "MPIJob"): ("apiVersion", ["kubeflow.org/v2beta1"]),
    ("v1", "Deployment"): ("apiVersion", ["apps/v1"]),
    ("apps/v1", "CronJob"): ("apiVersion", ["batch/v1"]),
    ("batch/v1", "PodGroup"): ("apiVersion", ["scheduling.k8s.io/v1alpha3", "scheduling.volcano.sh/v1beta1"]),
    ("apps/v1", "deployment"): ("kind", ["Deployment"]),
    ("ray.io/v1", "RayServcie"): ("kind", ["RayService"]),
    ("serving.kserve.io/v1beta1", "InferenceServices"): ("kind", ["InferenceService"]),
    ("v1", "Pods"): ("kind", ["Pod"]),
}


@pytest.mark.parametrize(("head", "want"), MISSPELT.items(), ids=map("-".join, MISSPELT))
def test_what_is_meant_is_named(head: tuple[str, str], want: tuple[str, list[str]]) -> None:
    error = known_kinds.error(*head)
    assert error is not None
    assert str(error.path) == want[0]
    assert all(each in error.detail for each in want[1])
    assert (error.fix is None) is (len(want[1]) > 1)


OTHERS = [
    ("v1", "ConfigMap"),
    ("apps/v1", "ControllerRevision"),
    ("argoproj.io/v1alpha1", "WorkflowTemplate"),
    ("extensions/v1beta1", "Ingress"),
    ("jobset.x-k8s.io/v1alpha3", "JobSet"),
    ("kubeflow.org/v1", "Notebook"),
    ("kueue.x-k8s.io/v1beta2", "Workload"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
    ("serving.knative.dev/v1", "Service"),
    ("kubeflow.org/v1", "MXJob"),
    ("example.com/v1", "Pod"),
]


@pytest.mark.parametrize("head", OTHERS, ids=map("-".join, OTHERS))
def test_other_kinds_are_left_alone(head: tuple[str, str]) -> None:
    assert known_kinds.error(*head) is None


def test_kinds_with_an_adapter_are_known() -> None:
    """A kind that is compiled is known: with one letter more, it is misspelt."""
    for group, kind in KINDS:
        assert known_kinds.error(f"{group}/v1".lstrip("/"), f"{kind}x") is not None, (group, kind)
