"""A gang that waits for pods which come only after it, or never: the linter and ``muster fit`` have one verdict, for each kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from muster import cli

RULES = {"gang-waits-for-later", "jobset-scheduling"}
POD = {"containers": [{"name": "main", "image": "registry.example/app:1"}]}
ONCE = {**POD, "restartPolicy": "Never"}
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}},
    }
    for name in ("n1", "n2")
]


def made(api_version, kind, spec, **metadata):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "train", "namespace": "team", **metadata}, "spec": spec}


def of_group(spec, group="all"):
    return {**spec, "schedulingGroup": {"podGroupName": group}}


def gang(minimum, name="all"):
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    return made("scheduling.k8s.io/v1beta1", "PodGroup", spec, name=name)


def job(name, pods=1, after=(), status="Complete", **job_spec):
    spec = {"parallelism": pods, "completions": pods, "template": {"spec": ONCE}, **job_spec}
    depends = {"dependsOn": [{"name": each, "status": status} for each in after]} if after else {}
    step = {"node": "trainer"}.get(name, name)
    return {"name": name, "template": {"metadata": {"labels": {STEP: step}}, "spec": spec}, **depends}


STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def train(*jobs, policy="coscheduling", kind="TrainingRuntime", **jobset):
    runtime_spec = {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [*jobs], **jobset}}}
    for each in jobs:
        pod = each["template"]["spec"]["template"]["spec"]
        each["template"]["spec"]["template"] = {"spec": {**pod, "containers": [{**pod["containers"][0], "name": each["name"]}]}}
    if policy:
        runtime_spec["podGroupPolicy"] = {policy: {}}
    runtime = made("trainer.kubeflow.org/v1alpha1", kind, runtime_spec, name="torch")
    if kind == "ClusterTrainingRuntime":
        del runtime["metadata"]["namespace"]
    return [runtime, made("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"kind": kind, "name": "torch"}})]


def jobset(*jobs, scheduling=None, **spec):
    block = {"scheduling": scheduling} if scheduling else {}
    return [made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [*jobs], **block, **spec})]


def mpi(workers=2, policy="WaitForWorkersReady", **scheduling):
    roles = {"Launcher": (1, ONCE), "Worker": (workers, POD)}
    replicas = {role: {"replicas": count, "template": {"spec": spec}} for role, (count, spec) in roles.items()}
    spec = {"launcherCreationPolicy": policy, "runPolicy": {"schedulingPolicy": scheduling}, "mpiReplicaSpecs": replicas}
    return [made("kubeflow.org/v2beta1", "MPIJob", spec)]


def task(name, replicas=1, **task_spec):
    return {"name": name, "replicas": replicas, "template": {"spec": ONCE}, **task_spec}


def volcano(*tasks, **spec):
    return [made("batch.volcano.sh/v1alpha1", "Job", {"tasks": [*tasks], **spec})]


def stateful_set(replicas, minimum, **spec):
    template = {"metadata": {"labels": {"app": "x"}}, "spec": of_group(POD)}
    selector = {"matchLabels": {"app": "x"}}
    given = {"replicas": replicas, "serviceName": "x", "selector": selector, "template": template, **spec}
    return [gang(minimum), made("apps/v1", "StatefulSet", given)]


def ray_job(**spec):
    cluster = {
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": POD}},
        "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "maxReplicas": 2, "rayStartParams": {}, "template": {"spec": POD}}],
    }
    given = {"entrypoint": "a", "rayClusterSpec": cluster, **spec}
    return [made("ray.io/v1", "RayJob", given, labels={"ray.io/gang-scheduling-enabled": "true"})]


def leader_worker_set(policy, size=3, startup="LeaderReady", annotations=None, **parts):
    templates = {"size": size, "workerTemplate": {"spec": POD}, **parts}
    spec = {"replicas": 2, "startupPolicy": startup, "leaderWorkerTemplate": templates, **({"scheduling": policy} if policy else {})}
    return [made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, **({"annotations": annotations} if annotations else {}))]


EXCLUSIVE = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}
BOTH = {"schedulingPolicy": {"gang": {}}}
IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
NEVER = {
    "TrainJob: initializer in the gang of coscheduling": train(job("dataset-initializer"), job("node", 2, ["dataset-initializer"])),
    "TrainJob: startup in order, Volcano": train(job("node", 2), job("launcher"), policy="volcano", **IN_ORDER),
    "TrainJob: two initializers, one after the other": train(
        job("dataset-initializer"),
        job("model-initializer", 1, ["dataset-initializer"]),
        job("node", 2, ["model-initializer"]),
        kind="ClusterTrainingRuntime",
    ),
    "TrainJob: launcher after its nodes": train(job("node", 2), job("launcher", 1, ["node"], "Ready")),
    "JobSet: startup in order": jobset(job("a"), job("b"), scheduling=BOTH, **IN_ORDER),
    "JobSet: dependsOn": jobset(job("a"), job("b", 2, ["a"]), scheduling=BOTH),
    "JobSet: a minimum with the last one": jobset(
        job("a"), job("b"), job("c", 1, ["b"]), scheduling={"schedulingPolicy": {"gang": {"minGroupCount": 3}}}
    ),
    "MPIJob: workers and launcher": mpi(),
    "MPIJob: all required": mpi(4, minAvailable=5),
    "MPIJob: with a queue": mpi(1, queue="q"),
    "Volcano Job: dependsOn": volcano(task("ps"), task("worker", 2, dependsOn={"name": ["ps"]})),
    "Volcano Job: a minimum in the second task": volcano(task("ps", 2), task("worker", 4, dependsOn={"name": ["ps"]}), minAvailable=3),
    "Volcano Job: any of two that wait": volcano(
        task("a"),
        task("b", 1, dependsOn={"name": ["a"]}),
        task("c", 1, dependsOn={"name": ["b", "d"], "iteration": "any"}),
        task("d", 1, dependsOn={"name": ["a"]}),
    ),
    "LeaderWorkerSet: a gang of leader and workers": leader_worker_set(BOTH),
    "LeaderWorkerSet: both required": leader_worker_set({"schedulingPolicy": {"gang": {"minGroupCount": 2}}}, 5),
    "LeaderWorkerSet: a domain for each replica": leader_worker_set(BOTH, startup="LeaderCreated", annotations=EXCLUSIVE),
    "LeaderWorkerSet: a leader of its own": leader_worker_set(BOTH, 2, leaderTemplate={"spec": POD}),
    "StatefulSet: one pod after the other": stateful_set(3, 3),
    "StatefulSet: two of three": stateful_set(3, 2),
    "StatefulSet: OrderedReady, with an ordinal": stateful_set(4, 4, podManagementPolicy="OrderedReady", ordinals={"start": 3}),
}
STARTS = {
    "TrainJob: without order": train(job("dataset-initializer"), job("node", 2)),
    "TrainJob: without a gang": train(job("dataset-initializer"), job("node", 2, ["dataset-initializer"]), policy=""),
    "JobSet: a gang in each Job": jobset(job("a", 2, scheduling=BOTH), job("b", 2, ["a"], scheduling=BOTH)),
    "JobSet: a minimum of the first": jobset(
        job("a"), job("b"), job("c", 1, ["b"]), scheduling={"schedulingPolicy": {"gang": {"minGroupCount": 2}}}
    ),
    "MPIJob: the workers": mpi(4, minAvailable=4),
    "MPIJob: launcher at startup": mpi(policy="AtStartup"),
    "Volcano Job: the first task": volcano(task("ps", 2), task("worker", 4, dependsOn={"name": ["ps"]}), minAvailable=2),
    "Volcano Job: any, and one does not wait": volcano(
        task("a", 2), task("b", 1, dependsOn={"name": ["a", "c"], "iteration": "any"}), task("c", 1), minAvailable=3
    ),
    "LeaderWorkerSet: the leader alone is enough": leader_worker_set({"schedulingPolicy": {"gang": {"minGroupCount": 1}}}),
    "LeaderWorkerSet: separate gangs": leader_worker_set(None),
    "LeaderWorkerSet: separate gangs in a domain": leader_worker_set(None, startup="LeaderCreated", annotations=EXCLUSIVE),
    "LeaderWorkerSet: created together": leader_worker_set(BOTH, startup="LeaderCreated"),
    "StatefulSet: in parallel": stateful_set(3, 3, podManagementPolicy="Parallel"),
    "StatefulSet: one pod is enough": stateful_set(3, 1),
    "RayJob: the submitter is not in the minimum": ray_job(),
    "RayJob: without a submitter": ray_job(submissionMode="HTTPMode"),
    "Job: more completions than pods": [
        made("batch/v1", "Job", {"parallelism": 2, "completions": 6, "scheduling": BOTH, "template": {"spec": ONCE}})
    ],
}


def plain(pods, completions, minimum=None, mode=None, template=ONCE):
    """Return the spec of a Job with a gang."""
    number = {"minCount": minimum} if minimum else {}
    given = {"parallelism": pods, "completions": completions, "completionMode": mode}
    scheduling = {"schedulingPolicy": {"gang": number}}
    return {**{key: each for key, each in given.items() if each}, "scheduling": scheduling, "template": {"spec": template}}


def of_job(*arguments, **named):
    return [made("batch/v1", "Job", plain(*arguments, **named))]


def of_jobset(*arguments, replicas=1, **named):
    return jobset({"name": "w", "replicas": replicas, "template": {"spec": plain(*arguments, **named)}})


def kubeflow(kind, minimum, **roles):
    name = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost"}[kind]
    pod = {"containers": [{**POD["containers"][0], "name": name}]}
    replicas = {role: {"replicas": count, "template": {"spec": pod}} for role, count in roles.items()}
    field = {"PyTorchJob": "pytorch", "TFJob": "tf", "XGBoostJob": "xgb"}[kind] + "ReplicaSpecs"
    return [made("kubeflow.org/v1", kind, {"runPolicy": {"schedulingPolicy": {"minAvailable": minimum}}, field: replicas})]


TOO_FEW = {
    **{
        f"{name}: {mode or 'NonIndexed'}, a minimum of {minimum or 'all'} and 2 completions": build(4, 2, minimum, mode)
        for name, build in (("Job", of_job), ("JobSet", of_jobset))
        for mode in (None, "Indexed")
        for minimum in (None, 3)
    },
    "JobSet: a policy at the root": jobset(
        {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 1, "template": {"spec": ONCE}}}},
        scheduling={"replicatedJobPolicies": [{"targetReplicatedJob": "w", **BOTH}]},
    ),
    "JobSet: more groups than Jobs": jobset(job("a"), job("b"), scheduling={"schedulingPolicy": {"gang": {"minGroupCount": 3}}}),
    "LeaderWorkerSet: more groups than it has": leader_worker_set(
        {"schedulingPolicy": {"gang": {"minGroupCount": 2}}}, 1, startup="LeaderCreated"
    ),
    "TrainJob: fewer completions, coscheduling": train(job("node", 2), job("check", 4, completions=2)),
    "TrainJob: fewer completions, Volcano": train(job("check", 4, completions=3, completionMode="Indexed"), policy="volcano"),
    "MPIJob: more than all": mpi(2, minAvailable=4, policy="AtStartup"),
    "PyTorchJob: more than all": kubeflow("PyTorchJob", 4, Master=1, Worker=2),
    "TFJob: more than all": kubeflow("TFJob", 9, PS=1, Worker=2),
    "XGBoostJob: more than all": kubeflow("XGBoostJob", 3, Master=1, Worker=1),
}
ENOUGH = {
    **{
        f"{name}: {mode or 'NonIndexed'}, a minimum of {minimum or 'all'} and {completions} completions": build(
            2, completions, minimum, mode
        )
        for name, build in (("Job", of_job), ("JobSet", of_jobset))
        for mode in (None, "Indexed")
        for minimum in (None, 1)
        for completions in (2, 6)
    },
    "Job: fewer completions, and a lower minimum": of_job(4, 2, 2),
    "JobSet: two Jobs with more completions": of_jobset(2, 6, replicas=2, mode="Indexed"),
    "TrainJob: the trainer sets the completions": train(job("node", 4, completions=2)),
    "TrainJob: more completions": train(job("node", 2), job("check", 2, completions=6, completionMode="Indexed")),
    "PyTorchJob: all": kubeflow("PyTorchJob", 3, Master=1, Worker=2),
}
BEYOND = {
    "Job": of_job(2, 6, 3),
    "Job: Indexed": of_job(2, 6, 6, "Indexed"),
    "Job: one pod": of_job(None, 3, 2),
}


@pytest.fixture
def judge(tmp_path: Path):
    """Return the rules with findings, and the result of ``muster fit``."""
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(yaml.safe_dump_all(NODES), encoding="utf-8")

    def judged(objects):
        path = tmp_path / "objects.yaml"
        path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        linted = CliRunner().invoke(cli.main, ["lint", str(path), "--format", "json"])
        fitted = CliRunner().invoke(cli.main, ["fit", str(path), "--objects", str(cluster)])
        return {each["rule"] for each in json.loads(linted.stdout)["findings"]}, fitted

    return judged


@pytest.mark.parametrize("objects", NEVER.values(), ids=NEVER)
def test_a_gang_that_waits_for_later_pods_is_found_by_both(judge, objects):
    rules, fitted = judge(objects)

    assert rules & RULES
    assert fitted.exit_code == 1
    assert fitted.stdout.startswith("✗ does not fit")
    assert "created only when" in " ".join(fitted.stdout.split())
    assert "✓" not in fitted.stdout
    # The groups of a quorum have their names.
    assert '"it"' not in fitted.stdout


@pytest.mark.parametrize("objects", STARTS.values(), ids=STARTS)
def test_a_gang_that_can_start_is_accepted_by_both(judge, objects):
    rules, fitted = judge(objects)

    assert rules <= {"gang-rolling-update"}
    assert fitted.stdout.startswith("✓ fits")
    assert fitted.exit_code == 0


@pytest.mark.parametrize("objects", TOO_FEW.values(), ids=TOO_FEW)
def test_a_gang_with_fewer_pods_than_its_minimum_is_found_by_both(judge, objects):
    rules, fitted = judge(objects)

    assert rules & {"gang-enough-pods", "gang-job-remaining"}
    assert (1, "✗ does not fit") == (fitted.exit_code, fitted.stdout.partition(":")[0])
    assert " missing" in fitted.stdout


@pytest.mark.parametrize("objects", ENOUGH.values(), ids=ENOUGH)
def test_a_gang_of_the_pods_that_run_at_a_time_is_accepted_by_both(judge, objects):
    rules, fitted = judge(objects)

    assert rules == set()
    assert (0, "✓ fits") == (fitted.exit_code, fitted.stdout.partition(":")[0])


@pytest.mark.parametrize("objects", BEYOND.values(), ids=BEYOND)
def test_a_minimum_beyond_the_parallelism_is_refused_by_both(judge, objects):
    rules, fitted = judge(objects)

    assert rules == {"job-scheduling"}
    # Its pods are not created, so nothing is known of them.
    assert (2, "✗ does not fit") == (fitted.exit_code, fitted.stdout.partition(":")[0])
    assert "must not be greater than parallelism" in " ".join(fitted.stdout.split())
