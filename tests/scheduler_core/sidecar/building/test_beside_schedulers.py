"""Objects of Kueue, Volcano, KAI and YuniKorn: nothing is built before they are released, and nothing for pods of other schedulers.

The schedulers of Volcano, KAI and YuniKorn do not run here; the objects are those that their users and their controllers write.
"""

from __future__ import annotations

import copy

import pytest
import yaml

from scheduler_core.causes.built_groups import NotBuiltReason
from scheduler_core.sidecar.building.group_plan import Target, plan_groups
from scheduler_core.sidecar.building.owned_objects import Objects

TARGET = Target("scheduling.k8s.io/v1beta1", 37)
BUILD = {"muster.dev/groups": "build"}
CONTAINERS = "containers: [{name: pytorch, image: train, resources: {requests: {cpu: 1}}}]"
VOLCANO = {
    "Job of Volcano": """
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {name: train}
        spec:
          minAvailable: 3
          schedulerName: volcano
          queue: research
          tasks: [{name: worker, replicas: 3, template: {spec: {CONTAINERS}}}]
    """,
    "PodGroup of Volcano": """
        apiVersion: scheduling.volcano.sh/v1beta1
        kind: PodGroup
        metadata: {name: train}
        spec: {minMember: 3, queue: research}
    """,
    "Job": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train, annotations: {scheduling.volcano.sh/group-min-member: "3", scheduling.volcano.sh/queue-name: research}}
        spec: {parallelism: 3, template: {spec: {schedulerName: volcano, restartPolicy: Never, CONTAINERS}}}
    """,
    "Job that names a PodGroup": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec: {parallelism: 3, template: {metadata: {annotations: {scheduling.k8s.io/group-name: train}}, spec: {CONTAINERS}}}
    """,
    "Deployment": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: serve, labels: {muster.dev/groups: build}, annotations: {scheduling.volcano.sh/group-min-member: "3"}}
        spec:
          replicas: 3
          selector: {matchLabels: {app: serve}}
          template: {metadata: {labels: {app: serve}}, spec: {schedulerName: volcano, CONTAINERS}}
    """,
    "PyTorchJob": """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {name: train}
        spec:
          runPolicy: {schedulingPolicy: {minAvailable: 3, queue: research}}
          pytorchReplicaSpecs: {Worker: {replicas: 3, template: {spec: {schedulerName: volcano, CONTAINERS}}}}
    """,
    "RayCluster": """
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {name: tune, labels: {ray.io/scheduler-name: volcano, volcano.sh/queue-name: research}}
        spec:
          headGroupSpec: {rayStartParams: {}, template: {spec: {schedulerName: volcano, CONTAINERS}}}
    """,
}
KAI = {
    "Job": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train, labels: {kai.scheduler/queue: research}}
        spec:
          parallelism: 3
          template: {metadata: {labels: {kai.scheduler/queue: research}}, spec: {schedulerName: kai-scheduler, CONTAINERS}}
    """,
    "JobSet": """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {name: train, labels: {kai.scheduler/queue: research}}
        spec:
          replicatedJobs: [{name: workers, replicas: 2, template: {spec: {template: {spec: {schedulerName: kai-scheduler, CONTAINERS}}}}}]
    """,
    "pod groups by its annotation": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec: {parallelism: 3, template: {metadata: {annotations: {pod-group-name: pg-train}}, spec: {CONTAINERS}}}
    """,
    "PodGroup of KAI": """
        apiVersion: scheduling.run.ai/v2alpha2
        kind: PodGroup
        metadata: {name: pg-train}
        spec: {minMember: 3, queue: research}
    """,
}
TASK_GROUPS = "yunikorn.apache.org/task-groups"
YUNIKORN = {
    "Job": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          parallelism: 3
          template:
            metadata: {labels: {applicationId: train, queue: root.research}}
            spec: {schedulerName: yunikorn, CONTAINERS}
    """,
    "Job with task groups, before the admission controller": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          parallelism: 3
          template:
            metadata:
              labels: {applicationId: train, queue: root.research}
              annotations:
                yunikorn.apache.org/task-group-name: workers
                yunikorn.apache.org/task-groups: '[{"name": "workers", "minMember": 3, "minResource": {"cpu": "1"}}]'
            spec: {CONTAINERS}
    """,
    "MPIJob": """
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: pi}
        spec:
          mpiReplicaSpecs:
            Launcher: {replicas: 1, template: {spec: {schedulerName: yunikorn, CONTAINERS}}}
            Worker: {replicas: 2, template: {spec: {schedulerName: yunikorn, CONTAINERS}}}
    """,
}
OTHERS = {
    f"{name}: {key}": text for name, given in (("Volcano", VOLCANO), ("KAI", KAI), ("YuniKorn", YUNIKORN)) for key, text in given.items()
}


def read(text):
    manifest = yaml.safe_load(text.replace("CONTAINERS", CONTAINERS))
    manifest["metadata"] |= {"namespace": "research", "uid": "2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d15"}
    return manifest


def plan(manifest):
    objects = Objects(lambda *_: None)
    objects.add_or_update(("", "Namespace"), {"metadata": {"name": "research", "labels": BUILD}})
    return plan_groups(manifest, objects, TARGET)


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_objects_of_other_schedulers_are_left_alone(text):
    result = plan(read(text))

    assert () == result.wanted
    assert result.why is not None
    assert result.why.why in {NotBuiltReason.NOT_ASKED, NotBuiltReason.OTHER_SCHEDULER, NotBuiltReason.NO_GROUP}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_without_the_marks_of_the_scheduler_they_are_built(text):
    """So it is these that exclude an object, unless its kind does."""
    manifest = read(text)
    if manifest["kind"] == "PodGroup" or "volcano" in manifest["apiVersion"]:
        assert NotBuiltReason.NOT_ASKED is plan(manifest).why.why
        return
    assert plan(unmarked(manifest)).wanted


def unmarked(value):
    """Return a manifest without names of schedulers and annotations about groups."""
    if isinstance(value, list):
        return [*map(unmarked, value)]
    if not isinstance(value, dict):
        return value
    return {key: unmarked(each) for key, each in value.items() if key not in ("schedulerName", "annotations")}


KUEUE = {
    "Job": ("batch/v1", "Job", {"parallelism": 2, "template": {}}, ("suspend",)),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {}}}}]},
        ("suspend",),
    ),
    "RayCluster": ("ray.io/v1", "RayCluster", {"headGroupSpec": {"rayStartParams": {}, "template": {}}}, ("suspend",)),
    "PyTorchJob": ("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"template": {}}}}, ("runPolicy", "suspend")),
    "MPIJob": (
        "kubeflow.org/v2beta1",
        "MPIJob",
        {"mpiReplicaSpecs": {"Launcher": {"template": {}}, "Worker": {"template": {}}}},
        ("runPolicy", "suspend"),
    ),
}
"""API version, kind and specification of objects that Kueue suspends, and the field by which it does."""


@pytest.mark.parametrize(("api_version", "kind", "spec", "field"), KUEUE.values(), ids=KUEUE)
def test_what_kueue_suspends_is_built_when_it_is_admitted(api_version, kind, spec, field):
    spec = copy.deepcopy(spec)
    _fill(spec)
    manifest = read(yaml.safe_dump({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}))
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "user-queue"}
    holder = manifest["spec"]
    for key in field[:-1]:
        holder = holder.setdefault(key, {})

    holder[field[-1]] = True
    assert NotBuiltReason.SUSPENDED is plan(manifest).why.why
    holder[field[-1]] = False
    assert plan(manifest).wanted


def _fill(spec):
    """Put a container into each pod template."""
    for key, value in [*spec.items()]:
        if key == "template" and value == {}:
            spec[key] = {"spec": yaml.safe_load(f"{{{CONTAINERS}}}")}
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                _fill(each)
