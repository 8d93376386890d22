"""What a plan says of one group."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlannedGroup:
    """A group with its domain, and the pods of a leaf that are placed there: how many of each shape."""

    form: PlacementRequest
    domain: Placement
    counts: tuple[tuple[PodShape, int], ...] = ()
