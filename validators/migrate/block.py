"""Edits of YAML in block style, where lines and their indentation are the structure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from validators.lint.places import Entry, Place
from validators.migrate.text_edits import CannotEdit, Page, TextReplacement

_DASHES = re.compile(r"[ ]*(?:-[ ]+)*")
_LEADING = re.compile(r" *")


def remove(page: Page, holder: Entry, entries: list[Entry], *, all_entries: bool) -> Iterator[TextReplacement]:
    """Remove the lines of *entries* but not their comments; a mapping without remaining entries becomes ``{}``."""
    if all_entries:
        yield fill(page, holder, "{}")
    for first, last in _runs(page, entries):
        yield page.cut(first.start, page.trimmed(last.value.end) if last.value.end > last.end else last.end)


def fill(page: Page, holder: Entry, text: str) -> TextReplacement:
    """Write *text* after the key of *holder*, whose lines are removed."""
    at = _value_start(page, holder)
    return TextReplacement(at, at, f" {text}")


def reform(page: Page, holder: Entry, text: str) -> Iterator[TextReplacement]:
    """Replace all lines of a mapping by *text*, but keep their comments."""
    yield fill(page, holder, text)
    yield page.cut(holder.value.first, page.trimmed(holder.value.end))


def unwrap(page: Page, holder: Entry, inner: Entry) -> Iterator[TextReplacement]:
    """Remove the key of *inner*, the only entry of *holder*, and move its value to the position of the key."""
    page.after_colon(inner)
    if not page.begins_its_line(inner.start):
        raise CannotEdit("a key has something before it on its line")
    if page.is_flow(inner.value) or inner.value.alias:
        at = _value_start(page, holder)
        between = page.comments(at, inner.value.start)
        yield TextReplacement(inner.start, inner.value.start, "") if between else TextReplacement(at, inner.value.start, " ")
        return
    if page.after_properties(inner.value) != inner.value.start:
        raise CannotEdit("a mapping that moves has an anchor or a tag")
    yield page.cut(inner.start, inner.end)
    shift = (inner.value.start - page.line_start(inner.value.start)) - (inner.start - page.line_start(inner.start))
    end = page.trimmed(inner.value.end)
    line = page.next_line(inner.start)
    while line < end:
        blanks = _LEADING.match(page.text, line)
        yield TextReplacement(line, line + min(shift, len(blanks[0]) if blanks else 0), "")
        line = page.next_line(line)


def add(page: Page, after: Entry, text: str) -> TextReplacement:
    """Add a line with the entry *text* below the entry *after*."""
    start = page.line_start(after.start)
    if not _DASHES.fullmatch(page.text, start, after.start):
        raise CannotEdit("a key has something before it on its line")
    line = " " * (after.start - start) + text
    end = page.trimmed(after.value.end)
    below = page.next_line(end)
    if below == len(page.text) and page.text[-1:] not in {"\n", "\r"}:
        return TextReplacement(below, below, page.newline + line)
    return TextReplacement(below, below, line + page.newline)


def _value_start(page: Page, holder: Entry) -> int:
    """Return the offset after the colon, anchor and tag of a mapping whose entries are on their own lines."""
    after = page.after_properties(holder.value)
    at = page.after_colon(holder) if after == holder.value.start else after
    while page.text[at - 1] in " \t":
        at -= 1
    return at


def _runs(page: Page, entries: list[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield runs of adjacent entries, each as its first and last entry."""
    ordered = sorted(entries, key=lambda each: each.start)
    run: list[Entry] = []
    for each in ordered:
        if not page.begins_its_line(each.start):
            raise CannotEdit("a key has something before it on its line")
        if run and page.next_line(_end(page, run[-1].value, run[-1])) < page.line_start(each.start):
            yield run[0], run[-1]
            run = []
        run.append(each)
    if run:
        yield run[0], run[-1]


def _end(page: Page, value: Place, entry: Entry) -> int:
    return page.trimmed(value.end) if value.end > entry.end else entry.end
