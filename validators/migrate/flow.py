"""Changes inside braces: JSON, and YAML's flow style."""

from __future__ import annotations

import re
from collections.abc import Iterator

from validators.lint.places import Entry, Place
from validators.migrate.page import CannotEdit, Edit, Page

_LINE = re.compile(r"(\r\n|\r|\n)([ \t]*)")
_COMMA = re.compile(r"[ \t]*,")


def remove(page: Page, holder: Place, entries: list[Entry], kept: list[Entry]) -> Iterator[Edit]:
    """Takes out *entries* with a comma for each; a mapping of which nothing is kept becomes ``{}``."""
    start = page.after_properties(holder)
    if page.comments(start, holder.end):
        # What stands around the entries stays: a comma too many is allowed where comments are.
        yield from (_alone(page, each) for each in entries)
    elif not kept:
        yield Edit(start, holder.end, "{}")
    else:
        yield from _runs(entries, kept)


def unwrap(page: Page, holder: Place, inner: Place) -> Iterator[Edit]:
    """Takes out the braces of *holder* and the key of its only entry, and indents *inner* as *holder* was."""
    start = page.after_properties(holder)
    if page.comments(start, inner.start) or page.comments(inner.end, holder.end):
        raise CannotEdit("comments stand between two braces of which one goes")
    yield Edit(start, inner.start, "")
    yield Edit(inner.end, holder.end, "")
    if page.line_start(inner.start) > start:
        shift = len(page.indentation(inner.start)) - len(page.indentation(start))
        for found in _LINE.finditer(page.text, inner.start, inner.end):
            yield Edit(found.start(2), found.start(2) + max(0, min(shift, len(found[2]))), "")


def add(page: Page, after: Entry, text: str) -> Edit:
    """Writes the entry *text* behind the entry *after*, on a line of its own in JSON that has one for each."""
    at = after.value.end
    if page.is_json and page.begins_its_line(after.start):
        return Edit(at, at, f",{page.newline}{page.indentation(after.start)}{text}")
    return Edit(at, at, f",{'' if page.is_compact else ' '}{text}")


def _alone(page: Page, entry: Entry) -> Edit:
    end = max(entry.end, entry.value.end)
    comma = _COMMA.match(page.text, end)
    return Edit(entry.start, comma.end() if comma else end, "")


def _runs(entries: list[Entry], kept: list[Entry]) -> Iterator[Edit]:
    """Entries that go up to the next one that stays, or, where none follows, from the end of the last that stays."""
    gone = {each.start for each in entries}
    ordered = sorted([*entries, *kept], key=lambda each: each.start)
    previous: Entry | None = None
    first: Entry | None = None
    for each in ordered:
        if each.start in gone:
            first = first or each
        else:
            if first is not None:
                yield Edit(first.start, each.start, "")
            previous, first = each, None
    if first is not None and previous is not None:
        yield Edit(max(previous.end, previous.value.end), max(ordered[-1].end, ordered[-1].value.end), "")
