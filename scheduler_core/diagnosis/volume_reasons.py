"""Wording of rejections by volumes: the claims and volumes that exclude nodes, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model import resource_names
from scheduler_core.model.decision import VolumeChoice
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.nouns import any_of, labelled_nodes
from scheduler_core.model.storage import ClaimOptions, Storage
from scheduler_core.model.topology import Placement
from scheduler_core.model.volumes import BIND_CONFLICT, BoundClaim, ClaimState, VolumeNeed
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.volume_binding import NODE_CONFLICT, UNBOUND
from scheduler_core.plugins.volume_picks import NOT_ENOUGH_SPACE
from scheduler_core.plugins.volume_zone import ZONE_CONFLICT

_BOUND_CONFLICTS = (NODE_CONFLICT, ZONE_CONFLICT)
_CLAIMS = 2
"""Maximum number of claims in a reason."""


def volume_reason(refusals: NodeRefusals, reason: str, count: int, nodes: NodeTable) -> str:
    """Return *reason*, which excludes *count* nodes, with the names of claims and volumes; empty if it is not about volumes."""
    if reason in (BIND_CONFLICT, NOT_ENOUGH_SPACE) and nodes.storage is not None:
        return _unbound(refusals, reason, count, nodes.storage)
    claims = refusals.pod.bound_claims
    some, single = phrases.some_of(count, len(refusals.nodes)), count == 1
    if reason == NODE_CONFLICT:
        bound = _bound((each, _affinity(each)) for each in claims if each.need.affinity or each.need.migrated)
        return f"{some} {'does' if single else 'do'} not match the node affinity of its volumes: {bound}"
    if reason == ZONE_CONFLICT:
        bound = _bound((each, " and ".join(labelled_nodes(*zone) for zone in each.need.zones)) for each in claims if each.need.zones)
        return f"{some} {'is' if single else 'are'} outside the zones of its volumes: {bound}"
    return _missing(refusals) if reason == refusals.pre_filter else ""


def volume_elsewhere(state: PlacementState, request: PlacementRequest, places: Sequence[Placement]) -> str:
    """Return that a bound volume is in none of the domains that the pods of a leaf can use otherwise; empty if none is."""
    nodes: Nodes = np.concatenate([each.nodes for each in places])
    group = "pod" if request.entity.name.kind == "Pod" else "group"
    for pod in {each.shape.serial: each for each in request.entity.waiting if each.bound_claims}.values():
        others = [mask for _, reason, mask in state.profile.filters_by_plugin(pod.shape, last=False) if reason not in _BOUND_CONFLICTS]
        usable = nodes[np.logical_and.reduce([np.ones(len(state.nodes), dtype=bool), *others])[nodes]]
        for claim in pod.bound_claims:
            for key, values in filter(None, (_label(claim), *claim.need.zones)):
                confined = _confined(state.nodes, key, usable, values)
                if confined:
                    where = f"claim {claim.claim} is bound to volume {claim.volume} {labelled_nodes(key, values)}"
                    return f"{where}; the {group} is confined to {any_of(confined)}"
    return ""


def _confined(nodes: NodeTable, key: str, usable: Nodes, values: Sequence[str]) -> list[str]:
    """Return the values of the label *key* on the nodes *usable* if none is in *values*; empty if one is, or is unknown."""
    column = nodes.label_column(key)
    ids = np.unique(column.ids[usable])
    found = [column.values[number] for number in ids.tolist() if number >= 0]
    known = len(found) == len(ids) and not {*column.values}.isdisjoint(values)
    return found if known and {*found}.isdisjoint(values) else []


def volumes_not_held(volumes: Mapping[str, VolumeChoice], without: Sequence[str]) -> str:
    """Return a warning about volumes that are given to several claims, and about pods *without* volumes; empty if there are none."""
    claims: dict[str, list[str]] = {}
    for claim, choice in volumes.items():
        if choice.volume:
            claims.setdefault(choice.volume, []).append(claim.partition("/")[2])
    several = ((name, each) for name, each in claims.items() if len(each) > 1)
    wrong = [f"volume {name} is given to claims {phrases.listed(each)}, of which only one is bound" for name, each in several]
    wrong += [f"pod {name} cannot use the volume of its claim on its node" for name in without[: phrases.SHOWN]]
    if not wrong:
        return ""
    cause = "kube-scheduler 1.37.1 does not hold volumes between the groups of a tree"
    return f"{phrases.listed(wrong)}: {cause}, so some of the pods stay pending; strategy complete holds them"


def _unbound(refusals: NodeRefusals, reason: str, count: int, storage: Storage) -> str:
    """Return why a claim of the pod finds no volume on *count* nodes, by the first of these nodes; empty if it is not known."""
    mask = refusals.static[reason] if reason in refusals.static else refusals.others[reason]
    refused = refusals.nodes[mask]
    some, single = phrases.some_of(count, len(refusals.nodes)), count == 1
    requests = [need.request for need in refusals.pod.shape.volumes if need.request is not None]
    for claim, request in zip(refusals.pod.delayed_claims, requests, strict=False):
        options, node = storage.options(request), int(refused[0])
        if options.selected not in (-1, node):
            return f"{some} cannot be used: node {request.selected_node} is selected for claim {claim}"
        if not options.provisioned[node] and (options.reachable is None or not options.reachable[node]):
            return _not_provisioned(claim, request, options, refused, some, single=single)
    if any(each.shared for each in requests):
        return f"{some} cannot use the volume of a claim that several pods share: the first pod selects its node"
    return ""


def _not_provisioned(claim: str, request: ClaimRequest, options: ClaimOptions, refused: Nodes, some: str, *, single: bool) -> str:
    """Return why *claim* has no volume on the nodes *refused*."""
    storage_class, size = f"class {request.storage_class}", resource_names.size("memory", request.size or 0)
    if options.lacking[refused[0]]:
        return f"storage {storage_class} {_offered(options, refused[options.lacking[refused]], some)}, {size} needed for claim {claim}"
    if request.reserved:
        return f"{some} cannot use volume {request.reserved}, which is reserved for claim {claim}"
    if options.matches or not options.provisions:
        with_size = f" with {size}" if request.size else ""
        return f"{some} {'has' if single else 'have'} no free volume of {storage_class}{with_size} for claim {claim}"
    return f"{some} {'is' if single else 'are'} outside the allowed topologies of {storage_class}, which claim {claim} uses"


def storage_exceeded(state: PlacementState, request: PlacementRequest) -> str:
    """Return what the claims of *request* need together, and the storage that each class has left for them."""
    if (storage := state.nodes.storage) is None:
        return ""
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
    texts = []
    for name, requests in sorted(by_class.items()):
        needed = resource_names.size("memory", sum(each.size or 0 for each in requests))
        offers = phrases.listed(_offers(state, name, storage.options(requests[0])), phrases.SHOWN)
        texts.append(f"storage class {name} offers {offers}, {needed} needed for {phrases.counted(len(requests), 'claim')}")
    return "; ".join(texts)


def _offers(state: PlacementState, storage_class: str, options: ClaimOptions) -> list[str]:
    """Return the storage that earlier roots leave in each storage capacity, the largest first."""
    if (segments := options.segments) is None:
        return []
    left = {}
    for number in sorted({*segments.of_node.tolist()} - {-1}):
        taken = sum(size for (name, node), size in state.provisioned.items() if name == storage_class and segments.of_node[node] == number)
        left[number] = max(0, segments.capacities[number] - taken)
    places = {number: _segment_place(options, int((segments.of_node == number).argmax())) for number in left}
    return [
        f"{resource_names.size('memory', left[each])} {places[each]}".strip() for each in sorted(left, key=lambda each: (-left[each], each))
    ]


def _offered(options: ClaimOptions, refused: Nodes, some: str) -> str:
    """Return the storage for the largest volume on the nodes *refused*, which are *some* in words."""
    best = refused[int(options.largest[refused].argmax())]
    if (limit := int(options.largest[best])) < 0:
        return f"has no storage capacity for {some}"
    size, several = resource_names.size("memory", limit), len(np.unique(options.largest_index[refused])) > 1
    if where := _segment_place(options, int(best)):
        return f"offers at most {size}, {where}" if several else f"offers {size} {where}"
    return f"offers {'at most ' if several else ''}{size} for a volume on {some}"


def _segment_place(options: ClaimOptions, node: int) -> str:
    """Return the nodes of the largest storage capacity of *node* in words; empty if their label is not known."""
    label = options.segment_label(node)
    return "" if label is None else labelled_nodes(*label)


def _missing(refusals: NodeRefusals) -> str:
    """Return the reason that excludes all nodes, with the object that is missing, or that is not ready."""
    if refusals.pre_filter == UNBOUND:
        return f"{UNBOUND}: {next(filter(None, map(_unbound_cause, refusals.pod.shape.volumes)))}"
    for need in refusals.pod.shape.volumes:
        if need.state is ClaimState.MISSING:
            name = f"PersistentVolumeClaim {refusals.pod.namespace}/{need.claim}"
        elif need.state is ClaimState.VOLUME_MISSING:
            name = f"PersistentVolume {need.volume}"
        else:
            continue
        if refusals.pre_filter.endswith(f'"{need.claim or need.volume}" not found'):
            return f"{refusals.pre_filter} (there is no {name})"
    return refusals.pre_filter


def _unbound_cause(need: VolumeNeed) -> str:
    """Return why a claim is not bound; empty for a claim that does not need to be."""
    claim = f"the claim of {need.field.rpartition('.')[0]}"
    if need.state is ClaimState.BINDING:
        return f"{claim} names a volume, but its binding is not complete"
    if need.state is ClaimState.NO_CLASS:
        return f"there is no StorageClass {need.storage_class}"
    if need.state is not ClaimState.UNBOUND:
        return ""
    if not need.storage_class:
        return f"{claim} has no StorageClass, and no volume is bound to it"
    return f"{claim} has no volume, and StorageClass {need.storage_class} does not wait for a pod"


def _bound(claims: Iterable[tuple[BoundClaim, str]]) -> str:
    return phrases.listed([f"claim {each.claim} is bound to volume {each.volume} {where}" for each, where in claims], _CLAIMS)


def _affinity(claim: BoundClaim) -> str:
    """Return the nodes of a volume: ``on node n1``, ``in zone z1``, or ``with node affinity`` if it is not one simple expression."""
    label = _label(claim)
    return labelled_nodes(*label) if label is not None else "with node affinity"


def _label(claim: BoundClaim) -> tuple[str, tuple[str, ...]] | None:
    """Return the node label and its values that the node affinity of a volume requires; None if it requires something else."""
    affinity = claim.need.affinity or (claim.need.migrated and claim.need.migrated.affinity)
    terms = (affinity and affinity.node_selector_terms) or ()
    expressions = terms[0].match_expressions or () if len(terms) == 1 and not terms[0].match_fields else ()
    if len(expressions) == 1 and expressions[0].operator == "In":
        return expressions[0].key, expressions[0].values or ()
    return None
