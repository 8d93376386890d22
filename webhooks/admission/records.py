"""Records of AdmissionReviews in a text: JSON Lines, one JSON document, a JSON list, or YAML documents.

A record that is read from a list or from YAML is written as JSON with all values that it has, also those that no API server reads, such as
half of a surrogate pair: then only that record is answered with an error.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator

LARGEST_TEXT = 256 * 1024 * 1024
"""Bytes of a file, or of standard input."""
LARGEST_RECORD = 64 * 1024 * 1024
"""Bytes of a record, and of a list or a YAML file, which is parsed as a whole.  The largest request of an API server has about 7 MB."""
_BOM = b"\xef\xbb\xbf"
_TOO_LARGE = "must be at most {:,} bytes"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
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
    if len(text) > LARGEST_TEXT:
        yield Record(b"", 1, error=f"{_TOO_LARGE.format(LARGEST_TEXT)}; split the file")
        return
    text = text.removeprefix(_BOM)
    if _is_yaml(text, named=yaml):
        yield from _of_yaml(text)
        return
    lines = _lines(text)
    begin = [*itertools.islice(lines, 2)]
    lines = itertools.chain(begin, lines)
    if len(begin) > 1 and not _is_json(begin[0][1]):
        whole = _of_document(text, begin[0][0])
        yield from whole or (_of_line(line, number) for number, line in lines)
        return
    for number, line in lines:
        listed = _of_document(line, number) if line.startswith(b"[") else []
        yield from listed or [_of_line(line, number)]


def _is_yaml(text: bytes, *, named: bool) -> bool:
    if named:
        return not text.lstrip(b" \t\r\n").startswith((b"{", b"["))
    return _BEGINS_JSON.search(text) is None and _BEGINS_MAPPING.search(text) is not None


def _of_yaml(text: bytes) -> Iterator[Record]:
    """Yield the documents of a YAML stream, and the items of a document that is a list."""
    from validators.lint import yaml_stream, yaml_text
    from validators.lint.places import Fault, Lines

    if len(text) > LARGEST_RECORD:
        yield Record(b"", 1, error=f"{_TOO_LARGE.format(LARGEST_RECORD)} of YAML; split the file")
        return
    try:
        whole = text.decode("utf-8")
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
    """Return the records of one JSON document; none if *text* is not JSON, or too large."""
    if len(text) > LARGEST_RECORD:
        return []
    try:
        content = json.loads(text)
        return [*_items(content, line)] if isinstance(content, list) else [Record(text, line)]
    except (ValueError, RecursionError):
        return []


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers; one after another, because a text can have millions."""
    for number, match in enumerate(_LINE.finditer(text), start=1):
        if line := match.group().strip():
            yield number, line


def _of_line(line: bytes, number: int) -> Record:
    return Record(line, number) if len(line) <= LARGEST_RECORD else Record(b"", number, error=_TOO_LARGE.format(LARGEST_RECORD))


def _items(content: object, line: int) -> Iterator[Record]:
    if isinstance(content, list):
        yield from (Record(json.dumps(each).encode(), line, number) for number, each in enumerate(content, start=1))
    else:
        yield Record(json.dumps(content).encode(), line)


def _is_json(line: bytes) -> bool:
    if len(line) > LARGEST_RECORD:
        return True  # a line by itself, which is refused
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
