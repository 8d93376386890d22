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


def sentence(greedy: Greedy, form: PlacementRequest) -> str:
    """What greedy cannot promise of the root *form*, which it did not place; empty where there is no placement for certain."""
    causes = _causes(greedy, form, greedy.site.topology.root)
    if greedy.site.plugins.checks:
        causes.append("a plugin has a say in what is feasible")
    return f"The greedy algorithm cannot promise that no placement exists: {'; '.join(dict.fromkeys(causes))}" if causes else ""


def _causes(greedy: Greedy, form: PlacementRequest, parent: Placement) -> list[str]:
    """The features by which *form*, which fails inside *parent*, may have missed a placement."""
    places = greedy.placements(form, parent)
    if form.leaf:
        return _leaf_causes(greedy, form, places)
    if len(form.children) < form.entity.minimum:
        return []
    small = _too_small(greedy.site, form, places).tolist()
    large = tuple(place for place, known in zip(places, small, strict=True) if not known)
    seen = roomiest(greedy.site, form, large, _DOMAINS if form.memorable else phrases.SHOWN)
    for place in seen:
        if causes := _composite_causes(greedy, form, place):
            return causes
    if rest := len(large) - len(seen):
        more = f"{phrases.counted(rest, f'more {phrases.level(form.entity.key)}')} for {form.entity.name.name}"
        return [f"{more} {'was' if rest == 1 else 'were'} not looked into"]
    return []


def _leaf_causes(greedy: Greedy, form: PlacementRequest, places: tuple[Placement, ...]) -> list[str]:
    name, site = form.entity.name.name, greedy.site
    if len(form.entity.running) + len(form.entity.waiting) < form.entity.minimum or form.entity.name.kind == "Pod":
        return []
    if homogeneous(form) or not (room(site, form, places) >= needed(site, form)).any():
        return []
    found = []
    if len(form.runs) > 1 and len({run.shape for run in form.runs}) > 1:
        found.append(f"the pods of group {name} are not alike (KEP-4671, Algorithm Limitations: heterogeneous pod groups)")
    if ties := _ties(site, form):
        found.append(f"the pods of group {name} depend on other pods by {ties} (KEP-4671, Algorithm Limitations: inter-pod dependencies)")
    return found


def _ties(site: PlacementState, form: PlacementRequest) -> str:
    """By what rule the pods of a leaf depend on other pods; empty if none binds them."""
    named: list[str] = []
    for pod in _unlike(form):
        if site.stateful.touches(pod) and site.stateful.filter(pod, site.nodes.everything[:1]):
            named += _rules(pod) or ["the anti-affinity of those"]
    return phrases.listed(list(dict.fromkeys(named)))


def _unlike(form: PlacementRequest) -> Iterable[PodRecord]:
    """The first of the pods that are alike, in shape and labels."""
    found: dict[object, PodRecord] = {}
    for pod in form.entity.waiting:
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


def _composite_causes(greedy: Greedy, form: PlacementRequest, place: Placement) -> list[str]:
    """Enough children fit one at a time, or may: then it is a matter of who goes where, and first."""
    alone, own = [], []
    for child in form.children:
        outcome = greedy.evaluate(child, place)
        if outcome.success:
            alone.append(child)
        elif outcome.status is not Status.ERROR and (causes := _causes(greedy, child, place)):
            alone.append(child)
            own += causes
    if len(alone) < form.entity.minimum:
        return []
    return [*_sibling_causes(form, greedy.attempt(form, place), {child.entity.name for child in alone}), *own]


def _sibling_causes(form: PlacementRequest, outcome: PlacementOutcome, alone: set[object]) -> list[str]:
    """What the siblings took before the first child that would fit by itself."""
    before: list[tuple[PlacementRequest, PlacementOutcome]] = []
    for child, below in zip(form.children, outcome.children, strict=True):
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


def _extra(form: PlacementRequest, outcome: PlacementOutcome) -> int:
    return len(form.entity.running) + outcome.placed - form.entity.minimum if form.leaf else 0


def _too_small(site: PlacementState, form: PlacementRequest, places: tuple[Placement, ...]) -> Bools:
    """Which places have too little room for the minimum of *form*, whoever goes where."""
    shapes = {run.shape: run for leaf in _leaves(form) for run in leaf.runs}
    if len(shapes) == 1 and all(map(homogeneous, _leaves(form))):
        whole = Run(next(iter(shapes)), sum(each.count for leaf in _leaves(form) for each in leaf.runs))
        return np.array(summed(slots(site, whole), places) < _least(form, needed_of), dtype=bool)
    small: Bools = np.zeros(len(places), dtype=bool)
    usable: Bools = np.zeros(len(site.nodes), dtype=bool)
    for shape in shapes:
        mask = site.profile.compile(shape).mask
        usable |= True if mask is None else mask
    for row in sorted({row for shape in shapes for row, _ in shape.requests}):
        free = np.maximum(free_of(site, np.array([row]))[0], 0)
        small |= summed(np.where(usable, free, 0), places) < _least(form, _wanting(row))
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


def _least(form: PlacementRequest, of_leaf: Callable[[PlacementRequest], int]) -> int:
    """The least that *form* takes: of a composite the cheapest children that make its minimum."""
    if form.leaf:
        return of_leaf(form)
    return sum(sorted(_least(child, of_leaf) for child in form.children)[: form.entity.minimum])


def _leaves(form: PlacementRequest) -> list[PlacementRequest]:
    return [form] if form.leaf else [leaf for child in form.children for leaf in _leaves(child)]
