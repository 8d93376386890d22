"""``muster fit --scale`` finds the largest numbers that fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.test_fit_rollouts import GPU, node, workload

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def scaled(mine: list[Json], *cluster: Json, options: tuple[str, ...] = ()) -> tuple[int, list[Json]]:
    Path("mine.json").write_text("\n".join(map(json.dumps, mine)), encoding="utf-8")
    Path("cluster.json").write_text("\n".join(map(json.dumps, cluster)), encoding="utf-8")
    arguments = ["fit", "mine.json", "--objects", "cluster.json", "--format", "json", "--scale", *options]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)["scale"]


def job(parallelism: int, minimum: int | None = None) -> Json:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "i", "resources": {"limits": {GPU: "1"}}}]}}
    scheduling = {"scheduling": {"schedulingPolicy": {"gang": {"minCount": minimum}}}} if minimum else {}
    body = {"parallelism": parallelism, "completions": parallelism, "completionMode": "Indexed", "template": template, **scheduling}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "team"}, "spec": body}


def test_the_largest_number_and_what_one_more_needs():
    status, (found,) = scaled([workload("Deployment", 2)], node("n1", 3), node("n2", 4))
    assert (0, 2, 7) == (status, found["now"], found["fits"])
    assert "the smallest change that helps: 1 more node like n2" in found["next"]


def test_a_number_that_does_not_fit_is_lowered():
    status, (found,) = scaled([workload("Deployment", 9)], node("n1", 3))
    assert (1, 9, 3) == (status, found["now"], found["fits"])


def test_nothing_fits():
    status, (found,) = scaled([workload("Deployment", 2)], node("n1", 0))
    assert (1, None, False) == (status, found["fits"], "next" in found)


def test_a_gang_is_scaled_as_a_whole():
    assert 5 == scaled([job(2, 2)], node("n1", 3), node("n2", 2))[1][0]["fits"]


def test_the_range_of_an_autoscaler_is_the_limit():
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "team"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "llm"}, "minReplicas": 1, "maxReplicas": 4},
    }
    for mine, cluster in (([workload("Deployment", 2), scaler], []), ([workload("Deployment", 2)], [scaler])):
        _, (found,) = scaled(mine, node("n1", 8), *cluster)
        assert (4, {"least": 1, "most": 4, "limiter": "HorizontalPodAutoscaler h"}) == (found["fits"], found["range"])
        assert "next" not in found


def test_several_objects_are_scaled_one_by_one():
    _, found = scaled([workload("Deployment", 2), job(1)], node("n1", 6))
    assert [("Deployment team/llm", 5), ("Job team/j", 4)] == sorted((each["object"], each["fits"]) for each in found)


def test_what_other_pods_use_is_not_free():
    used = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": "team"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"limits": {GPU: "3"}}}]},
    }
    assert 2 == scaled([workload("Deployment", 1)], node("n1", 5), used)[1][0]["fits"]


def text_of(mine: list[Json], *cluster: Json) -> list[str]:
    Path("mine.json").write_text("\n".join(map(json.dumps, mine)), encoding="utf-8")
    Path("cluster.json").write_text("\n".join(map(json.dumps, cluster)), encoding="utf-8")
    arguments = ["fit", "mine.json", "--objects", "cluster.json", "--scale"]
    return CliRunner(env={"COLUMNS": "150"}).invoke(cli.main, arguments).stdout.splitlines()


def test_the_text_has_one_line_for_each_object():
    found = text_of([workload("Deployment", 1), job(1)], node("n1", 3))
    assert [
        "  Deployment team/llm: fits up to 2 replicas (now 1); the 3rd needs 1 more node like n1",
        "  Job team/j: fits up to 2 parallel pods (now 1); the 3rd needs 1 more node like n1",
    ] == found[3:]


def test_the_default_namespace_is_not_named():
    mine = workload("Deployment", 11)
    mine["metadata"].pop("namespace")
    assert "  Deployment llm: fits up to 11 replicas (now 11); the 12th needs 1 more node like n1" in text_of([mine], node("n1", 11))


def test_what_is_short_is_named_where_no_node_helps():
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": {"pods": "2"}}}
    line = text_of([workload("Deployment", 1)], node("n1", 9), quota)[1]
    assert line.startswith("  Deployment team/llm: fits up to 2 replicas (now 1); the 3rd does not fit: ")
    assert "pods" in line
    scaler = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "k", "namespace": "team"},
        "spec": {"scaleTargetRef": {"name": "llm"}, "maxReplicaCount": 2},
    }
    limit = "  Deployment team/llm: fits up to 2 replicas, the limit (now 1; ScaledObject k allows 0 to 2)"
    assert limit == text_of([workload("Deployment", 1), scaler], node("n1", 9))[1]
    none = "  Deployment team/llm: fits with no number of replicas (now 1)"
    assert none in text_of([workload("Deployment", 1)], node("n1", 0))


def test_evictions_are_named():
    low = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": "team"},
        "spec": {"nodeName": "n1", "priority": -5, "containers": [{"name": "c", "resources": {"limits": {GPU: "1"}}}]},
    }
    assert "the 3rd fits after evicting 1 pod" in text_of([workload("Deployment", 1)], node("n1", 3), low)[1]
