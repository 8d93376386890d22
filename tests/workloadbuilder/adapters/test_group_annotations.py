"""Annotations that stand for the building blocks of an object."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, root, sound, sources, spec
from tests.workloadbuilder.adapters.jobs import GANG, JOB

LWS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, uid: 2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d11}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    workerTemplate: {spec: {containers: [{name: main, image: serve}]}}
"""
RAY_JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: tune, uid: 2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d12}
spec:
  entrypoint: python tune.py
  rayClusterSpec:
    headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
    workerGroupSpecs:
    - groupName: workers
      replicas: 2
      minReplicas: 2
      maxReplicas: 2
      rayStartParams: {}
      template: {spec: {containers: [{name: worker, image: ray}]}}
"""

CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, image: train}]}}}}
"""

JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: training}}
spec:
  {changed}
  replicatedJobs:
  - name: driver
    template: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: driver}}]}}}}}}}}
  - name: workers
    replicas: 2
    template:
      metadata: {{{annotated}}}
      spec:
        parallelism: 16
        completions: 8
        template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: worker}}]}}}}
"""


def annotated(manifest, **annotations):
    text = ", ".join(f'muster.dev/{key.replace("_", "-")}: "{value}"' for key, value in annotations.items())
    return manifest.replace("metadata: {", f"metadata: {{annotations: {{{text}}}, ", 1)


def test_a_job_becomes_a_gang_in_one_rack():
    result = sound(annotated(JOB, topology="rack", min_count=4, disruption_mode="all"))

    want = {
        "name": "job-root",
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": {"all": {}},
    }
    assert want == root(result)
    assert "gang, minCount 4 (user)" == sources(result)["job-root"]["schedulingPolicy"]


def test_the_minimum_of_a_group_of_groups_counts_groups():
    result = sound(annotated(LWS, min_count=1, topology="zone"))

    (template,) = spec(result)["compositePodGroupTemplates"]
    assert ({"gang": {"minGroupCount": 1}}, {"topology": [{"key": "zone"}]}) == (
        template["schedulingPolicy"],
        template["schedulingConstraints"],
    )


def test_an_object_without_groups_gets_a_gang_of_the_pods_that_wait_for_no_others():
    result = sound(annotated(RAY_JOB, topology="rack"), pods=True)

    assert {
        "name": "rayjob",
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
    } == root(result)
    groups = {each["metadata"]["name"]: "schedulingGroup" in each["spec"] for each in result.objects if each["kind"] == "Pod"}
    assert {"tune-head": True, "tune-workers-worker-0": True, "tune-workers-worker-1": True, "tune-0": False} == groups


def test_an_object_without_annotations_gets_a_gang_on_request():
    assert {"gang": {"minCount": 3}} == root(sound(RAY_JOB, grouped=True))["schedulingPolicy"]
    assert {"gang": {"minCount": 4}} == root(sound(JOB, grouped=True))["schedulingPolicy"]
    assert {"basic": {}} == root(sound(JOB))["schedulingPolicy"], "which its own controller gives it"


@pytest.mark.parametrize(
    ("changed", "annotated", "want"),
    [
        ("", "", {"gang": {"minGroupCount": 3}, "driver": {"gang": {"minCount": 1}}, "workers": {"gang": {"minCount": 8}}}),
        (
            "startupPolicy: {startupPolicyOrder: InOrder}",
            "",
            {"gang": {"minGroupCount": 1}, "driver": {"gang": {"minCount": 1}}, "workers": {"gang": {"minCount": 8}}},
        ),
        (
            "",
            "annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}",
            {"gang": {"minGroupCount": 3}, "driver": {"gang": {"minCount": 1}}, "workers": {"basic": {}}},
        ),
        (
            "scheduling: {schedulingPolicy: {basic: {}}}",
            "",
            {"basic": {}, "driver": {"gang": {"minCount": 1}}, "workers": {"gang": {"minCount": 8}}},
        ),
    ],
    ids=["all at once", "the driver first", "the first pod of each Job first", "a policy of the user"],
)
def test_a_jobset_is_placed_whole_on_request(changed, annotated, want):
    """As far as its pods are created at once: a gang of pods that wait for others would never be complete."""
    template = root(sound(JOB_SET.format(changed=changed, annotated=annotated), grouped=True))

    assert want == template["schedulingPolicy"] | {each["name"]: each["schedulingPolicy"] for each in template["podGroupTemplates"]}


def test_an_object_that_the_controller_creates_gets_the_annotations():
    result = sound(annotated(CRON_JOB, topology="rack"))

    assert [{"key": "rack"}] == root(result)["schedulingConstraints"]["topology"]


def test_a_block_of_the_object_wins():
    result = sound(annotated(GANG, min_count=1))

    assert {"gang": {"minCount": 4}} == root(result)["schedulingPolicy"]
    assert [
        'metadata.annotations[muster.dev/min-count]: Invalid value: "1": has no effect: spec.scheduling.schedulingPolicy is set'
    ] == error_lines(result.warnings)


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        ({"min_count": "many"}, ['[muster.dev/min-count]: Invalid value: "many": must be a whole number of at least 1']),
        ({"min_count": "0"}, ['[muster.dev/min-count]: Invalid value: "0": must be a whole number of at least 1']),
        ({"min_count": "5"}, ['[muster.dev/min-count]: Invalid value: "5": must not be greater than the number of pods (4)']),
        ({"disruption_mode": "both"}, ['[muster.dev/disruption-mode]: Invalid value: "both": must be single or all']),
        ({"topology": ""}, ["[muster.dev/topology]: Required value: a topology constraint names a node label"]),
        (
            {"disruption_mode": "all"},
            [
                '[muster.dev/disruption-mode]: Invalid value: "all": the disruptionMode `all` is not supported with the Basic scheduling policy'
            ],
        ),
    ],
)
def test_a_value_that_cannot_be_is_an_error_at_the_annotation(annotations, want):
    result = compiled(annotated(JOB, **annotations))

    assert [f"metadata.annotations{each}" for each in want] == error_lines(result.errors)
