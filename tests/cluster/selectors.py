"""Answers of k8s.io/dynamic-resource-allocation/cel, the package with which kube-scheduler evaluates device selectors.

``python -m tests.cluster.selectors`` evaluates the cases of ``tests/cases/device-selectors.json`` with it and records its answers.  To add
cases, add lines with an expression and a device, and run it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.cluster import programs

CASES = Path(__file__).parent.parent / "cases" / "device-selectors.json"
RECORDED = "by `python -m tests.cluster.selectors`: answers of k8s.io/dynamic-resource-allocation/cel"


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
    answers = judge(programs.build_judge(), recorded["devices"], cases)
    devices = ",\n".join(f"{json.dumps(name)}: {json.dumps(device, ensure_ascii=False)}" for name, device in recorded["devices"].items())
    lines = ",\n".join(json.dumps({**case, **answer}, ensure_ascii=False) for case, answer in zip(cases, answers, strict=True))
    CASES.write_text(f'{{"recorded": {json.dumps(RECORDED)},\n"devices": {{\n{devices}\n}}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(cases)} cases recorded")


if __name__ == "__main__":
    main()
