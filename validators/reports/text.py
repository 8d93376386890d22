"""Report as text: findings by file, each with its line, and a summary."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from validators.lint.finding import NOT_KUBERNETES, Finding, Report
from validators.reports import counts
from validators.reports.escape import printable
from validators.rules.base import Severity

_MAX_WIDTH = 160
_TAB = "\t"
_Paint = Callable[..., str]
_BOLD, _RED, _YELLOW, _BLUE = "1", "31", "33", "34"


def render(report: Report) -> str:
    """Return ``file:line:column: severity rule: field: message`` for each finding, with the underlined line below it."""
    return _rendered(report, _plain)


def render_in_colour(report: Report) -> str:
    """Return the same with terminal escapes for colours."""
    return _rendered(report, _coloured)


def _plain(text: str, *_: str) -> str:
    return text


def _coloured(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if text else text


def _rendered(report: Report, paint: _Paint) -> str:
    lines: list[str] = []
    for _, findings in itertools.groupby(counts.shown_findings(report), key=lambda each: each.file):
        for each in findings:
            lines += _finding_lines(each, paint)
        lines.append("")
    if line := counts.counted_line(report):
        lines += [f"{paint(Severity.WARNING, _YELLOW, _BOLD)} {paint(NOT_KUBERNETES, _YELLOW)}: {line}", ""]
    lines.append(paint(counts.in_words(report.summary), _BOLD))
    return "\n".join(lines) + "\n"


def _finding_lines(finding: Finding, paint: _Paint) -> Iterator[str]:
    colour = _RED if finding.severity is Severity.ERROR else _YELLOW
    place = f"{printable(finding.file)}:{finding.span.line}:{finding.span.column}:"
    field = f"{printable(finding.field)}: " if finding.field else ""
    head = f"{paint(place, _BOLD)} {paint(finding.severity, colour, _BOLD)} {paint(finding.rule, colour)}:"
    yield f"{head} {field}{printable(finding.message)}"
    yield from _excerpt(finding, paint, colour)


def _excerpt(finding: Finding, paint: _Paint, colour: str) -> Iterator[str]:
    """Yield the line and carets below the span; nothing if the line is blank or the span is beyond the shown part."""
    source = finding.source.rstrip()
    if not source or finding.span.column > _MAX_WIDTH or finding.span.column > len(source) + 1:
        return
    shown = source[:_MAX_WIDTH] + ("…" if len(source) > _MAX_WIDTH else "")
    before, marked = finding.span.column - 1, finding.span.end_column - finding.span.column
    marked = max(1, min(marked, len(shown) - before))
    margin = " " * (len(str(finding.span.line)) + 2)
    yield f"{paint(f'  {finding.span.line} |', _BLUE)} {printable(shown.replace(_TAB, ' '))}"
    yield f"{paint(f'{margin} |', _BLUE)} {' ' * before}{paint('^' * marked, colour)}"
