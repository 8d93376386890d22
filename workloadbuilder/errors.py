"""What this package raises: all that is wrong at once, as field errors with paths in the user's own object."""

from __future__ import annotations

from collections.abc import Iterable

from validators.field import FieldError


class _Told(ValueError):
    """Something is wrong with what was given; ``errors`` says what, and ``str()`` has one line for each."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        super().__init__("\n".join(f"{error.path}: {error}" if error.path.parts else str(error) for error in self.errors))


class BlockError(_Told):
    """Building blocks that are none: a wrong JSON type, an unknown field, no or several members of a union."""


class BuildError(_Told):
    """A tree of items from which no sound Workload can be made, or a Workload or template from which no group can."""


def in_order(errors: Iterable[FieldError]) -> tuple[FieldError, ...]:
    """*errors* by field path, numbers as numbers, then by what they say."""
    return tuple(sorted(errors, key=_rank))


def _rank(error: FieldError) -> tuple[tuple[tuple[bool, int, str], ...], str, str]:
    parts = tuple((True, part, "") if isinstance(part, int) else (False, 0, part) for part in error.path.parts)
    return parts, error.type, error.detail
