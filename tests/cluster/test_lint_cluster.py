"""``muster lint --cluster`` on a real API server: its objects, as it completes them, and its feature gates."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from muster import cli
from tests.cluster.api import Api

GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "workers"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
}
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: train, namespace: {namespace}}}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      schedulingGroup: {{podGroupName: {group}}}
      containers: [{{name: main, image: train}}]
"""


def lint(api: Api, *arguments: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(cli.main, ["lint", "--no-config", "--cluster", "--kubeconfig", str(api.kubeconfig), *arguments])
    return answer.exit_code, answer.stdout, answer.stderr


def test_objects_of_the_cluster_are_looked_up_and_linted(api: Api, namespace: str, tmp_path: Path) -> None:
    api.create({**GROUP, "metadata": {"name": "workers", "namespace": namespace}})
    _, text, problems = lint(api)
    # Other tests may have objects in other namespaces.
    assert (f"namespace {namespace}\n" in text, problems) == (False, ""), text
    file = tmp_path / "job.yaml"
    file.write_text(JOB.format(namespace=namespace, group="workers"), encoding="utf-8")
    assert lint(api, str(file))[0] == 0
    file.write_text(JOB.format(namespace=namespace, group="others"), encoding="utf-8")
    status, text, _ = lint(api, str(file))
    assert (status, "job.yaml:9:25: error scheduling-group-exists" in text) == (1, True), text


def test_gates_are_those_of_the_api_server(api: Api) -> None:
    status, text, problems = lint(api, "--gates", "auto", "--show-config")
    assert (status, problems) == (0, "")
    assert "GenericWorkload: true" in text
    assert "WorkloadBasicPolicyDesiredCount" not in text
