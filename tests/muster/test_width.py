"""Every text fits a terminal of 60 to 200 columns; only names, paths and commands to copy are never broken."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster.cli import main

pytestmark = pytest.mark.usefixtures("inputs")

ROOT = Path(__file__).parents[2]
NODES = ("--nodes", "20 x cpu=128,memory=2Ti,nvidia.com/gpu=8 in 4 racks with example.com/hall=north-east-building-2")
COMMANDS = {
    "fit": ("fit", "ray.yaml", *NODES),
    "fit: groups and reasons": ("fit", "ray.yaml", "-v", *NODES),
    "fit: a gang with every pod": ("fit", "ray.yaml", "-vv", "--gang", *NODES),
    "fit: several": ("fit", "ray.yaml", "job.yaml", *NODES),
    "fit: scaled": ("fit", "job.yaml", "--scale", *NODES),
    "fit: not supported": ("fit", "unknown.yaml", *NODES),
    "simulate": ("simulate", "ray.yaml", "job.yaml", *NODES),
    "simulate: every pod": ("simulate", "ray.yaml", "job.yaml", "-v", *NODES),
    "topology": ("topology", "rack", *NODES),
    "topology: levels": ("topology", "rack", "example.com/hall", *NODES),
    "explain: all": ("explain",),
    "explain: a rule": ("explain", "gang-waits-for-later"),
    "explain: a field": ("explain", "PodGroup.spec.schedulingPolicy"),
    "lint": ("lint", "bad.yaml", "ray.yaml", "job.yaml"),
    "doctor": ("doctor", str(ROOT / "deploy" / "install.yaml")),
}
ON_A_TERMINAL = (*((each, "--help") for each in ("lint", "fit", "simulate", "serve", "why")), ("help",), ("lint", "bad.yaml", "ray.yaml"))
MANIFESTS = {
    "ray.yaml": """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: tune-hyperparameters}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: h, image: i, resources: {requests: {cpu: 8}}}]}}}
  workerGroupSpecs:
  - {groupName: cpu, replicas: 10, rayStartParams: {}, template: {spec: {containers: [
      {name: w, image: i, resources: {requests: {cpu: 40, memory: 16Gi}}}]}}}
  - {groupName: gpu, replicas: 30, rayStartParams: {}, template: {spec: {containers: [
      {name: w, image: i, resources: {requests: {cpu: 100, nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}}]}}}
""",
    "job.yaml": """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 9
  completions: 9
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}
""",
    "unknown.yaml": """
apiVersion: example.com/v1
kind: TrainingRun
metadata: {name: big}
spec: {replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}
""",
    "bad.yaml": """
apiVersion: scheduling.k8s.io/v1alpha3
kind: PodGroup
metadata: {name: a}
spec: {schedulingPolicy: {gang: {minCount: 0}}, disruptionMod: {}}
""",
}
UNBROKEN = re.compile(r"^\s*(\S+|command: .*|[\w-]+: .*[\[{].*|[|│].*)$|^ {4,}(muster|--\S+) .*")
"""A word, a command to copy, and a line of a manifest."""


@pytest.fixture
def inputs(folder: Path) -> None:
    for name, text in MANIFESTS.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_lines_fit_the_terminal(arguments: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    answer = CliRunner().invoke(main, [*arguments])
    assert answer.stdout
    assert [] == too_long(answer.stdout, columns)


@pytest.mark.parametrize("arguments", ON_A_TERMINAL, ids=" ".join)
def test_lines_fit_a_terminal_that_is_narrow(arguments: tuple[str, ...]) -> None:
    text = printed_on_a_terminal([sys.executable, "-m", "muster", *arguments], columns=60)
    assert len(text.splitlines()) > 5
    assert [] == too_long(text, 60)


def too_long(text: str, columns: int) -> list[str]:
    return [each for each in text.splitlines() if len(each) > columns and not UNBROKEN.match(each)]


def printed_on_a_terminal(command: Sequence[str], columns: int) -> str:
    """Return what *command* prints, without colours."""
    main_end, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {"TERM": "xterm", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.DEVNULL, env=environment):
        os.close(end)
        parts = bytearray()
        with contextlib.suppress(OSError):  # how Linux reports the end
            while part := os.read(main_end, 65536):
                parts += part
    os.close(main_end)
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", parts.decode("utf-8")).replace("\r\n", "\n")
