"""Parts of JSON objects, and errors that several modules report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi.content import subdomain
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError

Content = Mapping[str, Any]
LARGEST_PORT = 65535


def items(content: Content, name: str, at: FieldPath) -> list[tuple[FieldPath, Content]]:
    """Return the objects of a list with their paths, in order; empty if it is absent or something else."""
    listed = content.get(name)
    if not isinstance(listed, list):
        return []
    return [(at.join((name, index)), each if isinstance(each, (dict, Mapping)) else {}) for index, each in enumerate(listed)]


def text(content: Content, name: str) -> str:
    """Return a string; empty if it is absent or something else."""
    value = content.get(name)
    return value if isinstance(value, str) else ""


def texts(content: Content, name: str) -> list[str]:
    """Return the strings of a list, with empty ones in place of other values; empty if it is absent or something else."""
    listed = content.get(name)
    return [each if isinstance(each, str) else "" for each in listed] if isinstance(listed, list) else []


def number(content: Content, name: str, default: int = 0) -> int:
    """Return an integer; *default* if it is absent or something else."""
    value = content.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def not_negative(content: Content, at: FieldPath, *names: str) -> Iterator[FieldError]:
    """Yield an error for each negative number among the fields *names*."""
    for name in names:
        if (value := number(content, name)) < 0:
            yield field.invalid(at / name, value, "must be greater than or equal to 0")


def needed(content: Content, at: FieldPath, *names: str, detail: str = "") -> Iterator[FieldError]:
    """Yield an error for each of the fields *names* that is absent, an empty string or an empty list."""
    for name in names:
        if content.get(name) in (None, "", []):
            yield field.required(at / name, detail)


def formatted(value: str, at: FieldPath, messages: Iterable[str]) -> Iterator[FieldError]:
    """Yield an error of a value for each of *messages*."""
    return (field.invalid(at, value, message) for message in messages)


def one_of(content: Content, name: str, at: FieldPath, supported: Iterable[str], *, has_default: bool = True) -> Iterator[FieldError]:
    """Yield an error if a field is given with a value that is not one of *supported*; an empty one is replaced if it *has_default*."""
    values = [*supported]
    if (value := content.get(name)) is not None and value not in values and not (value == "" and has_default):
        yield field.not_supported(at / name, value, values)


def port(value: object, at: FieldPath) -> Iterator[FieldError]:
    """Yield an error unless a number is that of a port."""
    if isinstance(value, int) and not 0 < value <= LARGEST_PORT:
        yield field.invalid(at, value, f"must be between 1 and {LARGEST_PORT}, inclusive")


def reference(content: Content, name: str, at: FieldPath, *, name_field: str = "name") -> Iterator[FieldError]:
    """Yield the errors of a reference to an object by its name; nothing if it is absent."""
    if content.get(name) is None:
        return
    given = section(content, name)
    yield from needed(given, at / name, name_field)
    if value := text(given, name_field):
        yield from formatted(value, at / name / name_field, subdomain(value))


def below(value: str, at: FieldPath) -> Iterator[FieldError]:
    """Yield an error unless a path is relative and does not lead up."""
    if value.startswith("/"):
        yield field.invalid(at, value, "must be a relative path")
    if ".." in value.split("/"):
        yield field.invalid(at, value, "must not contain '..'")


def integer(value: str, *, bits: int = 64) -> bool:
    """Return whether a text is a decimal integer of so many bits, as Go writes it."""
    return bool(_is_integer(value)) and -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1)


_is_integer = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII).fullmatch


def duplicates(values: Iterable[tuple[FieldPath, Any]]) -> Iterator[FieldError]:
    """Yield an error for each value that occurred before; empty values do not count."""
    seen = set()
    for at, value in values:
        if value in seen:
            yield field.duplicate(at, value)
        elif value not in (None, ""):
            seen.add(value)
