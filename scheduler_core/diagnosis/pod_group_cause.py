"""Cause of a failed PodGroup: domain by domain, the one that holds the most pods first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.diagnosis import node_refusals, phrases
from scheduler_core.diagnosis.clauses import clause, clause_for_more, merged
from scheduler_core.diagnosis.domain_capacity import Held, needed, nodes_of_pods, ranked
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


@dataclasses.dataclass(frozen=True, slots=True)
class PodGroupCause:
    """Reasons why a leaf is not placed, or not all of it.

    Attributes:
        rest: the sentence after the group's name: ``does not fit in any rack (4 pods with 8 cpu each): …``.
        pods: reason for each pod in kube-scheduler's wording; pods that fit or were not tried are omitted.

    """

    rest: str
    pods: Mapping[str, str] = dataclasses.field(default_factory=dict)


def cause(greedy: Greedy, request: PlacementRequest, parent: Placement) -> PodGroupCause:
    """Return why the leaf *request* fails inside *parent*; the ledger must be as it was when it was tried."""
    entity = request.entity
    if (members := len(entity.running) + len(entity.waiting)) < entity.minimum:
        return PodGroupCause(f"has {members} of the {phrases.counted(entity.minimum, 'pod')} that it needs")
    places = greedy.placements(request, parent)
    if not places:
        return PodGroupCause(no_domain(greedy.state, request, parent))
    order, need = ranked(greedy, request, places), needed(greedy.state, request)
    shown = order[: phrases.SHOWN]
    clauses = merged([clause(greedy, request, each, need) for each in shown], parent)
    if len(places) > len(shown):
        clauses.append(_others(request, order, len(places)))
    if outside := volume_elsewhere(greedy.state, request, places):
        clauses.insert(0, outside)
    return PodGroupCause(f"{_head(greedy.state, request, parent)}: {'; '.join(clauses)}", _refused(greedy, request, order[0]))


def brief(greedy: Greedy, request: PlacementRequest, parent: Placement) -> str:
    """Return the cause in short: how many pods the best domain holds."""
    entity = request.entity
    if (members := len(entity.running) + len(entity.waiting)) < entity.minimum:
        return f"has {members} of {phrases.counted(entity.minimum, 'pod')}"
    places = greedy.placements(request, parent)
    if not places:
        return f"has no candidate {phrases.level(entity.key)}"
    first, need = ranked(greedy, request, places)[0], needed(greedy.state, request)
    where = f" in one {phrases.level(entity.key)}" if entity.key else ""
    ordered = ", placed in the order of the queue" if first.pods and first.in_order else ""
    return f"has capacity for {first.pods} of {phrases.counted(need, 'pod')}{where}{ordered}"


def left_over(state: PlacementState, request: PlacementRequest, domain: Placement, left: Sequence[PodRecord]) -> str:
    """Return why *domain*, which holds the minimum of *request*, has no node for the pods *left*; the other pods are assumed."""
    why = clause_for_more(state, request, domain, left)
    requests = _requests_phrase(state, request, several=len(left) > 1)
    more = f"{phrases.counted(len(left), 'more pod')}{f' ({requests})' if requests else ''}"
    return f"has its minimum, but no node for {more} in {phrases.place(domain)}: {why}"


def reasons(state: PlacementState, pods: Iterable[PodRecord], domain: Placement) -> dict[str, str]:
    """Return the reason for each of *pods* without a node in *domain*, in kube-scheduler's wording; pods that fit are omitted."""
    known: dict[tuple[PodShape, NamedVolumes], str] = {}
    result: dict[str, str] = {}
    for pod in pods:
        key = pod.shape, pod.named_volumes
        if key not in known and len(known) < _SHAPES:
            refusals = node_refusals.examine_nodes(state, pod, domain.nodes)
            known[key] = "" if refusals.feasible else node_refusals.fit_error_message(state, refusals)
        if reason := known.get(key, ""):
            result[pod.key] = reason
    return result


def _refused(greedy: Greedy, request: PlacementRequest, held: Held) -> dict[str, str]:
    """Return the reasons of the pods without a node in a domain once the other pods are assumed there."""
    nodes = nodes_of_pods(greedy, request, held)
    with rewound(greedy.state):
        assume_pods(greedy.state, request, nodes)
        left = [pod for pod, node in zip(request.entity.waiting, nodes.tolist(), strict=True) if node < 0]
        return reasons(greedy.state, left, held.domain)


def _others(request: PlacementRequest, order: list[Held], total: int) -> str:
    """Return the number of domains not shown, and how many pods each can hold if all are ranked."""
    more = total - min(len(order), phrases.SHOWN)
    level = f"{more} more {phrases.level(request.entity.key)}{'s' if more > 1 else ''}"
    if len(order) < total:
        return f"and {level}"
    most = order[phrases.SHOWN].pods
    return f"and {level} ({f'at most {most}' if most else 'can hold none'}{' each' if most and more > 1 else ''})"


def _head(state: PlacementState, request: PlacementRequest, parent: Placement) -> str:
    entity = request.entity
    inside = f" in {phrases.place(parent)}"
    if entity.name.kind == "Pod":
        requests, own = _requests_phrase(state, request, several=False), own_node(entity.waiting[0].shape, state.nodes)
        where = f"on its node {state.nodes.names[own]}" if own >= 0 else f"on any node{inside}"
        return f"{f'({requests}) ' if requests else ''}does not fit {where}"
    level = phrases.level(entity.key)
    where = f" {'on' if level == 'node' else 'in'} any {level}" if level else ""
    return f"does not fit{where}{inside if parent.key or not entity.key else ''} ({_pods(state, request)})"


def _pods(state: PlacementState, request: PlacementRequest) -> str:
    entity, need = request.entity, needed(state, request)
    total, noun = len(entity.waiting), "pending pod" if entity.running else "pod"
    some = f"{need} of its {total} {noun}s" if need < total else phrases.counted(need, noun)
    requests = _requests_phrase(state, request, several=need > 1)
    running = f"; {len(entity.running)} running" if entity.running else ""
    return f"{some}{f' with {requests}' if requests else ''}{running}"


def _requests_phrase(state: PlacementState, request: PlacementRequest, *, several: bool) -> str:
    """Return the request of each pod, if all are equal: ``8 cpu, 4 nvidia.com/gpu each``."""
    if len(request.runs) != 1:
        return ""
    # Devices are named with their claims.
    hidden = {PODS, *state.nodes.counted}
    amounts = [phrases.amount(state.nodes.resources[row], amount) for row, amount in request.runs[0].shape.requests if row not in hidden]
    return f"{', '.join(amounts[: phrases.SHOWN])}{' each' if several else ''}" if amounts else ""


def no_domain(state: PlacementState, request: PlacementRequest, parent: Placement) -> str:
    """Return the message for a group that has no candidate domain in *parent*."""
    if not request.entity.key:
        return "has no candidate placement: the plugins generate none"
    level, where = phrases.level(request.entity.key), phrases.place(parent)
    if request.pinned:
        return f"must stay in the {level} where its members run, but {where} has no node of that {level}"
    what = "reaches devices with one value of the attribute" if request.entity.key in state.nodes.device_levels else "has the label"
    return f"has no candidate {level}: no node of {where} {what} {request.entity.key}"
