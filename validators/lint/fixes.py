"""Fixes of findings as edits of the text: only the key or the value of a field is replaced, or a field is added.

Comments, order, quotes and anchors stay.  A fix of a value that aliases repeat elsewhere is not safe.
A field that is written by an alias, a merged mapping or with a tag has no fix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from kubeapi.field_path import FieldPath, Part
from validators.field import FieldError, Fix, FixValue, Repair
from validators.lint import scalars
from validators.lint.documents import Document
from validators.lint.finding import Edit, TextFix
from validators.lint.places import Chunk, Entry, Place, Span

_ANCHOR = re.compile(r"&([^ \t\r\n]+)[ \t]*")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*", re.ASCII)
_BEFORE_ENTRY = frozenset({" ", "{", ","})
"""Characters before an entry of a mapping in flow style."""
_NOT_QUOTED = re.compile(r"[^\"'|>!*\[\]{}\r\n][^\r\n]*")


def text_fix(document: Document, error: FieldError) -> TextFix | None:
    """Return the edits for the fix of an error; None if it has none, or the text of a field is not known."""
    return None if error.fix is None else edits_at(document, error.path, error.fix)


def edits_at(document: Document, path: FieldPath, fix: Fix) -> TextFix | None:
    """Return the edits for the change of a field; None if the text of a field is not known."""
    chunk, parts = document.chunk, (fix, *fix.also)
    changes = [_change(chunk, document.route, path.join(each.below), each) for each in parts]
    known = sorted(each for each in changes if each is not None)
    if len(known) < len(parts):
        return None
    edits = tuple(Edit(chunk.base + start, chunk.base + end, text) for start, end, text, _ in known)
    spans = tuple(Span(*chunk.lines.position(each.start), *chunk.lines.position(each.end)) for each in edits)
    return TextFix(fix.title, edits, fix.is_safe and all(is_safe for *_, is_safe in known), spans)


def _change(chunk: Chunk, route: Sequence[Part], path: FieldPath, fix: Fix) -> tuple[int, int, str, bool] | None:
    """Return offsets in *chunk*, the text that replaces what is between them, and whether no other field changes; None if not known."""
    if fix.repair is Repair.ADD:
        return _addition(chunk, route, path, fix)
    way = chunk.way_to(route, path)
    if not way:
        return None
    place = way[-1]
    if fix.repair is Repair.RENAME:
        if not isinstance(place, Entry):
            return None
        start, end = place.start, place.end
    else:
        value = place.value if isinstance(place, Entry) else place
        is_empty = isinstance(fix.value, Mapping) and chunk.text[value.start : value.end] == "{}"
        if value.alias or (value.inside is not None and not is_empty):
            return None
        start, end = value.start, value.end
    anchor = _ANCHOR.match(chunk.text, start, end)
    start = anchor.end() if anchor else start
    text = _replacement(chunk.text[start:end], fix, is_json=chunk.is_json)
    return (start, end, text, not _is_repeated(chunk, way)) if text else None


def _addition(chunk: Chunk, route: Sequence[Part], path: FieldPath, fix: Fix) -> tuple[int, int, str, bool] | None:
    """Return the insertion of a field before its sibling, on a line of its own if the sibling begins its line."""
    holder, name = FieldPath(*path.parts[:-1]), str(path.parts[-1])
    way = chunk.way_to(route, holder / fix.before)
    if not way or not isinstance(way[-1], Entry) or chunk.way_to(route, path):
        return None
    at = way[-1].start
    line = chunk.text[max(chunk.text.rfind("\n", 0, at), chunk.text.rfind("\r", 0, at)) + 1 : at]
    begins_line = not line.strip(" -")
    if not begins_line and chunk.text[at - 1 : at] not in _BEFORE_ENTRY:
        return None  # an anchor or a tag
    text = json.dumps({name: fix.value}, ensure_ascii=False)[1:-1] if chunk.is_json else f"{in_yaml(name)}: {in_yaml(fix.value)}"
    is_flow = chunk.is_json or not begins_line or _is_flow(chunk, way[-2])
    newline = "\r\n" if "\r\n" in chunk.text else "\n"
    separator = f"{',' if is_flow else ''}{newline}{' ' * len(line)}" if begins_line else ", "
    return at, at, text + separator, not _is_repeated(chunk, way)


def _is_flow(chunk: Chunk, mapping: Entry | Place) -> bool:
    place = mapping.value if isinstance(mapping, Entry) else mapping
    anchor = _ANCHOR.match(chunk.text, place.start, place.end)
    return chunk.text.startswith("{", anchor.end() if anchor else place.start)


def in_yaml(value: FixValue) -> str:
    """Return a value on one line of YAML."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{in_yaml(name)}: {in_yaml(each)}' for name, each in value.items())}}}"
    if isinstance(value, int):
        return str(value)
    is_plain = _PLAIN.fullmatch(value) and scalars.plain(value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False)


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
    if isinstance(fix.value, Mapping) and not is_json:
        return in_yaml(fix.value)
    if is_json or written.startswith('"'):
        return json.dumps(fix.value, ensure_ascii=False)
    if written.startswith("'"):
        return f"'{fix.value}'" if "'" not in fix.value else ""
    return in_yaml(fix.value) if _NOT_QUOTED.fullmatch(written) else ""
