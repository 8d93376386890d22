"""Constraints of a root: those of a minimal conflicting set cannot be satisfied together."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.changes import Relaxation
from scheduler_core.model.names import Name


@dataclasses.dataclass(frozen=True, slots=True)
class NeedsMembers:
    """A group needs *minimum* pods, or groups."""

    group: Name
    minimum: int


@dataclasses.dataclass(frozen=True, slots=True)
class InOneDomain:
    """A group must be in one domain of a topology key."""

    group: Name
    key: str


@dataclasses.dataclass(frozen=True, slots=True)
class TakesCapacity:
    """A group takes capacity from its siblings."""

    group: Name


@dataclasses.dataclass(frozen=True, slots=True)
class EarlierRoot:
    """A root that was placed before takes capacity."""

    root: Name


@dataclasses.dataclass(frozen=True, slots=True)
class EarlierRoots:
    """Several roots that were placed before take capacity."""

    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class NominatedPodsKeepCapacity:
    """Capacity is held for pods with a nominated node."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunningPodsKeepNodes:
    """Running pods are not moved."""


@dataclasses.dataclass(frozen=True, slots=True)
class NotRelaxed:
    """The spec of pods is not changed by *relaxation*."""

    relaxation: Relaxation


Constraint = (
    NeedsMembers | InOneDomain | TakesCapacity | EarlierRoot | EarlierRoots | NominatedPodsKeepCapacity | RunningPodsKeepNodes | NotRelaxed
)
"""Constraint that can be a part of a conflict."""
