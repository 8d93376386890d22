"""One file before and after: the edits of all its objects, and the proof that they came to what was meant."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from validators.lint import documents, yaml_text
from validators.lint.documents import Document, Unreadable
from validators.lint.places import Chunk, Fault
from validators.migrate import insert, migrate_object, rewrite
from validators.migrate.change import Change, Parts, Replace, below
from validators.migrate.held import Held
from validators.migrate.outcome import File, Refused, Spot
from validators.migrate.page import CannotEdit, Edit, Page, edited
from validators.model.decode import Json

_BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"^---", re.MULTILINE)
_TEMPLATE = re.compile(r"^[ \t]*#[ \t]*\{\{-?[ \t]*(?:if|range|with|else|end|define|block|template|include)\b", re.MULTILINE)
_HEAD = ("apiVersion",)


class Unfit(Exception):
    """A file that cannot be migrated, and where that shows."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def migrated(file: File, held: Sequence[Held], to: str) -> bytes:
    """The bytes of a readable file, with the objects *held* in it, after all of their changes.

    Whatever does not change keeps its bytes.  Without changes all do.

    Raises:
        Unfit: the text cannot be changed piece by piece, or what comes of it is not what was meant.

    """
    if not any(each.changes or each.made for each in held):
        return file.before
    whole = file.before.decode("utf-8")
    text = whole.removeprefix(_BOM)
    found = _LINE_END.search(text)
    newline = found[0] if found else "\n"
    marked = not file.name.lower().endswith(".json") and _MARKER.search(text) is not None
    edits: list[Edit] = []
    for chunk, members in _by_chunk(held):
        edits += (
            Edit(chunk.base + each.start, chunk.base + each.end, each.text)
            for each in _edits(chunk, members, newline=newline, marked=marked, to=to)
        )
    try:
        after = edited(text, edits)
    except CannotEdit as error:
        raise _unfit(next(each for each in held if each.changes), str(error)) from None
    content = (whole[: len(whole) - len(text)] + after).encode()
    _compare(documents.parse(file.name, content), list(_expected(held)), held)
    return content


def _by_chunk(held: Iterable[Held]) -> Iterator[tuple[Chunk, list[Held]]]:
    for _, members in itertools.groupby(held, key=lambda each: id(each.document.chunk)):
        listed = list(members)
        yield listed[0].document.chunk, listed


def _edits(chunk: Chunk, held: Sequence[Held], *, newline: str, marked: bool, to: str) -> list[Edit]:
    """The edits of one chunk, by the offsets of its text."""
    changed = [each for each in held if each.changes]
    makers = [each for each in held if each.made]
    if not changed and not makers:
        return []
    first = (changed or makers)[0]
    if template := _TEMPLATE.search(chunk.text):
        raise _unfit_at(first, chunk, template.start(), "this looks like a template: render it first, and migrate what comes of it")
    page = Page(chunk.text, chunk.root, is_json=chunk.is_json, newline=newline)
    found: list[Edit] = []
    for each in changed:
        try:
            found += rewrite.edits(page, _placed(page, each, to))
        except CannotEdit as error:
            raise _unfit(each, str(error)) from None
    if chunk.is_json:
        found += (insert.values(page, each.document.route, _contents(each), marked=marked) for each in makers)
    elif makers:
        found.append(insert.documents(page, [content for each in makers for content in _contents(each)]))
    return found


def _contents(held: Held) -> list[Mapping[str, Json]]:
    return [group.content for group in held.made if group.content is not None]


def _placed(page: Page, held: Held, to: str) -> Iterator[Change]:
    """The changes of an object by paths from the root of its page; what it takes from the list that it is in changes there."""
    route = held.document.route
    has_head = rewrite.find(page.root, (*route, *_HEAD)) is not None
    yield from (below(route, each) for each in held.changes if has_head or each.path != _HEAD)
    for length in range(0, len(route), 2):
        at = (*route[:length], *_HEAD)
        api_version, kind = _scalar(page, at), _scalar(page, (*route[:length], "kind")).removesuffix("List")
        if migrate_object.is_retired(api_version, kind):
            yield Replace(at, migrate_object.target_of(api_version, kind, to))


def _scalar(page: Page, path: Parts) -> str:
    """The text that stands at *path*; empty where it is no plain text."""
    place = rewrite.value_at(page.root, path)
    if place is None or place.inside is not None or place.alias:
        return ""
    try:
        value = yaml_text.values(page.text[place.start : place.end])
    except Fault:
        return ""
    return value[0] if value and isinstance(value[0], str) else ""


def _expected(held: Iterable[Held]) -> Iterator[tuple[Held, Mapping[str, Json]]]:
    """Every object that the file should have, in its order, beside the one that it comes of."""
    for chunk, members in _by_chunk(held):
        behind: list[tuple[Held, Mapping[str, Json]]] = []
        page = Page(chunk.text, chunk.root, is_json=chunk.is_json, newline="") if any(each.made for each in members) else None
        for each in members:
            yield each, each.migrated_content()
            made = [(each, content) for content in _contents(each)]
            if page is not None and made and insert.is_in_list(page, each.document.route):
                yield from made
            else:
                behind += made
        yield from behind


def _compare(after: documents.Manifest, expected: Sequence[tuple[Held, Mapping[str, Json]]], held: Sequence[Held]) -> None:
    found = [part for part in after.parts if isinstance(part, Document)]
    for (origin, want), got in zip(expected, found, strict=False):
        if want != got.content:
            raise _unfit(origin, "a text here is shared, by an anchor or an alias, with what must not change alike")
    lost = [part for part in after.parts if isinstance(part, Unreadable)]
    if lost or len(found) != len(expected):
        why = lost[0].message if lost else "objects would become others"
        raise _unfit(next((each for each in held if each.changes), held[0]), why)


def _unfit(held: Held, why: str) -> Unfit:
    message = f"cannot be rewritten in its own text: {why}; write this object out in plain block style, without anchors, and migrate again"
    return Unfit(Refused(held.spot(()), message))


def _unfit_at(held: Held, chunk: Chunk, offset: int, message: str) -> Unfit:
    line, column = chunk.lines.position(chunk.base + offset)
    return Unfit(Refused(Spot(held.document.file, line, column, held.subject), message))
