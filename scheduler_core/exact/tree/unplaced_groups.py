"""Groups that the crossing search has still to place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class UnplacedGroups:
    """A group to place within a placement, before the rest of the agenda.

    Attributes:
        number: identifies the requests and placements of the whole agenda.

    """

    request: PlacementRequest
    placement: Placement
    rest: UnplacedGroups | None
    number: int

    def tasks(self) -> Iterator[tuple[PlacementRequest, Placement]]:
        """Yield all groups of the agenda in order, each with its placement."""
        at: UnplacedGroups | None = self
        while at is not None:
            yield at.request, at.placement
            at = at.rest
