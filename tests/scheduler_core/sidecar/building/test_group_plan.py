"""For which objects groups are built, and the reason for the others."""

from __future__ import annotations

import dataclasses

import pytest
import yaml

from scheduler_core.causes.built_groups import NotBuilt, NotBuiltReason
from scheduler_core.sidecar.building.group_plan import Target, existing, plan_groups
from scheduler_core.sidecar.building.owned_objects import Objects
from scheduler_core.wording.built_group_words import not_built_words
from tests.workloadbuilder.adapters.test_group_annotations import annotated
from tests.workloadbuilder.adapters.test_group_objects import MANIFESTS
from tests.workloadbuilder.adapters.test_members import JOBSET

TARGET = Target("scheduling.muster.dev/v1beta1", 37)
LABELLED = {"muster.dev/groups": "build"}
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, namespace: research, uid: 2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d15}
spec:
  replicas: 3
  selector: {matchLabels: {app: serve}}
  template: {metadata: {labels: {app: serve}}, spec: {containers: [{name: main, image: serve}]}}
"""


def surroundings(*manifests, labels=LABELLED):
    """The objects around one, and its namespace with *labels*."""
    objects = Objects(lambda *_: None)
    objects.add_or_update(("", "Namespace"), {"kind": "Namespace", "metadata": {"name": "research", "labels": labels}})
    for each in manifests:
        group = each["apiVersion"].rpartition("/")[0]
        objects.add_or_update((group, each["kind"]), each)
    return objects


def manifest(text, **metadata):
    result = yaml.safe_load(text)
    result["metadata"] |= {"namespace": "research", **metadata}
    return result


def plan(text, namespace=LABELLED, further=(), **metadata):
    """The reason why nothing is built for a manifest; None if something is."""
    result = plan_groups(manifest(text, **metadata), surroundings(*further, labels=namespace), TARGET)
    assert (result.why is None) is bool(result.wanted)
    return result.why and result.why.why


@pytest.mark.parametrize("text", MANIFESTS[:3], ids=["Job", "JobSet", "LeaderWorkerSet"])
def test_the_label_of_the_namespace_asks_for_all_training_kinds(text):
    assert plan(text) is None
    assert plan(text, namespace={}) is NotBuiltReason.NOT_ASKED


def test_the_label_of_the_object_asks_too_and_another_value_excludes_it():
    assert plan(JOBSET, namespace={}, labels=LABELLED) is None
    assert plan(JOBSET, labels={"muster.dev/groups": "none"}) is NotBuiltReason.NOT_ASKED


def test_a_deployment_needs_its_own_label():
    assert plan(DEPLOYMENT) is NotBuiltReason.NOT_ASKED
    assert plan(DEPLOYMENT, labels=LABELLED) is None


def test_an_object_that_is_being_deleted_gets_nothing():
    assert plan(JOBSET, deletionTimestamp="2026-01-01T00:00:00Z") is NotBuiltReason.NOT_ASKED


def test_a_job_of_a_jobset_has_the_groups_of_the_jobset():
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "train", "uid": "u", "controller": True}

    assert plan(MANIFESTS[0], ownerReferences=[owner]) is NotBuiltReason.OWNED
    assert plan(MANIFESTS[0], ownerReferences=[{**owner, "apiVersion": "batch/v1", "kind": "CronJob"}]) is None


def test_a_job_is_left_to_its_controller_until_that_has_started_it():
    """With the gate on, the controller has created the groups of a Job by then."""
    native = dataclasses.replace(TARGET, with_built_in=True)
    new, owned = manifest(MANIFESTS[0]), {"apiVersion": "batch/v1", "kind": "CronJob", "name": "train", "uid": "u", "controller": True}
    started, suspended = {**new, "status": {"startTime": "2026-01-01T00:00:00Z"}}, {**new, "spec": {**new["spec"], "suspend": True}}

    def why(each, target=native):
        result = plan_groups(each, surroundings(), target)
        return result.why and result.why.why

    assert (NotBuiltReason.NOT_STARTED, None, NotBuiltReason.SUSPENDED) == (why(new), why(started), why(suspended))
    assert why(manifest(MANIFESTS[0], ownerReferences=[owned])) is None, "the controller creates none for a Job with a controller"
    assert why(manifest(JOBSET)) is None
    assert why(new, TARGET) is None


def test_a_workload_that_another_program_has_created_is_left_alone():
    job = manifest(MANIFESTS[0])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": job["metadata"]["uid"], "controller": True}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "train", "namespace": "research", "ownerReferences": [owner]},
    }

    assert plan(MANIFESTS[0], further=[workload]) is NotBuiltReason.MADE_BY_CONTROLLER
    workload["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "muster"}
    assert plan(MANIFESTS[0], further=[workload]) is None
    assert [] == existing(job, surroundings(workload), TARGET), "it is in the other API group"


@pytest.mark.parametrize("name", ["volcano", "kueue-scheduler"])
def test_pods_of_another_scheduler_are_not_touched(name):
    text = JOBSET.replace("spec: {containers", f"spec: {{schedulerName: {name}, containers")
    result = plan_groups(manifest(text), surroundings(), TARGET)

    assert NotBuilt(NotBuiltReason.OTHER_SCHEDULER, schedulers=(name,)) == result.why
    assert f"its pods are of another scheduler: {name}" == not_built_words(result.why)
    assert plan_groups(manifest(text), surroundings(), Target(TARGET.api_version, 37, frozenset({name}))).wanted


def test_an_error_is_told_with_its_field():
    result = plan_groups(manifest(annotated(MANIFESTS[0], min_count="many")), surroundings(), TARGET)

    assert 'metadata.annotations[muster.dev/min-count]: Invalid value: "many": must be a whole number of at least 1' == not_built_words(
        result.why
    )


def test_a_suspended_object_is_built_when_it_is_resumed():
    text = JOBSET.replace("spec:\n", "spec:\n  suspend: true\n", 1)

    assert plan(text) is NotBuiltReason.SUSPENDED
    assert plan(text.replace("suspend: true", "suspend: false")) is None
