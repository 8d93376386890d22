"""Extent of one field of a YAML document in the usual layout, without the places of all the others.

Most documents with findings have one or two, and the places of all fields take ten times as long as those of one.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeapi.field_path import Part
from validators.lint import fast_yaml, usual_lines
from validators.lint.fast_yaml import LineShape
from validators.lint.usual_lines import LineForm

_FLOW = {LineForm.FLOW_ENTRY, LineForm.FLOW_ITEM}


def extent(text: str, parts: Sequence[Part]) -> tuple[int, int] | None:
    """Return the offsets of a field, see ``Chunk.span``, of a document that ``fast_yaml.mapping`` has read.

    A list or mapping that is an item ends with its first line here.  The result is None for fields in flow style.
    """
    lines = fast_yaml.lines(text)
    if lines is None:
        return None
    shapes, values = lines
    texts = text.split("\n")
    marker = len(texts) - len(shapes)
    found = _field_columns(shapes, values, [each.removesuffix("\r") for each in texts[marker:]], parts)
    if found is None:
        return None
    number, start, end = found
    number += marker
    offset = sum(map(len, texts[:number])) + number
    return offset + start, offset + (len(texts[number]) if end is None else end)


def _field_columns(
    shapes: Sequence[LineShape], values: Sequence[object], texts: Sequence[str], parts: Sequence[Part]
) -> tuple[int, int, int | None] | None:
    """Return the number of the line of a field with its columns; the last one is None for the end of the line."""
    at = _next(shapes, 0)
    level = shapes[at].fields[0]
    found: tuple[int, int, int | None] = (at, level // 2, usual_lines.columns(texts[at]).key_end)
    for number, part in enumerate(parts):
        at = _child(shapes, at, level, part)
        if at < 0:
            break
        outer, dashes, form, _ = shapes[at].fields
        depth = (level - outer) // 4 + 1
        if level % 2 and (form < LineForm.ITEM or depth < dashes):
            found = at, outer // 2 + 2 * depth, None
            level += fast_yaml.NEXT_LIST if depth < dashes else fast_yaml.NEXT_MAPPING
            continue
        columns = usual_lines.columns(texts[at])
        if level % 2:
            found = at, columns.value, columns.value_end
        else:
            below = _next(shapes, at + 1) if form == LineForm.OPEN else -1
            is_parent = below >= 0 and shapes[below].fields[0] > level
            found = at, level // 2, columns.key_end if is_parent or form in _FLOW else columns.value_end
            if is_parent:
                at, level = below, shapes[below].fields[0]
                continue
        return None if form in _FLOW and values[at] and number < len(parts) - 1 else found
    return found


def _next(shapes: Sequence[LineShape], start: int) -> int:
    """Return the number of the first line from *start* on that has a key or a value; -1 if there is none."""
    return next((number for number in range(start, len(shapes)) if shapes[number].fields[0] >= 0), -1)


def _child(shapes: Sequence[LineShape], first: int, level: int, part: Part) -> int:
    """Return the number of the line of a key or an item in the mapping or list of *level* that begins at line *first*; -1 if absent."""
    is_list = level % 2 == 1
    if is_list is isinstance(part, str) or (isinstance(part, int) and part < 0):
        return -1
    before = part
    for number in range(first, len(shapes)):
        each = shapes[number].fields
        if number > first and each[0] != level:
            if 0 <= each[0] < level:
                break
            continue
        if isinstance(before, int):
            if before == 0:
                return number
            before -= 1
        elif each[3] == part:
            return number
    return -1
