"""``muster lint`` of kinds that create pods: positions, fixes, severities, and the count of what is not judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster.cli import main

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  paralellism: 2
  template:
    spec:
      restartPolicy: Always
      containers: [{name: main, image: registry.example/train:1}]
"""


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lint", "--no-config", *arguments])


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


def test_findings_have_the_place_of_the_field(job: Path) -> None:
    answer = lint("--format", "json", str(job))
    findings = json.loads(answer.stdout)["findings"]
    assert answer.exit_code == 1
    assert [("schema-unknown-field", 5, 3), ("built-in-values", 8, 7)] == [
        (each["rule"], each["line"], each["column"]) for each in findings
    ]
    assert findings[0]["fix"]["title"] == "rename to 'parallelism'"


def test_a_misspelt_field_is_renamed(job: Path) -> None:
    answer = lint("--fix", str(job))
    assert "parallelism: 2" in job.read_text()
    assert "1 error in 1 document" in answer.stdout


def test_rules_are_selected_as_the_others(job: Path) -> None:
    assert lint("--select", "built-in-values", str(job)).stdout.count("error ") == 1 + 1
    assert lint("--ignore", "built-in-values", "--rule", "schema-unknown-field=warning", str(job)).exit_code == 0


def test_several_processes_report_the_same(job: Path) -> None:
    for number in range(4):
        (job.parent / f"{number}.yaml").write_text(JOB + "---\n" + JOB.replace("paralellism", "parallelism"))
    one, two = (lint("--format", "json", "--jobs", jobs, str(job.parent)).stdout for jobs in ("1", "2"))
    assert one == two
    assert json.loads(one)["summary"]["errors"] == 4 * 3 + 2


def test_documents_that_are_not_judged_are_counted_by_kind(tmp_path: Path) -> None:
    kinds = ["ConfigMap", *["Service"] * 3, "Secret", "Role", "RoleBinding", "Ingress", "Endpoints"]
    texts = [f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a{number}}}\n" for number, kind in enumerate(kinds)]
    texts.append("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: k}\n")
    (tmp_path / "a.yaml").write_text("---\n".join(texts))
    answer = lint(str(tmp_path))
    assert answer.stdout == (
        "no findings in 10 documents of 1 file; 10 documents of other kinds not judged "
        "(4 Service, 1 ConfigMap, 1 Endpoints, 1 Ingress, 1 Role, 2 of 2 other kinds)\n"
    )
    summary = json.loads(lint("--format", "json", str(tmp_path)).stdout)["summary"]
    assert summary["foreign"] == sum(summary["foreignKinds"].values()) == 10
    assert summary["foreignKinds"]["Service.serving.knative.dev"] == 1


def test_a_rule_about_the_same_field_has_precedence(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
        "  containers: [{name: main, image: i, resources: {claims: [{name: other}]}}]\n"
    )
    assert "pod-resource-claims" in (first := lint(str(path)).stdout)
    assert "built-in-values" not in first
    assert "built-in-values" in lint("--ignore", "pod-resource-claims", str(path)).stdout
