"""Causes about devices and the claims to them."""

from __future__ import annotations

from decimal import Decimal

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from kubeapi.resource_names import Quantity
from scheduler_core.causes.node_count import NodeCount, NodeLabel
from scheduler_core.model.device_claims import DevicesTogether
from scheduler_core.model.device_comparisons import SelectorPart
from scheduler_core.model.names import NamedClaim


class InsufficientDevices(Record, frozen=True):
    """Nodes with too few free devices for a request.

    Attributes:
        request: name of the request.
        free: number of free devices of the class that match, at most on a node.
        needed: number of devices for this request and for equal ones of the pod; None for all that match.
        capacity: amounts of capacities that it requests, by name.
        selectors: its own selectors, read as comparisons.
        taints: taints of devices that are free and match, but that the request does not tolerate.
        last_alternative: True if it is the last alternative of the request; there are too few devices for the others too.
        shared: True if several pods use the claim.
        counters_used: True if devices match and are free, but the shared counters of their pool are used up.
        together: devices of the nodes that a group can use; None if the nodes alone are short.

    """

    claim: NamedClaim
    device_class: str
    request: str
    free: Quantity
    needed: Quantity | None
    nodes: NodeCount
    selectors: tuple[SelectorPart, ...] = ()
    capacity: tuple[tuple[str, Decimal], ...] = ()
    taints: tuple[Taint, ...] = ()
    last_alternative: bool = False
    shared: bool = False
    counters_used: bool = False
    together: DevicesTogether | None = None


class DevicesTaken(Record, frozen=True):
    """Nodes that cannot use the devices of *claim*, which other pods take: at *place*, if that is one simple expression."""

    claim: NamedClaim
    place: NodeLabel | None
    nodes: NodeCount


class DeviceConstraintUnmet(Record, frozen=True):
    """Nodes whose free devices do not have one value of *attribute* for *claim*, or if *distinct*, different values.

    *request_names* are the requests that the constraint of the claim applies to; empty for all.
    """

    claim: NamedClaim
    attribute: str
    nodes: NodeCount
    distinct: bool = False
    request_names: tuple[str, ...] = ()


class ClaimsUnsatisfied(Record, frozen=True):
    """Nodes whose free devices do not satisfy *claims* together, although enough are free for each request."""

    claims: tuple[NamedClaim, ...]
    nodes: NodeCount


class AllocatedClaim(Record, frozen=True):
    """Claim that is allocated: at *place*, if that is one simple expression; *failed* if the binding of its devices failed."""

    claim: NamedClaim
    place: NodeLabel | None
    failed: bool = False


class DevicesElsewhere(Record, frozen=True):
    """Nodes that cannot use the devices of claims that are allocated."""

    claims: tuple[AllocatedClaim, ...]
    nodes: NodeCount


DeviceRefusal = InsufficientDevices | DevicesTaken | DeviceConstraintUnmet | ClaimsUnsatisfied | DevicesElsewhere
