"""Comments of a YAML document that are meant for the linter.

Only ``# muster: ignore…`` is matched here; ``suppress`` parses it.
"""

from __future__ import annotations

import bisect
import re

from kubeapi.base_structs import Record
from validators.lint.places import Lines

_IGNORE = r"#[ \t]*(muster:[ \t]*ignore\b[^\r\n]*)"


class Comment(Record, frozen=True):
    """Text of a comment from ``muster:`` on, in the document that begins at offset ``base`` of its file."""

    line: int
    column: int
    text: str
    alone: bool
    """True if the line has only the comment."""
    base: int
    source: str
    """The first characters of the line."""


def comments_in(text: str, base: int, lines: Lines) -> list[Comment]:
    """Return the comments in one readable document, which begins at offset *base* of its file.

    A ``#`` inside a scalar does not begin a comment.
    """
    matches = list(re.finditer(_IGNORE, text)) if "muster:" in text else []
    if not matches:
        return []
    from validators.lint import yaml_text  # imported on demand: start-up must be fast

    extents = list(yaml_text.scalar_extents(text))
    ends = [end for _, end in extents]
    comments: list[Comment] = []
    for match in matches:
        after = bisect.bisect_right(ends, match.start())
        if after < len(extents) and extents[after][0] <= match.start():
            continue
        line, column = lines.position(base + match.start())
        is_alone = lines.text(line).lstrip(" \t\ufeff").startswith("#")
        comments.append(Comment(line, column, match[1].rstrip(), is_alone, base, lines.excerpt(line)))
    return comments
