"""``muster fit`` plays the updates of LeaderWorkerSets, RayServices and PodCliqueSets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.test_fit_rollouts import Json, _folder, fit, node, running, spec, workload  # noqa: F401 - a fixture

LWS = "leaderworkerset.sigs.k8s.io/"


def leader_worker_set(replicas: int = 2, gpus: int = 1, **rolling: Any) -> Json:
    template = {"size": 2, "workerTemplate": {"spec": spec(gpus)}}
    strategy = {"rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}} if rolling else {}
    body = {"replicas": replicas, "leaderWorkerTemplate": template, **strategy}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm", "namespace": "team"},
        "spec": body,
    }


def old_pod(name: str, on: str, labels: Json, image: str = "i:1", **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "labels": labels, **metadata},
        "spec": {**spec(1, image), "nodeName": on},
        "status": {"phase": "Running"},
    }


def old_groups(number: int, image: str = "i:1") -> list[Json]:
    return [
        old_pod(
            f"llm-{group}{'-1' if worker else ''}",
            f"n{group}",
            {f"{LWS}name": "llm", f"{LWS}group-index": str(group), f"{LWS}worker-index": str(worker)},
            image,
        )
        for group in range(number)
        for worker in range(2)
    ]


FULL = [node("n0", 2), node("n1", 2)]


@pytest.mark.parametrize(
    ("mine", "more", "want"),
    [
        (leader_worker_set(), [], (0, "at-once")),
        (leader_worker_set(maxSurge=1, maxUnavailable=0), [], (1, "hangs")),
        (leader_worker_set(maxSurge=1, maxUnavailable=0), [node("n2", 2)], (0, "at-once")),
        (leader_worker_set(maxSurge=1, maxUnavailable=1), [], (0, "during")),
        (leader_worker_set(partition=1), [], (0, "at-once")),
    ],
)
def test_leader_worker_sets(mine, more, want):
    status, answer = fit(mine, *FULL, *more, *old_groups(2))
    assert want == (status, answer["rollout"]["outcome"])


def test_a_surge_of_a_leader_worker_set_hangs_and_what_finishes_it():
    status, answer = fit(leader_worker_set(maxSurge=1, maxUnavailable=0), *FULL, *old_groups(2))
    assert (1, {"old": 4, "new": 0, "waiting": 2}) == (status, answer["rollout"]["pods"])
    assert "spec.rolloutStrategy.rollingUpdateConfiguration: {maxSurge: 0, maxUnavailable: 1}" == answer["rollout"]["change"]
    assert "wait: group llm-" in answer["message"], answer["message"]
    assert "or 1 more node like n0" in answer["message"]


def test_equal_groups_are_no_update():
    status, answer = fit(leader_worker_set(), *FULL, *old_groups(2, "i:2"))
    assert (0, False) == (status, "rollout" in answer)


def ray_service(**fields: Any) -> Json:
    group = {"groupName": "gpu", "replicas": 2, "minReplicas": 1, "maxReplicas": 4, "rayStartParams": {}, "template": {"spec": spec()}}
    config = {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": spec()}}, "workerGroupSpecs": [group]}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": "llm", "namespace": "team"},
        "spec": {"rayClusterConfig": config, **fields},
    }


def old_cluster(image: str = "i:1") -> list[Json]:
    return [old_pod(f"llm-x7k2p-{number}", f"n{number}", {"ray.io/cluster": "llm-x7k2p"}, image) for number in range(3)]


@pytest.mark.parametrize(
    ("fields", "number", "want"),
    [
        ({}, 6, (0, "at-once", {"old": 0, "new": 3, "waiting": 0})),
        ({}, 5, (1, "hangs", {"old": 3, "new": 0, "waiting": 3})),
        ({"upgradeStrategy": {"type": "None"}}, 3, (0, "at-once", {"old": 3, "new": 0, "waiting": 0})),
    ],
)
def test_ray_services(fields, number, want):
    status, answer = fit(ray_service(**fields), *(node(f"n{each}") for each in range(number)), *old_cluster())
    assert want == (status, answer["rollout"]["outcome"], answer["rollout"]["pods"])


def test_the_nodes_for_a_second_cluster():
    _, answer = fit(ray_service(), *(node(f"n{each}") for each in range(4)), *old_cluster())
    assert "2 more nodes like n0" == answer["rollout"]["change"]
    status, answer = fit(ray_service(), *(node(f"n{each}") for each in range(6)), *old_cluster("i:2"))
    assert (0, False) == (status, "rollout" in answer)


def pod_clique_set(**fields: Any) -> Json:
    cliques = [{"name": name, "spec": {"roleName": name, "replicas": 2, "podSpec": spec()}} for name in ("lead", "work")]
    body = {"replicas": 2, "template": {"cliques": cliques}, **fields}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "llm", "namespace": "team"}, "spec": body}


def old_cliques() -> list[Json]:
    return [
        old_pod(
            f"llm-{replica}-{clique}-x{number}",
            f"n{replica}",
            {
                "app.kubernetes.io/part-of": "llm",
                "grove.io/podclique": f"llm-{replica}-{clique}",
                "grove.io/podclique-pod-index": str(number),
                "grove.io/podcliqueset-replica-index": str(replica),
            },
        )
        for replica in range(2)
        for clique in ("lead", "work")
        for number in range(2)
    ]


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({}, (0, "at-once", {"old": 0, "new": 8, "waiting": 0})),
        ({"updateStrategy": {"type": "OnDelete"}}, (0, "at-once", {"old": 8, "new": 0, "waiting": 0})),
    ],
)
def test_pod_clique_sets(fields, want):
    status, answer = fit(pod_clique_set(**fields), node("n0", 4), node("n1", 4), *old_cliques())
    assert want == (status, answer["rollout"]["outcome"], answer["rollout"]["pods"])
    if not fields:
        assert [2] * 4 == [each["created"] for each in answer["rollout"]["steps"]]


def test_a_clique_that_needs_the_place_of_another_one_hangs():
    mine = pod_clique_set(replicas=1)
    mine["spec"]["template"]["cliques"][0]["spec"] |= {"replicas": 1, "podSpec": spec(2)}
    cluster = [node("n0", 2), node("n1"), node("n2")]
    leading, working = old_cliques()[:1], old_cliques()[2:4]
    leading[0]["spec"]["nodeName"] = "n1"
    status, answer = fit(mine, *cluster, *leading, *working)
    assert (1, "hangs", 1) == (status, answer["rollout"]["outcome"], answer["rollout"]["pods"]["old"])


@pytest.mark.parametrize(
    ("kind", "fields", "change"),
    [
        ("StatefulSet", {"podManagementPolicy": "Parallel"}, "spec.updateStrategy.rollingUpdate.maxUnavailable: 100%"),
        ("DaemonSet", {}, "spec.updateStrategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 100%}"),
    ],
)
def test_a_new_gang_needs_all_places_at_once(kind, fields, change):
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "v2", "namespace": "team"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    mine = workload(kind, 2, **fields)
    mine["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "v2"}
    old = [running(f"llm-{number}", f"n{number}", owner=(kind, "llm")) for number in range(2)]
    status, answer = fit(mine, group, node("n0"), node("n1"), *old)
    assert (1, "hangs", change) == (status, answer["rollout"]["outcome"], answer["rollout"]["change"])


NUMBERS: list[tuple[str, Json, bool]] = [
    ("Deployment", {}, False),
    ("Deployment", {"maxSurge": 4, "maxUnavailable": 0}, True),
    ("Deployment", {"maxSurge": 3, "maxUnavailable": 0}, False),
    ("Deployment", {"maxSurge": "100%", "maxUnavailable": 0}, True),
    ("Deployment", {"maxSurge": "75%", "maxUnavailable": "0%"}, False),
    ("Deployment", {"maxSurge": "51%", "maxUnavailable": 1}, True),
    ("Deployment", {"maxUnavailable": "75%"}, True),
    ("Deployment", {"maxUnavailable": 2}, False),
    ("Deployment", {"maxUnavailable": 3}, True),
    ("Deployment", {"maxSurge": 3}, True),
    ("LeaderWorkerSet", {}, False),
    ("LeaderWorkerSet", {"maxSurge": 1, "maxUnavailable": 1}, True),
    ("LeaderWorkerSet", {"maxSurge": 1, "maxUnavailable": 0}, False),
    ("LeaderWorkerSet", {"maxSurge": "50%"}, True),
    ("LeaderWorkerSet", {"maxSurge": "100%", "maxUnavailable": 0}, True),
    ("LeaderWorkerSet", {"maxUnavailable": "100%"}, True),
    ("LeaderWorkerSet", {"maxUnavailable": "99%"}, False),
    ("LeaderWorkerSet", {"maxUnavailable": 2}, True),
]
"""Kind and numbers of a rolling update of four pods, and whether it has the four new pods of a gang at once: surges round up, others down."""


@pytest.mark.parametrize(("kind", "rolling", "finishes"), NUMBERS, ids=[f"{kind} {rolling or 'default'}" for kind, rolling, _ in NUMBERS])
def test_a_gang_for_each_revision_needs_a_surge_in_pods_or_percent(kind, rolling, finishes):
    """Fit and lint have one verdict; the nodes have room for all."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "v2", "namespace": "team"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
    }
    named = {"schedulingGroup": {"podGroupName": "v2"}}
    if kind == "Deployment":
        mine = workload(kind, 4, **({"strategy": {"rollingUpdate": rolling}} if rolling else {}))
        mine["spec"]["template"]["spec"] |= named
        old = [running(f"llm-{number}", f"n{number % 2}") for number in range(4)]
    else:
        mine = leader_worker_set(**rolling)
        mine["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"] |= named
        old = old_groups(2)
    status, answer = fit(mine, group, node("n0", 8), node("n1", 8), *old)
    assert (0 if finishes else 1, not finishes) == (status, answer["rollout"]["outcome"] == "hangs")
    Path("both.json").write_text(f"{json.dumps(mine)}\n{json.dumps(group)}", encoding="utf-8")
    found = CliRunner().invoke(cli.main, ["lint", "--select", "gang-rolling-update", "--format", "json", "both.json"])
    assert finishes == (json.loads(found.stdout)["findings"] == []), found.stdout
