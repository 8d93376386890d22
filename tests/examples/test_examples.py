"""Programs in examples/, run with their output compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
ON_A_CLUSTER = {"kopf_trainer.py"}
"""Programs that tests/cluster runs."""


@pytest.mark.parametrize(
    ("program", "want"),
    [
        ("judge_an_object.py", "error spec.compositePodGroupTemplates[0].podGroupTemplates[1].name: Duplicate value"),
        ("build_a_workload.py", '"parentCompositePodGroupName": "llm-786599795-run-'),
        ("place_groups.py", "4 GPUs per pod: UnschedulableAndUnresolvable\n  would help: topology constraint example.com/rack of"),
        (
            "expand_a_job.py",
            "4 pods: Pod train-0, Pod train-1, Pod train-2, Pod train-3, PodGroup train-job-root, Workload train\n  refused: ",
        ),
        ("answer_a_review.py", "must specify exactly one of: `basic`, `gang` [muster: policy-union]"),
    ],
)
def test_runs(program: str, want: str) -> None:
    run = subprocess.run([sys.executable, str(EXAMPLES / program)], capture_output=True, text=True, check=False, cwd=EXAMPLES.parent)

    assert (run.returncode, run.stderr) == (0, "")
    assert want in run.stdout


def test_every_example_is_run() -> None:
    here = {"judge_an_object.py", "answer_a_review.py", "build_a_workload.py", "expand_a_job.py", "place_groups.py"}
    assert here | ON_A_CLUSTER == {path.name for path in EXAMPLES.glob("*.py")}
