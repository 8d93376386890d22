"""Report as workflow commands of GitHub Actions: findings become annotations on lines of a pull request."""

from __future__ import annotations

from validators.lint.finding import Finding, Report
from validators.reports import counts
from validators.reports.escape import printable
from validators.rules.base import Severity


def render(report: Report) -> str:
    """Return one ``::error …::message`` or ``::warning …::message`` for each finding, and the summary in words."""
    lines = [*map(_command, counts.shown_findings(report)), counts.counted_line(report), counts.in_words(report.summary)]
    return "".join(f"{each}\n" for each in lines if each)


def _command(finding: Finding) -> str:
    command = "error" if finding.severity is Severity.ERROR else "warning"
    field = f"{finding.field}: " if finding.field else ""
    span = finding.span
    properties = {
        "file": finding.file,
        "line": span.line,
        "endLine": span.end_line,
        "col": span.column,
        "endColumn": max(span.column, span.end_column - 1),  # the last column, not the first after it
        "title": f"muster {finding.rule}",
    }
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{command} {listed}::{_message(field + finding.message)}"


def _message(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
