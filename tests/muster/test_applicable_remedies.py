"""Remedies that a person can apply: a lower minimum is offered only where a field of the person's object sets it, and names that field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node
from tests.muster.test_start_order import BOTH, POD, jobset, kubeflow, leader_worker_set, made, mpi, plain, task, train, volcano

NODES = [node(name, cpu="32") for name in ("n1", "n2")]
LARGE = {"requests": {"cpu": "20"}}
"""A node has room for one of these pods."""


def sized(objects):
    """Return *objects* with large pods."""
    image = f'"image": "{POD["containers"][0]["image"]}"'
    return json.loads(json.dumps(objects).replace(image, f'{image}, "resources": {json.dumps(LARGE)}'))


def of_nodes(count, **runtime):
    worker = {"name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}}
    worker["template"]["spec"] = plain(1, 1) | {"scheduling": runtime.pop("scheduling", None)}
    objects = train(worker, **runtime)
    objects[0]["spec"]["mlPolicy"]["numNodes"] = count
    return objects


def of_own_nodes(count, **runtime):
    """Return a TrainJob that says itself how many nodes it has, and its runtime."""
    objects = of_nodes(1, **runtime)
    objects[1]["spec"]["trainer"] = {"numNodes": count}
    return objects


def ray():
    group = {"groupName": "w", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "rayStartParams": {}, "template": {"spec": POD}}
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": POD}}, "workerGroupSpecs": [group]}
    return [made("ray.io/v1", "RayCluster", spec, labels={"ray.io/gang-scheduling-enabled": "true"})]


def grouped(version, **mark):
    template = {"metadata": mark, "spec": {**POD, "restartPolicy": "Never"}}
    members = made("batch/v1", "Job", {"parallelism": 3, "completions": 3, "template": template})
    return [made(version, "PodGroup", {"minMember": 4}, name="g"), members]


def clique(minimum, replicas=3):
    spec = {"roleName": "w", "replicas": replicas, "minAvailable": minimum, "podSpec": POD}
    return [made("grove.io/v1alpha1", "PodCliqueSet", {"replicas": 1, "template": {"cliques": [{"name": "w", "spec": spec}]}})]


TOO_LARGE = {
    "Job": ([made("batch/v1", "Job", plain(4, 2))], "minCount of Job team/train lowered from 4 to 2"),
    "JobSet": (
        jobset({"name": "w", "template": {"spec": plain(4, 2)}}),
        "minCount of JobSet team/train lowered from 4 to 2",
    ),
    "LeaderWorkerSet, for all replicas": (
        leader_worker_set({"schedulingPolicy": {"gang": {"minGroupCount": 3}}}, startup="LeaderCreated"),
        "minGroupCount of LeaderWorkerSet team/train lowered from 3 to 2",
    ),
    "MPIJob": (
        mpi(1, minAvailable=9, policy="AtStartup"),
        "spec.runPolicy.schedulingPolicy.minAvailable of MPIJob team/train lowered from 9 to 2",
    ),
    "PyTorchJob": (
        kubeflow("PyTorchJob", 4, Master=1, Worker=2),
        "spec.runPolicy.schedulingPolicy.minAvailable of PyTorchJob team/train lowered from 4 to 3",
    ),
    "Volcano's Job": (
        volcano(task("a", 2), task("b", 1, dependsOn={"name": ["a"]}), minAvailable=3),
        "spec.minAvailable of Job team/train lowered from 3 to 2",
    ),
    "a PodGroup of scheduler-plugins": (
        grouped("scheduling.x-k8s.io/v1alpha1", labels={"scheduling.x-k8s.io/pod-group": "g"}),
        "spec.minMember of PodGroup team/g lowered from 4 to 3",
    ),
    "a PodGroup of Volcano": (
        grouped("scheduling.volcano.sh/v1beta1", annotations={"scheduling.k8s.io/group-name": "g"}),
        "spec.minMember of PodGroup team/g lowered from 4 to 3",
    ),
    "a PodGroup of KAI": (
        grouped("scheduling.run.ai/v2alpha2", annotations={"pod-group-name": "g"}),
        "spec.minMember of PodGroup team/g lowered from 4 to 3",
    ),
}
"""Gangs whose minimum is above the number of their pods, and the change that helps."""
NOT_SET = {
    "TrainJob: a gang of all pods": of_nodes(3),
    "TrainJob: a gang of Volcano": of_nodes(3, policy="volcano"),
    "TrainJob: a gang in the runtime": of_nodes(3, policy="", scheduling=BOTH),
    "RayCluster": ray(),
    "LeaderWorkerSet: the workers": leader_worker_set(None, 4, startup="LeaderCreated"),
}
"""Gangs of which a part fits, and no field sets the minimum."""
SET = {
    "Job": [made("batch/v1", "Job", plain(3, 3))],
    "MPIJob": mpi(2, policy="AtStartup"),
    "PodCliqueSet": clique(3),
    "Volcano's Job": volcano(task("a", 3)),
}
"""The same, where a field sets it."""


NODES_SET = {
    "a gang of all pods": of_own_nodes(3),
    "a gang of Volcano": of_own_nodes(3, policy="volcano"),
    "a gang in the runtime": of_own_nodes(3, policy="", scheduling=BOTH),
}
"""The same of TrainJobs, whose number of nodes is the minimum."""


@pytest.fixture
def judge(tmp_path: Path, monkeypatch):
    """Return the answer of ``muster fit``."""
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(yaml.safe_dump_all(NODES), encoding="utf-8")

    def judged(objects):
        Path("mine.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        found = CliRunner().invoke(cli.main, ["fit", "mine.yaml", "--objects", "cluster.yaml", "--format", "json"])
        assert 1 == found.exit_code, found.output
        return json.loads(found.stdout)

    return judged


def remedies(answer):
    return [remedy["change"] for decision in answer["decisions"] for remedy in decision["remedies"]]


@pytest.mark.parametrize(("objects", "want"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_lower_minimum_is_offered_at_the_field_that_sets_it(judge, objects, want):
    assert judge(objects)["message"].endswith(f"; the smallest change that helps: {want}")


@pytest.mark.parametrize("objects", NOT_SET.values(), ids=NOT_SET)
def test_no_lower_minimum_is_offered_where_no_field_sets_it(judge, objects):
    answer = judge(sized(objects))

    assert remedies(answer)
    assert not [each for each in remedies(answer) if "minCount" in each]
    assert "lowered" not in answer["message"]


@pytest.mark.parametrize("objects", SET.values(), ids=SET)
def test_a_lower_minimum_is_offered_where_a_field_sets_it(judge, objects):
    assert [each for each in remedies(judge(sized(objects))) if "lowered from 3 to 2" in each]


@pytest.mark.parametrize("objects", NODES_SET.values(), ids=NODES_SET)
def test_fewer_nodes_are_offered_to_a_trainjob_that_sets_their_number(judge, objects):
    judge(sized(objects))
    text = " ".join(CliRunner().invoke(cli.main, ["fit", "mine.yaml", "--objects", "cluster.yaml"]).stdout.split())

    assert "spec.trainer.numNodes of TrainJob team/train lowered from 3 to 2" in text
    assert "minCount" not in text


def test_fewer_nodes_are_not_offered_for_a_minimum_that_the_runtime_sets(judge):
    fixed = {"schedulingPolicy": {"gang": {"minCount": 3}}}

    assert not [each for each in remedies(judge(sized(of_own_nodes(3, policy="", scheduling=fixed)))) if "lowered" in each]


def test_fewer_nodes_are_not_offered_for_a_minimum_that_counts_other_pods(judge):
    objects = of_own_nodes(3)
    init = {"name": "init", "template": {"metadata": {"labels": {}}, "spec": plain(1, 1) | {"scheduling": None}}}
    objects[0]["spec"]["template"]["spec"]["replicatedJobs"].append(init)

    assert not [each for each in remedies(judge(sized(objects))) if "lowered" in each]
