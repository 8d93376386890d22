"""Records of AdmissionReviews in a text: JSON Lines, one JSON document, a JSON list, or YAML documents."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator

from validators.model import decode

_BEGINS_JSON = re.compile(rb"^[ \t]*[{\[]", re.MULTILINE)
_BEGINS_MAPPING = re.compile(rb"""^(?:---[ \t]*)?["']?[A-Za-z]+["']?[ \t]*:(?:[ \t\r\n]|$)""", re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Attributes:
        text: the record as JSON; empty if it is not readable.
        line: line of the text on which it begins, or on which the error is, counted from 1.
        number: its position in a list, counted from 1; 0 if it is in none.
        error: why it is not readable; empty if it is.

    """

    text: bytes
    line: int
    number: int = 0
    error: str = ""

    def place(self, file: str) -> str:
        """Return the place of the record in *file*, for messages."""
        return f"{file}:{self.line}" + (f": record {self.number}" if self.number else "")


def records(text: bytes, *, yaml: bool = False) -> Iterator[Record]:
    """Yield the records in *text*.  If *yaml*, the text is YAML unless it begins as JSON; without it, if no line begins as JSON."""
    if _is_yaml(text, named=yaml):
        yield from _of_yaml(text)
        return
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > 1 and not _is_json(lines[0][1]):
        whole = _of_document(text, lines[0][0])
        yield from whole or (Record(line, number) for number, line in lines)
        return
    for number, line in lines:
        listed = _of_document(line, number) if line.lstrip().startswith(b"[") else []
        yield from listed or [Record(line, number)]


def _is_yaml(text: bytes, *, named: bool) -> bool:
    if named:
        return not text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))
    return _BEGINS_JSON.search(text) is None and _BEGINS_MAPPING.search(text) is not None


def _of_yaml(text: bytes) -> Iterator[Record]:
    """Yield the documents of a YAML stream, and the items of a document that is a list."""
    from validators.lint import yaml_stream, yaml_text
    from validators.lint.places import Fault, Lines

    try:
        whole = text.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        yield Record(b"", text.count(b"\n", 0, error.start) + 1, error="not YAML: must be UTF-8")
        return
    lines = Lines(whole)
    for base, part in yaml_stream.split(whole):
        begin = re.compile(r"(?:---[ \t]*|[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*").match(part)
        line = lines.position(base + (begin.end() if begin else 0))[0]
        try:
            values = [value for value in yaml_text.values(part) if value is not None]
        except Fault as fault:
            yield Record(b"", lines.position(base + fault.offset)[0], error=f"not YAML: {fault.message}")
            continue
        for value in values:
            yield from _items(value, line)


def _of_document(text: bytes, line: int) -> list[Record]:
    """Return the records of one JSON document; none if *text* is not JSON."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [*_items(content, line)] if isinstance(content, list) else [Record(text, line)]


def _items(content: object, line: int) -> Iterator[Record]:
    if isinstance(content, list):
        yield from (Record(decode.encode(each), line, number) for number, each in enumerate(content, start=1))
    else:
        yield Record(decode.encode(content), line)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
