"""Manifests that a program has rendered, with positions in its output.

Helm writes the template of each document as a comment; the document is named after it.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable

from kubeapi.field_path import FieldPath
from kubeapi.meta import replaced
from validators.lint import documents
from validators.lint.comments import Comment
from validators.lint.documents import Document, FilePart, Manifest
from validators.lint.places import Lines

_SOURCE = re.compile(r"^# Source: ([^\r\n]+)$", re.MULTILINE)

_OBJECT = FieldPath()


def name(path: str) -> str:
    """Return the name of a rendered file or folder."""
    return f"{path} (rendered)"


def split(output: bytes, whole: str, path_of: Callable[[str], str]) -> list[Manifest]:
    """Return the documents in *output* as one file for each template; *path_of* returns the path of a template.

    Text that is not below the comment of a template belongs to the file *whole*.
    """
    parsed, text = documents.parse(whole, output), output.decode("utf-8", "replace")
    lines = Lines(text)
    sources = [(lines.position(match.start())[0], match[1]) for match in _SOURCE.finditer(text)]
    starts = [line for line, _ in sources]

    def file_at(line: int) -> str:
        number = bisect.bisect_right(starts, line)
        return name(path_of(sources[number - 1][1])) if number else name(whole)

    parts: dict[str, list[FilePart]] = {}
    for part in parsed.parts:
        file = file_at(_line(part))
        parts.setdefault(file, []).append(replaced(part, file=file))
    comments: dict[str, list[Comment]] = {}
    for comment in parsed.comments:
        comments.setdefault(file_at(comment.line), []).append(comment)
    return [Manifest(file, tuple(listed), tuple(comments.get(file, ()))) for file, listed in parts.items()]


def _line(part: FilePart) -> int:
    return part.span(_OBJECT).line if isinstance(part, Document) else part.line
