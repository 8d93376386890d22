"""``muster lint --cluster`` against a small server that answers lists as an API server does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.muster.test_snapshot_cluster import SCHEDULING, api  # noqa: F401 - a fixture
from validators.gates import NEEDS

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker, namespace: team}
spec: {schedulingGroup: {podGroupName: workers}}
"""
GROUP: dict[str, Any] = {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
Server = Any


def named(name: str, owner: tuple[str, str] | None = None, group: str = "", **fields: Any) -> dict[str, Any]:
    """Return an item of a list in namespace ``team``, owned by a controller of this kind and name."""
    metadata: dict[str, Any] = {"name": name, "namespace": "team", "managedFields": [{"manager": "x"}]}
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True, "uid": "1"}]
    spec = {"schedulingGroup": {"podGroupName": group}, "containers": []} if group else {}
    return {"metadata": metadata, "spec": spec, **fields}


@pytest.fixture
def server(api: Server) -> Server:  # noqa: F811 - the fixture above
    api.lists = {
        "/api/v1/pods": ("v1", "PodList", [named(f"web-{number}", ("ReplicaSet", "web-1"), "lost") for number in range(3)]),
        "/api/v1/nodes": ("v1", "NodeList", [{"metadata": {"name": "n", "labels": {"example.com/rack": "r"}}}]),
        "/apis/apps/v1/replicasets": ("apps/v1", "ReplicaSetList", [named("web-1", ("Deployment", "web"))]),
        "/apis/apps/v1/deployments": (
            "apps/v1",
            "DeploymentList",
            [named("web") | {"spec": {"replicas": 3, "template": {"spec": {"schedulingGroup": {"podGroupName": "lost"}}}}}],
        ),
        f"{SCHEDULING}/v1beta1/podgroups": ("scheduling.k8s.io/v1beta1", "PodGroupList", [named("alone") | GROUP]),
        f"{SCHEDULING}/v1/priorityclasses": ("scheduling.k8s.io/v1", "PriorityClassList", []),
    }
    api.answers = {
        SCHEDULING: {"versions": [{"version": "v1"}, {"version": "v1beta1"}]},
        f"{SCHEDULING}/v1": {"resources": [{"name": "priorityclasses"}]},
        f"{SCHEDULING}/v1beta1": {"resources": [{"name": "podgroups"}, {"name": "workloads"}]},
        "/apis/apps": {"versions": [{"version": "v1"}]},
        "/apis/apps/v1": {"resources": [{"name": name} for name in ("deployments", "replicasets", "statefulsets")]},
    }
    return api


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lint", "--cluster", "--kubeconfig", "config", "--no-config", *arguments])


@pytest.mark.usefixtures("server")
def test_all_objects_are_reported_by_namespace_and_owner() -> None:
    answer = lint()
    detail = 'schedulingGroup.podGroupName: Not found: "lost": there must be a PodGroup of this name in namespace team'
    assert answer.stdout.splitlines() == [
        "namespace team",
        "  Deployment web",
        f"    error scheduling-group-exists: Deployment web: spec.template.spec.{detail}",
        f"    error scheduling-group-exists: Pod web-0 (and 2 other Pods): spec.{detail}",
        "",
        "4 errors in 6 objects of the cluster",
    ]
    assert (answer.exit_code, answer.stderr) == (1, "")


def test_other_formats_name_the_objects(server: Server) -> None:
    findings = json.loads(lint("--format", "json").stdout)["findings"]
    assert [each["file"] for each in findings] == [
        "cluster/team/Deployment/web",
        *(f"cluster/team/Pod/web-{number}" for number in range(3)),
    ]
    assert {(each["line"], each["column"]) for each in findings} == {(1, 1)}
    assert [each["owner"] for each in findings] == [{"kind": "Deployment", "namespace": "team", "name": "web"}] * 4


def test_controllers_of_others_are_read_in_the_version_that_the_cluster_serves(server: Server) -> None:
    cluster = {"headGroupSpec": {"template": {"spec": {"schedulingGroup": {"podGroupName": "lost"}}}}}
    server.answers |= {
        "/apis/ray.io": {"versions": [{"version": "v1alpha1"}, {"version": "v1"}], "preferredVersion": {"version": "v1"}},
        "/apis/ray.io/v1": {"resources": [{"name": "rayclusters"}]},
        "/apis/ray.io/v1alpha1": {"resources": [{"name": "rayclusters"}]},
    }
    server.lists["/apis/ray.io/v1/rayclusters"] = ("ray.io/v1", "RayClusterList", [named("ray", ("RayJob", "job")) | {"spec": cluster}])
    (finding,) = (each for each in json.loads(lint("--format", "json").stdout)["findings"] if each["document"]["kind"] == "RayCluster")
    assert finding["field"] == "spec.headGroupSpec.template.spec.schedulingGroup.podGroupName"
    assert finding["owner"] == {"kind": "RayJob", "namespace": "team", "name": "job"}


GANGS = {
    "a TrainingRuntime": (
        "trainer.kubeflow.org/v1alpha1",
        "TrainingRuntime",
        {"podGroupPolicy": {"coscheduling": {}, "volcano": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node"}]}}},
        "one-gang-scheduler",
    ),
    "a ClusterTrainingRuntime": (
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        {
            "podGroupPolicy": {"coscheduling": {}},
            "template": {"spec": {"replicatedJobs": [{"name": "a"}, {"name": "b", "dependsOn": [{"name": "a", "status": "Complete"}]}]}},
        },
        "gang-waits-for-later",
    ),
    "a Job of Volcano": (
        "batch.volcano.sh/v1alpha1",
        "Job",
        {"minAvailable": 2, "tasks": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 1, "dependsOn": {"name": ["a"]}}]},
        "gang-waits-for-later",
    ),
}


@pytest.mark.parametrize(("version", "kind", "spec", "rule"), GANGS.values(), ids=GANGS)
def test_objects_that_make_gangs_of_their_own_pods_are_read(server: Server, version: str, kind: str, spec: object, rule: str) -> None:
    group, _, number = version.partition("/")
    before = lint()
    server.answers |= {
        f"/apis/{group}": {"versions": [{"version": number}]},
        f"/apis/{version}": {"resources": [{"name": f"{kind.lower()}s"}]},
    }
    metadata = {"name": "torch"} if kind.startswith("Cluster") else {"name": "torch", "namespace": "team"}
    server.lists[f"/apis/{version}/{kind.lower()}s"] = (version, f"{kind}List", [{"metadata": metadata, "spec": spec}])
    answer = lint("--format", "json")
    (finding,) = (each for each in json.loads(answer.stdout)["findings"] if each["document"]["name"] == "torch")
    place = "cluster" if kind.startswith("Cluster") else "cluster/team"

    assert rule == finding["rule"]
    assert f"{place}/{'VolcanoJob' if kind == 'Job' else kind}/torch" == finding["file"]
    # Without its kind, the cluster is read as before.
    assert ("", 1) == (before.stderr, before.exit_code)


def test_a_job_of_volcano_is_none_of_kubernetes(server: Server) -> None:
    version, kind, spec, rule = GANGS["a Job of Volcano"]
    server.answers |= {
        "/apis/batch.volcano.sh": {"versions": [{"version": "v1alpha1"}]},
        "/apis/batch.volcano.sh/v1alpha1": {"resources": [{"name": "jobs"}]},
        "/apis/batch": {"versions": [{"version": "v1"}]},
        "/apis/batch/v1": {"resources": [{"name": "jobs"}]},
    }
    server.lists[f"/apis/{version}/jobs"] = (version, f"{kind}List", [named("train") | {"spec": spec}])
    server.lists["/apis/batch/v1/jobs"] = ("batch/v1", "JobList", [named("train") | {"spec": {"parallelism": 2}}])
    answer = json.loads(lint("--format", "json").stdout)

    assert [("cluster/team/VolcanoJob/train", rule)] == [
        (each["file"], each["rule"]) for each in answer["findings"] if each["document"]["name"] == "train"
    ]
    assert 9 == answer["summary"]["documents"]
    server.broken[f"/apis/{version}/jobs"] = 403, {"message": "jobs.batch.volcano.sh is forbidden"}
    assert (2, True) == ((found := lint()).exit_code & 2, "jobs" in found.stderr)


def test_references_of_files_are_looked_up_in_the_cluster(server: Server) -> None:
    Path("pod.yaml").write_text(POD, encoding="utf-8")
    answer = lint("pod.yaml")
    assert (answer.exit_code, "pod.yaml:4:26: error scheduling-group-exists" in answer.stdout) == (1, True)
    server.lists[f"{SCHEDULING}/v1beta1/podgroups"][2].append(named("workers") | GROUP)
    answer = lint("pod.yaml")
    assert (answer.exit_code, answer.stdout) == (0, "no findings in 1 document of 1 file\n")


def test_a_kind_without_objects_is_known_to_have_none(server: Server) -> None:
    server.lists[f"{SCHEDULING}/v1beta1/podgroups"] = ("scheduling.k8s.io/v1beta1", "PodGroupList", [])
    Path("pod.yaml").write_text(POD, encoding="utf-8")
    assert lint("pod.yaml").exit_code == 1
    assert CliRunner().invoke(cli.main, ["lint", "pod.yaml"]).exit_code == 0


def test_a_resource_that_cannot_be_listed_is_unknown_and_status_2(server: Server) -> None:
    server.broken[f"{SCHEDULING}/v1beta1/podgroups"] = 403, {"message": "podgroups is forbidden"}
    answer = lint()
    assert (answer.exit_code, answer.stdout) == (2, "no findings in 5 objects of the cluster\n")
    assert answer.stderr.endswith(" lint: podgroups cannot be listed: HTTP 403: podgroups is forbidden\n")


def test_pods_that_cannot_be_listed_are_one_line(server: Server) -> None:
    server.broken["/api/v1/pods"] = 403, {"message": "pods is forbidden"}
    answer = lint()
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert "pods cannot be listed: HTTP 403: pods is forbidden" in answer.stderr


def metrics(**gates: bool) -> bytes:
    lines = [f'kubernetes_feature_enabled{{name="{name}",stage="ALPHA"}} {int(on)}' for name, on in gates.items()]
    return "\n".join(["# TYPE kubernetes_feature_enabled gauge", *lines, 'other{name="X"} 1', ""]).encode()


def effective(*arguments: str) -> dict[str, bool]:
    text = lint("--show-config", *arguments).stdout
    return {name: value == "true" for name, value in re.findall(r"^  (\w+): (true|false)$", text, re.MULTILINE)}


def test_gates_auto_reads_those_of_the_api_server(server: Server) -> None:
    on = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True, "CompositePodGroup": False, "WorkloadWithJob": True}
    server.broken["/metrics"] = 200, metrics(**on, OtherGate=True)
    assert effective("--gates", "auto") == on | {"PodGroupPreemptionPolicy": False, "DRAWorkloadResourceClaims": False}
    assert effective("--gates", "auto,CompositePodGroup=true")["CompositePodGroup"]
    assert set(effective("--gates", "auto")) < set(NEEDS)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((403, {"message": "forbidden"}), "--gates auto: /metrics of the API server cannot be read: HTTP 403: forbidden; give the gates"),
        ((200, b"up 1\n"), "--gates auto: /metrics of the API server has no kubernetes_feature_enabled; give the gates"),
        ((200, metrics(CompositePodGroup=True)), "no API server starts with CompositePodGroup on"),
    ],
)
def test_gates_that_cannot_be_read_are_one_line(server: Server, answer: tuple[int, Any], told: str) -> None:
    server.broken["/metrics"] = answer
    result = lint("--gates", "auto")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert told in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--gates", "auto", "."], "--gates auto needs --cluster"),
        (["--kubeconfig", "x", "."], "--kubeconfig and --context need --cluster"),
        (["--cluster", "--fix", "."], "--fix excludes --helm, --kustomize and --cluster"),
        (["--cluster", "--against", "HEAD"], "--against needs PATH"),
        (["--cluster", "--helm"], "--helm and --kustomize need PATH"),
        (["--helm", "--fix", "."], "--fix excludes --helm, --kustomize and --cluster"),
        (["--kustomize", "--fix", "."], "--fix excludes --helm, --kustomize and --cluster"),
        (["--cluster", "--kubeconfig", "nowhere"], "there is no cluster to read"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(cli.main, ["lint", *arguments])
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert told in answer.stderr
