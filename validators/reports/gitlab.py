"""Report as GitLab code quality: a list of issues, with fingerprints that stay when lines move."""

from __future__ import annotations

from validators.lint.finding import UNREADABLE, Finding, Report
from validators.reports.escape import json_text
from validators.reports.fingerprint import Fingerprints
from validators.rules.base import Severity

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.OFF: "info"}


def render(report: Report) -> str:
    """Return one JSON list."""
    fingerprints = Fingerprints()
    return json_text([_issue(each, fingerprints.next(each)) for each in report.findings], indent=2)


def _issue(finding: Finding, fingerprint: str) -> dict[str, object]:
    field = f"{finding.field}: " if finding.field else ""
    return {
        "description": f"{field}{finding.message}",
        "check_name": finding.rule,
        "fingerprint": fingerprint,
        "severity": "blocker" if finding.rule == UNREADABLE else _SEVERITIES[finding.severity],
        "location": {"path": finding.file.removeprefix("./"), "lines": {"begin": finding.span.line}},
    }
