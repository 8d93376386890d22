"""Answers of k8s.io/dynamic-resource-allocation/cel, the package with which kube-scheduler evaluates device selectors.

``python -m tests.cluster.selectors`` evaluates the cases of ``tests/cases/device-selectors.json`` with it and records its answers.  To add
cases, add lines with an expression and a device, and run it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cluster import programs
from tests.cluster.programs import MODULE, MissingError

CASES = Path(__file__).parent.parent / "cases" / "device-selectors.json"
SOURCE = MODULE / "selectors" / "main.go"
RECORDED = "by `python -m tests.cluster.selectors`: answers of k8s.io/dynamic-resource-allocation/cel"


def build() -> Path:
    """Return the program, built into the cache of the control plane's programs unless it exists.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    content = b"".join(path.read_bytes() for path in (MODULE / "go.mod", MODULE / "go.sum", SOURCE))
    target = programs.cached().parent / f"selectors-{hashlib.sha256(content).hexdigest()[:12]}"
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        raise MissingError("go must be installed to build the judge of device selectors")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as scratch:
        created = Path(scratch) / "selectors"
        command = [go, "build", "-trimpath", "-buildvcs=false", "-o", str(created), "./selectors"]
        done = subprocess.run(command, cwd=MODULE, env={**os.environ, "CGO_ENABLED": "0"}, stdout=sys.stderr, check=False)
        if done.returncode:
            raise MissingError(f"go build in {MODULE} failed with exit status {done.returncode}")
        created.rename(target)
    return target


def judge(program: Path, devices: dict[str, Any], cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer to each case: ``matches`` and ``cost``, or ``compileError``, or ``evaluationError``."""
    queries = [{"expression": case["expression"], "device": devices[case["device"]]} for case in cases]
    done = subprocess.run([program], input=json.dumps(queries), capture_output=True, text=True, check=True, timeout=300)
    answers = json.loads(done.stdout)
    for answer in answers:
        if "evaluationError" in answer:
            # An evaluation that fails has no cost that matters.
            answer.pop("cost", None)
    return answers


def main() -> None:
    """Record the answers."""
    recorded = json.loads(CASES.read_text(encoding="utf-8"))
    cases = [{"device": case["device"], "expression": case["expression"]} for case in recorded["cases"]]
    answers = judge(build(), recorded["devices"], cases)
    devices = ",\n".join(f"{json.dumps(name)}: {json.dumps(device, ensure_ascii=False)}" for name, device in recorded["devices"].items())
    lines = ",\n".join(json.dumps({**case, **answer}, ensure_ascii=False) for case, answer in zip(cases, answers, strict=True))
    CASES.write_text(f'{{"recorded": {json.dumps(RECORDED)},\n"devices": {{\n{devices}\n}}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(cases)} cases recorded")


if __name__ == "__main__":
    main()
