"""Insertion of new objects after their Workload, in the language and layout of the surrounding text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import Part
from validators.migrate import formatting
from validators.migrate.rewrite import value_at
from validators.migrate.text_edits import Page, TextReplacement


def documents(page: Page, contents: Sequence[Mapping[str, Json]]) -> TextReplacement:
    """Return the edit that adds objects as YAML documents after the one on *page*.

    A comment that an empty line separates from the document belongs to the following text.
    """
    text, newline = page.text, page.newline
    end = page.content_end(len(text))
    at = end if text[end - 1 : end] in {"\n", "\r"} else page.next_line(end)
    while at < len(text) and text[at : page.line_end(at)].lstrip(" \t").startswith("#"):
        at = page.next_line(at)
    lines = [line for content in contents for line in ("---", *formatting.yaml_lines(content))]
    if at == len(text) and text[-1:] not in {"\n", "\r"}:
        return TextReplacement(at, at, "".join(newline + line for line in lines))
    return TextReplacement(at, at, "".join(line + newline for line in lines))


def is_in_list(page: Page, route: Sequence[Part]) -> bool:
    """Return whether an object of a JSON text is an item of a ``List``, to which objects of any kind can be added."""
    kind = value_at(page.root, ("kind",))
    return page.is_json and len(route) == 2 and kind is not None and page.text[kind.start : kind.end] == '"List"'


def values(page: Page, route: Sequence[Part], contents: Sequence[Mapping[str, Json]], *, marked: bool) -> TextReplacement:
    """Return the edit that adds objects as JSON: after the item of a List, or as values after the value on *page*.

    Values are separated by ``---`` if the file is *marked* with it, else by line ends.
    """
    if is_in_list(page, route):
        place = value_at(page.root, tuple(route)) or page.root
        space = "" if page.is_compact else " "
        separator = "," + (page.newline + page.indentation(place.start) if page.begins_its_line(place.start) else space)
    else:
        place = page.root
        separator = page.newline + (f"---{page.newline}" if marked else "")
    indentation = page.indentation(place.start)
    sample = page.text[place.start : place.end]
    laid_out = (
        formatting.json_like(each, sample, indentation=indentation, newline=page.newline, compact=page.is_compact) for each in contents
    )
    return TextReplacement(place.end, place.end, "".join(separator + each for each in laid_out))
