"""Where something is wrong in an object, what kind of wrong it is, and the words for it.

The vocabulary is Kubernetes' own (apimachinery, ``pkg/util/validation/field``): an error has a type that becomes a
cause's ``reason`` on the wire, a path in wire names, the offending value, and a sentence saying what must hold.
Errors are made by the constructors below and never by hand, so that phrase, plural and quoting are decided once.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterable, Iterator

Part = str | int


class ErrorType(enum.StrEnum):
    """The type of a field error: the ``reason`` of its cause in a Status."""

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


class FieldPath:
    """A place in an object, in wire names: ``spec.podGroupTemplates[0].name``.  Immutable; the empty path is the object.

    >>> str(FieldPath("spec") / "podGroupTemplates" / 0 / "name")
    'spec.podGroupTemplates[0].name'
    >>> str(FieldPath("metadata") / "labels" / Key("a.b/c"))
    'metadata.labels[a.b/c]'
    """

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def __truediv__(self, part: Part) -> FieldPath:
        return FieldPath(*self.parts, part)

    def join(self, parts: Iterable[Part]) -> FieldPath:
        """The path below this one, by *parts*."""
        return FieldPath(*self.parts, *parts)

    def starts_with(self, other: FieldPath) -> bool:
        """Whether this place is *other*, or lies inside it."""
        return self.parts[: len(other.parts)] == other.parts

    def __str__(self) -> str:
        return "".join(_pieces(self.parts))

    def __repr__(self) -> str:
        return f"FieldPath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldPath) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


class Key(str):
    """A key of a map with free keys (labels, annotations): written in brackets, as Kubernetes does."""

    __slots__ = ()


def _pieces(parts: tuple[Part, ...]) -> Iterator[str]:
    for number, part in enumerate(parts):
        if isinstance(part, (int, Key)):
            yield f"[{part}]"
        elif number:
            yield f".{part}"
        else:
            yield part


@dataclasses.dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with an object.

    ``origin`` is the id of the rule that says so; the pipeline fills it in, so a rule never names itself.
    """

    type: ErrorType
    path: FieldPath
    value: object
    detail: str
    origin: str = ""

    def __str__(self) -> str:
        """What stands in a cause's message: phrase, value, and what must hold (as ``field.Error.ErrorBody`` has it)."""
        text = _PHRASES[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not _NO_VALUE:
            text += f": {_shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text


class _NoValue:
    """Stands for a value that is not to be shown."""


_NO_VALUE = _NoValue()
_LONGEST_SHOWN = 200


def _shown(value: object) -> str:
    """A value as Kubernetes prints it: JSON, cut where it would bury the sentence that follows."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def required(path: FieldPath, detail: str = "") -> FieldError:
    """A value that must be given is absent, or empty where emptiness means absence."""
    return FieldError(ErrorType.REQUIRED, path, "", detail)


def invalid(path: FieldPath, value: object, detail: str) -> FieldError:
    """A value is malformed or out of bounds."""
    return FieldError(ErrorType.INVALID, path, value, detail)


def invalid_struct(path: FieldPath, detail: str) -> FieldError:
    """A struct is wrong as a whole; its value would bury the message and is left out."""
    return FieldError(ErrorType.INVALID, path, _NO_VALUE, detail)


def duplicate(path: FieldPath, value: object, detail: str = "") -> FieldError:
    """A value that must be unique appears again."""
    return FieldError(ErrorType.DUPLICATE, path, value, detail)


def forbidden(path: FieldPath, detail: str = "") -> FieldError:
    """A value is well formed but not allowed here and now."""
    return FieldError(ErrorType.FORBIDDEN, path, "", detail)


def not_found(path: FieldPath, value: object, detail: str = "") -> FieldError:
    """A value names something that is not there."""
    return FieldError(ErrorType.NOT_FOUND, path, value, detail)


def not_supported(path: FieldPath, value: object, supported: Iterable[str]) -> FieldError:
    """A value is not one of an enumeration."""
    listed = ", ".join(json.dumps(each) for each in supported)
    return FieldError(ErrorType.NOT_SUPPORTED, path, value, f"supported values: {listed}")


def too_long(path: FieldPath, limit: int) -> FieldError:
    """A text has more than *limit* bytes; the text itself is never echoed."""
    return FieldError(ErrorType.TOO_LONG, path, "", f"may not be more than {limit} bytes")


def too_many(path: FieldPath, count: int, limit: int) -> FieldError:
    """A list has more than *limit* items."""
    return FieldError(ErrorType.TOO_MANY, path, count, f"must have at most {limit} {'item' if limit == 1 else 'items'}")


def type_invalid(path: FieldPath, value: object, detail: str) -> FieldError:
    """A value has the wrong JSON type."""
    return FieldError(ErrorType.TYPE_INVALID, path, value, detail)
