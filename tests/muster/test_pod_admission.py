"""The verdict of ``muster fit`` about new pods that the API server changes or refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_simulate_controllers import RUN_ONCE, deployment, job, owned

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]


def fit(mine, cluster, *options):
    for name, objects in (("mine.json", mine), ("cluster.json", cluster)):
        Path(name).write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--format", "json", *options])
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, json.loads(answer.stdout)


def quota(used=None, **hard):
    made = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team-a", "namespace": "default"}, "spec": {"hard": hard}}
    return made if used is None else {**made, "status": {"hard": hard, "used": used}}


def limit_range(**limit):
    item = {"type": "Container", **limit}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": "default"}, "spec": {"limits": [item]}}


def refusal(names):
    return {"object": names, "reason": "quota default/team-a leaves 6 cpu, 8 needed"}


def exceeded(resource, free, needed, **more):
    cause = {"reason": "QuotaExceeded", "quota": "ResourceQuota default/team-a", "quotaResource": resource}
    return {**cause, "free": free, "needed": needed, **more}


def test_a_quota_is_a_verdict_of_its_own():
    status, answer = fit([job(4)], [*NODES, quota({"cpu": "2"}, cpu="8")])
    want = "does not fit: Job default/train: quota default/team-a leaves 6 cpu, 8 needed; the nodes have capacity"
    assert (1, "does-not-fit", want) == (status, answer["verdict"], answer["message"])
    assert [{**refusal("Job default/train"), "causes": [exceeded("cpu", "6", "8")]}] == answer["refused"]
    assert ["Success"] == [each["status"] for each in answer["decisions"]]


def test_a_quota_that_is_large_enough_is_no_reason():
    status, answer = fit([job(4)], [*NODES, quota({"cpu": "0"}, cpu="8")])
    assert (0, []) == (status, answer["refused"])


def test_objects_at_path_share_a_quota():
    _, answer = fit([job(2), deployment(2)], [*NODES, quota({"cpu": "0"}, cpu="6")])
    both = refusal("Job default/train, Deployment default/web")
    assert [{**both, "causes": [exceeded("cpu", "6", "8")]}] == answer["refused"]


def test_the_verdict_says_that_nodes_have_capacity_for_several_refused_objects():
    _, answer = fit([job(2), deployment(2)], [*NODES, quota({"cpu": "0"}, cpu="6")])
    named = "Job default/train, Deployment default/web"
    assert f"does not fit: {named}: quota default/team-a leaves 6 cpu, 8 needed; the nodes have capacity" == answer["message"]


def test_the_verdict_says_that_nodes_have_capacity_for_more_objects_than_it_names():
    mine = [job(1, name=f"j{number}") for number in range(5)]
    _, answer = fit(mine, [*NODES, quota({"cpu": "0"}, cpu="6")])
    named = "Job default/j0, Job default/j1, Job default/j2, Job default/j3 and 1 more"
    assert f"does not fit: {named}: quota default/team-a leaves 6 cpu, 10 needed; the nodes have capacity" == answer["message"]


def test_the_verdict_names_a_shortage_of_nodes_besides_the_quota():
    _, answer = fit([job(9)], [*NODES, quota({"cpu": "2"}, cpu="8")])
    refused = "does not fit: Job default/train: quota default/team-a leaves 6 cpu, 18 needed; besides, 1 of 9 pods has no node"
    why = "group train-job-root has its minimum, but no node for 1 more pod (2 cpu) in the cluster: short of 2 cpu: 0 free, 2 needed"
    assert f"{refused}: {why}" == answer["message"]


def test_pods_that_are_replaced_leave_their_share_of_the_quota():
    running = [owned(f"train-{number}", "Job", "train") for number in range(2)]
    assert 0 == fit([job(3)], [*NODES, *running, quota({"cpu": "4"}, cpu="6")])[0]
    assert 1 == fit([job(3, name="other")], [*NODES, *running, quota({"cpu": "4"}, cpu="6")])[0]


def test_without_a_status_the_pods_of_the_namespace_count():
    running = [pod("running", cpu="4", on="n1"), {**pod("done", cpu="4", on="n1"), "status": {"phase": "Succeeded"}}]
    elsewhere = pod("elsewhere", cpu="8", on="n2")
    elsewhere["metadata"]["namespace"] = "other"
    _, answer = fit([job(2)], [*NODES, *running, quota(cpu="6"), elsewhere])
    assert ["quota default/team-a leaves 2 cpu, 4 needed"] == [each["reason"] for each in answer["refused"]]


def test_quotas_of_other_namespaces_do_not_count():
    other = {**quota({"cpu": "0"}, cpu="1"), "metadata": {"name": "q", "namespace": "other"}}
    assert 0 == fit([job(2)], [*NODES, other])[0]


def test_extended_resources_and_limits_have_their_names():
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "m", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "4", "memory": "8Gi"}}}],
    }
    mine = {**job(4), "spec": {**job(4)["spec"], "template": {"spec": spec}}}
    hard = {"requests.nvidia.com/gpu": "12", "limits.memory": "16Gi"}
    _, answer = fit([mine], [*NODES, quota(dict.fromkeys(hard, "0"), **hard)])
    want = ["leaves 16Gi memory of limits, 32Gi needed", "leaves 12 nvidia.com/gpu, 16 needed"]
    assert want == [each["reason"].partition("team-a ")[2] for each in answer["refused"]]
    causes = [exceeded("limits.memory", "16Gi", "32Gi"), exceeded("requests.nvidia.com/gpu", "12", "16")]
    assert causes == [cause for each in answer["refused"] for cause in each["causes"]]


def test_defaults_of_a_limit_range_are_requests():
    bare = job(4)
    bare["spec"]["template"] = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    assert 0 == fit([bare], NODES)[0]
    status, answer = fit([bare], [*NODES, limit_range(defaultRequest={"cpu": "6"})])
    assert (1, [], True) == (status, answer["refused"], "6 cpu" in json.dumps(answer["decisions"]))


def test_pods_at_path_get_defaults_too():
    bare = {**pod("p"), "metadata": {"name": "p", "namespace": "default"}}
    bare["spec"]["containers"] = [{"name": "main", "image": "i"}]
    assert 1 == fit([bare], [*NODES, limit_range(defaultRequest={"cpu": "9"})])[0]
    existing = {**bare, "metadata": {**bare["metadata"], "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert 0 == fit([existing], [*NODES, limit_range(defaultRequest={"cpu": "9"})])[0]


def test_a_limit_that_is_exceeded_is_a_refusal():
    _, answer = fit([job(1)], [*NODES, limit_range(max={"cpu": "1"}, default={"cpu": "4"})])
    reason = "maximum cpu usage per Container is 1, but limit is 4 (LimitRange default/limits, spec.limits[0].max)"
    assert f"does not fit: Job default/train: {reason}; the nodes have capacity" == answer["message"]


def test_a_request_above_the_default_limit_is_invalid():
    """The API server validates a pod after its defaults are set, and before it compares it with the range."""
    _, answer = fit([job(1)], [*NODES, limit_range(max={"cpu": "1"})])
    reason = 'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'
    assert [reason] == [each["reason"] for each in answer["refused"]]


def test_the_overhead_of_a_runtime_counts():
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
    mine = {**job(2), "spec": {**job(2)["spec"], "template": {"spec": {**RUN_ONCE["spec"], "runtimeClassName": "kata"}}}}
    heavy = {**runtime, "overhead": {"podFixed": {"cpu": "7"}}}
    assert [1, 0, 1] == [fit([mine], [*NODES, *more])[0] for more in ([], [runtime], [heavy])]
    _, answer = fit([mine], [*NODES, {**runtime, "metadata": {"name": "other"}}])
    assert ['pod rejected: RuntimeClass "kata" not found'] == [each["reason"] for each in answer["refused"]]


def test_queues_of_kueue_are_named_as_not_considered():
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "q"}}
    _, answer = fit([job(1)], [*NODES, queue])
    assert [
        "no new object at PATH has the label kueue.x-k8s.io/queue-name, so quotas of Kueue are not considered (the cluster has 1 ClusterQueue)"
    ] == [each["message"] for each in answer["notes"]]


def test_a_snapshot_has_the_objects_that_admission_reads(folder):
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "1"}},
    }
    cluster = [*NODES, quota({"cpu": "2"}, cpu="8"), limit_range(defaultRequest={"cpu": "1"}, max={"cpu": "4"}), runtime]
    answers = [fit([job(4)], cluster)]
    saved = CliRunner().invoke(cli.main, ["snapshot", "cluster.json"])
    (folder / "saved.json").write_text(saved.stdout, encoding="utf-8")
    again = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "saved.json", "--format", "json"])
    assert answers[0] == (again.exit_code, json.loads(again.stdout))
    assert '"handler"' not in saved.stdout


RUNNING_KATA = {**job(1), "spec": {**job(1)["spec"], "template": {"spec": {**RUN_ONCE["spec"], "runtimeClassName": "kata"}}}}


@pytest.mark.parametrize(
    "odd",
    [
        {**quota(cpu="1"), "spec": []},
        {**quota(cpu="1"), "status": "x"},
        quota({"cpu": "many"}, cpu=[]),
        {**limit_range(), "spec": {"limits": [3, {"type": "Container", "default": "x", "max": {"cpu": {}}}]}},
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "kata"},
            "overhead": 3,
            "scheduling": {"tolerations": 1},
        },
    ],
    ids=["spec", "status", "amounts", "limits", "runtime"],
)
def test_an_odd_object_is_a_problem_and_no_success(odd):
    status, answer = fit([RUNNING_KATA], [*NODES, odd])
    place = (
        f"default/{odd['metadata']['name']}"
        if odd["metadata"].get("namespace") or odd["kind"] != "RuntimeClass"
        else odd["metadata"]["name"]
    )
    assert (2, [f"{odd['kind']} {place}"]) == (status, [each["object"] for each in answer["problems"]])


SCOPED = {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Is", "values": "high"}]}}


@pytest.mark.parametrize(
    ("odd", "fields"),
    [
        ({**quota(cpu="1"), "spec": {"hard": {"cpu": "1"}, "scopes": ["Terminated"]}}, ["spec.scopes[0]"]),
        ({**quota(cpu="1"), "spec": {"hard": {"cpu": "1"}, "scopes": "Terminating"}}, ["spec.scopes"]),
        (
            {**quota(cpu="1"), "spec": {"hard": {"cpu": "1"}, **SCOPED}},
            [f"spec.scopeSelector.matchExpressions[0].{name}" for name in ("operator", "values")],
        ),
        (
            {
                "apiVersion": "node.k8s.io/v1",
                "kind": "RuntimeClass",
                "metadata": {"name": "kata"},
                "scheduling": {"tolerations": [{"key": 3, "operator": "Exists"}, {"effect": {}}]},
            },
            ["scheduling.tolerations[0].key", "scheduling.tolerations[1].effect"],
        ),
    ],
    ids=["scope", "scopes", "selector", "tolerations"],
)
def test_the_fields_that_cannot_be_read_are_named(odd, fields):
    status, answer = fit([RUNNING_KATA], [*NODES, odd])
    (problem,) = answer["problems"]
    assert (2, fields) == (status, [field for cause in problem["causes"] for field in cause["errors"]])


@pytest.mark.parametrize("made", [quota(cpu="1"), limit_range(max={"cpu": "1"})], ids=["quota", "limits"])
def test_of_two_objects_of_one_name_the_first_as_json_is_used(made):
    other = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    answers = [fit([RUNNING_KATA], [*NODES, *pair]) for pair in ((made, other), (other, made), (made, made))]
    assert [2, 2] == [status for status, _ in answers[:2]]
    assert answers[0][1]["problems"] == answers[1][1]["problems"]
    (problem,) = answers[0][1]["problems"]
    assert f"{made['kind']} default/{made['metadata']['name']}" == problem["object"]
    assert [] == answers[2][1]["problems"]


@pytest.mark.parametrize("kind", ["ResourceQuota", "LimitRange"])
def test_an_object_without_a_name_is_reported(kind):
    status, answer = fit([RUNNING_KATA], [*NODES, {"apiVersion": "v1", "kind": kind}])
    (problem,) = answer["problems"]
    assert (2, True) == (status, "metadata.name is missing" in problem["message"])
