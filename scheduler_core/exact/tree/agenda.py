"""What a search has still to place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Agenda:
    """A group that must be placed, and within what, before the rest.

    Attributes:
        number: stands for the forms and placements of all of it; equal numbers, equal agendas.

    """

    request: PlacementRequest
    placement: Placement
    rest: Agenda | None
    number: int

    def tasks(self) -> Iterator[tuple[PlacementRequest, Placement]]:
        """All of it, in order."""
        at: Agenda | None = self
        while at is not None:
            yield at.request, at.placement
            at = at.rest
