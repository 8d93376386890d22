"""Result of one group on one placement."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Status
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.topology import Placement


@dataclasses.dataclass(slots=True, eq=False)
class PlacementOutcome:
    """Result of one group on one placement.  It names no pods, so it is valid for every group with the same signature.

    Attributes:
        status: Success, Unschedulable or Error.
        message: the reason, unless Success.
        placement: the chosen domain, or the placement that was tried.
        nodes: of a leaf: shape (waiting,): the node of each pod in order, -1 for none.  Nodes of pods that fit before the group
            failed are kept for the diagnosis.
        children: of a composite: one for each child, None if it was not tried.
        loads: pods to assume, of all groups below; empty unless Success.
        cause: identifies ``loads`` in the ledger.
        placed: number of placed pods, of all groups below; 0 unless Success.
        scored: millicores and bytes of the placed pods, as scores count them.

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
    """True if the desiredCount of a basic group would fit as well."""
    tried: int = 0
    """Number of candidate placements; 0 for a group without its own constraint."""

    @property
    def success(self) -> bool:
        """Return whether the group's minimum is met."""
        return self.status is Status.SUCCESS
