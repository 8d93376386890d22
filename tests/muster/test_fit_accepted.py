"""Objects that their cluster accepts although a part of them looks wrong: they are no refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node
from tests.muster.test_pod_admission import fit
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]


def test_pods_of_a_system_class_have_no_group():
    """A group cannot have the class, and without it its priority is not that of its pods."""
    mine = job(2)
    mine["spec"]["template"] = {"spec": {**RUN_ONCE["spec"], "priorityClassName": "system-node-critical"}}
    status, answer = fit([mine], NODES)
    assert (0, ["Pod", "Pod"]) == (status, [each["root"]["kind"] for each in answer["decisions"]])


def test_volumes_that_an_operator_adds_can_be_mounted():
    container = {**TEMPLATE["spec"]["containers"][0], "volumeMounts": [{"name": "ray-logs", "mountPath": "/logs"}]}
    template = {**TEMPLATE, "spec": {"containers": [container]}}
    assert 0 == fit([manifest("RayCluster", "ray.io/v1", headGroupSpec={"rayStartParams": {}, "template": template})], NODES)[0]
    container["volumeMounts"][0]["name"] = "logs"
    assert 1 == fit([manifest("RayCluster", "ray.io/v1", headGroupSpec={"rayStartParams": {}, "template": template})], NODES)[0]


def train_job(**pod):
    patch = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patches = [{"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}}}]
    return manifest("TrainJob", "trainer.kubeflow.org/v1alpha1", runtimeRef={"name": "torch"}, runtimePatches=patches)


def runtime(**pod):
    container = {"name": "node", "image": "i", "volumeMounts": [{"name": "own", "mountPath": "/own"}]}
    pod = {"containers": [container], "volumes": [{"name": "own", "configMap": {"name": "c"}}], **pod}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    jobs = [{"name": "node", "template": {"metadata": step, "spec": {"template": {"spec": pod}}}}]
    spec = {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": jobs}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"}, "spec": spec}


MOUNTED = {
    "volumes": [{"name": "shm", "emptyDir": {}}],
    "containers": [{"name": "node", "volumeMounts": [{"name": "shm", "mountPath": "/s"}]}],
}
PATCHES = {
    "a volume": (MOUNTED, 0),
    "a mount of a volume of the runtime": ({"containers": [{"name": "node", "volumeMounts": [{"name": "own", "mountPath": "/o"}]}]}, 0),
    "an unknown volume": ({"containers": [{"name": "node", "volumeMounts": [{"name": "gone", "mountPath": "/o"}]}]}, 1),
    "a node": ({"nodeSelector": {"rack": "none"}}, 1),
    "a wrong toleration": ({"tolerations": [{"key": "a", "operator": "equals"}]}, 1),
}


@pytest.mark.parametrize(("patch", "want"), PATCHES.values(), ids=PATCHES)
def test_patches_of_a_runtime_are_no_pod_templates(patch, want):
    assert want == fit([train_job(**patch)], [*NODES, runtime()])[0]


def test_a_runtime_in_a_snapshot_lacks_names_of_volumes():
    Path("whole.json").write_text("\n".join(map(json.dumps, [*NODES, runtime()])), encoding="utf-8")
    Path("cluster.json").write_text(CliRunner().invoke(cli.main, ["snapshot", "whole.json"]).stdout, encoding="utf-8")
    Path("mine.json").write_text(json.dumps(train_job(**MOUNTED)), encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json"])
    assert (0, "✓ fits: TrainJob web: 2 pods on n1, n2") == (answer.exit_code, answer.stdout.splitlines()[0])
