"""What a plan says of one group."""

from __future__ import annotations

import dataclasses

from scheduler_core.placement.signature import Form
from scheduler_core.pods import PodShape
from scheduler_core.topology import Placement


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A group with its domain, and the pods of a leaf that are placed there: how many of each shape."""

    form: Form
    domain: Placement
    counts: tuple[tuple[PodShape, int], ...] = ()
