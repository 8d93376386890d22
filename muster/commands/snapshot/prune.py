"""Objects with only the fields that ``simulate`` reads.

A value of the wrong type keeps its type without its content, so that the object stays unusable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeapi.redaction import KEPT, UNREAD, Mark
from muster.commands.snapshot.shapes import Each, Entries, IfPresent, OrScalar, Shape, Unread

Json = Any
_NOTHING = object()
"""Marker of a value that is left out."""


def pruned(content: Mapping[str, Json], fields: Mapping[str, Shape]) -> dict[str, Json]:
    """Return *content* with only *fields*.

    Raises:
        RecursionError: *content* is nested too deeply.

    """
    values = {key: _pruned(value, fields[key]) for key, value in content.items() if key in fields}
    return {key: value for key, value in values.items() if value is not _NOTHING}


def hollow(value: Json) -> Json:
    """Return a value of the same JSON type without content."""
    if isinstance(value, dict):
        return {}
    if isinstance(value, float):
        # An integral value would be read as an integer.
        return 0.5
    return None if value is None else type(value)()


def _pruned(value: Json, shape: Shape) -> Json:
    match shape:
        case Mark():
            result = _scalar(value, shape)
        case dict() if isinstance(value, dict):
            result = pruned(value, shape)
        case IfPresent() if isinstance(value, dict):
            result = pruned(value, shape.fields_of(value))
        case Each() if isinstance(value, list):
            result = _list(value, shape)
        case Entries() if isinstance(value, dict):
            result = {key: _pruned(each, shape.value) for key, each in value.items()}
        case OrScalar():
            result = pruned(value, shape.fields) if isinstance(value, dict) else _scalar(value, KEPT)
        case Unread():
            result = _unread(value, shape)
        case _:
            result = hollow(value)
    return result


def _scalar(value: Json, leaf: Mark) -> Json:
    if leaf is UNREAD:
        return _NOTHING if isinstance(value, str) else hollow(value)
    return hollow(value) if isinstance(value, (dict, list)) else value


def _list(value: list[Json], shape: Each) -> Json:
    # Messages give the index of a volume, a claim or an invalid entry: each keeps its position.
    entries = [each for each in value if each.get("type") in shape.only] if shape.only and all(map(_is_sound, value)) else value
    kept = [_pruned(each, shape.of) for each in entries]
    return ([each for each in kept if each != {}] or _NOTHING) if shape.compact else kept


def _is_sound(condition: Json) -> bool:
    """Return whether all fields of a condition have the right type."""
    if not isinstance(condition, dict):
        return False
    return all((type(each) is int) if key == "observedGeneration" else isinstance(each, str) for key, each in condition.items())


def _unread(value: Json, shape: Unread) -> Json:
    if not isinstance(value, shape.of):
        return hollow(value)
    wrong = [hollow(each) for each in (value.values() if isinstance(value, dict) else value) if not isinstance(each, str)]
    if isinstance(value, dict):
        return ({"": wrong[0]} if wrong else {}) | {key: "" for key in value if key in shape.keys} or _NOTHING
    return wrong[:1] or _NOTHING
