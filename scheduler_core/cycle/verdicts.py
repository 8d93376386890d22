"""What a root's outcome means for every group of its tree.

A parent that is not placed takes its descendants with it: whatever they came to by themselves, they have its status; groups that
were never tried have it too (kube-scheduler 1.37.1, propagation of results).
"""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Domain, Name, Status
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True)
class GroupVerdict:
    """Status and cause of one group, and its domain where it is placed."""

    request: PlacementRequest
    status: Status
    message: str
    domain: Domain | None

    @property
    def name(self) -> Name:
        """The group."""
        return self.request.entity.name


def verdicts(request: PlacementRequest, outcome: PlacementOutcome) -> list[GroupVerdict]:
    """One for each group of the tree, parents first."""
    found: list[GroupVerdict] = []
    _spread(request, outcome, None, found)
    return found


def _spread(request: PlacementRequest, outcome: PlacementOutcome | None, above: GroupVerdict | None, found: list[GroupVerdict]) -> None:
    own = _own(request, outcome, above)
    found.append(own)
    below = outcome.children if outcome is not None and outcome.children else (None,) * len(request.children)
    for child, each in zip(request.children, below, strict=True):
        _spread(child, each, own, found)


def _own(request: PlacementRequest, outcome: PlacementOutcome | None, above: GroupVerdict | None) -> GroupVerdict:
    overruled = above is not None and above.status is not Status.SUCCESS
    if above is not None and (outcome is None or (overruled and (outcome.success or above.status is Status.ERROR))):
        return GroupVerdict(request, above.status, above.message, None)
    if outcome is None:
        raise ValueError("a root has an outcome")
    key = request.entity.key
    domain = Domain(key, outcome.placement.value) if outcome.success and key else None
    return GroupVerdict(request, outcome.status, outcome.message, domain)
