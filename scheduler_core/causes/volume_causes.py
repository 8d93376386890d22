"""Causes about volumes, claims and storage."""

from __future__ import annotations

from typing import NamedTuple

from kubeapi.base_structs import Record
from kubeapi.resource_names import Bytes
from scheduler_core.causes.node_count import NodeCount, NodeLabel
from scheduler_core.model.names import Name, NamedClaim
from scheduler_core.model.volumes import ClaimState


class BoundVolume(Record, frozen=True):
    """Volume of a claim, and the nodes that can use it; no places if they are not given by simple expressions."""

    claim: NamedClaim
    volume: str
    places: tuple[NodeLabel, ...]


class VolumeAffinityConflict(Record, frozen=True):
    """Nodes that do not match the node affinity of bound volumes."""

    volumes: tuple[BoundVolume, ...]
    nodes: NodeCount


class VolumeZoneConflict(Record, frozen=True):
    """Nodes outside the zones of bound volumes."""

    volumes: tuple[BoundVolume, ...]
    nodes: NodeCount


class VolumeElsewhere(Record, frozen=True):
    """Bound volume of *claim* at *place*, in none of the domains *confined* (values of the same label) that its group can use."""

    claim: NamedClaim
    volume: str
    place: NodeLabel
    confined: tuple[str, ...]


class OtherNodeSelected(Record, frozen=True):
    """Nodes other than *node*, which is selected for *claim* (annotation ``selected-node``)."""

    claim: NamedClaim
    node: str
    nodes: NodeCount


class StorageOffer(Record, frozen=True):
    """Storage capacity of some nodes.

    Attributes:
        size: that of the largest volume.
        place: its nodes; None if they are not given by one simple expression.
        others_smaller: True if other nodes have other capacities.

    """

    size: Bytes
    place: NodeLabel | None
    others_smaller: bool = False


class InsufficientStorage(Record, frozen=True):
    """Nodes without enough storage capacity of a class for *claim*; there is no *offer* if they have no capacity object."""

    claim: NamedClaim
    storage_class: str
    needed: Bytes
    offer: StorageOffer | None
    nodes: NodeCount


class VolumeReserved(Record, frozen=True):
    """Nodes that cannot use *volume*, which is reserved for *claim*."""

    claim: NamedClaim
    volume: str
    nodes: NodeCount


class NoFreeVolume(Record, frozen=True):
    """Nodes without a free volume of a class for *claim*; there is no *size* if the claim requests none."""

    claim: NamedClaim
    storage_class: str
    size: Bytes | None
    nodes: NodeCount


class OutsideAllowedTopologies(Record, frozen=True):
    """Nodes outside the ``allowedTopologies`` of the class of *claim*."""

    claim: NamedClaim
    storage_class: str
    nodes: NodeCount


class SharedClaimElsewhere(Record, frozen=True):
    """Nodes that cannot use the volume of a claim of several pods, whose first pod selects the node."""

    nodes: NodeCount


class UnboundClaim(Record, frozen=True):
    """Claim that must be bound before its pod is scheduled.

    Attributes:
        reason: kube-scheduler's text.
        field: field of the pod that names the claim.
        state: unbound, no-class or binding.
        storage_class: its class; empty if it has none.

    """

    reason: str
    field: str
    state: ClaimState
    storage_class: str = ""


class MissingObject(Record, frozen=True):
    """Object that the pod needs and that does not exist; *reason* is kube-scheduler's text."""

    reason: str
    object: Name


class StorageShortage(Record, frozen=True):
    """Storage of a class that is too small for *claim_count* claims together; *offers* are those of its segments, the largest first."""

    storage_class: str
    offers: tuple[StorageOffer, ...]
    needed: Bytes
    claim_count: int


class SharedVolume(NamedTuple):
    """Volume that is given to several claims."""

    volume: str
    claims: tuple[NamedClaim, ...]


class VolumesNotHeld(Record, frozen=True):
    """Warning about a root that is placed: kube-scheduler does not hold volumes between the groups of a tree.

    Attributes:
        shared_volumes: volumes that are given to several claims.
        pod_names: pods that cannot use the volume of their claim on their node.

    """

    shared_volumes: tuple[SharedVolume, ...]
    pod_names: tuple[str, ...]


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
