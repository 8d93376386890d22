"""Report as text: findings by file, each with its line, and a summary."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterator

from validators.lint.finding import NOT_KUBERNETES, Finding, Report
from validators.reports import counts
from validators.reports.escape import printable
from validators.rules.base import Severity

_MAX_WIDTH = 160
_TAB = "\t"
_Paint = Callable[..., str]
_BOLD, _RED, _YELLOW, _BLUE = "1", "31", "33", "34"


def render(report: Report, columns: int | None = None) -> str:
    """Return ``file:line:column: severity rule: field: message`` for each finding, with the underlined line below it.

    Programs read these lines: they are folded only for a terminal, of *columns*.
    """
    return _rendered(report, _plain, columns)


def render_in_colour(report: Report, columns: int | None = None) -> str:
    """Return the same with terminal escapes for colours."""
    return _rendered(report, _coloured, columns)


def _plain(text: str, *_: str) -> str:
    return text


def _coloured(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if text else text


def _rendered(report: Report, paint: _Paint, columns: int | None) -> str:
    lines: list[str] = []
    for _, findings in itertools.groupby(counts.shown_findings(report), key=lambda each: each.file):
        for each in findings:
            lines += _finding_lines(each, paint, columns)
        lines.append("")
    if line := counts.counted_line(report):
        first, *rest = _folded(f"{Severity.WARNING} {NOT_KUBERNETES}: {line}", columns)
        start = f"{Severity.WARNING} {NOT_KUBERNETES}"
        lines += [f"{paint(Severity.WARNING, _YELLOW, _BOLD)} {paint(NOT_KUBERNETES, _YELLOW)}{first[len(start) :]}", *rest, ""]
    lines += [paint(each, _BOLD) for each in _folded(counts.in_words(report.summary), columns)]
    return "\n".join(lines) + "\n"


def _finding_lines(finding: Finding, paint: _Paint, columns: int | None) -> Iterator[str]:
    colour = _RED if finding.severity is Severity.ERROR else _YELLOW
    place = f"{printable(finding.file)}:{finding.span.line}:{finding.span.column}:"
    field = f"{printable(finding.field)}: " if finding.field else ""
    start = f"{place} {finding.severity} {finding.rule}:"
    lines = _folded(f"{start} {field}{printable(finding.message)}", columns)
    if lines[0].startswith(start):
        head = f"{paint(place, _BOLD)} {paint(finding.severity, colour, _BOLD)} {paint(finding.rule, colour)}:"
        lines[0] = f"{head}{lines[0][len(start) :]}"
    yield from lines
    yield from _excerpt(finding, paint, colour, columns)


def _folded(text: str, columns: int | None) -> list[str]:
    """Return *text* as lines of *columns*, further ones indented; words are not broken."""
    if columns is None:
        return [text]
    return textwrap.wrap(text, columns, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _excerpt(finding: Finding, paint: _Paint, colour: str, columns: int | None) -> Iterator[str]:
    """Yield the line and carets below the span; nothing if the line is blank or the span is beyond the shown part."""
    source = finding.source.rstrip()
    width = _MAX_WIDTH if columns is None else min(_MAX_WIDTH, columns - len(str(finding.span.line)) - len("   | …"))
    if not source or finding.span.column > width or finding.span.column > len(source) + 1:
        return
    shown = source[:width] + ("…" if len(source) > width else "")
    before, marked = finding.span.column - 1, finding.span.end_column - finding.span.column
    marked = max(1, min(marked, len(shown) - before))
    margin = " " * (len(str(finding.span.line)) + 2)
    yield f"{paint(f'  {finding.span.line} |', _BLUE)} {printable(shown.replace(_TAB, ' '))}"
    yield f"{paint(f'{margin} |', _BLUE)} {' ' * before}{paint('^' * marked, colour)}"
