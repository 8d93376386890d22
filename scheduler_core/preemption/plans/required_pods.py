"""What a root must place at least, and within which domains, as the choice of victims sees it."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.state import PlacementState

Counts = tuple[tuple[PodShape, int], ...]
"""So many pods of each shape."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RequiredPods:
    """A group with what is below it, as far as its minimum is not met.

    Attributes:
        number: equal numbers, equal groups.
        key: the topology key whose domain it must stay in; empty where it may spread.
        value: the only domain that it may have, as members of it run there; None where it may have any.
        ways: of a PodGroup or a pod: what may be placed to meet its minimum, one of these.
        missing: of a composite: how many of ``children`` must be placed.

    """

    number: int
    key: str
    value: str | None = None
    ways: tuple[Counts, ...] = ()
    missing: int = 0
    children: tuple[RequiredPods, ...] = ()

    def places(self, state: PlacementState, placement: Placement) -> tuple[Placement, ...]:
        """Where it may be within *placement*."""
        if not self.key:
            return (placement,)
        domains = state.topology.divide(placement, self.key).domains
        return domains if self.value is None else tuple(domain for domain in domains if domain.value == self.value)
