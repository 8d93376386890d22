"""False greens: inputs that must not be a success, whatever the command; each ends with the exit status in the table, never 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, TORCH, deployment, job, manifest

Json = dict[str, Any]
GPU = "example.com/gpu"
CLUSTER = [node("n1"), node("n2"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}]
FIT = ("fit", "mine.json", "--objects", "cluster.json")


PAIR = {"size": 2, "workerTemplate": TEMPLATE}


def written(*objects: Json) -> str:
    return "\n".join(map(json.dumps, objects))


def with_container(**container: Any) -> Json:
    """Return a new pod with one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", **container}]},
    }


def requesting(**resources: Json) -> Json:
    return with_container(resources=resources)


def with_spec(**spec: Any) -> Json:
    return {**with_container(), "spec": {**with_container()["spec"], **spec}}


TWICE = (
    '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 90, "parallelism": 1, "template": %s}}'
)
DATED = {"labels": {"batch.kubernetes.io/job-name": "train-20260131"}}
OWNER = [{"apiVersion": "batch/v1", "kind": "Job", "name": "train-20260131", "uid": "u", "controller": True}]
OF_ANOTHER_JOB = [
    {
        **pod(f"other-{name}", cpu="4", on=name),
        "metadata": {"name": f"other-{name}", "namespace": "default", **DATED, "ownerReferences": OWNER},
    }
    for name in ("n1", "n2")
]


def of_group(**gang: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "apiVersion": "scheduling.k8s.io/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": "g", "namespace": "default"},
                "spec": {"schedulingPolicy": {"gang": gang}},
            },
            with_spec(schedulingGroup={"podGroupName": "g"}),
        ],
    }


REFUSED = {
    "a RuntimeClass that does not exist": (written(with_spec(runtimeClassName="kata")), 1),
    "a key twice in JSON": (TWICE % json.dumps(TEMPLATE), 2),
    "no containers": (written({**with_container(), "spec": {}}), 1),
    "a misspelt list of containers": (written({**with_container(), "spec": {"conatiners": [{"name": "c"}]}}), 1),
    "misspelt requests": (written(with_container(resources={"request": {"cpu": "900"}})), 1),
    "misspelt parallelism": (written({**job(1), "spec": {**job(1)["spec"], "paralellism": 90}}), 1),
    "a version that does not exist": (written({**job(1), "apiVersion": "batch/v2"}), 1),
    "a version that was removed": (written({**deployment(1), "apiVersion": "apps/v1beta1"}), 1),
    "a request above its limit": (written(requesting(requests={"cpu": "2"}, limits={"cpu": "1"})), 1),
    "a device without a limit": (written(requesting(requests={GPU: "1"})), 1),
    "a part of a device": (written(requesting(limits={GPU: "500m"})), 1),
    "a device without its domain": (written(requesting(limits={"gpu": "1"})), 1),
    "a misspelt resource": (written(requesting(requests={"mem": "1Gi"})), 1),
    "a negative request": (written(requesting(requests={"cpu": "-1"})), 2),
    "an invalid name": (written({**with_container(), "metadata": {"name": "A_b"}}), 1),
    "a namespace that does not exist": (written({**with_container(), "metadata": {"name": "p", "namespace": "nowhere"}}), 1),
    "a priority class that does not exist": (written(with_spec(priorityClassName="gone")), 1),
    "a priority class of a group that does not exist": (
        written(
            {
                "apiVersion": "scheduling.k8s.io/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": "g", "namespace": "default"},
                "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}, "priorityClassName": "gone"},
            },
            with_spec(schedulingGroup={"podGroupName": "g"}),
        ),
        1,
    ),
    "a priority without its class": (written(with_spec(priority=1000)), 1),
    "an overhead without its runtime": (written(with_spec(overhead={"cpu": "1"})), 1),
    "a pod defined twice": (written(pod("p"), pod("p", cpu="3")), 2),
    "text after the object": (written(job(1)) + "\n{", 2),
    "an empty file": ("", 2),
    "a list without items": (written({"apiVersion": "v1", "kind": "List", "items": []}), 2),
    "a scaled-down object": (written(deployment(0)), 2),
    "a version of Pods that does not exist": (written({**with_container(), "apiVersion": "v2"}), 1),
    "a kind in lower case": (written(job(1), {**job(1), "kind": "job"}), 2),
    "a misspelt minimum of a PodGroup": (written(of_group(minCont=2)), 1),
    "a minimum of zero": (written(of_group(minCount=0)), 1),
    "an unknown kind with replicas": (written(job(1), manifest("Database", "db.example/v1", instances={"replicas": 90})), 2),
    "an unknown kind with a list of resources": (
        written(job(1), manifest("Stack", "ml.example/v1", roles=[{"name": "w", "resources": {"limits": {"cpu": "90"}}}])),
        2,
    ),
    "a Job that another controller manages": (written(job(1), job(1, name="far", managedBy="kueue.x-k8s.io/multikueue")), 2),
    "a version of Kubeflow that nobody serves": (
        written(manifest("PyTorchJob", "kubeflow.org/v1beta1", pytorchReplicaSpecs={"Worker": {"replicas": 1, "template": TORCH}})),
        1,
    ),
    "misspelt replicas of a PyTorchJob": (
        written(manifest("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs={"Worker": {"replica": 90, "template": TORCH}})),
        1,
    ),
    "a PyTorchJob with two masters": (
        written(job(1), manifest("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs={"Master": {"replicas": 2, "template": TORCH}})),
        2,
    ),
    "a PyTorchJob without the container of the framework": (
        written(job(1), manifest("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs={"Worker": {"replicas": 2, "template": TEMPLATE}})),
        2,
    ),
    "an MPIJob without a launcher": (
        written(job(1), manifest("MPIJob", "kubeflow.org/v2beta1", mpiReplicaSpecs={"Worker": {"replicas": 2, "template": TEMPLATE}})),
        2,
    ),
    "a Volcano Job with two tasks of one name": (
        written(job(1), manifest("Job", "batch.volcano.sh/v1alpha1", tasks=[{"name": "w", "template": RUN_ONCE}] * 2)),
        2,
    ),
    "a RayCluster with limits in reverse": (
        written(
            job(1),
            manifest(
                "RayCluster",
                "ray.io/v1",
                headGroupSpec={"template": TEMPLATE},
                workerGroupSpecs=[{"groupName": "w", "minReplicas": 2, "maxReplicas": 1, "template": TEMPLATE}],
            ),
        ),
        2,
    ),
    "misspelt replicas of a Volcano Job": (
        written(manifest("Job", "batch.volcano.sh/v1alpha1", tasks=[{"name": "w", "replica": 90, "template": RUN_ONCE}])),
        1,
    ),
    "a misspelt size of a LeaderWorkerSet": (
        written(manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", leaderWorkerTemplate={"sizes": 90, "workerTemplate": TEMPLATE})),
        1,
    ),
    "misspelt replicas of a PodCliqueSet": (
        written(
            manifest(
                "PodCliqueSet",
                "grove.io/v1alpha1",
                replicas=1,
                template={"cliques": [{"name": "w", "spec": {"roleName": "w", "replica": 90, "podSpec": TEMPLATE["spec"]}}]},
            )
        ),
        1,
    ),
    "an unknown field of a LeaderWorkerSet": (
        written(manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", leaderWorkerTemplate={"workerTemplate": TEMPLATE}, pods=90)),
        2,
    ),
    "pods of a template that Jobs cannot have in a JobSet": (
        written(
            manifest(
                "JobSet",
                "jobset.x-k8s.io/v1alpha2",
                replicatedJobs=[
                    {"name": "w", "template": {"spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Always"}}}}}
                ],
            )
        ),
        1,
    ),
    "a StatefulSet whose pods have no room for its revision in a label": (
        written(manifest("StatefulSet", name="n" * 53, selector={"matchLabels": {"app": "x"}}, template=TEMPLATE)),
        1,
    ),
    "a LeaderWorkerSet whose workers have no room for their revision in a label": (
        written(manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "n" * 51, leaderWorkerTemplate=PAIR)),
        1,
    ),
    "an unknown kind in a list": (
        written({"apiVersion": "v1", "kind": "List", "items": [job(1), manifest("Sandbox", "agents.example/v1", template=TEMPLATE)]}),
        2,
    ),
}


WITHOUT_CONTAINERS = {
    "a virtual machine": manifest("VirtualMachine", "kubevirt.io/v1", template={"spec": {"domain": {"cpu": {"cores": 64}}}}),
    "a pipeline run": manifest("PipelineRun", "tekton.dev/v1", pipelineRef={"name": "build"}),
}
REPLICATED = {"name": "workers", "template": {"spec": {**job(1)["spec"], "paralellism": 90}}}
REFUSED["misspelt parallelism in a JobSet"] = (written(manifest("JobSet", "jobset.x-k8s.io/v1alpha2", replicatedJobs=[REPLICATED])), 1)
WORKERS = {"groupName": "gpu", "replica": 90, "rayStartParams": {}, "template": TEMPLATE}
RAY = manifest("RayCluster", "ray.io/v1", headGroupSpec={"rayStartParams": {}, "template": TEMPLATE}, workerGroupSpecs=[WORKERS])
REFUSED["misspelt replicas of a RayCluster"] = (written(RAY), 1)
REFUSED |= {name: (written(job(1), other), 2) for name, other in WITHOUT_CONTAINERS.items()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    return tmp_path


def status(*arguments: str) -> int:
    answer = CliRunner().invoke(cli.main, arguments)
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code


@pytest.mark.parametrize(("mine", "want"), REFUSED.values(), ids=REFUSED)
def test_what_the_api_server_refuses_or_nobody_read_does_not_fit(mine: str, want: int) -> None:
    Path("mine.json").write_text(mine, encoding="utf-8")
    Path("cluster.json").write_text(written(*CLUSTER), encoding="utf-8")
    assert want == status(*FIT)


def test_kinds_that_create_no_pods_are_no_reason() -> None:
    others = [
        manifest("Certificate", "cert-manager.io/v1", secretName="tls"),
        manifest("ResourceFlavor", "kueue.x-k8s.io/v1beta1", tolerations=[{"operator": "Exists"}]),
        manifest("ServiceMonitor", "monitoring.coreos.com/v1", selector={"matchLabels": {"app": "x"}}),
    ]
    Path("mine.json").write_text(written(job(1), *others), encoding="utf-8")
    Path("cluster.json").write_text(written(*CLUSTER), encoding="utf-8")
    assert 0 == status(*FIT)


def test_names_with_room_for_a_revision_are_no_reason() -> None:
    named = manifest("StatefulSet", name="n" * 52, selector={"matchLabels": {"app": "x"}}, template=TEMPLATE)
    workers = manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "n" * 50, leaderWorkerTemplate=PAIR)
    Path("mine.json").write_text(written(named, workers), encoding="utf-8")
    Path("cluster.json").write_text(written(*CLUSTER), encoding="utf-8")
    assert 0 == status(*FIT)


def test_the_cluster_of_this_table_has_capacity() -> None:
    Path("mine.json").write_text(written(requesting(requests={"cpu": "1"}, limits={"cpu": "1"}), job(1)), encoding="utf-8")
    Path("cluster.json").write_text(written(*CLUSTER), encoding="utf-8")
    assert 0 == status(*FIT)


CRON = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "train"},
    "spec": {"schedule": "@daily", "jobTemplate": {"spec": job(2)["spec"]}},
}
CLUSTERS = {
    "a namespace that is being deleted": (
        written(*CLUSTER[:2], {**CLUSTER[2], "metadata": {"name": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        1,
    ),
    "a cluster that is cut off": (written(*CLUSTER)[:-40], 2),
    "no cluster": ("", 2),
    "a node twice": (written(*CLUSTER, node("n1", cpu="64")), 2),
    "a pod on a node that is not there": (written(*CLUSTER, pod("lost", on="n9")), 2),
    "a pod that cannot be read": (written(*CLUSTER, pod("odd", cpu="x", on="n1")), 2),
    "pods of a Job whose name ends with a date": (written(*CLUSTER, *OF_ANOTHER_JOB), 1),
}


@pytest.mark.parametrize(("cluster", "want"), CLUSTERS.values(), ids=CLUSTERS)
def test_a_cluster_that_is_not_known_or_full_is_no_success(cluster: str, want: int) -> None:
    Path("mine.json").write_text(written(CRON), encoding="utf-8")
    Path("cluster.json").write_text(cluster, encoding="utf-8")
    assert want == status(*FIT)


def owned(api_version: str, kind: str, name: str) -> list[Json]:
    """Pods that leave no capacity on the nodes, of this controller."""
    owner = [{"apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": True}]
    metadata = {"namespace": "default", "ownerReferences": owner}
    return [{**pod(f"other-{on}", cpu="4", on=on), "metadata": {"name": f"other-{on}", **metadata}} for on in ("n1", "n2")]


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "want"),
    [
        pytest.param("batch/v1", "Job", "train", 0, id="pods of the Job itself are replaced"),
        pytest.param("batch.volcano.sh/v1alpha1", "Job", "train", 1, id="a Job of Volcano"),
        pytest.param("example.com/v1", "Job", "train", 1, id="a Job of another project"),
    ],
)
def test_pods_of_a_controller_with_the_same_kind_and_name_stay(api_version: str, kind: str, name: str, want: int) -> None:
    mine = {**job(2), "metadata": {"name": "train"}}
    Path("mine.json").write_text(written(mine), encoding="utf-8")
    Path("cluster.json").write_text(written(*CLUSTER, *owned(api_version, kind, name)), encoding="utf-8")
    assert want == status(*FIT)


COMMANDS = [
    pytest.param(("fit", "job.json", "--objects", "empty"), id="fit: the cluster is an empty directory"),
    pytest.param(("fit", "job.json", "--objects", "nodes.json", "--objects", "empty"), id="fit: a part of it is"),
    pytest.param(("fit", "empty", "--objects", "nodes.json"), id="fit: PATH is an empty directory"),
    pytest.param(("fit", "job.json", "--objects", "gone.json"), id="fit: no such cluster"),
    pytest.param(("fit", "nodes.json"), id="fit: nothing to judge"),
    pytest.param(("simulate", "empty"), id="simulate: an empty directory"),
    pytest.param(("simulate", "nodes.json", "twice.json"), id="simulate: a pod defined twice"),
    pytest.param(("simulate", "nodes.json", "twice-node.json", "job.json"), id="simulate: a node defined twice"),
    pytest.param(("simulate", "twice.json", "--objects", "nodes.json"), id="simulate: the same with --objects"),
    pytest.param(("simulate", "keys.json", "--objects", "nodes.json"), id="simulate: a key twice"),
    pytest.param(("simulate", "gone.json"), id="simulate: no such file"),
    pytest.param(("lint", "empty"), id="lint: an empty directory"),
    pytest.param(("lint", "broken.yaml"), id="lint: no YAML"),
    pytest.param(("lint", "keys.json"), id="lint: a key twice"),
    pytest.param(("compile", "empty"), id="compile: an empty directory"),
    pytest.param(("compile", "odd.yaml"), id="compile: a kind that is not supported"),
    pytest.param(("migrate", "empty"), id="migrate: an empty directory"),
    pytest.param(("migrate", "broken.yaml"), id="migrate: no YAML"),
    pytest.param(("snapshot", "empty"), id="snapshot: an empty directory"),
    pytest.param(("snapshot", "broken.yaml", "nodes.json"), id="snapshot: no YAML"),
    pytest.param(("snapshot", "--kubeconfig", "gone"), id="snapshot: no kubeconfig"),
    pytest.param(("topology", "--objects", "empty"), id="topology: an empty directory"),
    pytest.param(("topology", "--objects", "nodes.json", "--objects", "broken.yaml"), id="topology: a part is no YAML"),
    pytest.param(("review", "broken.yaml"), id="review: no YAML"),
    pytest.param(("review", "job.json"), id="review: no AdmissionReview"),
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_no_command_succeeds_without_its_input(arguments: tuple[str, ...]) -> None:
    files = {
        "nodes.json": written(*CLUSTER),
        "job.json": written(job(1)),
        "twice.json": written(pod("p"), pod("p", cpu="3")),
        "twice-node.json": written(node("n1", cpu="64")),
        "keys.json": TWICE % json.dumps(TEMPLATE),
        "broken.yaml": "kind: [\n",
        "odd.yaml": json.dumps(manifest("Sandbox", "agents.example/v1", template=TEMPLATE)),
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    assert 2 == status(*arguments)
