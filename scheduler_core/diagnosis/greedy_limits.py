"""Reasons why greedy placement may have missed a placement.

For equal pods without dependencies between them greedy finds every placement (KEP-4671, Algorithm Limitations).
Otherwise a failure is a proof only if the capacity is too small for the minimum in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from scheduler_core.causes.missed_placements import (
    Dependency,
    DependentPods,
    ExtraPods,
    FeasibilityChecks,
    GreedyLimit,
    KeptPlacements,
    OptionalPods,
    UnequalPods,
    UnexaminedDomains,
    UnsharedClaims,
)
from scheduler_core.diagnosis.domain_capacity import DESCRIBED, capacity, homogeneous, largest_places, needed, slots
from scheduler_core.diagnosis.tree_cause import extra_pods
from scheduler_core.model.names import Name, NamedClaim
from scheduler_core.model.nodes import Bools
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement, sums_over
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, pods_with_nodes
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.state import PlacementState, free_of
from scheduler_core.plugins import registry
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity

_DOMAINS = 64
"""Maximum number of domains examined for a composite."""


def limits_of_greedy(greedy: Greedy, request: PlacementRequest) -> tuple[GreedyLimit, ...]:
    """Return why greedy may have missed a placement of *request*; empty if there is certainly none."""
    causes = _causes(greedy, request, greedy.state.topology.root)
    if greedy.state.plugins.checks:
        causes.append(FeasibilityChecks())
    return tuple(dict.fromkeys(causes))


def _causes(greedy: Greedy, request: PlacementRequest, parent: Placement) -> list[GreedyLimit]:
    """Return why greedy may have missed a placement of *request*, which fails inside *parent*."""
    places = greedy.placements(request, parent)
    if request.leaf:
        return _leaf_causes(greedy, request, places)
    if len(request.children) < request.entity.minimum:
        return []
    too_small = _too_small(greedy.state, request, places).tolist()
    large_enough = tuple(place for place, known in zip(places, too_small, strict=True) if not known)
    examined = largest_places(greedy.state, request, large_enough, _DOMAINS if request.memorable else DESCRIBED)
    for place in examined:
        if causes := _composite_causes(greedy, request, place):
            return causes
    if rest := len(large_enough) - len(examined):
        return [UnexaminedDomains(request.entity.name, request.entity.key, rest)]
    return []


def _leaf_causes(greedy: Greedy, request: PlacementRequest, places: tuple[Placement, ...]) -> list[GreedyLimit]:
    name, state = request.entity.name, greedy.state
    if len(request.entity.running) + len(request.entity.waiting) < request.entity.minimum or request.entity.name.kind == "Pod":
        return []
    if len(request.entity.waiting) == 1:
        # One pod is tried with all devices and volumes of all nodes.
        return []
    if homogeneous(request) or not (capacity(state, request, places) >= needed(state, request)).any():
        return []
    causes: list[GreedyLimit] = []
    if len(request.runs) > 1 and len({run.shape for run in request.runs}) > 1:
        causes.append(UnequalPods(name))
    if rules := _dependencies(state, request):
        causes.append(DependentPods(name, rules))
    return causes


def _dependencies(state: PlacementState, request: PlacementRequest) -> tuple[Dependency, ...]:
    """Return the rules by which the pods of a leaf depend on other pods."""
    rules: list[Dependency] = []
    for pod in _distinct_pods(request):
        rules += [Dependency.TAKEN_VOLUMES] if pod.shape.picks_volumes else []
        rules += [Dependency.TAKEN_DEVICES] if pod.shape.picks_devices else []
        if state.stateful.touches(pod) and (filters := state.stateful.filters_by_plugin(pod, state.nodes.everything[:1])):
            named = _rules(pod)
            if not named and any(refusal.plugin == InterPodAffinity.name for refusal, _ in filters):
                named = [Dependency.OTHER_ANTI_AFFINITY]
            rules += named + [Dependency.OTHER_PLUGIN] * any(not registry.is_of_kube_scheduler(refusal.plugin) for refusal, _ in filters)
    return tuple(dict.fromkeys(rules))


def _distinct_pods(request: PlacementRequest) -> Iterable[PodRecord]:
    """Return one pod for each combination of shape and labels."""
    distinct: dict[object, PodRecord] = {}
    for pod in request.entity.waiting:
        distinct.setdefault((pod.shape, tuple(sorted(pod.labels.items()))), pod)
    return distinct.values()


def _rules(pod: PodRecord) -> list[Dependency]:
    affinity = pod.shape.affinity
    pod_affinity = affinity.pod_affinity if affinity else None
    anti_affinity = affinity.pod_anti_affinity if affinity else None
    hard = any(each.when_unsatisfiable == "DoNotSchedule" for each in pod.shape.spread)
    rules = [Dependency.SPREAD] if hard else []
    rules += [Dependency.AFFINITY] if pod_affinity and pod_affinity.required_during_scheduling_ignored_during_execution else []
    rules += [Dependency.SHARED_VOLUMES] if pod.named_volumes else []
    return rules + (
        [Dependency.ANTI_AFFINITY] if anti_affinity and anti_affinity.required_during_scheduling_ignored_during_execution else []
    )


def _composite_causes(greedy: Greedy, request: PlacementRequest, place: Placement) -> list[GreedyLimit]:
    """Return causes if enough children fit one at a time: then order and choice of domains matter."""
    alone: list[PlacementRequest] = []
    child_causes: list[GreedyLimit] = []
    for child in request.children:
        outcome = greedy.evaluate(child, place)
        if outcome.success:
            alone.append(child)
        elif outcome.status is not Status.ERROR and (causes := _causes(greedy, child, place)):
            alone.append(child)
            child_causes += causes
    if len(alone) < request.entity.minimum:
        return []
    causes = _sibling_causes(
        request, greedy.attempt(request, place), {each.entity.name for each in alone}, sparing=greedy.state.options.sparing
    )
    return [*causes, *child_causes]


def _sibling_causes(request: PlacementRequest, outcome: PlacementOutcome, alone: set[Name], *, sparing: bool) -> list[GreedyLimit]:
    """Return what siblings took before the first child that would fit by itself."""
    before: list[tuple[PlacementRequest, PlacementOutcome]] = []
    claims: set[NamedClaim] = set()
    for child, below in zip(request.children, outcome.children, strict=True):
        if below is None or (not below.success and child.entity.name in alone):
            claims = set() if below is None or sparing else _new_claims(pod for leaf in child.leaves() for pod in leaf.entity.waiting)
            break
        if below.success and below.placed:
            before.append((child, below))
    if not before:
        return []
    if claims := claims & _new_claims(pod for child, below in before for pod, _ in pods_with_nodes(child, below)):
        return [UnsharedClaims(tuple(sorted(claims, key=lambda each: each.label)))]
    optional = tuple(ExtraPods(child.entity.name, extra) for child, below in before if (extra := extra_pods(child, below)) > 0)
    others = tuple(child.entity.name for child, below in before if extra_pods(child, below) <= 0)
    return [*([OptionalPods(optional)] if optional else []), *([KeptPlacements(others)] if others else [])]


def _new_claims(pods: Iterable[PodRecord]) -> set[NamedClaim]:
    """Return the claims to devices of *pods* that are not allocated."""
    pairs = ((claim, need) for pod in pods for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False))
    return {claim.named for claim, need in pairs if need.allocates}


def _too_small(state: PlacementState, request: PlacementRequest, places: tuple[Placement, ...]) -> Bools:
    """Return the places whose capacity is too small for the minimum of *request* in any assignment."""
    shapes = {run.shape: run for leaf in request.leaves() for run in leaf.runs}
    if len(shapes) == 1 and all(map(homogeneous, request.leaves())):
        whole = Run(next(iter(shapes)), sum(each.count for leaf in request.leaves() for each in leaf.runs))
        return np.array(sums_over(slots(state, whole), [place.nodes for place in places]) < _least(request, needed_of), dtype=bool)
    small: Bools = np.zeros(len(places), dtype=bool)
    usable: Bools = np.zeros(len(state.nodes), dtype=bool)
    for shape in shapes:
        mask = state.profile.compile(shape).mask
        usable |= True if mask is None else mask
    for row in sorted({row for shape in shapes for row, _ in shape.requests}):
        free = np.maximum(free_of(state, np.array([row]))[0], 0)
        small |= sums_over(np.where(usable, free, 0), [place.nodes for place in places]) < _least(request, _least_amount(row))
    return small


def _least_amount(row: int) -> Callable[[PlacementRequest], int]:
    """Return a function for the least amount of a resource that the needed pods of a leaf request."""

    def least(leaf: PlacementRequest) -> int:
        amounts = sorted(dict(run.shape.requests).get(row, 0) for run in leaf.runs for _ in range(run.count))
        return sum(amounts[: needed_of(leaf)])

    return least


def needed_of(leaf: PlacementRequest) -> int:
    """Return the number of pods that a leaf still needs; 0 if its minimum is running."""
    return max(leaf.entity.minimum - len(leaf.entity.running), 0)


def _least(request: PlacementRequest, of_leaf: Callable[[PlacementRequest], int]) -> int:
    """Return the least amount that *request* needs; for a composite, the sum over its cheapest children up to its minimum."""
    if request.leaf:
        return of_leaf(request)
    return sum(sorted(_least(child, of_leaf) for child in request.children)[: request.entity.minimum])
