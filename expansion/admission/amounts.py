"""Amounts in the objects that admission reads, and their errors: an amount with an error is not applied, and never taken to be 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from expansion.contents import Content
from expansion.notes import FieldsUnreadable
from kubeapi import quantity
from kubeapi.decode import section
from kubeapi.names import Name
from kubeapi.problem import Problem

Amounts = Mapping[str, Any]


class AmountError(NamedTuple):
    """Field that cannot be read, with the error; *resource* is empty if the field is not the amount of a resource."""

    resource: str
    field: str
    error: str


def readable(content: Any, name: str) -> Amounts:
    """Return the amounts of a section that have no error."""
    return {resource: amount for resource, amount in section(content, name).items() if not amount_error(amount)}


def object_error(content: Any, path: str) -> Iterator[AmountError]:
    """Yield the error of a part that must be an object, if it is present and something else."""
    if content is not None and not isinstance(content, Mapping):
        yield AmountError("", path, "must be an object")


def list_errors(content: Any, path: str) -> Iterator[AmountError]:
    """Yield the errors of a part that must be a list of objects, if it is present."""
    if content is not None and not isinstance(content, list):
        yield AmountError("", path, "must be a list")
    for index, each in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(each, Mapping):
            yield AmountError("", f"{path}[{index}]", "must be an object")


def amount_errors(content: Any, path: str) -> Iterator[AmountError]:
    """Yield the errors of a section with amounts by resource."""
    yield from object_error(content, path)
    for resource, amount in content.items() if isinstance(content, Mapping) else ():
        if error := amount_error(amount):
            yield AmountError(resource, f"{path}[{resource}]", error)


def amount_error(amount: object) -> str:
    """Return why an amount cannot be read; empty if it can."""
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return "must be a quantity, such as 500m, 2 or 1.5Gi"
    try:
        return "must not be negative" if quantity.milli_value(amount) < 0 else ""
    except ValueError as error:
        return str(error)


def unreadable(kind: str, content: Content, errors: Iterable[AmountError]) -> Iterator[Problem]:
    """Yield the problem of an object of *kind* with *errors*, if there are any."""
    listed = tuple((each.field, each.error) for each in errors)
    if listed:
        metadata = section(content, "metadata")
        name = Name(kind, "" if kind == "RuntimeClass" else str(metadata.get("namespace") or "default"), str(metadata.get("name")))
        yield Problem.about(name, FieldsUnreadable(listed))
