"""Causes about devices and the claims to them; a claim is named by its label, as in decisions."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.node_count import NodeCount, NodeLabel
from scheduler_core.model.device_claims import DeviceShortage
from scheduler_core.model.device_comparisons import SelectorPart
from scheduler_core.model.devices import AttributeConstraint


@dataclasses.dataclass(frozen=True, slots=True)
class InsufficientDevices:
    """Nodes with too few free devices for a request; *selectors* are the selectors of the request, read as comparisons."""

    shortage: DeviceShortage
    selectors: tuple[SelectorPart, ...]
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class DevicesTaken:
    """Nodes that cannot use the devices of *claim*, which other pods take at *place*; None if that is not one simple expression."""

    claim: str
    place: NodeLabel | None
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceConstraintUnmet:
    """Nodes whose free devices do not satisfy a constraint of *claim*."""

    claim: str
    constraint: AttributeConstraint
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimsUnsatisfied:
    """Nodes whose free devices do not satisfy *claims* together, although enough are free for each request."""

    claims: tuple[str, ...]
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """Claim that is allocated at *place*, None if that is not one simple expression; *failed*: the binding of its devices failed."""

    claim: str
    place: NodeLabel | None
    failed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class DevicesElsewhere:
    """Nodes that cannot use the devices of claims that are allocated."""

    claims: tuple[AllocatedClaim, ...]
    nodes: NodeCount


DeviceRefusal = InsufficientDevices | DevicesTaken | DeviceConstraintUnmet | ClaimsUnsatisfied | DevicesElsewhere
