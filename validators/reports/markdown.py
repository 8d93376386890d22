"""A table for a comment on a pull request."""

from __future__ import annotations

from validators.lint.finding import Finding, Report
from validators.reports import counts
from validators.reports.escape import markdown

_MOST_ROWS = 200
"""A comment on GitHub may have 65,536 characters."""


def render(report: Report) -> str:
    """A heading, a sentence and, where there are findings, a table: the first 200 of them."""
    lines = ["### muster lint", "", f"{counts.in_words(report.summary).capitalize()}."]
    if report.findings:
        lines += ["", "| place | severity | rule | field | what |", "|---|---|---|---|---|"]
        lines += [_row(each) for each in report.findings[:_MOST_ROWS]]
    if len(report.findings) > _MOST_ROWS:
        lines += ["", f"{counts.counted(len(report.findings) - _MOST_ROWS, 'further finding')} not shown."]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    place = markdown(f"{finding.file}:{finding.span.line}")
    cells = (place, finding.severity.value, markdown(finding.rule), markdown(finding.field), markdown(finding.message))
    return f"| {' | '.join(cells)} |"
