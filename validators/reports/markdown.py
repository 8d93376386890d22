"""Report as a Markdown table for a comment on a pull request."""

from __future__ import annotations

from validators.lint.finding import Finding, Report
from validators.reports import counts
from validators.reports.escape import markdown

_MAX_ROWS = 200
"""Limit of rows: a comment on GitHub may have 65,536 characters."""


def render(report: Report) -> str:
    """Return a heading, the summary and, if there are findings, a table of the first 200."""
    lines = ["### muster lint", "", f"{counts.in_words(report.summary).capitalize()}."]
    findings = counts.shown_findings(report)
    if findings:
        lines += ["", "| place | severity | rule | field | message |", "|---|---|---|---|---|"]
        lines += [_row(each) for each in findings[:_MAX_ROWS]]
    if len(findings) > _MAX_ROWS:
        lines += ["", f"{counts.counted(len(findings) - _MAX_ROWS, 'further finding')} not shown."]
    if line := counts.counted_line(report):
        lines += ["", f"{line}."]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    place = markdown(f"{finding.file}:{finding.span.line}")
    cells = (place, finding.severity.value, markdown(finding.rule), markdown(finding.field), markdown(finding.message))
    return f"| {' | '.join(cells)} |"
