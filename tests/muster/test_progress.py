"""Progress of long work on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import tempfile
import termios
from pathlib import Path

import pytest

from muster.commands import progress
from tests.forked import ForkedProcess
from tests.muster.simulated import node, pod
from tests.muster.test_snapshot_cluster import api  # noqa: F401 - a fixture

CODE = "import sys; from muster.commands import progress; progress._FIRST_SECONDS = progress._PERIOD_SECONDS = 0.0; from muster.cli import main; main()"
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train, resources: {requests: {cpu: "1"}}}]
"""
WIDE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 9,
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "main", "image": "web", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "DELETE", "kind": {}}}
COMMANDS = {
    "simulate": (["simulate", "cluster.json", "job.yaml"], "root decided"),
    "fit": (["fit", "job.yaml", "--objects", "cluster.json"], "root decided"),
    "fit, with a change": (["fit", "wide.json", "--objects", "cluster.json"], "searching for a change that helps"),
    "topology": (["topology", "--objects", "cluster.json"], "reading nodes and pods"),
    "snapshot": (["snapshot", "cluster.json"], "selecting fields"),
    "lint": (["lint", "job.yaml"], "reading files"),
    "lint --fix": (["lint", "job.yaml", "--fix", "--diff"], "validating"),
    "tree": (["tree", "job.yaml"], "validating"),
    "compile": (["compile", "job.yaml"], "compiling"),
    "migrate": (["migrate", "job.yaml"], "reading files"),
    "review": (["review", "reviews.jsonl"], "reviews.jsonl"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), pod("p", on="n1")]}))
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "wide.json").write_text(json.dumps(WIDE))
    (tmp_path / "reviews.jsonl").write_text(json.dumps(REVIEW) + "\n")


def run(arguments, *, terminal=True, columns=100, **variables):
    """Standard output and standard error of a command whose standard error is a terminal."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **variables}
    with tempfile.TemporaryFile() as output:
        with os.fdopen(theirs, "wb", buffering=0) as error:
            process = ForkedProcess(arguments, output, error, environ=environment, folder=Path.cwd(), program=CODE)
        written = b""
        try:
            while content := os.read(ours, 65536):
                written += content
        except OSError:
            # The other side of a terminal is closed.
            pass
        os.close(ours)
        process.wait(60)
        output.seek(0)
        return output.read().decode(), written.decode()


def screen(written):
    """The lines that remain on the terminal."""
    lines = [""]
    for part in written.replace("\r\n", "\n").split("\n"):
        line = ""
        for text in part.split("\r"):
            line = text + line[len(text) :]
        lines.append(line.rstrip())
    return [line for line in lines if line]


@pytest.mark.parametrize("name", COMMANDS)
def test_progress_is_printed_on_a_terminal_and_removed(name):
    arguments, text = COMMANDS[name]
    _, written = run(arguments)
    assert f"muster {arguments[0]}: " in written
    assert text in written
    assert not any(text in line and "muster" in line for line in screen(written))


LIVE = ("--kubeconfig", "config")
LIVE_COMMANDS = {
    "snapshot": ["snapshot", *LIVE],
    "fit": ["fit", "job.yaml", "--cluster", *LIVE],
    "topology": ["topology", "--cluster", *LIVE],
    "why": ["why", "pod/p", "-n", "default", *LIVE],
    "lint": ["lint", "--cluster", *LIVE],
    "doctor": ["doctor", "--cluster", *LIVE],
}


@pytest.mark.parametrize("name", LIVE_COMMANDS)
def test_reading_a_live_cluster_is_shown_and_removed(name, api):  # noqa: F811 - the fixture
    api.answers["/api/v1/namespaces/default/pods/p"] = pod("p")
    _, written = run(LIVE_COMMANDS[name])
    assert f"muster {name}: " in written
    assert "reading the cluster" in written
    assert not any("reading the cluster" in line for line in screen(written))


def test_progress_of_the_demo_is_removed():
    _, written = run(["demo"])
    assert "muster simulate: " in written
    assert not any("decided" in line for line in screen(written))


def test_bar_shows_the_share_that_is_done(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_PERIOD_SECONDS", 0.0)
    shown = progress.Progress("lint")
    assert [*shown.over("abcd", 4, "validating")] == ["a", "b", "c", "d"]
    shown.end()
    lines = capsys.readouterr().err.split("\r")
    assert [line.rstrip() for line in lines if "validating" in line] == [
        f"muster lint: validating  [{'#' * full}{'-' * (30 - full)}]  {percent:>3}%"
        for full, percent in ((0, 0), (7, 25), (15, 50), (22, 75))
    ]
    assert not lines[-2].strip()


@pytest.mark.parametrize(
    ("terminal", "variables"), [pytest.param(True, {"TERM": "dumb"}, id="dumb terminal"), pytest.param(False, {}, id="no terminal")]
)
def test_nothing_is_printed_where_no_line_can_be_removed(terminal, variables):
    output, written = run(COMMANDS["topology"][0], terminal=terminal, **variables)
    assert output
    assert written == ""


def test_line_has_no_colour_and_is_cut_at_the_edge_of_the_terminal():
    _, written = run(COMMANDS["topology"][0], columns=20, NO_COLOR="1")
    assert "muster topology" in written
    assert "\x1b" not in written
    assert all(len(line) < 20 for line in written.split("\r"))
    assert screen(written) == []
