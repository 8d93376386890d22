"""Positions of the protocol and of the linter.

The protocol counts lines from 0, and columns in code units, usually of UTF-16.  The linter counts lines from 1, and columns
from 1 in characters.
"""

from __future__ import annotations

from lsprotocol import types
from pygls.workspace import PositionCodec

from validators.lint.finding import Finding
from validators.lint.places import Lines, Span
from validators.rules.base import Severity

_SEVERITIES = {Severity.ERROR: types.DiagnosticSeverity.Error, Severity.WARNING: types.DiagnosticSeverity.Warning}


class Positions:
    """Conversion of positions in one text."""

    def __init__(self, lines: Lines, codec: PositionCodec) -> None:
        self._lines = lines
        self._codec = codec

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
        return types.Position(line - 1, self._codec.client_num_units(self._lines.text(line)[: column - 1]))


def diagnostic(finding: Finding, codec: PositionCodec) -> types.Diagnostic:
    """Return a finding for the editor; ``source`` of the finding is the text of its line."""
    line, source = finding.span.line - 1, finding.source
    start, end = (codec.client_num_units(source[: column - 1]) for column in (finding.span.column, finding.span.end_column))
    return types.Diagnostic(
        range=types.Range(types.Position(line, start), types.Position(line, end)),
        message=f"{finding.field}: {finding.message}" if finding.field else finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.rule,
        source="muster",
    )
