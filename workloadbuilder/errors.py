"""Exceptions of this package, each with all field errors at once, with paths in the user's own object."""

from __future__ import annotations

from collections.abc import Iterable

from validators.field import FieldError


class _FieldErrors(ValueError):
    """Invalid input; ``errors`` has the field errors, ``str()`` one line for each."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        super().__init__("\n".join(f"{error.path}: {error}" if error.path.parts else str(error) for error in self.errors))


class BlockError(_FieldErrors):
    """Malformed building blocks: a wrong JSON type, an unknown field, no or several members of a union."""


class BuildError(_FieldErrors):
    """A tree of items, a Workload or a template from which no valid object can be built."""


def in_order(errors: Iterable[FieldError]) -> tuple[FieldError, ...]:
    """Return *errors* sorted by field path, with indices in numerical order, then by type and detail."""
    return tuple(sorted(errors, key=_rank))


def _rank(error: FieldError) -> tuple[tuple[tuple[bool, int, str], ...], str, str]:
    parts = tuple((True, part, "") if isinstance(part, int) else (False, 0, part) for part in error.path.parts)
    return parts, error.type, error.detail
