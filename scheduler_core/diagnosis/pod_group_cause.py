"""Cause of a failed PodGroup: domain by domain, the one that holds the most pods first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.causes.attempts import FitError
from scheduler_core.causes.groups import (
    FailedGroup,
    FurtherDomains,
    InsufficientCapacity,
    NoDomain,
    NoPlacement,
    Path,
    PodDemand,
    PodsDoNotFit,
    PodsLeftOver,
    TooFewMembers,
)
from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis.domain_capacity import DESCRIBED, Held, homogeneous, needed, nodes_of_pods, ranked
from scheduler_core.diagnosis.domain_causes import DomainCauses, cause_for_more, domain_of
from scheduler_core.diagnosis.node_refusals import NodeRefusals, examine_nodes, fit_error
from scheduler_core.diagnosis.volume_reasons import volume_elsewhere
from scheduler_core.diagnosis.with_pods import assume_pods, rewound
from scheduler_core.model.nodes import PODS
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.model.volume_users import NamedVolumes
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.node_affinity import own_node

_SHAPES = 16
"""Maximum number of shapes with their own reasons."""


def cause(causes: DomainCauses, request: PlacementRequest, parent: Placement, path: Path) -> tuple[FailedGroup, Mapping[str, FitError]]:
    """Return why the leaf *request* fails inside *parent*; the ledger must be as it was when it was tried.

    The second result is the cause of each pod; pods that fit or were not tried are omitted.
    """
    greedy, entity = causes.greedy, request.entity
    if (members := len(entity.running) + len(entity.waiting)) < entity.minimum:
        return TooFewMembers(path, members, entity.minimum), {}
    places = greedy.placements(request, parent)
    if not places:
        return no_domain(greedy.state, request, parent, path), {}
    order, need = ranked(greedy, request, places), needed(greedy.state, request)
    own = own_node(entity.waiting[0].shape, greedy.state.nodes) if entity.name.kind == "Pod" else -1
    found = [causes.find(request, each, need) for each in order[:DESCRIBED]]
    why = PodsDoNotFit(
        path,
        domain_of(parent),
        PodDemand(len(entity.waiting), need, len(entity.running), _requests(greedy.state, request)),
        tuple(why_not for why_not, _ in found),
        entity.key,
        _further(order, len(places)),
        undivided=len(order) == 1 and order[0].domain is parent,
        own_node=greedy.state.nodes.names[own] if own >= 0 else "",
        elsewhere=volume_elsewhere(greedy.state, request, places),
    )
    return why, _refused(greedy, request, order[0], found[0][1])


def brief(greedy: Greedy, request: PlacementRequest, parent: Placement, path: Path) -> FailedGroup:
    """Return the cause in short: how many pods the best domain holds."""
    entity = request.entity
    if (members := len(entity.running) + len(entity.waiting)) < entity.minimum:
        return TooFewMembers(path, members, entity.minimum)
    places = greedy.placements(request, parent)
    if not places:
        return no_domain(greedy.state, request, parent, path)
    first = ranked(greedy, request, places)[0]
    return InsufficientCapacity(path, first.pods, needed(greedy.state, request), entity.key, first.in_order)


def left_over(state: PlacementState, request: PlacementRequest, domain: Placement, left: Sequence[PodRecord], path: Path) -> PodsLeftOver:
    """Return why *domain*, which holds the minimum of *request*, has no node for the pods *left*; the other pods are assumed."""
    return PodsLeftOver(path, _requests(state, request), cause_for_more(state, request, domain, left))


def reasons(
    state: PlacementState, pods: Iterable[PodRecord], domain: Placement, examined: NodeRefusals | None = None
) -> dict[str, FitError]:
    """Return why each of *pods* has no node in *domain*, in kube-scheduler's terms; pods that fit are omitted.

    *examined* is the result for one of *pods*, or for an equal one, if it is known.
    """
    known: dict[tuple[PodShape, NamedVolumes], FitError | None] = {}
    first = (examined.pod.shape, examined.pod.named_volumes) if examined is not None else None
    result: dict[str, FitError] = {}
    for pod in pods:
        key = pod.shape, pod.named_volumes
        if key not in known and len(known) < _SHAPES:
            refusals = examined if examined is not None and key == first else examine_nodes(state, pod, domain.nodes)
            known[key] = None if refusals.feasible else fit_error(state, refusals)
        if (reason := known.get(key)) is not None:
            result[pod.key] = reason
    return result


def _refused(greedy: Greedy, request: PlacementRequest, held: Held, examined: NodeRefusals | None) -> dict[str, FitError]:
    """Return the causes of the pods without a node in a domain once the other pods are assumed there.

    *examined* is the result for the first of them, if it is known.
    """
    nodes = nodes_of_pods(greedy, request, held)
    left = [pod for pod, node in zip(request.entity.waiting, nodes.tolist(), strict=True) if node < 0]
    if examined is not None and homogeneous(request):
        return reasons(greedy.state, left, held.domain, examined)
    with rewound(greedy.state):
        assume_pods(greedy.state, request, nodes)
        return reasons(greedy.state, left, held.domain, examined)


def _further(order: Sequence[Held], total: int) -> FurtherDomains | None:
    """Return the domains not shown, and how many pods each can hold at most if all are ranked; None if all are shown."""
    more = total - min(len(order), DESCRIBED)
    if not more:
        return None
    return FurtherDomains(more, None if len(order) < total else order[DESCRIBED].pods)


def _requests(state: PlacementState, request: PlacementRequest) -> tuple[Amount, ...]:
    """Return the requests of each pod, if all are equal, without those for devices, which are named with their claims."""
    if len(request.runs) != 1:
        return ()
    hidden = {PODS, *state.nodes.counted}
    return tuple(Amount(state.nodes.resource(row), amount) for row, amount in request.runs[0].shape.requests if row not in hidden)


def no_domain(state: PlacementState, request: PlacementRequest, parent: Placement, path: Path) -> NoPlacement | NoDomain:
    """Return the cause of a group that has no candidate domain in *parent*."""
    key = request.entity.key
    if not key:
        return NoPlacement(path)
    by_devices = key in state.nodes.device_levels
    empty = 0 if by_devices else sum(state.nodes.labels[node].get(key) == "" for node in parent.nodes.tolist())
    return NoDomain(path, key, domain_of(parent), by_devices, bool(request.pinned), empty)
