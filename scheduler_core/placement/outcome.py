"""Result of one group on one placement."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from scheduler_core.causes.attempts import AttemptReason
from scheduler_core.model.devices import Allocation
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.model.volumes import ClaimName
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(slots=True, eq=False)
class PlacementOutcome:
    """Result of one group on one placement.  It names no pods, so it is valid for every group with the same signature.

    Attributes:
        status: Success, Unschedulable or Error.
        reason: why not, unless Success.
        placement: the chosen domain, or the placement that was tried.
        nodes: of a leaf: shape (waiting,): the node of each pod in order, -1 for none.  Nodes of pods that fit before the group
            failed are kept for the diagnosis.
        children: of a composite: one for each child, None if it was not tried.
        loads: pods to assume, of all groups below; empty unless Success.
        cause: identifies ``loads`` in the ledger.
        placed: number of placed pods, of all groups below; 0 unless Success.
        volumes: volumes that a search has chosen for claims, by namespace and name: index in ``Storage.volumes``, -1 to provision one.
        devices: devices that a search has chosen for claims, by key of the claim.

    """

    status: Status
    placement: Placement
    cause: int
    reason: AttemptReason | None = None
    nodes: Nodes | None = None
    children: tuple[PlacementOutcome | None, ...] = ()
    loads: tuple[PodLoad, ...] = ()
    placed: int = 0
    volumes: Mapping[ClaimName, int] = dataclasses.field(default_factory=dict)
    devices: Mapping[str, Allocation] = dataclasses.field(default_factory=dict)
    holds: bool = False
    """True if the desiredCount of a basic group would fit as well."""
    tried: int = 0
    """Number of candidate placements; 0 for a group without its own constraint."""
    sampled: tuple[int, int] | None = None
    """Number of feasible placements, and how many of them kube-scheduler compares, in random order; None if it compares all."""

    @property
    def success(self) -> bool:
        """Return whether the group's minimum is met."""
        return self.status is Status.SUCCESS


AssignedLeaf = tuple[int, list[tuple[PodRecord, int]]]
"""What identifies the pods of a leaf and their nodes in the ledger, and these pods with their nodes."""


def assigned(request: PlacementRequest, outcome: PlacementOutcome) -> list[tuple[PodRecord, int]]:
    """Return the pods that a success places, with their nodes."""
    return [pair for _, pods in assigned_by_leaf(request, outcome) for pair in pods]


def assigned_by_leaf(request: PlacementRequest, outcome: PlacementOutcome) -> Iterator[AssignedLeaf]:
    """Yield the pods that a success places, by leaf."""
    if request.leaf:
        yield outcome.cause, pods_with_nodes(request, outcome)
        return
    for child, each in zip(request.children, outcome.children, strict=True):
        if each is not None and each.success:
            yield from assigned_by_leaf(child, each)


def pods_with_nodes(request: PlacementRequest, outcome: PlacementOutcome) -> list[tuple[PodRecord, int]]:
    """Return the pods that got a node in every leaf that was tried, even if the leaf or a group above it failed."""
    if request.leaf:
        nodes = [] if outcome.nodes is None else outcome.nodes.tolist()
        return [(pod, node) for pod, node in zip(request.entity.waiting, nodes, strict=False) if node >= 0]
    below = zip(request.children, outcome.children, strict=False)
    return [pair for child, result in below if result is not None for pair in pods_with_nodes(child, result)]
