"""Finds the comments of a YAML document that speak to the linter.

Only ``# muster: ignore…`` is looked for; what it means is read in ``suppress``.
"""

from __future__ import annotations

import bisect
import dataclasses
import re

from validators.lint import yaml_text
from validators.lint.places import Lines

_SPEAKS = r"#[ \t]*(muster:[ \t]*ignore\b[^\r\n]*)"


@dataclasses.dataclass(frozen=True, slots=True)
class Comment:
    """A comment from ``muster:`` on, in the document that begins at offset ``base`` of its file."""

    line: int
    column: int
    text: str
    alone: bool
    """Whether there is nothing but comment on its line."""
    base: int
    source: str
    """The whole line."""


def comments_in(text: str, base: int, lines: Lines) -> list[Comment]:
    """The comments in one readable document, which begins at offset *base* of its file.

    A ``#`` inside a scalar begins no comment.
    """
    found = list(re.finditer(_SPEAKS, text)) if "muster:" in text else []
    if not found:
        return []
    extents = list(yaml_text.scalar_extents(text))
    ends = [end for _, end in extents]
    kept: list[Comment] = []
    for match in found:
        after = bisect.bisect_right(ends, match.start())
        if after < len(extents) and extents[after][0] <= match.start():
            continue
        line, column = lines.position(base + match.start())
        source = lines.text(line)
        kept.append(Comment(line, column, match[1].rstrip(), source.lstrip(" \t\ufeff").startswith("#"), base, source))
    return kept
