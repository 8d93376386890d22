"""Answers of fit about pods that name their group by label are those about pods with a schedulingGroup."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.custom_group import in_custom_group
from tests.muster.simulated import gang, node, pod

Json = dict[str, Any]
CONTAINER = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"schedulingGroup": {"podGroupName": "workers"}, "containers": [CONTAINER], "restartPolicy": "Always"},
}
JOB = {**copy.deepcopy(TEMPLATE), "spec": {**copy.deepcopy(TEMPLATE["spec"]), "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "a"}}


def owner(kind: str, api_version: str, spec: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "owner", "namespace": "default"}, "spec": spec}


LWS = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE, "leaderTemplate": TEMPLATE}}
OWNERS = [
    owner("Deployment", "apps/v1", {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}),
    owner("StatefulSet", "apps/v1", {"replicas": 2, "selector": SELECTOR, "serviceName": "s", "template": TEMPLATE}),
    owner("Job", "batch/v1", {"parallelism": 2, "completions": 2, "template": JOB}),
    owner("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", LWS),
]


def answer(folder: Path, manifests: list[Json], cluster: list[Json], *options: str) -> Json:
    (folder / "mine.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}), encoding="utf-8")
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster}), encoding="utf-8")
    arguments = ["fit", str(folder / "mine.json"), "--objects", str(folder / "cluster.json"), "--format", "json", *options]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code in (0, 1), result.output
    # Names of ReplicaSets have a hash of the pod template.
    told: Json = json.loads(re.sub(r"owner-[0-9a-z]{8,10}", "owner-HASH", result.stdout))
    return told


@pytest.mark.parametrize("options", [(), ("--scale",)], ids=["as it is", "scaled"])
@pytest.mark.parametrize("cpu", ["8", "1"], ids=["room", "no room"])
@pytest.mark.parametrize("mine", OWNERS, ids=lambda each: each["kind"])
def test_an_object_with_a_group_by_label_is_judged_alike(tmp_path: Path, mine: Json, cpu: str, options: tuple[str, ...]) -> None:
    cluster = [node("n1", cpu=cpu), gang("workers", 2)]

    want = answer(tmp_path, [mine], cluster, *options)
    # Remedies are changes of the group that is there.
    assert answer(tmp_path, in_custom_group([mine]), in_custom_group(cluster), *options) == in_custom_group(want)
    # A tree that was moved: the group is built-in, and pods have the label.
    assert answer(tmp_path, in_custom_group([mine]), cluster, *options) == want


@pytest.mark.parametrize("cpu", ["3", "2"])
def test_an_update_with_a_group_by_label_is_judged_alike(tmp_path: Path, cpu: str) -> None:
    """The pods that run are members too."""
    running = [pod(f"old-{number}", on="n1", group="workers", owner="ReplicaSet") for number in range(2)]
    for each in running:
        each["metadata"] |= {"labels": {"app": "a"}}
        each["metadata"]["ownerReferences"][0]["controller"] = True
    replicas = owner("ReplicaSet", "apps/v1", {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE})
    deployment = copy.deepcopy(OWNERS[0])
    replicas["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": "u", "controller": True}
    ]
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "new"
    cluster = [node("n1", cpu=cpu), gang("workers", 2), OWNERS[0], replicas, *running]

    assert answer(tmp_path, in_custom_group([deployment]), in_custom_group(cluster)) == answer(tmp_path, [deployment], cluster)
