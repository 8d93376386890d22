"""Parsing of one file into Kubernetes objects, each with the positions of its fields.

YAML is parsed as kubectl does, one document at a time, so that an unreadable document does not affect the others.
Objects are not validated here.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Mapping

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath, Part
from validators.lint import fast_yaml_places, yaml_stream, yaml_values
from validators.lint.comments import Comment, comments_in
from validators.lint.limits import LARGEST_FILE, Repeats
from validators.lint.places import Chunk, Fault, Lines, Place, Span, StreamPart

_JSON_START = re.compile(r"(?:---)?[ \t\r\n]*(?=[{\[])")
_BOM = "\ufeff"
_TEMPLATE_MARKS = ("{{", "{%")


class Document(Record, frozen=True, eq=False):
    """Kubernetes object of a file.  ``index`` counts the objects of the file from 0."""

    file: str
    index: int
    content: dict[str, object]
    chunk: Chunk
    route: tuple[Part, ...] = ()

    def span(self, path: FieldPath) -> Span:
        """Return the position of the field *path*.

        It covers the key, and also the value if that is a scalar on the same line.  For an item of a list, it covers the item.
        A missing field has the position of its nearest existing parent.  If that is the object itself, the position is that of
        the object's first key.  A field below an alias has the position of the anchored text.
        """
        return self.chunk.span(self.route, path)

    def source(self, line: int) -> str:
        """Return the first characters of a line of the file; *line* counts from 1."""
        return self.chunk.lines.excerpt(line)


class NoObject(Record, frozen=True):
    """Part of a file that has no object; ``end_column`` is the column after the last one of the line."""

    file: str
    line: int
    column: int
    message: str
    source: str = ""
    end_column: int = 1


class Unreadable(NoObject, frozen=True):
    """Document, or whole file, that cannot be read."""


class NotKubernetes(NoObject, frozen=True):
    """Document that is not a Kubernetes object, or file without documents."""


class Start(Record, frozen=True):
    """Begin of a part of a file: its offset in characters, its line, the number of its first object, and the values repeated before it."""

    offset: int = 0
    line: int = 1
    index: int = 0
    repeated: int = 0


_NO_LINES = Lines("")
_NOWHERE = Place(0, 0, 0, 0)

FilePart = Document | Unreadable | NotKubernetes


class Manifest(Record, frozen=True):
    """Content of one file, in order, and its comments for the linter."""

    file: str
    parts: tuple[FilePart, ...]
    comments: tuple[Comment, ...] = ()
    as_whole: bool = False
    """True if the only part is an error of the whole file."""
    has_template_marks: bool = False
    """True if the text has marks of templates, which a manifest can have too, in strings."""
    is_discovered: bool = False
    """True if the user did not name the file: it was discovered below a directory."""
    tool: str = ""
    """Other tool to which the file belongs by its content, so that it is skipped and has no parts; see ``tool_content``."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """The objects."""
        return tuple(part for part in self.parts if isinstance(part, Document))


def parse(file: str, content: bytes, parsed: yaml_values.ParsedTexts | None = None) -> Manifest:
    """Parse one file: as JSON if its name ends in ``.json``, else as YAML, which may contain JSON.

    *parsed* has the documents of the last version of the file; its methods are called instead of parsing them again.
    """
    if len(content) > LARGEST_FILE:
        return too_large(file)
    text = decoded(file, content, Start())
    if isinstance(text, Manifest):
        return text
    reader = _Reader(file, text, Start(), parsed)
    return reader.read_json() if is_json(file) else reader.read_yaml()


def parse_part(file: str, text: str, start: Start, next_line: str) -> tuple[Manifest, Start]:
    """Parse a part of a YAML file; return its documents, and where the next part begins.

    Parts must be cut where ``yaml_stream.split`` cuts.  A part can be empty.  An error at its end is on *next_line*, the first of the next part.
    """
    reader = _Reader(file, text, start, None, next_line)
    manifest = reader.read_yaml(may_be_empty=True)
    line = start.line + reader.lines.count - 1
    return manifest, Start(start.offset + len(text), line, start.index + reader.objects, reader.repeats.count)


def objects_in(file: str, text: str, start: Start, parts: Mapping[int, int]) -> dict[int, Document]:
    """Return the objects of some *parts* of a file, by their number in the file; *text* begins at *start*.

    *parts* has the offset of each StreamPart with the number of its first object.
    """
    reader = _Reader(file, text, start, None)
    manifest = reader.read_json() if is_json(file) else reader.read_yaml(only=parts)
    return {document.index: document for document in manifest.documents}


def is_json(file: str) -> bool:
    """Return whether a file is read as JSON."""
    return file.lower().endswith(".json")


def without_documents(file: str) -> NotKubernetes:
    """Return the result for a file without documents."""
    return NotKubernetes(file, 1, 1, "must hold a Kubernetes object; the file has no document")


def too_large(file: str) -> Manifest:
    """Return the result for a file that is too large."""
    return Manifest(file, (Unreadable(file, 1, 1, f"must be at most {LARGEST_FILE:,} bytes; split the file"),), as_whole=True)


def decoded(file: str, content: bytes, start: Start) -> str | Manifest:
    """Return the text of *content*, which begins at *start*, or the result for a file that is not UTF-8."""
    mark = "" if start.offset else _BOM
    try:
        return content.decode("utf-8").removeprefix(mark)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix(mark)
        line, column = Lines(before, start.line).position(len(before))
        message = f"must be UTF-8: byte 0x{content[error.start]:02x} is invalid; save the file as UTF-8"
        return Manifest(file, (Unreadable(file, line, column, message),), as_whole=True)


def without_text() -> Chunk:
    """Return the chunk of a document that is in no file: all its fields are at line 1, column 1."""
    return Chunk(_NO_LINES, 0, "", lambda _: _NOWHERE)


class _Reader:
    """Reader of one text; collects its parts."""

    def __init__(self, file: str, text: str, start: Start, parsed: yaml_values.ParsedTexts | None, next_line: str = "") -> None:
        self._file = file
        self._text = text
        self._start = start
        self._parsed = parsed
        self.lines = Lines(text + next_line, start.line, start.offset)
        self._parts: list[FilePart] = []
        self._comments: list[Comment] = []
        self._has_marks = any(mark in text for mark in _TEMPLATE_MARKS)
        self.objects = 0
        self.repeats = Repeats(start.repeated)
        self._part = StreamPart(start.offset, start.index)

    def read_json(self) -> Manifest:
        """Return the text as JSON; one error makes the whole text unreadable."""
        try:
            self._add_json(0, self._text)
        except Fault as fault:
            return self._of_parts((self._unreadable(fault.offset, fault.message),), as_whole=True)
        return self._manifest()

    def read_yaml(self, *, may_be_empty: bool = False, only: Mapping[int, int] | None = None) -> Manifest:
        """Return the text as YAML.  A template, such as a file of a Helm chart, is unreadable as a whole.

        With *only*, return the parts at these offsets, with the numbers of their first objects.
        """
        for within, text in yaml_stream.split(self._text):
            marked = 1 if text.startswith(_BOM) else 0
            base = within + self._start.offset + marked
            if only is not None:
                if base not in only:
                    continue
                self.objects = only[base] - self._start.index
            self._part = StreamPart(base, self._start.index + self.objects)
            try:
                self._add_chunk(base, text[marked:] if marked else text)
            except Fault as fault:
                if "{{" in text:
                    hint = "; this looks like a template: render it first"
                    return self._of_parts((self._unreadable(base + fault.offset, fault.message + hint),), as_whole=True)
                self._parts.append(self._unreadable(base + fault.offset, fault.message))
        return self._manifest(may_be_empty=may_be_empty)

    def _manifest(self, *, may_be_empty: bool = False) -> Manifest:
        if not self._parts and not may_be_empty:
            self._parts.append(without_documents(self._file))
        return self._of_parts(self._parts)

    def _of_parts(self, parts: Iterable[FilePart], *, as_whole: bool = False) -> Manifest:
        comments = () if as_whole else tuple(self._comments)
        return Manifest(self._file, tuple(parts), comments, as_whole=as_whole, has_template_marks=self._has_marks)

    def _add_chunk(self, base: int, text: str) -> None:
        start = _JSON_START.match(text)
        if start is not None:
            with contextlib.suppress(Fault):  # not JSON: YAML in flow style begins like JSON
                self._add_json(base + start.end(), text[start.end() :])
                return
        parser = self._parsed or yaml_values
        values, is_usual = (self._parsed.values(text), False) if self._parsed else yaml_values.read(text, self.repeats)
        if "#" in text and "muster:" in text:  # the search for one character is many times as fast
            self._comments += comments_in(text, base, self.lines)
        for number, value in enumerate(values):
            survey = functools.partial(parser.survey, number=number)
            self._add(value, Chunk(self.lines, base, text, survey, part=self._part, find=fast_yaml_places.extent if is_usual else None), ())

    def _add_json(self, base: int, text: str) -> None:
        from validators.lint import json_text  # imported on demand: few files are JSON, and start-up must be fast

        for offset, value in list(json_text.values(text)):
            survey = functools.partial(json_text.survey, offset=offset)
            self._add(value, Chunk(self.lines, base, text, survey, part=self._part, is_json=True), ())

    def _add(self, value: object, chunk: Chunk, route: tuple[Part, ...]) -> None:
        if value is None and not route:
            return
        if not isinstance(value, dict) or (value.get("apiVersion") is None and value.get("kind") is None):
            span = chunk.span(route, FieldPath())
            message = "must be a Kubernetes object, with apiVersion and kind"
            self._parts.append(NotKubernetes(self._file, span.line, span.column, message, *self._excerpt_and_end(span.line)))
        elif (items := _items(value)) is not None:
            for number, each in enumerate(items):
                self._add(_as_item_of(value, each), chunk, (*route, "items", number))
        else:
            self._parts.append(Document(self._file, self._start.index + self.objects, value, chunk, route))
            self.objects += 1

    def _unreadable(self, offset: int, message: str) -> Unreadable:
        line, column = self.lines.position(min(offset, self._start.offset + len(self._text)))
        return Unreadable(self._file, line, column, message, *self._excerpt_and_end(line))

    def _excerpt_and_end(self, line: int) -> tuple[str, int]:
        return self.lines.excerpt(line), self.lines.end_column(line)


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
