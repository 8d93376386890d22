"""Results of checks: findings, and what could not be checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from validators.rules.base import Severity

if TYPE_CHECKING:
    from muster.doctor.world import Item, World


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnosis:
    """One defect of an installation.

    Attributes:
        item: object with the defect.
        field: field path in it; empty if it is about the whole object.
        message: what is wrong.
        command: shell command that mends it.

    """

    severity: Severity
    item: Item
    field: str
    message: str
    command: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unseen:
    """Part of the installation that a check could not see, with the reason."""

    reason: str


Result = Diagnosis | Unseen


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One claim about an installation.  The docstring of the check's module is the text of the claim."""

    id: str
    why: str
    """Consequence of a violation."""
    examine: Callable[[World], Iterable[Result]]
    claim: str = ""
    """Set from the module's docstring."""


def error(item: Item, field: str, message: str, command: str) -> Diagnosis:
    """Return a defect because of which requests fail, or will fail."""
    return Diagnosis(Severity.ERROR, item, field, message, command)


def warning(item: Item, field: str, message: str, command: str) -> Diagnosis:
    """Return a defect that has an effect only together with another event."""
    return Diagnosis(Severity.WARNING, item, field, message, command)
