"""Positions of the protocol and of the linter.

The protocol counts lines from 0, and columns in code units, usually of UTF-16.  The linter counts lines from 1, and columns
from 1 in characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec

from validators.lint.documents import Document
from validators.lint.finding import Finding
from validators.lint.places import Lines, Span
from validators.rules.base import Severity

_SEVERITIES = {Severity.ERROR: types.DiagnosticSeverity.Error, Severity.WARNING: types.DiagnosticSeverity.Warning}


class Positions:
    """Conversion of positions in one text."""

    def __init__(self, lines: Lines, codec: PositionCodec) -> None:
        self._lines = lines
        self._codec = codec
        self._last = (0, 1, 0)
        """Line, column and units before the column of the last position: one line can have thousands of findings."""
        self._text = ""
        """Text of that line."""

    def range_of(self, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self._position(span.line, span.column), self._position(span.end_line, span.end_column))

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position in the text; the nearest one if the text has no such position."""
        line = min(position.line + 1, self._lines.count)
        text, units, length = self._lines.text(line), 0, 0
        while length < len(text) and units < position.character:
            units += self._codec.client_num_units(text[length])
            length += 1
        return self._lines.offset(line) + length

    def range_between(self, start: int, end: int) -> types.Range:
        """Return the range between two offsets."""
        return types.Range(self._position(*self._lines.position(start)), self._position(*self._lines.position(end)))

    def _position(self, line: int, column: int) -> types.Position:
        if line != self._last[0]:
            self._last, self._text = (line, 1, 0), self._lines.text(line)
        _, before, units = self._last
        first, last = sorted((before, column))
        between = self._codec.client_num_units(self._text[first - 1 : last - 1])
        units += between if column >= before else -between
        self._last = line, column, units
        return types.Position(line - 1, units)


def diagnostics(findings: Iterable[Finding], documents: Sequence[Document], codec: PositionCodec) -> Iterator[types.Diagnostic]:
    """Yield the findings of one file for the editor; *documents* are those of the file, all of one text."""
    converter = Positions(documents[0].chunk.lines, codec) if documents else None
    for each in findings:
        yield _diagnostic(each, converter.range_of(each.span) if converter else _range_by_excerpt(each, codec))


def _range_by_excerpt(finding: Finding, codec: PositionCodec) -> types.Range:
    """Return the range of a finding of a file without documents; behind the excerpt, each character counts as one unit."""
    line, source = finding.span.line - 1, finding.source
    columns = (finding.span.column, finding.span.end_column)
    start, end = (codec.client_num_units(source[: column - 1]) + max(0, column - 1 - len(source)) for column in columns)
    return types.Range(types.Position(line, start), types.Position(line, end))


def _diagnostic(finding: Finding, shown: types.Range) -> types.Diagnostic:
    return types.Diagnostic(
        range=shown,
        message=f"{finding.field}: {finding.message}" if finding.field else finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.rule,
        source="muster",
    )
