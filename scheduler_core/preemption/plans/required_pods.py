"""Pods that a root must place, and the domains of its groups."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.state import PlacementState

Counts = tuple[tuple[PodShape, int], ...]
"""Number of pods by shape."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RequiredPods:
    """A group whose minimum is not met, with such groups below it.

    Attributes:
        number: equal for equal groups.
        key: topology key of its domain; empty without a constraint.
        value: label value of the domain in which members run; None if any domain is possible.
        ways: for a PodGroup or a pod the selections of pods that meet its minimum.
        missing: for a composite the number of ``children`` to place.

    """

    number: int
    key: str
    value: str | None = None
    ways: tuple[Counts, ...] = ()
    missing: int = 0
    children: tuple[RequiredPods, ...] = ()

    def domains_in(self, state: PlacementState, placement: Placement) -> tuple[Placement, ...]:
        """Return the domains of the group within *placement*."""
        if not self.key:
            return (placement,)
        domains = state.topology.divide(placement, self.key).domains
        return domains if self.value is None else tuple(domain for domain in domains if domain.value == self.value)
