"""Where greedy placing cannot promise that there is no placement, and which feature is the cause.

For equal pods without dependencies between them it finds a placement whenever there is one (KEP-4671, Algorithm Limitations).
Otherwise a failure proves something only if too little room for the minimum is left whatever is tried first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.domain_capacity import homogeneous, needed, room, roomiest, slots, summed
from scheduler_core.diagnosis.node_refusals import free_of
from scheduler_core.model.decision import Status
from scheduler_core.model.nodes import Bools
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.topology import Placement
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.state import PlacementState

_DOMAINS = 64
"""Domains of a composite that are looked into, at most."""


def sentence(greedy: Greedy, request: PlacementRequest) -> str:
    """What greedy cannot promise of the root *request*, which it did not place; empty where there is no placement for certain."""
    causes = _causes(greedy, request, greedy.state.topology.root)
    if greedy.state.plugins.checks:
        causes.append("a plugin has a say in what is feasible")
    return f"The greedy algorithm cannot promise that no placement exists: {'; '.join(dict.fromkeys(causes))}" if causes else ""


def _causes(greedy: Greedy, request: PlacementRequest, parent: Placement) -> list[str]:
    """The features by which *request*, which fails inside *parent*, may have missed a placement."""
    places = greedy.placements(request, parent)
    if request.leaf:
        return _leaf_causes(greedy, request, places)
    if len(request.children) < request.entity.minimum:
        return []
    small = _too_small(greedy.state, request, places).tolist()
    large = tuple(place for place, known in zip(places, small, strict=True) if not known)
    seen = roomiest(greedy.state, request, large, _DOMAINS if request.memorable else phrases.SHOWN)
    for place in seen:
        if causes := _composite_causes(greedy, request, place):
            return causes
    if rest := len(large) - len(seen):
        more = f"{phrases.counted(rest, f'more {phrases.level(request.entity.key)}')} for {request.entity.name.name}"
        return [f"{more} {'was' if rest == 1 else 'were'} not looked into"]
    return []


def _leaf_causes(greedy: Greedy, request: PlacementRequest, places: tuple[Placement, ...]) -> list[str]:
    name, state = request.entity.name.name, greedy.state
    if len(request.entity.running) + len(request.entity.waiting) < request.entity.minimum or request.entity.name.kind == "Pod":
        return []
    if homogeneous(request) or not (room(state, request, places) >= needed(state, request)).any():
        return []
    found = []
    if len(request.runs) > 1 and len({run.shape for run in request.runs}) > 1:
        found.append(f"the pods of group {name} are not alike (KEP-4671, Algorithm Limitations: heterogeneous pod groups)")
    if ties := _ties(state, request):
        found.append(f"the pods of group {name} depend on other pods by {ties} (KEP-4671, Algorithm Limitations: inter-pod dependencies)")
    return found


def _ties(state: PlacementState, request: PlacementRequest) -> str:
    """By what rule the pods of a leaf depend on other pods; empty if none binds them."""
    named: list[str] = []
    for pod in _unlike(request):
        if state.stateful.touches(pod) and state.stateful.filter(pod, state.nodes.everything[:1]):
            named += _rules(pod) or ["the anti-affinity of those"]
    return phrases.listed(list(dict.fromkeys(named)))


def _unlike(request: PlacementRequest) -> Iterable[PodRecord]:
    """The first of the pods that are alike, in shape and labels."""
    found: dict[object, PodRecord] = {}
    for pod in request.entity.waiting:
        found.setdefault((pod.shape, tuple(sorted(pod.labels.items()))), pod)
    return found.values()


def _rules(pod: PodRecord) -> list[str]:
    affinity = pod.shape.affinity
    near = affinity.pod_affinity if affinity else None
    far = affinity.pod_anti_affinity if affinity else None
    hard = any(each.when_unsatisfiable == "DoNotSchedule" for each in pod.shape.spread)
    named = ["topology spread constraints"] if hard else []
    named += ["pod affinity"] if near and near.required_during_scheduling_ignored_during_execution else []
    return named + (["pod anti-affinity"] if far and far.required_during_scheduling_ignored_during_execution else [])


def _composite_causes(greedy: Greedy, request: PlacementRequest, place: Placement) -> list[str]:
    """Enough children fit one at a time, or may: then it is a matter of who goes where, and first."""
    alone, own = [], []
    for child in request.children:
        outcome = greedy.evaluate(child, place)
        if outcome.success:
            alone.append(child)
        elif outcome.status is not Status.ERROR and (causes := _causes(greedy, child, place)):
            alone.append(child)
            own += causes
    if len(alone) < request.entity.minimum:
        return []
    return [*_sibling_causes(request, greedy.attempt(request, place), {child.entity.name for child in alone}), *own]


def _sibling_causes(request: PlacementRequest, outcome: PlacementOutcome, alone: set[object]) -> list[str]:
    """What the siblings took before the first child that would fit by itself."""
    before: list[tuple[PlacementRequest, PlacementOutcome]] = []
    for child, below in zip(request.children, outcome.children, strict=True):
        if below is None or (not below.success and child.entity.name in alone):
            break
        if below.success and below.placed:
            before.append((child, below))
    if not before:
        return []
    extras = [(child.entity.name.name, extra) for child, below in before if (extra := _extra(child, below)) > 0]
    stolen = [f"{phrases.counted(extra, 'optional pod')} of group {name}" for name, extra in extras]
    found = []
    if stolen:
        found.append(
            f"{phrases.listed(stolen)} took room before its siblings had theirs (KEP-6012, Resource stealing under greedy evaluation)"
        )
    if len(stolen) < len(before):
        names = phrases.listed([child.entity.name.name for child, below in before if _extra(child, below) <= 0])
        keep = "keeps what it" if len(before) - len(stolen) == 1 else "keep what they"
        found.append(f"{names} {keep} took first, where a sibling could need it (KEP-6012, No-Backtracking)")
    return found


def _extra(request: PlacementRequest, outcome: PlacementOutcome) -> int:
    return len(request.entity.running) + outcome.placed - request.entity.minimum if request.leaf else 0


def _too_small(state: PlacementState, request: PlacementRequest, places: tuple[Placement, ...]) -> Bools:
    """Which places have too little room for the minimum of *request*, whoever goes where."""
    shapes = {run.shape: run for leaf in _leaves(request) for run in leaf.runs}
    if len(shapes) == 1 and all(map(homogeneous, _leaves(request))):
        whole = Run(next(iter(shapes)), sum(each.count for leaf in _leaves(request) for each in leaf.runs))
        return np.array(summed(slots(state, whole), places) < _least(request, needed_of), dtype=bool)
    small: Bools = np.zeros(len(places), dtype=bool)
    usable: Bools = np.zeros(len(state.nodes), dtype=bool)
    for shape in shapes:
        mask = state.profile.compile(shape).mask
        usable |= True if mask is None else mask
    for row in sorted({row for shape in shapes for row, _ in shape.requests}):
        free = np.maximum(free_of(state, np.array([row]))[0], 0)
        small |= summed(np.where(usable, free, 0), places) < _least(request, _wanting(row))
    return small


def _wanting(row: int) -> Callable[[PlacementRequest], int]:
    """What the pods that a leaf still needs ask of a resource, at the least."""

    def least(leaf: PlacementRequest) -> int:
        asked = sorted(dict(run.shape.requests).get(row, 0) for run in leaf.runs for _ in range(run.count))
        return sum(asked[: needed_of(leaf)])

    return least


def needed_of(leaf: PlacementRequest) -> int:
    """Pods without which a leaf cannot be; 0 where its minimum runs."""
    return max(leaf.entity.minimum - len(leaf.entity.running), 0)


def _least(request: PlacementRequest, of_leaf: Callable[[PlacementRequest], int]) -> int:
    """The least that *request* takes: of a composite the cheapest children that make its minimum."""
    if request.leaf:
        return of_leaf(request)
    return sum(sorted(_least(child, of_leaf) for child in request.children)[: request.entity.minimum])


def _leaves(request: PlacementRequest) -> list[PlacementRequest]:
    return [request] if request.leaf else [leaf for child in request.children for leaf in _leaves(child)]
