"""Edits inside braces: JSON, and YAML in flow style."""

from __future__ import annotations

import re
from collections.abc import Iterator

from validators.lint.places import Entry, Place
from validators.migrate.text_edits import CannotEdit, Page, TextReplacement

_LINE = re.compile(r"(\r\n|\r|\n)([ \t]*)")
_COMMA = re.compile(r"[ \t]*,")


def remove(page: Page, holder: Place, entries: list[Entry], kept: list[Entry]) -> Iterator[TextReplacement]:
    """Remove *entries* with one comma each; a mapping without remaining entries becomes ``{}``."""
    start = page.after_properties(holder)
    if page.comments(start, holder.end):
        # Text around the entries stays: where comments are allowed, a trailing comma is too.
        yield from (_alone(page, each) for each in entries)
    elif not kept:
        yield TextReplacement(start, holder.end, "{}")
    else:
        yield from _runs(entries, kept)


def unwrap(page: Page, holder: Place, inner: Place) -> Iterator[TextReplacement]:
    """Remove the braces of *holder* and the key of its only entry, and indent *inner* like *holder*."""
    start = page.after_properties(holder)
    if page.comments(start, inner.start) or page.comments(inner.end, holder.end):
        raise CannotEdit("comments are between two braces of which one is removed")
    yield TextReplacement(start, inner.start, "")
    yield TextReplacement(inner.end, holder.end, "")
    if page.line_start(inner.start) > start:
        shift = len(page.indentation(inner.start)) - len(page.indentation(start))
        for match in _LINE.finditer(page.text, inner.start, inner.end):
            yield TextReplacement(match.start(2), match.start(2) + max(0, min(shift, len(match[2]))), "")


def add(page: Page, after: Entry, text: str) -> TextReplacement:
    """Add the entry *text* after the entry *after*, on its own line in JSON with one entry on each line."""
    at = after.value.end
    if page.is_json and page.begins_its_line(after.start):
        return TextReplacement(at, at, f",{page.newline}{page.indentation(after.start)}{text}")
    return TextReplacement(at, at, f",{'' if page.is_compact else ' '}{text}")


def _alone(page: Page, entry: Entry) -> TextReplacement:
    end = max(entry.end, entry.value.end)
    comma = _COMMA.match(page.text, end)
    return TextReplacement(entry.start, comma.end() if comma else end, "")


def _runs(entries: list[Entry], kept: list[Entry]) -> Iterator[TextReplacement]:
    """Yield edits from a removed entry to the next kept one or, at the end, from the last kept entry on."""
    removed = {each.start for each in entries}
    ordered = sorted([*entries, *kept], key=lambda each: each.start)
    previous: Entry | None = None
    first: Entry | None = None
    for each in ordered:
        if each.start in removed:
            first = first or each
        else:
            if first is not None:
                yield TextReplacement(first.start, each.start, "")
            previous, first = each, None
    if first is not None and previous is not None:
        yield TextReplacement(max(previous.end, previous.value.end), max(ordered[-1].end, ordered[-1].value.end), "")
