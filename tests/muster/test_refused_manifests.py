"""Manifests that the API server refuses are no success of ``muster fit``; those that it accepts are judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from tests.cluster.manifest_verdicts import MANIFESTS, recorded
from tests.muster.simulated import node

ANSWERS = recorded()
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-x-0", "namespace": "default"}}
CLUSTER = [node("n1"), node("n2"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}]
NO_STORAGE = {"a StatefulSet with claims": 1, "a block device of a claim": 1}
"""Valid manifests that do not fit in this cluster."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text("\n".join(map(json.dumps, CLUSTER)), encoding="utf-8")
    return tmp_path


def fit(text: str, name: str = "mine.json") -> tuple[int, str]:
    Path(name).write_text(text, encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["fit", name, "--objects", "cluster.json"])
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, answer.stdout


@pytest.mark.parametrize("name", MANIFESTS)
def test_exit_status_is_that_of_the_api_servers_answer(name):
    status, text = fit(json.dumps(MANIFESTS[name]))
    if ANSWERS[name]:
        assert status in {1, 2}
        assert "mine.json:1" in text or status == 2
    else:
        assert NO_STORAGE.get(name, 0) == status, text


MANIFEST = """\
# two objects
apiVersion: batch/v1
kind: Job
metadata: {name: first}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: i}
---
apiVersion: batch/v1
kind: Job
metadata: {name: second}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: i
        volumeMounts:
        - {name: data, mountPath: /data}
      volumes:
      - {name: date, emptyDir: {}}
"""


def test_the_message_has_file_line_field_and_what_is_allowed():
    status, text = fit(MANIFEST, "jobs.yaml")
    want = (
        '✗ does not fit: 1 of 2 objects ✗ Job second: spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data": the volumes of '
        "the pod are date (jobs.yaml:23); the nodes have capacity"
    )
    assert (1, True) == (status, " ".join(text.split()).startswith(want)), text


def test_a_misspelt_field_is_reported_with_the_similar_one():
    status, text = fit(MANIFEST.replace("volumeMounts:", "volumeMount:"), "jobs.yaml")
    want = (
        'unknown field "spec.template.spec.containers[0].volumeMount"; did you mean "volumeMounts"? (jobs.yaml:22); the nodes have capacity'
    )
    assert (1, True) == (status, f"✗ Job second: strict decoding error: {want}" in " ".join(text.split())), text
