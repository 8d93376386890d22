"""The difference of two answers: the changed lines with their places, and the command that printed them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

MOST_LINES = 40
"""Maximum number of lines that are shown of one answer."""
_CONTEXT = 2
_WIDTH = 160
"""Characters that are shown of a line."""
_COMMAND = "$ muster "


def difference(name: str, before: str | None, after: str | None, *, most: int = MOST_LINES) -> Iterator[str]:
    """Yield the lines that show how an answer has changed.

    Args:
        name: name of the answer.
        before: the recorded text; None: there is none.
        after: the text now; None: there is none.
        most: maximum number of lines of the difference.

    """
    if before is None or after is None:
        yield f"=== {name}: {'is new' if before is None else 'is no longer created'}"
        return
    yield f"=== {name}"
    old, new = before.splitlines(), after.splitlines()
    start = _equal_items(old, new)
    shown = 0
    for tag, first, last, second, end in difflib.SequenceMatcher(None, old[start:], new[start:]).get_opcodes():
        if tag == "equal":
            continue
        lines = [
            *_headings(new, second + start),
            *(f"  {_clipped(line)}" for line in new[max(0, second + start - _CONTEXT) : second + start]),
            *_changed(old[first + start : last + start], new[second + start : end + start]),
        ]
        yield from lines[: most - shown]
        shown += len(lines)
        if shown >= most:
            yield f"  ... and more: {name} alone is shown in full"
            return


def _equal_items(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the number of equal items at the begin of both."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((number for number, (old, new) in pairs if old != new), min(len(before), len(after)))


def _headings(lines: Sequence[str], place: int) -> Iterator[str]:
    """Yield the number of the line, and the command above it."""
    above = (line for line in reversed(lines[: place + 1]) if line.startswith(_COMMAND))
    yield f"@@ line {place + 1}{f': {each}' if (each := next(above, '')) else ''}"


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the lines before, and the lines after; two lines of one place are clipped where they differ."""
    starts = [max(0, _equal_items(before, after) - _WIDTH // 2) for before, after in zip(old, new, strict=False)]
    for sign, lines in (("-", old), ("+", new)):
        for number, line in enumerate(lines):
            yield f"{sign} {_clipped(line, starts[number] if number < len(starts) else 0)}"


def _clipped(line: str, start: int = 0) -> str:
    """Return the part of *line* from *start*; lines of pages can have a megabyte."""
    if len(line) <= _WIDTH:
        return line
    return f"{'...' if start else ''}{line[start : start + _WIDTH]}{'...' if start + _WIDTH < len(line) else ''}"
