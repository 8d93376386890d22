"""Constraints of a root: those of a minimal conflicting set cannot be satisfied together."""

from __future__ import annotations

from kubeapi.base_structs import Record
from scheduler_core.causes.changes import Relaxation
from scheduler_core.model.names import Name


class NeedsMembers(Record, frozen=True):
    """A group needs *minimum* pods, or groups."""

    group: Name
    minimum: int


class InOneDomain(Record, frozen=True):
    """A group must be in one domain of a topology key."""

    group: Name
    key: str


class TakesCapacity(Record, frozen=True):
    """A group takes capacity from its siblings."""

    group: Name


class EarlierRoot(Record, frozen=True):
    """A root that was placed before takes capacity."""

    root: Name


class EarlierRoots(Record, frozen=True):
    """Several roots that were placed before take capacity."""

    count: int


class NominatedPodsKeepCapacity(Record, frozen=True):
    """Capacity is held for pods with a nominated node."""


class RunningPodsKeepNodes(Record, frozen=True):
    """Running pods are not moved."""


class NotRelaxed(Record, frozen=True):
    """The spec of pods is not changed by *relaxation*."""

    relaxation: Relaxation


Constraint = (
    NeedsMembers | InOneDomain | TakesCapacity | EarlierRoot | EarlierRoots | NominatedPodsKeepCapacity | RunningPodsKeepNodes | NotRelaxed
)
"""Constraint that can be a part of a conflict."""
