"""``muster fit`` of an object that replaces a running one plays its update."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.schema.report_schemas import report_schema
from tests.muster.paged import read

Json = dict[str, Any]
GPU = "nvidia.com/gpu"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def node(name: str, gpus: int = 1) -> Json:
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def spec(gpus: int = 1, image: str = "i:2") -> Json:
    return {"containers": [{"name": "m", "image": image, "resources": {"limits": {GPU: str(gpus)}}}]}


def running(
    name: str, on: str, gpus: int = 1, owner: tuple[str, str] = ("ReplicaSet", "llm-old"), image: str = "i:1", **labels: str
) -> Json:
    reference = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "u", "controller": True}
    metadata = {"name": name, "namespace": "team", "labels": {"app": "llm", **labels}, "ownerReferences": [reference]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec(gpus, image), "nodeName": on},
        "status": {"phase": "Running"},
    }


def workload(kind: str, replicas: int = 1, gpus: int = 1, **fields: Any) -> Json:
    template = {"metadata": {"labels": {"app": "llm"}}, "spec": spec(gpus)}
    body = {"selector": {"matchLabels": {"app": "llm"}}, "template": template, **fields}
    body |= {} if kind == "DaemonSet" else {"replicas": replicas}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "llm", "namespace": "team"}, "spec": body}


def fit(mine: Json, *cluster: Json, form: str = "json", options: tuple[str, ...] = ()) -> tuple[int, Any]:
    Path("mine.json").write_text(json.dumps(mine), encoding="utf-8")
    Path("cluster.json").write_text("\n".join(map(json.dumps, cluster)), encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--format", form, *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout) if form == "json" else result.stdout


SURGE_0 = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}


def test_one_gpu_and_a_surge_of_one_pod_hang():
    status, answer = fit(workload("Deployment"), node("n1"), running("llm-a", "n1"))
    pods = {"old": 1, "new": 0, "waiting": 1}
    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert ("hangs", 1, pods) == tuple(answer["rollout"][key] for key in ("outcome", "step", "pods"))
    assert "spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}" == answer["rollout"]["change"]
    assert "the update hangs at step 1: 1 old pod runs on, and 1 new pod waits" in answer["message"]
    assert "or spec.strategy: {type: Recreate}, or 1 more node like n1" in answer["message"]


@pytest.mark.parametrize("fields", [SURGE_0, {"strategy": {"type": "Recreate"}}])
def test_one_gpu_without_a_surge_is_updated(fields):
    status, answer = fit(workload("Deployment", **fields), node("n1"), running("llm-a", "n1"))
    assert (0, "fits", "at-once") == (status, answer["verdict"], answer["rollout"]["outcome"])


def test_a_free_gpu_is_enough():
    status, answer = fit(workload("Deployment"), node("n1"), node("n2"), running("llm-a", "n1"))
    assert (0, "at-once") == (status, answer["rollout"]["outcome"])


def test_equal_pods_are_no_update():
    status, answer = fit(workload("Deployment"), node("n1"), running("llm-a", "n1", image="i:2"))
    assert (0, False) == (status, "rollout" in answer)


@pytest.mark.parametrize("owner", [("ReplicaSet", "other-name"), ("ReplicaSet", "llm-1234")])
def test_running_pods_are_found_by_the_selector(owner):
    status, answer = fit(workload("Deployment"), node("n1"), running("x", "n1", owner=owner))
    assert (1, "hangs") == (status, answer["rollout"]["outcome"])


def test_pods_of_another_owner_are_not_replaced():
    status, answer = fit(workload("Deployment"), node("n1"), running("x", "n1", owner=("Job", "other")))
    assert (1, False) == (status, "rollout" in answer)


def test_a_gang_per_revision_needs_a_surge_of_all():
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "v2", "namespace": "team"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    mine = workload("Deployment", 2)
    mine["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "v2"}
    cluster = [node("n1", 2), node("n2", 2), group, running("a", "n1"), running("b", "n2")]
    status, answer = fit(mine, *cluster)
    assert (1, "hangs", "spec.strategy.rollingUpdate.maxSurge: 100%") == (
        status,
        answer["rollout"]["outcome"],
        answer["rollout"]["change"],
    )
    mine["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": "100%"}}
    assert (0, "at-once") == (fit(mine, *cluster)[0], fit(mine, *cluster)[1]["rollout"]["outcome"])


def test_a_stateful_set_that_needs_more_hangs_at_its_highest_ordinal():
    old = [running(f"llm-{number}", f"n{number}", 1, ("StatefulSet", "llm")) for number in range(2)]
    cluster = [node("n0"), node("n1"), *old]
    status, answer = fit(workload("StatefulSet", 2), *cluster)
    assert (0, 2) == (status, answer["rollout"]["step"])
    blocked = {**running("other", "n1", 0, ("Job", "j")), "metadata": {"name": "other", "namespace": "team"}}
    assert 0 == fit(workload("StatefulSet", 2), *cluster, blocked)[0]


def test_a_daemon_set_with_a_surge_hangs_on_full_nodes():
    old = [running(f"llm-{number}", f"n{number}", 1, ("DaemonSet", "llm")) for number in range(2)]
    surge = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    status, answer = fit(workload("DaemonSet", **surge), node("n0"), node("n1"), *old)
    assert (1, "spec.updateStrategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}") == (status, answer["rollout"]["change"])
    assert 0 == fit(workload("DaemonSet"), node("n0"), node("n1"), *old)[0]


def ordinal(number: int) -> Json:
    return running(f"llm-{number}", f"n{number}", 1, ("StatefulSet", "llm"))


def test_an_update_of_pods_that_do_not_fit_is_played():
    status, answer = fit(workload("StatefulSet", 2, 2), node("n0"), node("n1"), ordinal(0), ordinal(1))
    pods = {"old": 1, "new": 0, "waiting": 1}
    assert (1, "does-not-fit", pods) == (status, answer["verdict"], answer["rollout"]["pods"])
    assert "no node" in answer["message"] or "2 of 2 pods do not fit" in answer["message"]


@pytest.mark.parametrize(
    ("strategy", "old"), [({"rollingUpdate": {"partition": 1}}, "1 old pod"), ({"type": "OnDelete"}, "2 old pods"), ({}, None)]
)
def test_pods_that_are_kept_need_no_room_as_new_ones(strategy, old):
    mine = workload("StatefulSet", 2, 2, updateStrategy=strategy)
    status, answer = fit(mine, node("n0"), node("n1", 2), ordinal(0), ordinal(1))
    if old is None:
        assert (1, "does-not-fit", "hangs") == (status, answer["verdict"], answer["rollout"]["outcome"])
        return
    assert (0, "fits", "at-once") == (status, answer["verdict"], answer["rollout"]["outcome"])
    kept = f"the update is finished, and keeps {old}; not all would fit as new ones"
    assert kept in answer["message"]
    assert f"✓ StatefulSet team/llm fits: {kept}" == heading(fit(mine, node("n0"), node("n1", 2), ordinal(0), ordinal(1), form="html")[1])


def test_the_page_begins_with_the_reason_of_an_update_that_hangs():
    text = fit(workload("Deployment"), node("n1"), running("llm-a", "n1"), form="html")[1]
    assert heading(text).startswith(
        "✗ Deployment team/llm does not fit: the update hangs at step 1: 1 old pod runs on, and 1 new pod waits: "
    )
    assert "<b>the update hangs; it is finished with spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}, or " in text


def heading(page: str) -> str:
    return read(page).all("h1")[0].text


def test_a_kept_pod_does_not_excuse_another_object():
    mine = workload("StatefulSet", 2, 2, updateStrategy={"rollingUpdate": {"partition": 1}})
    other = {**workload("StatefulSet", 1, 9), "metadata": {"name": "other", "namespace": "team"}}
    status, answer = fit({"apiVersion": "v1", "kind": "List", "items": [mine, other]}, node("n0"), node("n1", 2), ordinal(0), ordinal(1))
    assert (1, "does-not-fit") == (status, answer["verdict"])


def test_an_update_that_is_refused_for_another_reason_is_not_played():
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": "team"},
        "spec": {"limits": [{"type": "Container", "max": {GPU: "1"}}]},
    }
    status, answer = fit(workload("StatefulSet", 1, 2), node("n0", 2), ordinal(0), limits)
    assert (1, "does-not-fit", False) == (status, answer["verdict"], "rollout" in answer)


def test_the_text_says_what_is_not_replaced_by_itself():
    _, text = fit(workload("StatefulSet", 1, updateStrategy={"type": "OnDelete"}), node("n0"), ordinal(0), form="text", options=("-v",))
    assert "Update of StatefulSet team/llm (nothing by itself): every new pod has a node" in text


def test_an_update_that_evicts_says_so():
    mine = workload("Deployment")
    mine["spec"]["template"]["spec"]["priorityClassName"] = "high"
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    low = {**running("low", "n2", owner=("Job", "j")), "metadata": {"name": "low", "namespace": "team", "labels": {}}}
    status, answer = fit(mine, node("n1"), node("n2"), running("llm-a", "n1"), low, high)
    assert (1, "fits-after-eviction") == (status, answer["verdict"])
    assert "during the update, team/low" in answer["message"]


def test_a_quota_that_refuses_the_surge_is_named():
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "team"},
        "spec": {"hard": {f"requests.{GPU}": "1"}},
    }
    status, answer = fit(workload("Deployment"), node("n1", 4), running("llm-a", "n1"), quota)
    assert (1, {"old": 1, "new": 0, "waiting": 0, "refused": 1}) == (status, answer["rollout"]["pods"])
    assert "a quota refuses 1 new pod beside it" in answer["message"]


def test_the_text_numbers_the_steps():
    _, text = fit(
        workload("Deployment", 3, **SURGE_0),
        node("n1", 3),
        *(running(f"a{number}", "n1") for number in range(3)),
        form="text",
        options=("-v",),
    )
    assert (
        "Update of Deployment team/llm (at most 0 more pods, at most 1 unavailable): every new pod has a node as soon as it is created"
        in " ".join(text.split())
    )
    assert [
        "  1. 1 deleted, 1 created: 2 old, 1 new",
        "  2. 1 deleted, 1 created: 1 old, 2 new",
        "  3. 1 deleted, 1 created: 0 old, 3 new",
    ] == [each for each in text.splitlines() if each.startswith("  ") and each.strip()[:2] in {"1.", "2.", "3."}]


def test_the_same_answer_twice():
    cluster = [node("n1", 3), *(running(f"a{number}", "n1") for number in range(3))]
    assert fit(workload("Deployment", 3), *cluster, form="text") == fit(workload("Deployment", 3), *cluster[::-1], form="text")


@pytest.mark.parametrize(("fields", "key"), [({}, "change"), (SURGE_0, "outcome")])
def test_the_json_of_an_update_has_its_published_schema(fields, key):
    _, answer = fit(workload("Deployment", **fields), node("n1"), running("llm-a", "n1"))
    assert key in answer["rollout"]
    jsonschema.validate(answer, report_schema("fit"))
    answer["rollout"]["outcome"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(answer, report_schema("fit"))


def test_a_selector_that_does_not_match_the_running_pods_is_refused():
    mine = workload("Deployment", 2)
    mine["spec"]["selector"]["matchLabels"] = mine["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    status, answer = fit(mine, node("n1", 4), running("llm-old-a", "n1", **{"pod-template-hash": "old"}))
    assert 1 == status
    assert "spec.selector: Invalid value: field is immutable" in answer["message"]
