"""Parsing of one file into Kubernetes objects, each with the positions of its fields.

YAML is parsed as kubectl does, one document at a time, so that an unreadable document does not affect the others.
Objects are not validated here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator

from validators.field import FieldPath, Part
from validators.lint import fast_yaml
from validators.lint.comments import Comment, comments_in
from validators.lint.limits import LARGEST_FILE
from validators.lint.places import Chunk, Fault, Lines, Place, Span

_MARKER = re.compile(r"(?<![^\r\n])\ufeff?(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_DIRECTIVES = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n]+|%[^\r\n]*[\r\n]+)*")
_JSON_START = re.compile(r"(?:---)?[ \t\r\n]*(?=[{\[])")
_BOM = "\ufeff"


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """Kubernetes object of a file.  ``index`` counts the objects of the file from 0."""

    file: str
    index: int
    content: dict[str, object]
    chunk: Chunk = dataclasses.field(repr=False, compare=False)
    route: tuple[Part, ...] = ()

    def span(self, path: FieldPath) -> Span:
        """Return the position of the field *path*.

        It covers the key, and also the value if that is a scalar on the same line.  For an item of a list, it covers the item.
        A missing field has the position of its nearest existing parent.  If that is the object itself, the position is that of
        the object's first key.  A field below an alias has the position of the anchored text.
        """
        return self.chunk.span(self.route, path)

    def source(self, line: int) -> str:
        """Return the text of a line of the file; *line* counts from 1."""
        return self.chunk.lines.text(line)


@dataclasses.dataclass(frozen=True, slots=True)
class Unreadable:
    """Document, or whole file, that cannot be read."""

    file: str
    line: int
    column: int
    message: str
    source: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class NotKubernetes:
    """Document that is not a Kubernetes object, or file without documents."""

    file: str
    line: int
    column: int
    message: str
    source: str = ""


_NO_LINES = Lines("")
_NOWHERE = Place(0, 0, 0, 0)

FilePart = Document | Unreadable | NotKubernetes


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """Content of one file, in order, and its comments for the linter."""

    file: str
    parts: tuple[FilePart, ...]
    comments: tuple[Comment, ...] = ()


class ParsedTexts:
    """Parsed YAML documents of one file by their text, so that a document whose text did not change is not parsed again.

    It keeps only the documents of the last two versions of the file.
    """

    def __init__(self) -> None:
        self._before: dict[str, _ParsedText] = {}
        self._now: dict[str, _ParsedText] = {}

    def begin(self) -> None:
        """Forget the documents that the last version of the file did not have."""
        self._before, self._now = self._now, {}

    def values(self, text: str) -> list[object]:
        """Return the documents in *text* as JSON-like values; the same objects as for the last version of the file."""
        parsed = self._now.get(text) or self._before.get(text) or _ParsedText(text)
        self._now[text] = parsed
        return parsed.values

    def survey(self, text: str, number: int) -> Place:
        """Return the places of one document in *text*; *number* counts from 0."""
        places = self._now[text].places if text in self._now else {}
        return places.get(number) or places.setdefault(number, _survey(text, number))


class _ParsedText:
    """Values of one text, and the places of the documents in it for which they were needed."""

    __slots__ = ("places", "values")

    def __init__(self, text: str) -> None:
        self.values = _values(text)
        self.places: dict[int, Place] = {}


def _values(text: str) -> list[object]:
    """Return the documents in *text* as JSON-like values."""
    content = fast_yaml.mapping(text)
    if content is not None:
        return [content]
    from validators.lint import yaml_text  # imported on demand: most files need no library with positions, and start-up must be fast

    return yaml_text.values(text)


def _survey(text: str, number: int) -> Place:
    """Return the places of one document in *text*; *number* counts from 0."""
    from validators.lint import yaml_text  # as above

    return yaml_text.survey(text, number)


def parse(file: str, content: bytes, parsed: ParsedTexts | None = None) -> Manifest:
    """Parse one file: as JSON if its name ends in ``.json``, else as YAML, which may contain JSON.

    *parsed* has the documents of the last version of the file; its methods are called instead of parsing them again.
    """
    if len(content) > LARGEST_FILE:
        return Manifest(file, (Unreadable(file, 1, 1, f"must be at most {LARGEST_FILE:,} bytes; split the file"),))
    try:
        text = content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix(_BOM)
        line, column = Lines(before).position(len(before))
        message = f"must be UTF-8: byte 0x{content[error.start]:02x} is invalid; save the file as UTF-8"
        return Manifest(file, (Unreadable(file, line, column, message),))
    reader = _Reader(file, text, parsed)
    return reader.read_json() if file.lower().endswith(".json") else reader.read_yaml()


def without_text() -> Chunk:
    """Return the chunk of a document that is in no file: all its fields are at line 1, column 1."""
    return Chunk(_NO_LINES, 0, "", lambda _: _NOWHERE)


def split(text: str) -> Iterator[tuple[int, str]]:
    """Yield the documents of a YAML stream with their offsets, including empty ones: split at ``---`` and after ``...``.

    Either marker at the start of a line ends a document, even inside a value.  A ``---``, and the directives before it, are
    part of the document that they begin.
    """
    start = 0
    for marker in _MARKER.finditer(text):
        at, is_end = marker.start(), marker.group().endswith(".")
        if is_end:
            yield start, text[start:at]
            start = _after_line(text, marker.end())
        elif at > start:
            head = _DIRECTIVES.match(text, start, at)
            if head is None or head.end() != at or "%" not in head.group():
                yield start, text[start:at]
                start = at
    yield start, text[start:]


def _after_line(text: str, offset: int) -> int:
    rest = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?").match(text, offset)
    return rest.end() if rest else len(text)


class _Reader:
    """Reader of one text; collects its parts."""

    def __init__(self, file: str, text: str, parsed: ParsedTexts | None) -> None:
        self._file = file
        self._text = text
        self._parsed = parsed
        self._lines = Lines(text)
        self._parts: list[FilePart] = []
        self._comments: list[Comment] = []
        self._objects = 0

    def read_json(self) -> Manifest:
        """Return the text as JSON; one error makes the whole text unreadable."""
        try:
            self._add_json(0, self._text)
        except Fault as fault:
            return Manifest(self._file, (self._unreadable(fault.offset, fault.message),))
        return self._manifest()

    def read_yaml(self) -> Manifest:
        """Return the text as YAML.  A template, such as a file of a Helm chart, is unreadable as a whole."""
        for base, text in split(self._text):
            marked = len(text) - len(text.removeprefix(_BOM))
            try:
                self._add_chunk(base + marked, text[marked:])
            except Fault as fault:
                if "{{" in text:
                    hint = "; this looks like a template: render it first"
                    return Manifest(self._file, (self._unreadable(base + marked + fault.offset, fault.message + hint),))
                self._parts.append(self._unreadable(base + marked + fault.offset, fault.message))
        return self._manifest()

    def _manifest(self) -> Manifest:
        if not self._parts:
            self._parts.append(NotKubernetes(self._file, 1, 1, "must hold a Kubernetes object; the file has no document"))
        return Manifest(self._file, tuple(self._parts), tuple(self._comments))

    def _add_chunk(self, base: int, text: str) -> None:
        start = _JSON_START.match(text)
        if start is not None:
            with contextlib.suppress(Fault):  # not JSON: YAML in flow style begins like JSON
                self._add_json(base + start.end(), text[start.end() :])
                return
        read, survey = (_values, _survey) if self._parsed is None else (self._parsed.values, self._parsed.survey)
        values = read(text)
        self._comments += comments_in(text, base, self._lines)
        for number, value in enumerate(values):
            self._add(value, Chunk(self._lines, base, text, functools.partial(survey, number=number)), ())

    def _add_json(self, base: int, text: str) -> None:
        from validators.lint import json_text  # imported on demand: few files are JSON, and start-up must be fast

        for offset, value in list(json_text.values(text)):
            self._add(value, Chunk(self._lines, base, text, functools.partial(json_text.survey, offset=offset), is_json=True), ())

    def _add(self, value: object, chunk: Chunk, route: tuple[Part, ...]) -> None:
        if value is None and not route:
            return
        if not isinstance(value, dict) or (value.get("apiVersion") is None and value.get("kind") is None):
            span = chunk.span(route, FieldPath())
            source = self._lines.text(span.line)
            message = "must be a Kubernetes object, with apiVersion and kind"
            self._parts.append(NotKubernetes(self._file, span.line, span.column, message, source))
        elif (items := _items(value)) is not None:
            for number, each in enumerate(items):
                self._add(_as_item_of(value, each), chunk, (*route, "items", number))
        else:
            self._parts.append(Document(self._file, self._objects, value, chunk, route))
            self._objects += 1

    def _unreadable(self, offset: int, message: str) -> Unreadable:
        line, column = self._lines.position(min(offset, len(self._text)))
        return Unreadable(self._file, line, column, message, self._lines.text(line))


def _items(value: dict[str, object]) -> list[object] | None:
    """Return the items of a list of objects; None for anything else."""
    kind, items = value.get("kind"), value.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or value.get("apiVersion") is None:
        return None
    if items is None and kind == "List":
        return []
    return items if isinstance(items, list) else None


def _as_item_of(value: dict[str, object], item: object) -> object:
    """Return an item with apiVersion and kind: items of a typed list may omit them, as in responses of the API server."""
    kind = str(value["kind"]).removesuffix("List")
    if kind and isinstance(item, dict) and item.get("apiVersion") is None and item.get("kind") is None:
        return {"apiVersion": value["apiVersion"], "kind": kind} | {
            key: each for key, each in item.items() if key not in {"apiVersion", "kind"}
        }
    return item
