"""Controllers' objects at PATH of ``muster simulate``: their pods are placed; what is skipped is reported and is never a success."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import gang, node, pod

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", rack="a"), node("n2", rack="b")]
TEMPLATE = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "2"}}}]},
}
TORCH = {**TEMPLATE, "spec": {"containers": [{**TEMPLATE["spec"]["containers"][0], "name": "pytorch"}]}}
RUN_ONCE = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
"""Template of Jobs."""


API_VERSIONS = {
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"), "apps/v1"),
    "PyTorchJob": "kubeflow.org/v1",
}
"""API versions of controllers of pods."""


def manifest(kind="Deployment", version="apps/v1", name="web", metadata=None, **spec):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default", **(metadata or {})}, "spec": spec}


def deployment(replicas=2, **more):
    return manifest(replicas=replicas, selector={"matchLabels": {"app": "x"}}, template=TEMPLATE, **more)


def job(pods=2, name="train", **more):
    return manifest("Job", "batch/v1", name, parallelism=pods, completions=pods, template=RUN_ONCE, **more)


def owned(name, kind, owner, on="n1", labels=None, group="", cpu="2"):
    made = pod(name, cpu=cpu, on=on, group=group)
    api_version = API_VERSIONS.get(kind, "x/v1")
    made["metadata"]["ownerReferences"] = [{"apiVersion": api_version, "kind": kind, "name": owner, "controller": True}]
    made["metadata"]["labels"] = labels or {}
    return made


def simulated(mine, cluster=None, *arguments):
    """Return the exit status and the answer for the objects *mine*, with those of a *cluster* as ``--objects``."""
    with open("mine.json", "w", encoding="utf-8") as file:  # noqa: PTH123 - in the folder of the test
        file.write("\n".join(map(json.dumps, mine)))
    if cluster is not None:
        with open("cluster.json", "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            file.write("\n".join(map(json.dumps, cluster)))
        arguments = ("--objects", "cluster.json", *arguments)
    answer = CliRunner().invoke(cli.main, ["simulate", "mine.json", "--format", "json", *arguments])
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, json.loads(answer.stdout)


FALSE_GREENS = {
    "a job that does not fit": ([job(5)], 1),
    "a deployment of which one pod does not fit": ([deployment(5)], 1),
    "a kind that is not supported": ([manifest("Sandbox", "agents.example/v1", template=TEMPLATE)], 2),
    "the same beside one that fits": ([job(), manifest("Sandbox", "agents.example/v1", template=TEMPLATE)], 2),
    "a kind without a template": ([job(), manifest("InferenceService", "serving.kserve.io/v1beta1", predictor={})], 2),
    "a retired API group": ([job(), {**deployment(), "apiVersion": "extensions/v1beta1"}], 2),
    "a Pod of another group": ([job(), {**pod("p"), "apiVersion": "apps/v1"}], 2),
    "a misspelt kind": ([job(), {**deployment(), "kind": "Deploymnet"}], 2),
    "no containers": ([manifest("Job", "batch/v1", "empty", template={"spec": {}})], 2),
    "no template": ([manifest("StatefulSet", replicas=2), job()], 2),
    "a field of a wrong type": ([job(), deployment("two")], 2),
    "a runtime that is not there": ([job(), manifest("TrainJob", "trainer.kubeflow.org/v1alpha1", runtimeRef={"name": "torch"})], 2),
    "a group from a Workload that is not there": (
        [
            job(),
            job(
                1,
                "child",
                metadata={
                    "annotations": {"scheduling.k8s.io/group-template-name": "workers"},
                    "ownerReferences": [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "controller": True}],
                },
            ),
        ],
        2,
    ),
    "a pod that cannot be read": ([job(), pod("p", cpu="x")], 2),
    "an object without a kind": ([job(), {"apiVersion": "v1", "metadata": {"name": "a"}}], 2),
    "a DaemonSet that selects no node": (
        [job(), manifest("DaemonSet", template={"spec": {**TEMPLATE["spec"], "nodeSelector": {"a": "b"}}})],
        2,
    ),
    "an object without a name": ([job(), {**deployment(1), "metadata": {}}], 2),
    "an object twice with different content": ([deployment(1), deployment(2)], 2),
    "objects of two kinds whose pods have the same names": (
        [job(3), manifest("StatefulSet", name="train", replicas=3, template=TEMPLATE)],
        1,
    ),
    "more pods than one object can have": ([job(200_000)], 2),
    "a pod that waits for a gate": ([job(), pod("gated", schedulingGates=[{"name": "example.com/gate"}])], 1),
    "a gang without all its pods": ([gang("g", 2), pod("g-0", group="g")], 1),
}


@pytest.mark.parametrize(("mine", "want"), FALSE_GREENS.values(), ids=FALSE_GREENS)
@pytest.mark.parametrize("separate", [True, False], ids=["with --objects", "all at PATH"])
def test_nothing_that_was_not_judged_is_a_success(mine, want, separate):
    status, _ = simulated(mine, NODES) if separate else simulated([*NODES, *mine])
    assert want == status


def test_text_that_is_not_yaml_is_skipped(folder):
    (folder / "broken.yaml").write_text("kind: [", encoding="utf-8")
    (folder / "good.json").write_text("\n".join(map(json.dumps, [*NODES, job()])), encoding="utf-8")
    assert 2 == CliRunner().invoke(cli.main, ["simulate", "good.json", "broken.yaml"]).exit_code
    assert 2 == CliRunner().invoke(cli.main, ["simulate", "good.json", "--objects", "broken.yaml"]).exit_code


def test_skipped_objects_are_problems_with_their_reasons():
    status, answer = simulated([job(), manifest("Sandbox", "agents.example/v1", template=TEMPLATE)], NODES)
    why = "Sandbox (agents.example) is not supported"
    want = {
        "object": "Sandbox default/web",
        "message": f"{why}; its pods are not simulated; to judge it anyway: --pod-template 'Sandbox.agents.example=spec.template'",
        "reason": "NotSimulated",
        "causes": [{"reason": "NotSimulated", "message": why, "unknownKind": "Sandbox.agents.example", "template": "spec.template"}],
    }
    assert (2, [want]) == (status, answer["problems"])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(manifest("PodTemplate", "v1", template=TEMPLATE), id="a template"),
        pytest.param(manifest("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", template=TEMPLATE), id="a runtime"),
        pytest.param(
            manifest("ClusterPolicy", "kyverno.io/v1", rules=[{"pattern": {"spec": {"containers": [{"image": "*"}]}}}]), id="a policy"
        ),
        pytest.param(manifest("Ingress", "networking.k8s.io/v1"), id="a built-in kind"),
        pytest.param({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}, id="a ConfigMap"),
    ],
)
def test_kinds_that_create_no_pods_are_passed_over(other):
    status, answer = simulated([job(), other], NODES)
    assert (0, [], None) == (status, answer["problems"], answer.get("notes"))


def test_losses_of_an_object_are_notes():
    queued = job(metadata={"labels": {"kueue.x-k8s.io/queue-name": "team"}})
    _, answer = simulated([queued], NODES)
    (note,) = answer["notes"]
    assert "Job default/train" == note["object"]
    assert "queue 'team' is dropped: the scheduler places pods without Kueue's quota and admission" in note["message"]


def test_pods_of_all_kinds_are_placed_together():
    status, answer = simulated([deployment(1), job(1), manifest("DaemonSet", name="agent", template=TEMPLATE)], NODES)
    assert (0, 4) == (status, answer["summary"]["pods"])
    assert {"roots": 4, "placed": 4, "pending": 0} == answer["summary"]["own"]


def test_the_pods_of_an_object_in_the_same_input_are_those_that_it_has():
    running = owned("web-abc-0", "ReplicaSet", "web-abc", labels={"pod-template-hash": "abc"})
    status, answer = simulated([*NODES, deployment(4), running])
    assert (0, []) == (status, answer["decisions"])


@pytest.mark.parametrize(
    "status",
    [{"conditions": [{"type": "Complete", "status": "True"}]}, {"conditions": [{"type": "Failed", "status": "True"}]}],
)
def test_a_finished_job_creates_no_pods(status):
    assert [] == simulated([*NODES, {**job(), "status": status}])[1]["decisions"]


REPLACED = {
    "pods of a Job": (job(), owned("train-0", "Job", "train")),
    "pods of a ReplicaSet": (deployment(), owned("web-7d-x", "ReplicaSet", "web-7d", labels={"pod-template-hash": "7d"})),
    "pods of a JobSet": (
        manifest("JobSet", "jobset.x-k8s.io/v1alpha2", "set", replicatedJobs=[{"name": "w", "template": {"spec": job(2)["spec"]}}]),
        owned("set-w-0-0", "Job", "set-w-0", labels={"jobset.sigs.k8s.io/jobset-name": "set"}),
    ),
    "pods of a LeaderWorkerSet": (
        manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "lws", leaderWorkerTemplate={"size": 2, "workerTemplate": TEMPLATE}),
        owned("lws-0", "StatefulSet", "lws", labels={"leaderworkerset.sigs.k8s.io/name": "lws"}),
    ),
    "pods of a PodCliqueSet": (
        manifest(
            "PodCliqueSet",
            "grove.io/v1alpha1",
            "app",
            replicas=1,
            template={"cliques": [{"name": "a", "spec": {"roleName": "a", "replicas": 1, "podSpec": TEMPLATE["spec"]}}]},
        ),
        owned("app-0-a-x", "PodClique", "app-0-a", labels={"app.kubernetes.io/part-of": "app", "grove.io/podclique": "app-0-a"}),
    ),
    "pods of a RayCluster": (
        manifest("RayCluster", "ray.io/v1", "ray", headGroupSpec={"template": TEMPLATE}),
        owned("ray-head-abcde", "RayCluster", "ray", labels={"ray.io/cluster": "ray"}),
    ),
    "pods of a PyTorchJob": (
        manifest("PyTorchJob", "kubeflow.org/v1", "bert", pytorchReplicaSpecs={"Worker": {"replicas": 2, "template": TORCH}}),
        owned("bert-worker-0", "PyTorchJob", "bert"),
    ),
    "pods of a CronJob": (
        manifest("CronJob", "batch/v1", "backup", jobTemplate={"spec": job(2)["spec"]}),
        owned("backup-29384000-x", "Job", "backup-29384000"),
    ),
}


@pytest.mark.parametrize(("mine", "running"), REPLACED.values(), ids=REPLACED)
def test_pods_that_an_object_has_in_the_cluster_are_replaced(mine, running):
    """The cluster has no capacity beside a running pod: the object fits only in its place."""
    full = [node("n1", cpu="4"), {**running, "spec": {**running["spec"], "containers": pod("x", cpu="4")["spec"]["containers"]}}]
    stranger = json.loads(json.dumps(full).replace(running["metadata"]["name"], "stranger"))
    stranger[1]["metadata"]["ownerReferences"][0]["name"] = "stranger"
    stranger[1]["metadata"]["labels"] = {}

    assert 0 == simulated([mine], full)[0]
    assert 1 == simulated([mine], stranger)[0]


def test_an_object_given_twice_is_judged_once():
    status, answer = simulated([deployment(1), deployment(1)], NODES)
    assert (0, 1) == (status, answer["summary"]["pods"])


def test_of_an_object_given_twice_one_is_judged_in_any_order():
    answers = [simulated(mine, NODES) for mine in ([deployment(1), deployment(2)], [deployment(2), deployment(1)])]
    assert answers[0][1] == answers[1][1]
    assert ["Deployment default/web"] == [each["object"] for each in answers[0][1]["problems"]]


def test_pods_of_others_with_the_name_of_a_created_pod_keep_their_nodes():
    full = [node("n1", cpu="4"), owned("train-0", "StatefulSet", "train", cpu="4")]
    assert 1 == simulated([job(1)], full)[0]
    assert 0 == simulated([job(1)], [*full, node("n2")])[0]


OF_OTHERS = {
    "a ReplicaSet with a similar name": (deployment(), owned("web-db-x", "ReplicaSet", "web-db")),
    "a ReplicaSet of another Deployment": (
        deployment(),
        owned("web-db-7d-x", "ReplicaSet", "web-db-7d", labels={"pod-template-hash": "7d"}),
    ),
    "a Deployment that is a part of an application": (
        manifest(
            "PodCliqueSet",
            "grove.io/v1alpha1",
            "app",
            replicas=1,
            template={"cliques": [{"name": "a", "spec": {"roleName": "a", "replicas": 1, "podSpec": TEMPLATE["spec"]}}]},
        ),
        owned("web-7d-x", "ReplicaSet", "web-7d", labels={"app.kubernetes.io/part-of": "app"}),
    ),
    "a Job with a similar name": (
        manifest("CronJob", "batch/v1", "backup", jobTemplate={"spec": job(2)["spec"]}),
        owned("backup-1-x", "Job", "backup-1"),
    ),
}


@pytest.mark.parametrize(("mine", "running"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_pods_of_other_objects_are_not_replaced(mine, running):
    full = [node("n1", cpu="4"), {**running, "spec": {**running["spec"], "containers": pod("x", cpu="4")["spec"]["containers"]}}]
    assert 1 == simulated([mine], full)[0]


def test_groups_and_pods_of_the_workload_of_an_object_are_replaced():
    workload = manifest(
        "Workload", "scheduling.k8s.io/v1beta1", "train-5f", controllerRef={"apiGroup": "batch", "kind": "Job", "name": "train"}
    )
    workload["spec"]["podGroupTemplates"] = [{"name": "job-root", "schedulingPolicy": {"basic": {}}}]
    group = manifest(
        "PodGroup", "scheduling.k8s.io/v1beta1", "train-5f-x", workloadRef={"workloadName": "train-5f", "templateName": "job-root"}
    )
    group["spec"]["schedulingPolicy"] = {"basic": {}}
    _, answer = simulated([job()], [node("n1", cpu="4"), workload, group, pod("member", cpu="4", on="n1", group="train-5f-x")])
    assert ["train-job-root"] == [each["root"]["name"] for each in answer["decisions"]]
    assert 2 == answer["summary"]["placed"] + answer["summary"]["own"]["placed"]


def test_pods_of_another_schedulers_group_become_its_gang():
    member = pod("m-0", cpu="2")
    member["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "vc"}
    group = manifest("PodGroup", "scheduling.volcano.sh/v1beta1", "vc", minMember=2)
    status, answer = simulated([group, member], NODES)
    assert (1, ["PodGroup"]) == (status, [each["root"]["kind"] for each in answer["decisions"]] or ["PodGroup"])


def test_a_batch_reads_controllers_too():
    lines = [
        {"id": 1, "objects": [*NODES, job()]},
        {"id": 2, "objects": [*NODES, job(), manifest("Sandbox", "a.example/v1", template=TEMPLATE)]},
    ]
    answer = CliRunner().invoke(cli.main, ["simulate", "-", "--batch"], input="\n".join(map(json.dumps, lines)))
    assert (2, [2, 2]) == (answer.exit_code, [json.loads(line)["summary"]["pods"] for line in answer.stdout.splitlines()])


def test_a_snapshot_of_files_has_the_pods_of_their_controllers(folder):
    (folder / "all.json").write_text("\n".join(map(json.dumps, [*NODES, job(), deployment(1)])), encoding="utf-8")
    saved = CliRunner().invoke(cli.main, ["snapshot", "all.json"])
    (folder / "saved.json").write_text(saved.stdout, encoding="utf-8")
    answers = [CliRunner().invoke(cli.main, ["simulate", name, "--format", "json"]).stdout for name in ("all.json", "saved.json")]
    assert answers[0] == answers[1]
    assert 0 == saved.exit_code
