"""Classes that the input of ``muster lint`` lacks: a warning, and an error only if all classes are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.muster.test_lint_cluster import Server, api, server  # noqa: F401 - fixtures
from tests.muster.test_snapshot_cluster import SCHEDULING

PRIORITY_CLASS = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: team-low}
value: 10
"""
DEVICE_CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: team-gpu}
spec: {}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec: {priorityClassName: platform-high, restartPolicy: Never, containers: [{name: a, image: i}]}
"""
WORKLOAD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - {name: a, schedulingPolicy: {basic: {}}, priorityClassName: platform-high}
  - {name: b, schedulingPolicy: {basic: {}}, priorityClassName: platform-high}
"""
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec: {schedulingPolicy: {gang: {minCount: 2}}, priorityClassName: platform-high}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
"""
CLAIM_TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: either}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        firstAvailable: [{name: large, deviceClassName: gpu.example.com}, {name: small, deviceClassName: mig.example.com}]
"""
CASES = {
    "the pods of a Job": (PRIORITY_CLASS, JOB, "priority-class-exists", 1),
    "templates": (PRIORITY_CLASS, WORKLOAD, "priority-class-exists", 2),
    "a group": (PRIORITY_CLASS, GROUP, "priority-class-exists", 1),
    "a claim": (DEVICE_CLASS, CLAIM, "device-class-exists", 1),
    "alternatives of a template of claims": (DEVICE_CLASS, CLAIM_TEMPLATE, "device-class-exists", 2),
}
pytestmark = pytest.mark.usefixtures("folder")


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments, "--format", "json"])


def reported(*arguments: str) -> tuple[int, list[tuple[str, str]]]:
    answer = lint(*arguments)
    return answer.exit_code, [(each["severity"], each["rule"]) for each in json.loads(answer.stdout)["findings"]]


@pytest.mark.parametrize(("one", "user", "rule", "count"), CASES.values(), ids=CASES)
def test_one_class_says_nothing_about_others(one: str, user: str, rule: str, count: int) -> None:
    Path("user.yaml").write_text(user, encoding="utf-8")
    Path("class.yaml").write_text(one, encoding="utf-8")

    assert reported("user.yaml") == (0, [])
    assert reported("user.yaml", "class.yaml") == (0, [("warning", rule)] * count)
    assert reported("user.yaml", "class.yaml", "--rule", f"{rule}=error") == (1, [("error", rule)] * count)


@pytest.mark.parametrize(("one", "user", "rule", "count"), CASES.values(), ids=CASES)
def test_objects_are_all_of_a_cluster(one: str, user: str, rule: str, count: int) -> None:
    Path("user.yaml").write_text(user, encoding="utf-8")
    Path("cluster.yaml").write_text(one, encoding="utf-8")
    wanted = (1, [("error", rule)] * count)

    assert reported("user.yaml", "--objects", "cluster.yaml") == wanted
    Path(".muster.yaml").write_text("objects: [cluster.yaml]\n", encoding="utf-8")
    assert reported("user.yaml") == wanted
    tree = CliRunner().invoke(cli.main, ["tree", "user.yaml", "--objects", "cluster.yaml"])
    assert tree.exit_code == 1


def test_a_class_that_the_cluster_lacks_is_an_error(server: Server) -> None:  # noqa: F811 - the fixture above
    Path("group.yaml").write_text(GROUP, encoding="utf-8")
    arguments = ("group.yaml", "--cluster", "--kubeconfig", "config", "--no-config")
    assert reported(*arguments) == (1, [("error", "priority-class-exists")])
    server.broken[f"{SCHEDULING}/v1/priorityclasses"] = 403, {"message": "forbidden"}
    Path("class.yaml").write_text(PRIORITY_CLASS, encoding="utf-8")
    assert reported(*arguments, "class.yaml") == (2, [("warning", "priority-class-exists")])


def test_the_classes_of_kubernetes_always_exist() -> None:
    Path("cluster.yaml").write_text(PRIORITY_CLASS, encoding="utf-8")
    Path("pod.yaml").write_text(JOB.replace("platform-high", "system-node-critical"), encoding="utf-8")

    assert reported("pod.yaml", "--objects", "cluster.yaml") == (0, [])


def test_namespaced_references_stay_errors() -> None:
    Path("all.yaml").write_text(
        f"{GROUP}---\n{JOB.replace('{priorityClassName: platform-high', '{schedulingGroup: {podGroupName: gone}')}", encoding="utf-8"
    )

    assert reported("all.yaml") == (1, [("error", "scheduling-group-exists")])
