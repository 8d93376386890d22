"""Wording of rejections by volumes: the claims and volumes that exclude nodes, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.decision import VolumeChoice
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.storage import ClaimOptions, Storage
from scheduler_core.model.volumes import BIND_CONFLICT, BoundClaim, ClaimState
from scheduler_core.plugins.volume_binding import NODE_CONFLICT
from scheduler_core.plugins.volume_picks import NOT_ENOUGH_SPACE
from scheduler_core.plugins.volume_zone import ZONE_CONFLICT

_CLAIMS = 2
"""Maximum number of claims in a reason."""
_VALUES = 3
"""Maximum number of zones or nodes of a volume."""


def volume_reason(refusals: NodeRefusals, reason: str, count: int, nodes: NodeTable) -> str:
    """Return *reason*, which excludes *count* nodes, with the names of claims and volumes; empty if it is not about volumes."""
    if reason in (BIND_CONFLICT, NOT_ENOUGH_SPACE) and nodes.storage is not None:
        return _unbound(refusals, reason, count, nodes.storage)
    claims = refusals.pod.bound_claims
    some, single = phrases.some_of(count, len(refusals.nodes)), count == 1
    if reason == NODE_CONFLICT:
        bound = _bound((each, _affinity(each)) for each in claims if each.need.affinity is not None)
        return f"{some} {'does' if single else 'do'} not match the node affinity of its volumes: {bound}"
    if reason == ZONE_CONFLICT:
        bound = _bound((each, " and ".join(_place(*zone) for zone in each.need.zones)) for each in claims if each.need.zones)
        return f"{some} {'is' if single else 'are'} outside the zones of its volumes: {bound}"
    return _missing(refusals) if reason == refusals.pre_filter else ""


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
            return f"{some} {'is' if single else 'are'} not the node that is selected for claim {claim}: {request.selected_node}"
        if not options.provisioned[node] and (options.reachable is None or not options.reachable[node]):
            return _not_provisioned(claim, request, options, refused, some, single=single)
    if any(each.shared for each in requests):
        return f"{some} cannot use the volume of a claim that several pods share: the first of them selects its node"
    return ""


def _not_provisioned(claim: str, request: ClaimRequest, options: ClaimOptions, refused: Nodes, some: str, *, single: bool) -> str:
    """Return why *claim* has no volume on the nodes *refused*."""
    storage_class, size = f"class {request.storage_class}", phrases.size("memory", request.size or 0)
    if options.lacking[refused[0]]:
        offered = phrases.size("memory", max(0, int(options.largest[refused].max())))
        return f"storage {storage_class} offers {offered} for a volume on {some}, {size} needed for claim {claim}"
    if request.reserved:
        return f"{some} cannot use volume {request.reserved}, which is reserved for claim {claim}"
    if options.matches or not options.provisions:
        return f"{some} {'has' if single else 'have'} no free volume of {storage_class} with {size} for claim {claim}"
    return f"{some} {'is' if single else 'are'} outside the allowed topologies of {storage_class}, which claim {claim} uses"


def _missing(refusals: NodeRefusals) -> str:
    """Return the reason that excludes all nodes, with the missing object."""
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


def _bound(claims: Iterable[tuple[BoundClaim, str]]) -> str:
    return phrases.listed([f"claim {each.claim} is bound to volume {each.volume} {where}" for each, where in claims], _CLAIMS)


def _affinity(claim: BoundClaim) -> str:
    """Return the nodes of a volume: ``on node n1``, ``in zone z1``, or ``with node affinity`` if it is not one simple expression."""
    terms = (claim.need.affinity and claim.need.affinity.node_selector_terms) or ()
    expressions = terms[0].match_expressions or () if len(terms) == 1 and not terms[0].match_fields else ()
    if len(expressions) == 1 and expressions[0].operator == "In":
        return _place(expressions[0].key, expressions[0].values or ())
    return "with node affinity"


def _place(key: str, values: tuple[str, ...]) -> str:
    level = phrases.level(key)
    more = f" or {len(values) - _VALUES} more" if len(values) > _VALUES else ""
    return f"{'on' if level == 'node' else 'in'} {level} {' or '.join(values[:_VALUES])}{more}"
