"""Paths of fields in wire names, as in apimachinery, ``pkg/util/validation/field``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Part = str | int
"""Name of a field, or index of an item."""


class FieldPath:
    """Path of a field in wire names: ``spec.podGroupTemplates[0].name``.  Immutable; the empty path is the object.

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
        """Return this path with *parts* appended."""
        return FieldPath(*self.parts, *parts)

    def starts_with(self, other: FieldPath) -> bool:
        """Return whether this path is *other* or lies below it."""
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
    """Key of a map with free keys (labels, annotations), written in brackets as Kubernetes does."""

    __slots__ = ()


def _pieces(parts: tuple[Part, ...]) -> Iterator[str]:
    for number, part in enumerate(parts):
        if isinstance(part, (int, Key)):
            yield f"[{part}]"
        elif number:
            yield f".{part}"
        else:
            yield part
