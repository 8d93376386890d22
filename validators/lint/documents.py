"""The bytes of one file to the Kubernetes objects in it, each with the place of every field.

YAML is read as kubectl reads it, one document at a time, so that one that cannot be read takes no other with it.  What
is right about an object is not asked here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator

from validators.field import FieldPath, Part
from validators.lint import yaml_text
from validators.lint.comments import Comment, comments_in
from validators.lint.limits import LARGEST_FILE
from validators.lint.places import Chunk, Fault, Lines, Span

_MARKER = re.compile(r"(?<![^\r\n])\ufeff?(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_DIRECTIVES = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n]+|%[^\r\n]*[\r\n]+)*")
_JSON_START = re.compile(r"(?:---)?[ \t\r\n]*(?=[{\[])")
_BOM = "\ufeff"


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """One Kubernetes object of a file.  ``index`` counts the objects of the file from 0."""

    file: str
    index: int
    content: dict[str, object]
    chunk: Chunk = dataclasses.field(repr=False, compare=False)
    route: tuple[Part, ...] = ()

    def span(self, path: FieldPath) -> Span:
        """Where the field *path* stands.

        A field is its key, with the value where that is short and on the same line.  An item of a list begins where the
        item does.  For what is missing it is the nearest parent that exists; where that is the object itself, its first
        key.  Below an alias it is the anchored text.
        """
        return self.chunk.span(self.route, path)

    def source(self, line: int) -> str:
        """The text of a line of the file."""
        return self.chunk.lines.text(line)


@dataclasses.dataclass(frozen=True, slots=True)
class Unreadable:
    """A document, or a whole file, that cannot be read."""

    file: str
    line: int
    column: int
    message: str
    source: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class NotKubernetes:
    """A document that is no Kubernetes object, or a file without any document."""

    file: str
    line: int
    column: int
    message: str
    source: str = ""


Found = Document | Unreadable | NotKubernetes


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """One file as it was read: what is in it, in order, and the comments that speak to us."""

    file: str
    parts: tuple[Found, ...]
    comments: tuple[Comment, ...] = ()


def parse(file: str, content: bytes) -> Manifest:
    """Reads one file.  A name that ends in ``.json`` is read as JSON, every other as YAML, in which JSON may stand too."""
    if len(content) > LARGEST_FILE:
        return Manifest(file, (Unreadable(file, 1, 1, f"must be at most {LARGEST_FILE:,} bytes; split the file"),))
    try:
        text = content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix(_BOM)
        line, column = Lines(before).position(len(before))
        message = f"must be UTF-8: byte 0x{content[error.start]:02x} is no part of it; save the file as UTF-8"
        return Manifest(file, (Unreadable(file, line, column, message),))
    return _Reader(file, text).read_json() if file.lower().endswith(".json") else _Reader(file, text).read_yaml()


def split(text: str) -> Iterator[tuple[int, str]]:
    """The documents of a YAML stream by their offsets, empty ones among them: cut at ``---`` and after ``...``.

    Either at the start of a line ends a document, whatever it is in the middle of.  A marker is part of the document it
    begins, and so are directives before it.
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
    """Reads one text and collects what it finds."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._lines = Lines(text)
        self._parts: list[Found] = []
        self._comments: list[Comment] = []
        self._objects = 0

    def read_json(self) -> Manifest:
        """The text as JSON; unreadable as a whole where any of it is."""
        try:
            self._take_json(0, self._text)
        except Fault as fault:
            return Manifest(self._file, (self._unreadable(fault.offset, fault.message),))
        return self._manifest()

    def read_yaml(self) -> Manifest:
        """The text as YAML.  A template of YAML is none: its text is unreadable as a whole."""
        for base, text in split(self._text):
            marked = len(text) - len(text.removeprefix(_BOM))
            try:
                self._take_chunk(base + marked, text[marked:])
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

    def _take_chunk(self, base: int, text: str) -> None:
        start = _JSON_START.match(text)
        if start is not None:
            with contextlib.suppress(Fault):  # YAML's own flow style begins like JSON
                self._take_json(base + start.end(), text[start.end() :])
                return
        found = yaml_text.values(text)
        self._comments += comments_in(text, base, self._lines)
        for number, value in enumerate(found):
            self._take(value, Chunk(self._lines, base, text, functools.partial(yaml_text.survey, number=number)), ())

    def _take_json(self, base: int, text: str) -> None:
        from validators.lint import json_text  # few files are JSON, and start-up time is a feature

        for offset, value in list(json_text.values(text)):
            self._take(value, Chunk(self._lines, base, text, functools.partial(json_text.survey, offset=offset), is_json=True), ())

    def _take(self, value: object, chunk: Chunk, route: tuple[Part, ...]) -> None:
        if value is None and not route:
            return
        if not isinstance(value, dict) or (value.get("apiVersion") is None and value.get("kind") is None):
            span = chunk.span(route, FieldPath())
            source = self._lines.text(span.line)
            message = "must be a Kubernetes object, with apiVersion and kind"
            self._parts.append(NotKubernetes(self._file, span.line, span.column, message, source))
        elif (items := _items(value)) is not None:
            for number, each in enumerate(items):
                self._take(_as_item_of(value, each), chunk, (*route, "items", number))
        else:
            self._parts.append(Document(self._file, self._objects, value, chunk, route))
            self._objects += 1

    def _unreadable(self, offset: int, message: str) -> Unreadable:
        line, column = self._lines.position(min(offset, len(self._text)))
        return Unreadable(self._file, line, column, message, self._lines.text(line))


def _items(value: dict[str, object]) -> list[object] | None:
    """The items of a list of objects; None for anything else."""
    kind, items = value.get("kind"), value.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or value.get("apiVersion") is None:
        return None
    if items is None and kind == "List":
        return []
    return items if isinstance(items, list) else None


def _as_item_of(value: dict[str, object], item: object) -> object:
    """An item of a list that is of one kind may leave out what it is, as in the API server's own answers."""
    kind = str(value["kind"]).removesuffix("List")
    if kind and isinstance(item, dict) and item.get("apiVersion") is None and item.get("kind") is None:
        return {"apiVersion": value["apiVersion"], "kind": kind} | {
            key: each for key, each in item.items() if key not in {"apiVersion", "kind"}
        }
    return item
