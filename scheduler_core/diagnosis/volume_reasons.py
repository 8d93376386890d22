"""Wording of rejections by volumes: the claims and volumes that exclude nodes, by name."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.volumes import BoundClaim, ClaimState
from scheduler_core.plugins.volume_binding import NODE_CONFLICT
from scheduler_core.plugins.volume_zone import ZONE_CONFLICT

_CLAIMS = 2
"""Maximum number of claims in a reason."""
_VALUES = 3
"""Maximum number of zones or nodes of a volume."""


def volume_reason(refusals: NodeRefusals, reason: str, count: int) -> str:
    """Return *reason*, which excludes *count* nodes, with the names of claims and volumes; empty if it is not about volumes."""
    claims = refusals.pod.bound_claims
    some, single = phrases.some_of(count, len(refusals.nodes)), count == 1
    if reason == NODE_CONFLICT:
        bound = _bound((each, _affinity(each)) for each in claims if each.need.affinity is not None)
        return f"{some} {'does' if single else 'do'} not match the node affinity of its volumes: {bound}"
    if reason == ZONE_CONFLICT:
        bound = _bound((each, " and ".join(_place(*zone) for zone in each.need.zones)) for each in claims if each.need.zones)
        return f"{some} {'is' if single else 'are'} outside the zones of its volumes: {bound}"
    return _missing(refusals) if reason == refusals.pre_filter else ""


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
