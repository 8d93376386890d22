"""Why the pods of one group find no room: domain by domain, the one that holds most of them first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.diagnosis import node_refusals, phrases
from scheduler_core.diagnosis.clauses import clause, clause_for_more, together
from scheduler_core.diagnosis.domain_capacity import Held, needed, picks, ranked
from scheduler_core.diagnosis.with_pods import assume_pods, rewound
from scheduler_core.model.nodes import PODS
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_SHAPES = 16
"""Pods of so many shapes are told reasons of their own."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodGroupCause:
    """Why a leaf is not placed, or not all of it.

    Attributes:
        rest: what follows the group's name: ``finds no rack for its 4 pods: …``.
        pods: why, by pod, in kube-scheduler's words; those missing there had fitted, or were never tried.

    """

    rest: str
    pods: Mapping[str, str] = dataclasses.field(default_factory=dict)


def cause(greedy: Greedy, form: PlacementRequest, parent: Placement) -> PodGroupCause:
    """Why the leaf *form* fails inside *parent*; the ledger is as it was when it was tried."""
    entity = form.entity
    if (members := len(entity.running) + len(entity.waiting)) < entity.minimum:
        return PodGroupCause(f"has {members} of the {phrases.counted(entity.minimum, 'pod')} that it needs")
    places = greedy.placements(form, parent)
    if not places:
        return PodGroupCause(nowhere(form, parent))
    order, need = ranked(greedy, form, places), needed(greedy.site, form)
    shown = order[: phrases.SHOWN]
    told = together([clause(greedy, form, each, need) for each in shown], parent)
    if len(places) > len(shown):
        told.append(_others(form, order, len(places)))
    return PodGroupCause(f"{_head(greedy.site, form, parent)}: {'; '.join(told)}", _refused(greedy, form, order[0]))


def brief(greedy: Greedy, form: PlacementRequest, parent: Placement) -> str:
    """The same in a few words: how many pods the best domain holds."""
    entity = form.entity
    if (members := len(entity.running) + len(entity.waiting)) < entity.minimum:
        return f"has {members} of {phrases.counted(entity.minimum, 'pod')}"
    places = greedy.placements(form, parent)
    if not places:
        return f"finds no {phrases.level(entity.key)}"
    first, need = ranked(greedy, form, places)[0], needed(greedy.site, form)
    where = f" in one {phrases.level(entity.key)}" if entity.key else ""
    return f"has room for {first.pods} of {phrases.counted(need, 'pod')}{where}"


def left_over(greedy: Greedy, form: PlacementRequest, domain: Placement, left: Sequence[PodRecord]) -> PodGroupCause:
    """Why *domain*, where the minimum of *form* is met, has no node for the pods *left*; the others are assumed already."""
    site = greedy.site
    why = clause_for_more(site, form, domain, left)
    more = f"{len(left)} more {'pod' if len(left) == 1 else 'pods'}{_wants(site, form, several=len(left) > 1)}"
    return PodGroupCause(f"has what it needs, and no node for {more} in {phrases.place(domain)}: {why}", reasons(site, left, domain))


def reasons(site: PlacementState, pods: Iterable[PodRecord], domain: Placement) -> dict[str, str]:
    """Why each of *pods* finds no node in *domain* as it stands, in kube-scheduler's words; without those that would find one."""
    by_shape: dict[PodShape, str] = {}
    found: dict[str, str] = {}
    for pod in pods:
        if pod.shape not in by_shape and len(by_shape) < _SHAPES:
            seen = node_refusals.examine_nodes(site, pod, domain.nodes)
            by_shape[pod.shape] = "" if seen.able else node_refusals.fit_error_message(site, seen)
        if reason := by_shape.get(pod.shape, ""):
            found[pod.key] = reason
    return found


def _refused(greedy: Greedy, form: PlacementRequest, held: Held) -> dict[str, str]:
    """The reasons of the pods that find no node in a domain once the others stand there."""
    nodes = picks(greedy, form, held)
    with rewound(greedy.site):
        assume_pods(greedy.site, form, nodes)
        left = [pod for pod, node in zip(form.entity.waiting, nodes.tolist(), strict=True) if node < 0]
        return reasons(greedy.site, left, held.domain)


def _others(form: PlacementRequest, order: list[Held], total: int) -> str:
    """The domains that are not shown; what they hold is known where all are ranked."""
    more = total - min(len(order), phrases.SHOWN)
    level = f"{more} more {phrases.level(form.entity.key)}{'s' if more > 1 else ''}"
    if len(order) < total:
        return f"and {level}"
    most = order[phrases.SHOWN].pods
    return f"and {level} ({f'{most} at most' if most else 'none'})"


def _head(site: PlacementState, form: PlacementRequest, parent: Placement) -> str:
    entity = form.entity
    inside = f" in {phrases.place(parent)}"
    if entity.name.kind == "Pod":
        return f"{_wants(site, form, several=False).lstrip()} finds no node{inside}".lstrip()
    return f"finds no {phrases.level(entity.key) or 'room'}{inside if parent.key or not entity.key else ''} for {_pods(site, form)}"


def _pods(site: PlacementState, form: PlacementRequest) -> str:
    entity, need = form.entity, needed(site, form)
    wants = _wants(site, form, several=need > 1)
    total = len(entity.waiting)
    if entity.running:
        some = f"{need} of its {total} pending pods" if need < total else f"its {phrases.counted(need, 'pending pod')}"
        return f"{some}{wants}, {len(entity.running)} running"
    if need < total:
        return f"{need} of its {total} pods{wants}"
    return f"its {phrases.counted(need, 'pod') if need > 1 else 'pod'}{wants}"


def _wants(site: PlacementState, form: PlacementRequest, *, several: bool) -> str:
    """What each pod requests, where all request the same: `` (8 cpu, 4 nvidia.com/gpu each)``."""
    if len(form.runs) != 1:
        return ""
    asked = [phrases.amount(site.nodes.resources[row], amount) for row, amount in form.runs[0].shape.requests if row != PODS]
    return f" ({', '.join(asked[: phrases.SHOWN])}{' each' if several else ''})" if asked else ""


def nowhere(form: PlacementRequest, parent: Placement) -> str:
    """What is to be said of a group that has no domain to choose in *parent*."""
    if not form.entity.key:
        return "finds no placement: the plugins generate none"
    level, where = phrases.level(form.entity.key), phrases.place(parent)
    if form.pinned:
        return f"must stay in the {level} where its members run, and {where} has no node of it"
    return f"finds no {level}: no node of {where} has the label {form.entity.key}"
