"""A group that a pod template names, of Kubernetes or of another scheduler: no other one is made, and the pods are its members.

Every node has room for two of the pods, and each rack has one node.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import RACK, node, pod
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, TORCH, manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", **{RACK: "a"}), node("n2", **{RACK: "b"})]
TRAINJOB, LABEL = "trainer.kubeflow.org/v1alpha1", {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


def jobs(count: int, template: Json, **more: Json) -> Json:
    return {"replicas": count, "template": {"spec": {"parallelism": 4 // count, "completions": 4 // count, "template": template}}, **more}


def runtime(template: Json) -> Json:
    job = jobs(1, template, name="node")
    job["template"]["metadata"] = {"labels": LABEL}
    return manifest(
        "TrainingRuntime", TRAINJOB, "torch", mlPolicy={"numNodes": 4}, template={"spec": {"replicatedJobs": [{**job, "name": "node"}]}}
    )


def of_job(template: Json, **more: Any) -> Json:
    return manifest("Job", "batch/v1", "j", parallelism=4, completions=4, template=template, **more)


KINDS = {
    "Job": lambda template: [of_job(template)],
    "Job with a gang of its own": lambda template: [of_job(template, scheduling={"schedulingPolicy": {"gang": {}}})],
    "CronJob": lambda template: [
        manifest(
            "CronJob", "batch/v1", "c", schedule="@daily", jobTemplate={"spec": {"parallelism": 4, "completions": 4, "template": template}}
        )
    ],
    "JobSet": lambda template: [manifest("JobSet", "jobset.x-k8s.io/v1alpha2", "s", replicatedJobs=[jobs(2, template, name="a")])],
    "JobSet with a gang of its own": lambda template: [
        manifest(
            "JobSet",
            "jobset.x-k8s.io/v1alpha2",
            "s",
            replicatedJobs=[jobs(4, template, name="a")],
            scheduling={"schedulingPolicy": {"gang": {}}},
        )
    ],
    "LeaderWorkerSet": lambda template: [
        manifest(
            "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "l", replicas=2, leaderWorkerTemplate={"size": 2, "workerTemplate": template}
        )
    ],
    "TrainJob": lambda template: [
        manifest("TrainJob", TRAINJOB, "t", runtimeRef={"name": "torch", "kind": "TrainingRuntime"}),
        runtime(template),
    ],
    "Volcano's Job": lambda template: [
        manifest("Job", "batch.volcano.sh/v1alpha1", "v", minAvailable=1, tasks=[{"name": "w", "replicas": 4, "template": template}])
    ],
    "PyTorchJob": lambda template: [
        manifest(
            "PyTorchJob",
            "kubeflow.org/v1",
            "p",
            pytorchReplicaSpecs={"Worker": {"replicas": 4, "template": template}},
            runPolicy={"schedulingPolicy": {"minAvailable": 2}},
        )
    ],
    "RayCluster": lambda template: [
        manifest(
            "RayCluster",
            "ray.io/v1",
            "r",
            {"labels": {"ray.io/gang-scheduling-enabled": "true"}},
            headGroupSpec={"rayStartParams": {}, "template": template},
            workerGroupSpecs=[
                {"groupName": "w", "replicas": 3, "minReplicas": 3, "maxReplicas": 3, "rayStartParams": {}, "template": template}
            ],
        )
    ],
    "PodCliqueSet": lambda template: [
        manifest(
            "PodCliqueSet",
            "grove.io/v1alpha1",
            "g",
            replicas=2,
            template={
                "cliques": [
                    {
                        "name": "w",
                        **{key: value for key, value in template["metadata"].items() if value},
                        "spec": {"roleName": "w", "replicas": 2, "podSpec": template["spec"]},
                    }
                ]
            },
        )
    ],
    "Deployment": lambda template: [manifest(replicas=4, selector={"matchLabels": {"app": "x"}}, template=template)],
    "StatefulSet": lambda template: [
        manifest(
            "StatefulSet",
            replicas=4,
            podManagementPolicy="Parallel",
            serviceName="web",
            selector={"matchLabels": {"app": "x"}},
            template=template,
        )
    ],
}
"""Objects of four pods, by the template."""
NATIVE = {"schedulingPolicy": {"gang": {"minCount": 4}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}
KAI = {"minMember": 4, "topologyConstraint": {"topology": "t", "requiredTopologyLevel": RACK}}
VOLCANO = {"minMember": 4, "networkTopology": {"mode": "hard", "highestTierName": RACK}}
GROUPS: dict[str, tuple[Json, str, Json]] = {
    "of Kubernetes": ({}, "scheduling.k8s.io/v1beta1", NATIVE),
    "of KAI": ({"annotations": {"pod-group-name": "mine"}}, "scheduling.run.ai/v2alpha2", KAI),
    "of Volcano": ({"annotations": {"scheduling.k8s.io/group-name": "mine"}}, "scheduling.volcano.sh/v1beta1", VOLCANO),
    "of scheduler-plugins": ({"labels": {"scheduling.x-k8s.io/pod-group": "mine"}}, "scheduling.x-k8s.io/v1alpha1", {"minMember": 5}),
}
"""Metadata of pods, and API version and spec of a PodGroup that the nodes cannot hold."""


def named(kind: str, metadata: Json) -> list[Json]:
    base = TORCH if kind == "PyTorchJob" else TEMPLATE if kind in {"Deployment", "StatefulSet", "LeaderWorkerSet"} else RUN_ONCE
    own = {} if metadata else {"schedulingGroup": {"podGroupName": "mine"}}
    merged = {key: {**base["metadata"].get(key, {}), **metadata.get(key, {})} for key in ("labels", "annotations")}
    return KINDS[kind]({"metadata": merged, "spec": {**base["spec"], **own}})


def fit(mine: list[Json], cluster: list[Json], *options: str) -> tuple[int, Json]:
    Path("mine.json").write_text("\n".join(map(json.dumps, mine)), encoding="utf-8")
    Path("cluster.json").write_text("\n".join(map(json.dumps, cluster)), encoding="utf-8")
    found = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--format", "json", *options])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, json.loads(found.stdout)


NAMED = [(kind, group) for kind in KINDS for group in GROUPS if (kind, group) != ("Volcano's Job", "of Volcano")]
"""Kinds, each with the groups that a template can name; Volcano writes the group of its Job in place of another one of Volcano."""


@pytest.mark.parametrize(("kind", "group"), NAMED)
def test_the_pods_are_members_of_the_group_wherever_it_is(kind, group):
    metadata, version, spec = GROUPS[group]
    mine, own = named(kind, metadata), manifest("PodGroup", version, "mine", **spec)

    for at_path, elsewhere in ((mine, [*NODES, own]), ([*mine, own], NODES), ([own, *mine], NODES)):
        status, answer = fit(at_path, elsewhere)
        assert (1, "does-not-fit", []) == (status, answer["verdict"], answer["skipped"])
        assert (1, 4) == (len(answer["decisions"]), len(answer["pending"]))


@pytest.mark.parametrize(("kind", "group"), NAMED)
def test_the_pods_wait_for_a_group_that_does_not_exist(kind, group):
    metadata, version, _ = GROUPS[group]
    # One of the name for other pods, in another API group.
    other = manifest("PodGroup", "scheduling.k8s.io/v1beta1", "mine", schedulingPolicy={"basic": {}}) if metadata else None

    for elsewhere in (NODES, [*NODES, other] if other else NODES):
        status, answer = fit(named(kind, metadata), elsewhere)
        assert (1, "does-not-fit", []) == (status, answer["verdict"], answer["decisions"])
        assert "there is no PodGroup default/mine" in answer["message"]
        assert not metadata or f"of {version.partition('/')[0]}" in answer["message"]
        assert 4 == len(answer["pending"])


def bare(name: str, group: str, on: str = "", phase: str = "") -> Json:
    metadata, own = GROUPS[group][0], {} if GROUPS[group][0] else {"schedulingGroup": {"podGroupName": "mine"}}
    content = pod(name, on=on) if on else pod(name)
    status = {"status": {"phase": phase}} if phase else {}
    return {**content, "metadata": {**content["metadata"], **metadata}, "spec": {**content["spec"], **own}, **status}


@pytest.mark.parametrize("group", GROUPS)
def test_pods_without_a_controller_wait_for_their_group_too(group):
    mine = [bare("a", group), bare("b", group)]

    for elsewhere in (NODES, [*NODES, manifest("PodGroup", GROUPS[group][1], "other", **GROUPS[group][2])]):
        status, answer = fit(mine, elsewhere)
        assert (1, "does-not-fit", [], 2) == (status, answer["verdict"], answer["decisions"], len(answer["pending"]))
        assert 'waiting for pods\'s pod group "mine"' in answer["message"]
    status, answer = fit(mine, NODES, "--gang")
    assert (1, []) == (status, answer["decisions"])


@pytest.mark.parametrize("group", [each for each in GROUPS if each != "of Kubernetes"])
def test_a_missing_group_of_another_scheduler_is_named_for_pods_that_have_no_node(group):
    running, ended = bare("a", group, on="n1"), bare("b", group, phase="Succeeded")

    status, answer = fit([bare("c", group), running, ended], NODES)
    assert 1 == status
    assert f"there is no PodGroup default/mine of {GROUPS[group][1].partition('/')[0]}, for which its pods wait" in answer["message"]
    assert ["Pod default/c"] == [each["object"] for each in answer["notes"] if "for which its pods wait" in each["message"]]
    status, answer = fit([pod("d"), running], NODES)
    assert (0, "fits") == (status, answer["verdict"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_that_has_room_fits(kind):
    own = manifest("PodGroup", "scheduling.k8s.io/v1beta1", "mine", schedulingPolicy={"gang": {"minCount": 4}})

    status, answer = fit(named(kind, {}), [*NODES, own])
    assert (0, "fits", 4) == (status, answer["verdict"], len(answer["decisions"][0]["assignments"]))
    assert (status, answer["verdict"]) == (fit(named(kind, {}), [*NODES, own], "--gang")[0], "fits")


@pytest.mark.parametrize("key", ["scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"])
def test_a_job_of_volcano_has_its_own_group_whatever_group_of_volcano_its_template_names(key):
    (mine,) = named("Volcano's Job", {"annotations": {key: "mine"}})
    _, version, spec = GROUPS["of Volcano"]

    for cluster in (NODES, [*NODES, manifest("PodGroup", version, "mine", **spec)]):
        status, answer = fit([mine], cluster)
        assert (0, "fits") == (status, answer["verdict"])
        assert [f"{mine['metadata']['name']}-job-root"] == [each["root"]["name"] for each in answer["decisions"]]
        assert any(f"annotations[{key}]: has no effect" in each["message"] for each in answer["notes"])


def test_what_the_object_asks_for_itself_is_noted():
    own = manifest("PodGroup", "scheduling.k8s.io/v1beta1", "mine", schedulingPolicy={"basic": {}})
    constrained = {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}
    template = {**RUN_ONCE, "spec": {**RUN_ONCE["spec"], "schedulingGroup": {"podGroupName": "mine"}}}

    status, answer = fit([of_job(template, scheduling=constrained)], [*NODES, own])
    assert 0 == status
    noted = [each["message"] for each in answer["notes"]]
    assert [
        "spec.scheduling.schedulingConstraints: has no effect: a pod template names PodGroup mine, so no other group is created",
        "spec.scheduling.schedulingPolicy: has no effect: a pod template names PodGroup mine, so no other group is created",
    ] == noted


def test_the_api_server_of_1_38_refuses_a_group_beside_scheduling():
    own = manifest("PodGroup", "scheduling.k8s.io/v1beta1", "mine", schedulingPolicy={"basic": {}})

    status, answer = fit(named("Job with a gang of its own", {}), [*NODES, own], "--kubernetes", "1.38")
    assert 1 == status
    assert "must not be set together with template.spec.schedulingGroup" in answer["message"]
    assert 0 == fit(named("Job", {}), [*NODES, own], "--kubernetes", "1.38")[0]


def test_members_of_a_group_in_the_cluster_count_with_those_there():
    """Two of four run already: the other two complete the group."""
    spec = {"minMember": 4, "topologyConstraint": {"topology": "t", "requiredTopologyLevel": RACK}}
    group = manifest("PodGroup", "scheduling.run.ai/v2alpha2", "mine", **spec)
    mark = {"annotations": {"pod-group-name": "mine"}}
    running = [pod(f"old-{number}", cpu="1", on="n1") for number in range(2)]
    for each in running:
        each["metadata"] |= mark
    two = {
        "metadata": mark,
        "spec": {**RUN_ONCE["spec"], "containers": [{"name": "m", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
    }
    mine = manifest("Job", "batch/v1", "j", parallelism=2, completions=2, template=two)

    status, answer = fit([mine], [*NODES, group, *running])
    assert 0 == status
    assert {"n1"} == set(answer["decisions"][0]["assignments"].values())
    # A pod that is given itself joins in the same way.
    given = [{**pod(f"new-{number}", cpu="1"), "spec": two["spec"]} for number in range(2)]
    for each in given:
        each["metadata"] |= mark
    assert {"n1"} == set(fit(given, [*NODES, group, *running])[1]["decisions"][0]["assignments"].values())
