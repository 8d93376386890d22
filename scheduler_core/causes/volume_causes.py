"""Causes about volumes, claims and storage."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.node_count import NodeCount, NodeLabel
from scheduler_core.model.names import Name
from scheduler_core.model.volumes import ClaimState


@dataclasses.dataclass(frozen=True, slots=True)
class BoundVolume:
    """Volume of a claim, and the nodes that can use it; no places if they are not given by simple expressions."""

    claim: str
    volume: str
    places: tuple[NodeLabel, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeAffinityConflict:
    """Nodes that do not match the node affinity of bound volumes."""

    volumes: tuple[BoundVolume, ...]
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeZoneConflict:
    """Nodes outside the zones of bound volumes."""

    volumes: tuple[BoundVolume, ...]
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeElsewhere:
    """Bound volume of *claim* at *place*, in none of the domains *confined* (values of the same label) that its group can use."""

    claim: str
    volume: str
    place: NodeLabel
    confined: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class OtherNodeSelected:
    """Nodes other than *node*, which is selected for *claim* (annotation ``selected-node``)."""

    claim: str
    node: str
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class StorageOffer:
    """Storage capacity of some nodes.

    Attributes:
        size: bytes of the largest volume.
        place: its nodes; None if they are not given by one simple expression.
        largest: True if other nodes have other capacities.

    """

    size: int
    place: NodeLabel | None
    largest: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class InsufficientStorage:
    """Nodes without enough storage capacity of a class for *claim*; *needed* in bytes, *offer* None if they have no capacity object."""

    claim: str
    storage_class: str
    needed: int
    offer: StorageOffer | None
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeReserved:
    """Nodes that cannot use *volume*, which is reserved for *claim*."""

    claim: str
    volume: str
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class NoFreeVolume:
    """Nodes without a free volume of a class for *claim*; *size* in bytes, 0 if the claim requests none."""

    claim: str
    storage_class: str
    size: int
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class OutsideAllowedTopologies:
    """Nodes outside the ``allowedTopologies`` of the class of *claim*."""

    claim: str
    storage_class: str
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class SharedClaimElsewhere:
    """Nodes that cannot use the volume of a claim of several pods, whose first pod selects the node."""

    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class UnboundClaim:
    """Claim that must be bound before its pod is scheduled.

    Attributes:
        reason: kube-scheduler's text.
        field: field of the pod that names the claim.
        state: UNBOUND, NO_CLASS or BINDING.
        storage_class: its class; empty if it has none.

    """

    reason: str
    field: str
    state: ClaimState
    storage_class: str


@dataclasses.dataclass(frozen=True, slots=True)
class MissingObject:
    """Object that the pod needs and that does not exist; *reason* is kube-scheduler's text."""

    reason: str
    object: Name


@dataclasses.dataclass(frozen=True, slots=True)
class StorageShortage:
    """Storage of a class that is too small for *claims* claims together: *offers* of its segments, the largest first, *needed* in bytes."""

    storage_class: str
    offers: tuple[StorageOffer, ...]
    needed: int
    claims: int


@dataclasses.dataclass(frozen=True, slots=True)
class VolumesNotHeld:
    """Warning about a root that is placed: kube-scheduler does not hold volumes between the groups of a tree.

    Attributes:
        shared: volumes that are given to several claims, each with the names of these claims.
        pods: pods that cannot use the volume of their claim on their node.

    """

    shared: tuple[tuple[str, tuple[str, ...]], ...]
    pods: tuple[str, ...]


VolumeCause = (
    VolumeAffinityConflict
    | VolumeZoneConflict
    | OtherNodeSelected
    | InsufficientStorage
    | VolumeReserved
    | NoFreeVolume
    | OutsideAllowedTopologies
    | SharedClaimElsewhere
    | UnboundClaim
    | MissingObject
)
