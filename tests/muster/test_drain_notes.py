"""``--drain`` says which evictions meet a budget or a disruption mode, and whether the pods get other nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli

Json = dict[str, Any]
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def node(name: str, cpu: str) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "pods": "10"}}}


def pod(name: str, on: str = "n1", group: str = "", *, owned: bool = True, **status: Any) -> Json:
    spec = {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    spec |= {"schedulingGroup": {"podGroupName": group}} if group else {}
    metadata = {"name": name, "namespace": "a", "labels": {"app": "web"}, **({"ownerReferences": [OWNER]} if owned else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running", **status}}


def budget(allowed: int, selector: Json | None = None, **spec: Any) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "a"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}} if selector is None else selector, **spec},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 2, "expectedPods": 3},
    }


def notes(*objects: Json, drain: str = "n1") -> list[tuple[str, str]]:
    Path("cluster.json").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["simulate", "cluster.json", "--drain", drain, "--format", "json"])
    return [(each["object"], each["message"]) for each in json.loads(result.stdout).get("notes", ()) if each["reason"] == "Drain"]


ROOM = (node("n1", "4"), node("n2", "4"))


def test_pods_that_get_another_node():
    assert [("Drain", "2 of 2 evicted pods get another node")] == notes(*ROOM, pod("w0"), pod("w1"))
    assert [("Drain", "1 of 2 evicted pods gets another node; 1 waits")] == notes(node("n1", "4"), node("n2", "1"), pod("w0"), pod("w1"))


def test_pods_that_nobody_creates_again():
    ((_, message),) = notes(*ROOM, pod("w0", owned=False), pod("w1"))
    assert message.endswith("; nobody creates a/w0 again: without a controller, kubectl drain refuses it")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (budget(1), "it refuses 1 of 2 evictions until replacements are ready"),
        (budget(0), "it refuses the eviction of 2 pods: kubectl drain waits until it allows one"),
        (budget(1, {}), "it refuses 1 of 2 evictions until replacements are ready"),
        (budget(2), None),
        (budget(0, {"matchLabels": {"app": "other"}}), None),
    ],
)
def test_a_budget_that_refuses_evictions(given, told):
    found = [message for name, message in notes(*ROOM, pod("w0"), pod("w1"), given) if name.startswith("PodDisruptionBudget")]
    assert ([] if told is None else [told]) == found


def test_a_pod_that_is_not_ready_is_not_protected_by_a_budget_that_always_allows():
    broken = pod("w0", conditions=[{"type": "Ready", "status": "False"}])
    assert 2 == len(notes(*ROOM, broken, budget(0)))
    assert 1 == len(notes(*ROOM, broken, budget(0, unhealthyPodEvictionPolicy="AlwaysAllow")))


@pytest.mark.parametrize(("mode", "told"), [({"all": {}}, True), ({"single": {}}, False)])
def test_a_group_that_is_disrupted_as_a_whole(mode, told):
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "a"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": mode},
    }
    found = notes(*ROOM, group, pod("g0", group="g"), pod("g1", "n2", "g"))
    assert told is (("PodGroup a/g", "its disruption mode is All: with 1 evicted pod, 1 pod on other nodes is disrupted too") in found)


def test_pods_of_daemon_sets_are_not_evicted():
    daemon = pod("d0")
    daemon["metadata"]["ownerReferences"][0] = {**OWNER, "kind": "DaemonSet"}
    assert [] == notes(*ROOM, daemon)


def fitted(*objects: Json, mine: Json | None = None) -> list[tuple[str, str]]:
    Path("cluster.json").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    new = {**pod("mine"), "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}, "status": {}}
    new["metadata"]["ownerReferences"] = []
    Path("mine.json").write_text(json.dumps(mine or new), encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--drain", "n1", "--format", "json"])
    return [(each["object"], each["message"]) for each in json.loads(result.stdout).get("notes", ()) if each["reason"] == "Drain"]


def test_fit_says_the_same():
    found = dict(fitted(*ROOM, pod("w0"), pod("w1"), budget(1)))
    assert {"Drain", "PodDisruptionBudget a/web"} == found.keys()
    assert "it refuses 1 of 2 evictions until replacements are ready" == found["PodDisruptionBudget a/web"]
    assert [("Drain", "0 of 1 evicted pod gets another node; 1 waits")] == fitted(node("n1", "4"), node("n2", "0"), pod("w0"))
    assert [] == fitted(*ROOM, pod("w0", on="n2"))


def test_the_pods_of_the_object_at_path_are_not_evicted_pods():
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    mine = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "a"}, "spec": spec}
    assert [] == fitted(*ROOM, pod("w0"), mine=mine)
