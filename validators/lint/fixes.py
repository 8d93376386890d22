"""Fixes of findings as edits of the text: only the key or the value of a field is replaced.

Comments, order, quotes and anchors stay.  A fix of a value that aliases repeat elsewhere is not safe.
A field that is written by an alias, a merged mapping or with a tag has no fix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from validators.field import FieldError, Fix, Repair
from validators.lint import scalars
from validators.lint.documents import Document
from validators.lint.finding import Edit, TextFix
from validators.lint.places import Chunk, Entry, Place, Span

_ANCHOR = re.compile(r"&([^ \t\r\n]+)[ \t]*")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*", re.ASCII)
_NOT_QUOTED = re.compile(r"[^\"'|>!*\[\]{}\r\n][^\r\n]*")


def text_fix(document: Document, error: FieldError) -> TextFix | None:
    """Return the edits for the fix of an error; None if it has none, or the text of the field is not known."""
    if error.fix is None:
        return None
    chunk = document.chunk
    way = chunk.way_to(document.route, error.path)
    if not way:
        return None
    place = way[-1]
    if error.fix.repair is Repair.RENAME:
        if not isinstance(place, Entry):
            return None
        start, end = place.start, place.end
    else:
        value = place.value if isinstance(place, Entry) else place
        if value.inside is not None or value.alias:
            return None
        start, end = value.start, value.end
    anchor = _ANCHOR.match(chunk.text, start, end)
    start = anchor.end() if anchor else start
    written = chunk.text[start:end]
    text = _replacement(written, error.fix, is_json=chunk.is_json)
    is_safe = error.fix.is_safe and not _is_repeated(chunk, way)
    if not text:
        return None
    first, last = chunk.base + start, chunk.base + end
    span = Span(*chunk.lines.position(first), *chunk.lines.position(last))
    return TextFix(error.fix.title, (Edit(first, last, text),), is_safe, (span,))


def _is_repeated(chunk: Chunk, way: Iterable[Entry | Place]) -> bool:
    """Return whether *chunk* seems to have an alias of an anchor on the way to a field: a change of the field changes other fields."""
    starts = [start for each in way for start in ((each.start, each.value.start) if isinstance(each, Entry) else (each.start,))]
    return any(anchor[1] in chunk.aliases for start in starts if (anchor := _ANCHOR.match(chunk.text, start)))


def apply(text: str, fixes: Iterable[TextFix]) -> str:
    """Return *text* after *fixes*.  Of fixes that overlap, the first one is applied."""
    pieces: list[str] = []
    at = 0
    for fix in sorted(fixes, key=lambda each: each.edits):
        if fix.edits[0].start < at:
            continue
        for edit in fix.edits:
            pieces += [text[at : edit.start], edit.text]
            at = edit.end
    return "".join([*pieces, text[at:]])


def _replacement(written: str, fix: Fix, *, is_json: bool) -> str:
    """Return the text in place of *written*, in its style; empty if the style is not known."""
    if fix.repair is Repair.QUOTE:
        return json.dumps(written.rstrip(), ensure_ascii=False) if _NOT_QUOTED.fullmatch(written) else ""
    if isinstance(fix.value, int):
        return str(fix.value) if written[:1] in {'"', "'"} else ""
    if is_json or written.startswith('"'):
        return json.dumps(fix.value, ensure_ascii=False)
    if written.startswith("'"):
        return f"'{fix.value}'" if "'" not in fix.value else ""
    if not _NOT_QUOTED.fullmatch(written):
        return ""
    is_plain = _PLAIN.fullmatch(fix.value) and scalars.plain(fix.value) == fix.value
    return fix.value if is_plain else json.dumps(fix.value, ensure_ascii=False)
