"""What trying a group on a placement came to."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Status
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.topology import Placement


@dataclasses.dataclass(slots=True, eq=False)
class PlacementOutcome:
    """One group on one placement.  It names no pods, so that it serves every group of the same signature.

    Attributes:
        status: Success, Unschedulable or Error.
        message: why, for all but Success.
        placement: the domain chosen, or the placement tried.
        nodes: of a leaf: shape (waiting,): the node of each pod in its order, -1 where it found none.  What fitted before the
            group failed is kept for the diagnosis.
        children: of a composite: one for each child, None where it was not tried.
        loads: what assuming it takes, all that is below included; empty unless Success.
        cause: stands for ``loads`` in the ledger.
        placed: pods placed, all that is below included; 0 unless Success.
        scored: millicores and bytes of those pods, as scores count them.

    """

    status: Status
    placement: Placement
    cause: int
    message: str = ""
    nodes: Nodes | None = None
    children: tuple[PlacementOutcome | None, ...] = ()
    loads: tuple[PodLoad, ...] = ()
    placed: int = 0
    scored: tuple[int, int] = (0, 0)
    holds: bool = False
    """Whether the desiredCount of a basic group would fit as well."""
    tried: int = 0
    """Placements there were to choose from; 0 where the group has no constraint of its own."""

    @property
    def success(self) -> bool:
        """Whether the group's minimum is met."""
        return self.status is Status.SUCCESS
