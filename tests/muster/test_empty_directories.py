"""A directory without manifests is reported alike by all commands, also beside a good file."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from muster.cli import main

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '8', pods: '10'}}\n"
WORKLOAD = """apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: w}
spec: {podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}}]}
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train, uid: u}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: train, resources: {requests: {cpu: "1"}}}]}}
"""
COMMANDS = {
    "lint": ["lint", "workload.yaml"],
    "tree": ["tree", "workload.yaml"],
    "compile": ["compile", "job.yaml"],
    "migrate": ["migrate", "workload.yaml"],
    "simulate": ["simulate", "node.yaml"],
    "fit": ["fit", "job.yaml", "--objects", "node.yaml"],
    "snapshot": ["snapshot", "node.yaml"],
    "topology": ["topology", "--objects", "node.yaml"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name, text in (("node", NODE), ("workload", WORKLOAD), ("job", JOB)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")


def run(command, *more):
    return CliRunner().invoke(main, [*COMMANDS[command], *more])


@pytest.mark.parametrize("command", COMMANDS)
def test_empty_directory_beside_a_good_file(command):
    assert run(command).exit_code == 0
    answer = run(command, *(["--objects"] if command == "topology" else []), "empty")
    assert answer.exit_code == 2
    assert "empty" in answer.output
    assert "no .yaml, .yml, .json file" in answer.output.replace("has no", "no")


def test_empty_directory_of_the_cluster_beside_a_good_file():
    answer = run("fit", "--objects", "empty")
    assert answer.exit_code == 2
    assert "empty: has no .yaml, .yml, .json file" in answer.output
