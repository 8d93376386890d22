"""Causes as JSON objects.

An object is ``Kind namespace/name``, an amount a quantity in Kubernetes' notation.  ``cause_keys`` has the keys.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
from collections.abc import Iterable, Iterator
from typing import Any

from kubeapi.problem import Fact
from kubeapi.resource_names import exact_size
from muster.render.cause_keys import CAUSES, INLINED, MARKERS, MESSAGE, CauseField, fields, member_word, word_of
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.filter_reasons import ReasonValue
from scheduler_core.causes.plugin_failures import PluginFailure
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.resource_values import AttachableVolumes, VolumesOfClass, row_of
from scheduler_core.wording.filter_words import failure_words, filter_words
from scheduler_core.wording.titles import titled


def causes_json(causes: Iterable[Cause | Fact]) -> list[dict[str, object]]:
    """Return *causes* as JSON objects."""
    return [_cause(each) for each in causes]


def _cause(cause: Any) -> dict[str, object]:
    if isinstance(cause, MARKERS):
        return {"reason": member_word(cause)}
    kind: type = type(cause)
    values = (getattr(cause, each.name) for each in fields(kind) if each.holds_causes)
    below = [_cause(each) for value in values for each in _members(value)]
    return {"reason": word_of(kind), **_object(cause), **({CAUSES: below} if below else {})}


def _members(value: object) -> tuple[object, ...]:
    """Return the causes of a field."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return value
    return () if value is None else (value,)


def _object(value: Any) -> dict[str, object]:
    kind: type = type(value)
    return dict(entry for field in fields(kind) for entry in _entries(value, field))


def _entries(owner: object, field: CauseField) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of a field; none if it does not apply."""
    value = getattr(owner, field.name)
    if value is None or field.holds_causes:
        return
    if isinstance(value, AttachableVolumes | VolumesOfClass):
        yield field.key, value.resource
    if isinstance(value, PluginFailure):
        yield MESSAGE, failure_words(value)
    if isinstance(value, ReasonValue):
        yield field.key, filter_words(value)
    if isinstance(value, INLINED):
        yield from _object(value).items()
        return
    if isinstance(value, int) and field.unit:
        encoded: object = exact_size("memory" if field.unit == "bytes" else row_of(getattr(owner, "resource", "")), value)
    else:
        encoded = titled(value[-1]) if field.name == "path" else _value(value)
    if field.required or (encoded is not False and encoded not in ("", [], {})):
        yield field.key, encoded


def _value(value: object) -> object:  # noqa: PLR0911 - one case for each kind of value
    """Return a value that is no cause."""
    match value:
        case Name():
            return titled(value)
        case Domain(key="", value=""):
            return {}
        case enum.Enum():
            return value.value
        case str() | bool() | int() | float():
            return value
        case dt.datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case decimal.Decimal():
            return f"{value:f}"
        case frozenset():
            return sorted(value)
        case tuple() if not hasattr(value, "_fields"):
            # Pairs without names of their parts are labels, or amounts by name.
            if value and type(value[0]) is tuple:
                return {key: _value(each) for key, each in value}
            return [*map(_value, value)]
    return _object(value)
