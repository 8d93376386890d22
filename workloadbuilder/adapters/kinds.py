"""Kinds that can be compiled, each with its adapter."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container

from kubeapi.decode import Json
from workloadbuilder.adapters.shared.adapter_result import Reading
from workloadbuilder.adapters.shared.known_objects import Known, declared_name, group_of

Adapter = Callable[[Json, Known], Reading]

KINDS: dict[tuple[str, str], str] = {
    ("batch", "Job"): "job",
    ("jobset.x-k8s.io", "JobSet"): "jobset.jobset",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkerset.leaderworkerset",
    ("trainer.kubeflow.org", "TrainJob"): "trainjob.trainjob",
    ("scheduling.volcano.sh", "PodGroup"): "other_schedulers.volcano",
    ("scheduling.x-k8s.io", "PodGroup"): "other_schedulers.coscheduling",
    ("scheduling.run.ai", "PodGroup"): "other_schedulers.kai",
    ("grove.io", "PodCliqueSet"): "grove.grove",
    ("batch.volcano.sh", "Job"): "other_schedulers.volcano_job",
    ("kubeflow.org", "MPIJob"): "kubeflow.training_job",
    ("kubeflow.org", "PyTorchJob"): "kubeflow.training_job",
    ("kubeflow.org", "TFJob"): "kubeflow.training_job",
    ("kubeflow.org", "XGBoostJob"): "kubeflow.training_job",
    ("kubeflow.org", "PaddleJob"): "kubeflow.training_job",
    ("kubeflow.org", "JAXJob"): "kubeflow.training_job",
    ("ray.io", "RayCluster"): "ray.raycluster",
    ("ray.io", "RayJob"): "ray.rayjob",
    ("ray.io", "RayService"): "ray.rayservice",
    ("serving.kserve.io", "InferenceService"): "kserve.inferenceservice",
    ("serving.kserve.io", "LLMInferenceService"): "kserve.llminferenceservice",
    ("sparkoperator.k8s.io", "SparkApplication"): "spark.sparkapplication",
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): "spark.sparkapplication",
    ("argoproj.io", "Workflow"): "argo.workflow",
    ("argoproj.io", "CronWorkflow"): "argo.workflow",
    ("workload.codeflare.dev", "AppWrapper"): "appwrapper",
    ("batch", "CronJob"): "cronjob",
}
"""Module of this package by API group and kind; it reads all versions of the group."""
SINGLE: dict[tuple[str, str], str] = {
    ("apps", "Deployment"): "apps.replicas",
    ("apps", "ReplicaSet"): "apps.replicas",
    ("apps", "StatefulSet"): "apps.statefulset",
    ("", "ReplicationController"): "apps.replicas",
    ("apps", "DaemonSet"): "apps.daemonset",
}
"""The same for kinds whose pods never have a group."""


def adapter(api_version: Json, kind: Json, declared: Container[str] = ()) -> Adapter | None:
    """Return the adapter of a kind, imported on first use; None if there is none.

    *declared* are further kinds, as ``KIND`` or ``KIND.GROUP``, whose pod templates are known.
    """
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    group = group_of(api_version)
    module = KINDS.get((group, kind)) or SINGLE.get((group, kind))
    if module is None and declared_name(group, kind, declared):
        module = "declared_kinds"
    if module is None:
        return None
    adapt: Adapter = importlib.import_module(f"{__package__}.{module}").adapt
    return adapt


def listed(*, with_single: bool = False) -> str:
    """Return the kinds that are read, by name, as a text for messages; *with_single*, also those whose pods never have a group."""
    return ", ".join(sorted({kind for _, kind in (*KINDS, *(SINGLE if with_single else ()))}))
