"""Conversion of the changes of an object to edits of its text: all other bytes are preserved.

Each change is made at its position and keeps comments, quotes, anchors and order.  A change that cannot be made in this
way is refused.  The caller must parse the edited text and compare: an alias may apply a change to other fields too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeapi.decode import Json
from validators.lint.places import Entry, Place
from validators.migrate import block, flow, formatting
from validators.migrate.change import Add, Change, Parts, Reform, Remove, Rename, Replace, Unwrap
from validators.migrate.text_edits import CannotEdit, Page, TextReplacement


def edits(page: Page, changes: Iterable[Change]) -> Iterator[TextReplacement]:
    """Yield the edits for *changes*, whose paths begin at the root of *page*.

    Raises:
        CannotEdit: the text cannot be changed in pieces.

    """
    removed: dict[Parts, list[str]] = {}
    for change in changes:
        if isinstance(change, Remove):
            removed.setdefault(change.path[:-1], []).append(str(change.path[-1]))
        else:
            yield from _edits(page, change)
    for path, names in removed.items():
        yield from _removals(page, path, names)


def find(root: Place, path: Parts) -> Entry | Place | None:
    """Return the entry, or the item of a list, at *path*; None if there is none."""
    current: Entry | Place | None = root
    for part in path:
        inside = current.value.inside if isinstance(current, Entry) else current.inside if current else None
        if isinstance(inside, dict):
            current = inside.get(part) if isinstance(part, str) else None
        else:
            current = inside[part] if inside and isinstance(part, int) and part < len(inside) else None
    return current


def value_at(root: Place, path: Parts) -> Place | None:
    """Return the value at *path*; None if there is none."""
    entry = find(root, path)
    return entry.value if isinstance(entry, Entry) else entry


def _edits(page: Page, change: Change) -> Iterator[TextReplacement]:
    if isinstance(change, Rename):
        yield _renamed(page, _entry(page, change.path), change.to)
    elif isinstance(change, Replace):
        yield _replaced(page, _value(page, change.path), change.value)
    elif isinstance(change, Reform):
        yield from _reformed(page, change)
    elif isinstance(change, Unwrap):
        yield from _unwrapped(page, change)
    elif isinstance(change, Add):
        yield _added(page, change)


def _entry(page: Page, path: Parts) -> Entry:
    entry = find(page.root, path)
    if not isinstance(entry, Entry):
        raise CannotEdit("the value of a field is defined elsewhere, by an alias or a merge key")
    return entry


def _value(page: Page, path: Parts) -> Place:
    value = value_at(page.root, path)
    if value is None:
        raise CannotEdit("the value of a field is defined elsewhere, by an alias or a merge key")
    return value


def _renamed(page: Page, entry: Entry, name: str) -> TextReplacement:
    key = page.text[entry.start : entry.end]
    if key[:1] in {"&", "!"}:
        raise CannotEdit("a key has an anchor or a tag")
    return TextReplacement(entry.start, entry.end, _text(page, name, key[:1] if key[:1] in {'"', "'"} else ""))


def _replaced(page: Page, place: Place, value: Json) -> TextReplacement:
    start = page.after_properties(place)
    old = page.text[start : place.end]
    if place.inside is not None:
        raise CannotEdit("a mapping or list would have to become a single value")
    if isinstance(value, Mapping) and "!" in page.text[place.start : start]:
        raise CannotEdit("a value has a tag")
    quote = old[:1] if old[:1] in {'"', "'"} else ""
    if old[:1] in {"|", ">"} and not page.is_json:
        # The lines of the scalar are removed; a comment after its indicator is kept.
        comment = page.comments(start, page.line_end(start))
        suffix = f" {page.text[slice(*comment[0])]}" if comment else ""
        return TextReplacement(start, max(start + 1, page.trimmed(place.end)), _text(page, value) + suffix)
    return TextReplacement(start, place.end, _text(page, value, quote))


def _reformed(page: Page, change: Reform) -> Iterator[TextReplacement]:
    """Yield edits of single fields; of the whole mapping if parts of it come from an alias or a merge key."""
    holder = _entry(page, change.path)
    mapping, inside = holder.value, holder.value.inside
    if not isinstance(inside, dict):
        raise CannotEdit("the value of a field is defined elsewhere, by an alias or a merge key")
    if mapping.alias or any(not mapping.start <= each.start < mapping.end for each in inside.values()):
        text = _text(page, {change.to: change.value})
        if mapping.alias or page.is_flow(mapping):
            yield TextReplacement(page.after_properties(mapping), mapping.end, text)
        else:
            yield from block.reform(page, holder, text)
        return
    kept = inside[change.kept]
    yield _renamed(page, kept, change.to)
    yield _replaced(page, kept.value, change.value)
    yield from _removals(page, change.path, [name for name in inside if name != change.kept])


def _removals(page: Page, path: Parts, names: list[str]) -> Iterator[TextReplacement]:
    holder = find(page.root, path)
    place = holder.value if isinstance(holder, Entry) else holder
    if place is None or not isinstance(place.inside, dict):
        raise CannotEdit("the value of a field is defined elsewhere, by an alias or a merge key")
    if place.alias or not names:
        return  # the anchored value is changed at its own position
    removed = [place.inside[name] for name in names]
    kept = [each for name, each in place.inside.items() if name not in names]
    if page.is_flow(place):
        yield from flow.remove(page, place, removed, kept)
    elif isinstance(holder, Entry):
        yield from block.remove(page, holder, removed, all_entries=not kept)
    else:
        raise CannotEdit("an item of a list would lose a field")


def _unwrapped(page: Page, change: Unwrap) -> Iterator[TextReplacement]:
    holder = _entry(page, change.path)
    if holder.value.alias:
        return  # the anchored value is changed at its own position
    inner = _entry(page, (*change.path, change.member))
    if page.is_flow(holder.value):
        yield from flow.unwrap(page, holder.value, inner.value)
    else:
        yield from block.unwrap(page, holder, inner)


def _added(page: Page, change: Add) -> TextReplacement:
    if not change.after:
        place = _value(page, change.path)
        return TextReplacement(page.after_properties(place), place.end, _text(page, {change.name: change.value}))
    after = _entry(page, (*change.path, change.after))
    text = f"{_text(page, change.name)}:{'' if page.is_compact else ' '}{_text(page, change.value)}"
    return flow.add(page, after, text) if page.is_flow(_value(page, change.path)) else block.add(page, after, text)


def _text(page: Page, value: Json, quote: str = "") -> str:
    return formatting.as_json(value, compact=page.is_compact) if page.is_json else formatting.yaml(value, quote)
