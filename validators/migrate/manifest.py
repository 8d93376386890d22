"""Migration of the text of one file: edits for all objects, and verification of the result."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi.decode import Json
from validators.lint import documents, yaml_text
from validators.lint.documents import Document, Unreadable
from validators.lint.places import Chunk, Fault
from validators.migrate import insert, migrate_object, rewrite
from validators.migrate.change import Change, Parts, Replace, below
from validators.migrate.object_changes import ObjectMigration
from validators.migrate.outcome import File, Refused, Spot
from validators.migrate.text_edits import CannotEdit, Page, TextReplacement, edited

_BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"^---", re.MULTILINE)
_TEMPLATE = re.compile(r"^[ \t]*#[ \t]*\{\{-?[ \t]*(?:if|range|with|else|end|define|block|template|include)\b", re.MULTILINE)
_HEAD = ("apiVersion",)


class CannotMigrate(Exception):
    """File that cannot be migrated, with the position of the reason."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def migrated(file: File, objects: Sequence[ObjectMigration], to: str) -> bytes:
    """Return the bytes of a readable file after all changes of its *objects*.

    All text that does not change is preserved byte for byte.

    Raises:
        CannotMigrate: the text cannot be changed in pieces, or the result is not the intended one.

    """
    if not any(each.changes or each.made or each.is_removed for each in objects):
        return file.before
    whole = file.before.decode("utf-8")
    text = whole.removeprefix(_BOM)
    line_end = _LINE_END.search(text)
    newline = line_end[0] if line_end else "\n"
    marked = not file.name.lower().endswith(".json") and _MARKER.search(text) is not None
    edits: list[TextReplacement] = []
    for chunk, members in _by_chunk(objects):
        edits += (
            TextReplacement(chunk.base + each.start, chunk.base + each.end, each.text)
            for each in _edits(chunk, members, newline=newline, marked=marked, to=to)
        )
    try:
        after = edited(text, edits)
    except CannotEdit as error:
        raise _error(next(each for each in objects if each.changes), str(error)) from None
    content = (whole[: len(whole) - len(text)] + after).encode()
    _compare(documents.parse(file.name, content), list(_expected(objects)), objects)
    return content


def _by_chunk(objects: Iterable[ObjectMigration]) -> Iterator[tuple[Chunk, list[ObjectMigration]]]:
    for _, members in itertools.groupby(objects, key=lambda each: id(each.document.chunk)):
        listed = list(members)
        yield listed[0].document.chunk, listed


def _edits(chunk: Chunk, objects: Sequence[ObjectMigration], *, newline: str, marked: bool, to: str) -> list[TextReplacement]:
    """Return the edits of one chunk, with offsets in its text."""
    changed = [each for each in objects if each.changes]
    with_groups = [each for each in objects if each.made]
    removed = [each for each in objects if each.is_removed]
    if not (changed or with_groups or removed):
        return []
    first = (changed or with_groups or removed)[0]
    if template := _TEMPLATE.search(chunk.text):
        raise _error_at(first, chunk, template.start(), "this looks like a template: render it first, and migrate the result")
    if removed:
        return [TextReplacement(0, len(chunk.text), "")]
    page = Page(chunk.text, chunk.root, is_json=chunk.is_json, newline=newline)
    edits: list[TextReplacement] = []
    for each in changed:
        try:
            edits += rewrite.edits(page, _placed(page, each, to))
        except CannotEdit as error:
            raise _error(each, str(error)) from None
    if chunk.is_json:
        edits += (insert.values(page, each.document.route, _contents(each), marked=marked) for each in with_groups)
    elif with_groups:
        edits.append(insert.documents(page, [content for each in with_groups for content in _contents(each)]))
    return edits


def _contents(migration: ObjectMigration) -> list[Mapping[str, Json]]:
    return [group.content for group in migration.made if group.content is not None]


def _placed(page: Page, migration: ObjectMigration, to: str) -> Iterator[Change]:
    """Yield the changes of an object with paths from the root of its page.

    An item of a list without an apiVersion takes it from the list, where it is changed.
    """
    route = migration.document.route
    has_head = rewrite.find(page.root, (*route, *_HEAD)) is not None
    yield from (below(route, each) for each in migration.changes if has_head or each.path != _HEAD)
    for length in range(0, len(route), 2):
        at = (*route[:length], *_HEAD)
        api_version, kind = _scalar(page, at), _scalar(page, (*route[:length], "kind")).removesuffix("List")
        if migrate_object.is_replaced(api_version, kind, to):
            yield Replace(at, migrate_object.target_of(api_version, kind, to))


def _scalar(page: Page, path: Parts) -> str:
    """Return the string at *path*; empty if there is no plain string."""
    place = rewrite.value_at(page.root, path)
    if place is None or place.inside is not None or place.alias:
        return ""
    try:
        value = yaml_text.values(page.text[place.start : place.end])
    except Fault:
        return ""
    return value[0] if value and isinstance(value[0], str) else ""


def _expected(objects: Iterable[ObjectMigration]) -> Iterator[tuple[ObjectMigration, Mapping[str, Json]]]:
    """Yield all expected objects of the file in order, each with the object from which it results."""
    for chunk, members in _by_chunk(objects):
        following: list[tuple[ObjectMigration, Mapping[str, Json]]] = []
        page = Page(chunk.text, chunk.root, is_json=chunk.is_json, newline="") if any(each.made for each in members) else None
        for each in members:
            if each.is_removed:
                continue
            yield each, each.migrated_content()
            made = [(each, content) for content in _contents(each)]
            if page is not None and made and insert.is_in_list(page, each.document.route):
                yield from made
            else:
                following += made
        yield from following


def _compare(
    after: documents.Manifest, expected: Sequence[tuple[ObjectMigration, Mapping[str, Json]]], objects: Sequence[ObjectMigration]
) -> None:
    results = [part for part in after.parts if isinstance(part, Document)]
    for (origin, content), result in zip(expected, results, strict=False):
        if content != result.content:
            raise _error(origin, "an anchor or alias shares this text with a field that must not change in the same way")
    unreadable = [part for part in after.parts if isinstance(part, Unreadable)]
    if unreadable or len(results) != len(expected):
        reason = unreadable[0].message if unreadable else "the result would have different objects"
        raise _error(next((each for each in objects if each.changes), objects[0]), reason)


def _error(migration: ObjectMigration, reason: str) -> CannotMigrate:
    message = (
        f"cannot be rewritten in its own text: {reason}; write this object out in plain block style, without anchors, and migrate again"
    )
    return CannotMigrate(Refused(migration.spot(()), message))


def _error_at(migration: ObjectMigration, chunk: Chunk, offset: int, message: str) -> CannotMigrate:
    line, column = chunk.lines.position(chunk.base + offset)
    return CannotMigrate(Refused(Spot(migration.document.file, line, column, migration.subject), message))
