"""The first questions of three people, each answered by a command in an empty home: the words that answer are in the first lines."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NODES = ("--nodes", "32 x cpu=192,memory=2Ti,nvidia.com/gpu=8 in 4 racks")
JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm}
spec:
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec:
        parallelism: 16
        completions: 16
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: train
              image: registry.example.com/train
              resources: {requests: {cpu: 64, memory: 512Gi}, limits: {nvidia.com/gpu: 8}}
"""
RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: tune}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: rayproject/ray, resources: {requests: {cpu: 8, memory: 32Gi}}}]}}
  workerGroupSpecs:
  - groupName: gpu
    replicas: 20
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: worker
          image: rayproject/ray
          resources: {requests: {cpu: 100, memory: 256Gi}, limits: {nvidia.com/gpu: 8}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  paralellism: 4
  template: {spec: {restartPolicy: Always, containers: [{name: c, image: registry.example.com/train}]}}
"""
RETIRED = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: workers}
spec: {schedulingPolicy: {gang: {minCount: 4}}}
"""
FILES = {"llm.yaml": JOBSET, "tune.yaml": RAY, "repository/train.yaml": JOB, "repository/groups/workers.yaml": RETIRED}


@dataclasses.dataclass(frozen=True)
class Question:
    """A command, its exit status, and texts of its first ten lines."""

    arguments: tuple[str, ...]
    status: int
    answer: tuple[str, ...]


PEOPLE = {
    "ML engineer": (
        Question(("fit", "llm.yaml", *NODES), 0, ("✓ fits: JobSet llm: 16 pods on 16 nodes: node-001 to node-016",)),
        Question(
            ("fit", "llm.yaml", "--gang", "--topology", "rack", *NODES),
            1,
            ("✗ does not fit: JobSet llm", "in any rack", "the smallest change that helps: "),
        ),
        Question(
            ("fit", "llm.yaml", "tune.yaml", *NODES),
            1,
            (
                "✗ does not fit: 1 of 2 objects",
                "the smallest change with which all fit: 4 more nodes like node-001",
                "✗ RayCluster tune",
                "✓ JobSet llm",
            ),
        ),
    ),
    "platform engineer": (
        Question(("topology", "rack", *NODES), 0, ("rack-1 8 ", "0 of 64", "nvidia.com/gpu")),
        Question(
            ("fit", "llm.yaml", "tune.yaml", *NODES, "--drain", "rack=rack-2", "--add-nodes", "12 like node-001"), 0, ("✓ fits: 2 objects",)
        ),
        Question(("doctor", str(ROOT / "deploy" / "install.yaml")), 0, ("no findings",)),
    ),
    "owner of a repository": (
        Question(
            ("lint", "repository"),
            1,
            ("train.yaml:6", "unknown field", "did you mean 'parallelism'", "restartPolicy", "workers.yaml:2"),
        ),
        Question(("lint", "repository", "--fix"), 1, ("train.yaml",)),
        Question(("migrate", "repository/groups"), 0, ("apiVersion: scheduling.k8s.io/v1beta1",)),
    ),
}


@pytest.mark.parametrize("questions", PEOPLE.values(), ids=PEOPLE)
def test_answers_are_found_in_three_commands(questions: tuple[Question, ...], folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    assert len(questions) <= 3
    for question in questions:
        answer = asked(question.arguments, home)
        said = " ".join(" ".join(answer.stdout.splitlines()[:10]).split())
        assert (question.status, []) == (answer.returncode, [each for each in question.answer if each not in said]), (
            answer.stdout + answer.stderr
        )
        assert "Traceback" not in answer.stderr
    assert [] == [*home.iterdir()]


def asked(arguments: tuple[str, ...], home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "muster", *arguments], env=environment, capture_output=True, text=True, check=False)
