"""Field paths and field errors, as in apimachinery, ``pkg/util/validation/field``.

An error has a type (the ``reason`` of a cause on the wire), a path in wire names, the bad value, and a detail.  The
detail states what is required.  Errors are created only by the functions below, so that wording, plural and quoting
are decided once.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Iterable, Mapping

from kubeapi.field_path import FieldPath, Part


class ErrorType(enum.StrEnum):
    """Type of a field error: the ``reason`` of its cause in a Status."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    NOT_SUPPORTED = "FieldValueNotSupported"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"


_PHRASES = {
    ErrorType.REQUIRED: "Required value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TYPE_INVALID: "Invalid value",
}
_WITHOUT_VALUE = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG})


FixValue = str | int | Mapping[str, "FixValue"]
"""Value of a field: a scalar, or a mapping in flow style."""


class Repair(enum.StrEnum):
    """Way to change a field."""

    RENAME = "rename"
    REPLACE = "replace"
    QUOTE = "quote"
    ADD = "add"


@dataclasses.dataclass(frozen=True, slots=True)
class Fix:
    """Change of the field of an error that resolves the error.

    RENAME gives the field the name *value*, REPLACE gives it the value *value*, QUOTE writes its value as a string, and ADD writes the
    absent field with the value *value* before its sibling *before*.  A fix is safe if no other intention of the author is likely.
    """

    repair: Repair
    value: FixValue = ""
    is_safe: bool = False
    below: tuple[Part, ...] = ()
    """Path of the changed field below that of the error."""
    before: str = ""
    also: tuple[Fix, ...] = ()
    """Further changes, without which this one does not resolve the error."""

    @property
    def title(self) -> str:
        """Description of the fix, for people."""
        where = f"{FieldPath(*self.below)}: " if self.below else ""
        words = {
            Repair.RENAME: f"rename to {self.value!r}",
            Repair.REPLACE: f"replace with {self.value!r}",
            Repair.QUOTE: "write the value as a string",
            Repair.ADD: f"add with the value {_format_value(self.value)}",
        }
        return "; ".join([where + words[self.repair], *(each.title for each in self.also)])


@dataclasses.dataclass(frozen=True, slots=True)
class FieldError:
    """One validation error of an object.

    ``origin`` is the id of the rule that reports it.  The pipeline sets it, so a rule never names itself.  ``suggestion`` is the known
    name that *detail* proposes for an unknown field; empty without one.  ``is_warning`` is True if this one is a warning although the rule
    reports errors; a severity that the user sets for the rule has precedence.  Errors with different fixes are equal.
    """

    type: ErrorType
    path: FieldPath
    value: object
    detail: str
    origin: str = ""
    fix: Fix | None = dataclasses.field(default=None, compare=False, repr=False)
    suggestion: str = dataclasses.field(default="", compare=False, repr=False)
    is_warning: bool = dataclasses.field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        """Return the message of a cause: type, value and detail, as ``field.Error.ErrorBody`` does."""
        text = _PHRASES[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not _NO_VALUE:
            text += f": {_format_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text


class _NoValue:
    """Marker for a value that is not shown."""


_NO_VALUE = _NoValue()
_MAX_SHOWN = 200
_LONGEST_NAME = 253
"""Characters of a value that is compared with others, which takes time with the square of its length."""


def _format_value(value: object) -> str:
    """Return a value as Kubernetes prints it, as JSON, cut after 200 characters so that the detail stays readable."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def required(path: FieldPath, detail: str = "") -> FieldError:
    """Return an error for a required value that is absent, or empty where empty means absent."""
    return FieldError(ErrorType.REQUIRED, path, "", detail)


def invalid(path: FieldPath, value: object, detail: str) -> FieldError:
    """Return an error for a value that is malformed or out of bounds."""
    return FieldError(ErrorType.INVALID, path, value, detail)


def invalid_struct(path: FieldPath, detail: str) -> FieldError:
    """Return an error for a struct as a whole; its value is too long to be shown."""
    return FieldError(ErrorType.INVALID, path, _NO_VALUE, detail)


def duplicate(path: FieldPath, value: object, detail: str = "") -> FieldError:
    """Return an error for a repeated value that must be unique."""
    return FieldError(ErrorType.DUPLICATE, path, value, detail)


def forbidden(path: FieldPath, detail: str = "") -> FieldError:
    """Return an error for a value that is well formed but not permitted in this state."""
    return FieldError(ErrorType.FORBIDDEN, path, "", detail)


def not_found(path: FieldPath, value: object, detail: str = "") -> FieldError:
    """Return an error for a reference to an object that does not exist."""
    return FieldError(ErrorType.NOT_FOUND, path, value, detail)


def not_supported(path: FieldPath, value: object, supported: Iterable[str]) -> FieldError:
    """Return an error for a value that is not one of *supported*."""
    values = list(supported)
    listed = ", ".join(json.dumps(each) for each in values)
    fix = nearest(value, values) if isinstance(value, str) else None
    return FieldError(ErrorType.NOT_SUPPORTED, path, value, f"supported values: {listed}", fix=fix)


def as_warning(error: FieldError) -> FieldError:
    """Return *error* as one that is a warning, whatever the severity of its rule."""
    return dataclasses.replace(error, is_warning=True)


def nearest(value: str, known: Iterable[str], repair: Repair = Repair.REPLACE) -> Fix | None:
    """Return the fix of a misspelt *value* by the nearest of *known*; None if none is near, or it is longer than any valid name.

    It is safe if the two differ only in the case of letters, or by one letter.
    """
    if len(value) > _LONGEST_NAME:
        return None
    close = _nearest(value, tuple(sorted(known)))
    return Fix(repair, close, is_safe=is_slip(value, close)) if close else None


@functools.lru_cache(maxsize=256)
def _nearest(value: str, known: tuple[str, ...]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(value, known, n=1)), "")


def is_slip(one: str, other: str) -> bool:
    """Return whether two texts differ only in the case of letters, or in one letter that is missing, added or replaced, or two exchanged."""
    left, right = one.lower(), other.lower()
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    is_exchanged = len(left) == 2 and left == right[::-1]
    return (is_exchanged or (len(left) < 2 and len(right) < 2)) and not any(each.isdigit() for each in left + right)


def too_long(path: FieldPath, limit: int, unit: str = "bytes") -> FieldError:
    """Return an error for a text of more than *limit* bytes, or another *unit*; the text itself is not shown."""
    return FieldError(ErrorType.TOO_LONG, path, "", f"may not be more than {limit} {unit}")


def too_many(path: FieldPath, count: int, limit: int) -> FieldError:
    """Return an error for a list of *count* items, more than *limit*."""
    return FieldError(ErrorType.TOO_MANY, path, count, f"must have at most {limit} {'item' if limit == 1 else 'items'}")


def type_invalid(path: FieldPath, value: object, detail: str) -> FieldError:
    """Return an error for a value of the wrong JSON type."""
    return FieldError(ErrorType.TYPE_INVALID, path, value, detail)
