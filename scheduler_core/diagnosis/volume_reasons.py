"""Rejections by volumes: the claims and volumes that exclude nodes, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.causes.node_count import NodeCount, NodeLabel
from scheduler_core.causes.volume_causes import (
    BoundVolume,
    InsufficientStorage,
    MissingObject,
    NoFreeVolume,
    OtherNodeSelected,
    OutsideAllowedTopologies,
    SharedClaimElsewhere,
    SharedVolume,
    StorageOffer,
    StorageShortage,
    UnboundClaim,
    VolumeAffinityConflict,
    VolumeCause,
    VolumeElsewhere,
    VolumeReserved,
    VolumesNotHeld,
    VolumeZoneConflict,
)
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.decision import VolumeChoice
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.device_claims import name_of
from scheduler_core.model.names import Name, NamedClaim
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.storage import ClaimOptions, Storage
from scheduler_core.model.topology import Placement
from scheduler_core.model.volumes import BIND_CONFLICT, BoundClaim, ClaimState
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.assumed_volumes import NOT_ENOUGH_SPACE
from scheduler_core.plugins.base import Refusal
from scheduler_core.plugins.volume_binding import NODE_CONFLICT, UNBOUND, VolumeBinding
from scheduler_core.plugins.volume_zone import ZONE_CONFLICT, VolumeZone

_NODE_CONFLICT = Refusal(VolumeBinding.name, NODE_CONFLICT)
_ZONE_CONFLICT = Refusal(VolumeZone.name, ZONE_CONFLICT)
_BOUND_CONFLICTS = (_NODE_CONFLICT, _ZONE_CONFLICT)
_UNBOUND = (Refusal(VolumeBinding.name, BIND_CONFLICT), Refusal(VolumeBinding.name, NOT_ENOUGH_SPACE))


def volume_cause(refusals: NodeRefusals, refusal: Refusal, count: int, nodes: NodeTable) -> VolumeCause | None:
    """Return why *refusal* excludes *count* nodes, with the names of claims and volumes; None if it is not about volumes."""
    some, pod = NodeCount(count, len(refusals.nodes)), refusals.pod
    claims = pod.bound_claims
    if refusal in _UNBOUND and nodes.storage is not None:
        return _unbound(refusals, refusal, some, nodes.storage)
    if refusal == _NODE_CONFLICT:
        bound = (_bound(pod, each, filter(None, (_label(each),))) for each in claims if each.need.affinity or each.need.migrated)
        return VolumeAffinityConflict(tuple(bound), some)
    if refusal == _ZONE_CONFLICT:
        return VolumeZoneConflict(tuple(_bound(pod, each, each.need.zones) for each in claims if each.need.zones), some)
    return _missing(refusals) if refusal == refusals.pre_filter else None


def volume_elsewhere(state: PlacementState, request: PlacementRequest, places: Sequence[Placement]) -> VolumeElsewhere | None:
    """Return a bound volume that is in none of the domains that the pods of a leaf can use otherwise; None if there is none."""
    nodes: Nodes = np.concatenate([each.nodes for each in places])
    for pod in {each.shape.serial: each for each in request.entity.waiting if each.bound_claims}.values():
        filters = state.profile.filters_by_plugin(pod.shape, last=False)
        others = [mask for refusal, mask in filters if refusal not in _BOUND_CONFLICTS]
        usable = nodes[np.logical_and.reduce([np.ones(len(state.nodes), dtype=bool), *others])[nodes]]
        for claim in pod.bound_claims:
            for key, values in filter(None, (_label(claim), *claim.need.zones)):
                confined = _confined(state.nodes, key, usable, values)
                if confined:
                    return VolumeElsewhere(_claim(pod, claim.claim), claim.volume, NodeLabel(key, tuple(values)), tuple(confined))
    return None


def _confined(nodes: NodeTable, key: str, usable: Nodes, values: Sequence[str]) -> list[str]:
    """Return the values of the label *key* on the nodes *usable* if none is in *values*; empty if one is, or is unknown."""
    column = nodes.label_column(key)
    ids = np.unique(column.ids[usable])
    found = [column.values[number] for number in ids.tolist() if number >= 0]
    known = len(found) == len(ids) and not {*column.values}.isdisjoint(values)
    return found if known and {*found}.isdisjoint(values) else []


def volumes_not_held(volumes: Mapping[str, VolumeChoice], without: Sequence[str]) -> VolumesNotHeld | None:
    """Return the volumes that are given to several claims, and the pods *without* volumes; None if there are none."""
    claims: dict[str, list[NamedClaim]] = {}
    for claim, choice in volumes.items():
        if choice.volume:
            claims.setdefault(choice.volume, []).append(_named(*name_of(claim)))
    shared = tuple(SharedVolume(volume, tuple(users)) for volume, users in claims.items() if len(users) > 1)
    return VolumesNotHeld(shared, tuple(without)) if shared or without else None


def _unbound(refusals: NodeRefusals, refusal: Refusal, nodes: NodeCount, storage: Storage) -> VolumeCause | None:
    """Return why a claim of the pod finds no volume, by the first of the refused nodes; None if it is not known."""
    mask = refusals.static[refusal] if refusal in refusals.static else refusals.others[refusal]
    refused = refusals.nodes[mask]
    requests = [need.request for need in refusals.pod.shape.volumes if need.request is not None]
    for name, request in zip(refusals.pod.delayed_claims, requests, strict=False):
        options, node, claim = storage.options(request), int(refused[0]), _claim(refusals.pod, name)
        if options.selected not in (-1, node):
            return OtherNodeSelected(claim, request.selected_node, nodes)
        if not options.provisioned[node] and (options.reachable is None or not options.reachable[node]):
            return _not_provisioned(claim, request, options, refused, nodes)
    return SharedClaimElsewhere(nodes) if any(each.shared for each in requests) else None


def _not_provisioned(claim: NamedClaim, request: ClaimRequest, options: ClaimOptions, refused: Nodes, nodes: NodeCount) -> VolumeCause:
    """Return why *claim* has no volume on the nodes *refused*."""
    if options.lacking[refused[0]]:
        offer = _offer(options, refused[options.lacking[refused]])
        return InsufficientStorage(claim, request.storage_class, request.size or 0, offer, nodes)
    if request.reserved:
        return VolumeReserved(claim, request.reserved, nodes)
    if options.matches or not options.provisions:
        return NoFreeVolume(claim, request.storage_class, request.size or None, nodes)
    return OutsideAllowedTopologies(claim, request.storage_class, nodes)


def storage_exceeded(state: PlacementState, request: PlacementRequest) -> tuple[StorageShortage, ...]:
    """Return what the claims of *request* need together, and the storage that each class has left for them."""
    if (storage := state.nodes.storage) is None:
        return ()
    claims = {
        (pod.namespace, name): each.request
        for leaf in request.entity.leaves()
        for pod in leaf.waiting
        for name, each in zip(pod.delayed_claims, (need for need in pod.shape.volumes if need.request is not None), strict=False)
    }
    by_class: dict[str, list[ClaimRequest]] = {}
    for each in claims.values():
        if each is not None and each.size and not each.selected_node and storage.options(each).segments is not None:
            by_class.setdefault(each.storage_class, []).append(each)
    shortages = []
    for name, requests in sorted(by_class.items()):
        offers = tuple(_offers(state, name, storage.options(requests[0])))
        shortages.append(StorageShortage(name, offers, sum(each.size or 0 for each in requests), len(requests)))
    return tuple(shortages)


def _offers(state: PlacementState, storage_class: str, options: ClaimOptions) -> list[StorageOffer]:
    """Return the storage that earlier roots leave in each storage capacity, the largest first."""
    if (segments := options.segments) is None:
        return []
    left = {}
    for number in sorted({*segments.of_node.tolist()} - {-1}):
        taken = sum(size for (name, node), size in state.provisioned.items() if name == storage_class and segments.of_node[node] == number)
        left[number] = max(0, segments.capacities[number] - taken)
    ordered = sorted(left, key=lambda number: (-left[number], number))
    return [StorageOffer(left[number], _segment(options, int((segments.of_node == number).argmax()))) for number in ordered]


def _offer(options: ClaimOptions, refused: Nodes) -> StorageOffer | None:
    """Return the storage for the largest volume on the nodes *refused*; None if they have no storage capacity."""
    best = int(refused[int(options.largest[refused].argmax())])
    if (limit := int(options.largest[best])) < 0:
        return None
    return StorageOffer(limit, _segment(options, best), others_smaller=len(np.unique(options.largest_index[refused])) > 1)


def _segment(options: ClaimOptions, node: int) -> NodeLabel | None:
    """Return the nodes of the largest storage capacity of *node*; None if that is not one simple expression."""
    label = options.segment_label(node)
    return None if label is None else NodeLabel(label[0], tuple(label[1]))


def _missing(refusals: NodeRefusals) -> VolumeCause | None:
    """Return the object that is missing, or that is not ready, and so excludes all nodes; None if there is none."""
    plugin, reason = refusals.pre_filter
    for need in refusals.pod.shape.volumes:
        if plugin == VolumeBinding.name and need.state is ClaimState.MISSING:
            return MissingObject(reason, Name("PersistentVolumeClaim", refusals.pod.namespace, need.claim))
        if plugin == VolumeZone.name and need.state is ClaimState.VOLUME_MISSING:
            return MissingObject(reason, Name("PersistentVolume", "", need.volume))
        if (plugin, reason) == (VolumeBinding.name, UNBOUND) and need.state in (
            ClaimState.BINDING,
            ClaimState.NO_CLASS,
            ClaimState.UNBOUND,
        ):
            return UnboundClaim(reason, need.field, need.state, need.storage_class)
    return None


def _bound(pod: PodRecord, claim: BoundClaim, places: Iterable[tuple[str, Sequence[str]]]) -> BoundVolume:
    return BoundVolume(_claim(pod, claim.claim), claim.volume, tuple(NodeLabel(key, tuple(values)) for key, values in places))


def _claim(pod: PodRecord, name: str) -> NamedClaim:
    """Return the PersistentVolumeClaim *name* of *pod*."""
    return _named(pod.namespace, name)


def _named(namespace: str, name: str) -> NamedClaim:
    return NamedClaim(f"{namespace}/{name}", Name("PersistentVolumeClaim", namespace, name))


def _label(claim: BoundClaim) -> tuple[str, tuple[str, ...]] | None:
    """Return the node label and its values that the node affinity of a volume requires; None if it requires something else."""
    affinity = claim.need.affinity or (claim.need.migrated and claim.need.migrated.affinity)
    terms = (affinity and affinity.node_selector_terms) or ()
    expressions = terms[0].match_expressions or () if len(terms) == 1 and not terms[0].match_fields else ()
    if len(expressions) == 1 and expressions[0].operator == "In":
        return expressions[0].key, expressions[0].values or ()
    return None
