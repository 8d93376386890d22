"""Folders of manifests with their expected findings, compared as sets of (rule, severity, file, line, field).

A line of null matches any line: the line of a syntax error depends on the parser.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from muster.commands.device_selectors import CompiledSelectors
from validators.lint import files, lint_files
from validators.lint.finding import Report
from validators.rules.base import Settings

CASES = sorted(path.parent for path in (Path(__file__).parent.parent.parent / "cases" / "lint").glob("*/expect.json"))
Told = tuple[str, str, str, int | None, str]


def linted(case: Path) -> Report:
    manifests = files.read_manifests([str(case / "input")], io.BytesIO())
    return lint_files.run(manifests, settings=Settings(linting=True, whole_documents=True, selectors=CompiledSelectors()))


def finding_rows(report: Report, case: Path) -> list[Told]:
    root = case / "input"
    return [
        (each.rule, each.severity.value, Path(each.file).relative_to(root).as_posix(), each.span.line, each.field)
        for each in report.findings
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings(case: Path) -> None:
    want = json.loads((case / "expect.json").read_text(encoding="utf-8"))
    report = linted(case)
    expected = [(each["rule"], each["severity"], each["file"], each["line"], each["field"]) for each in want["findings"]]
    anywhere = {(rule, severity, file, field) for rule, severity, file, line, field in expected if line is None}
    got = {
        (rule, severity, file, None if (rule, severity, file, field) in anywhere else line, field)
        for rule, severity, file, line, field in finding_rows(report, case)
    }

    assert set(expected) == got
    assert want["exit"] == report.exit_status
