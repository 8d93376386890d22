"""Number of pods of a leaf that each domain holds, and the selection of domains to show."""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.diagnosis.node_refusals import admitted
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.topology import Placement, sums_over
from scheduler_core.placement.equal_pods import slots_of
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.state import PlacementState, free_of

DESCRIBED = 4
"""Maximum number of domains that a cause describes; the others are counted."""
_TRIED = DESCRIBED
"""Maximum number of domains to try again if their results are not cached."""
_RUNS = 1000
"""Maximum number of runs of pods tried over all domains."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A domain and the number of pods of the group that it holds; ``nodes`` are their nodes, if known already.

    With *in_order*, that is their number in the order of the queue; the pods differ, so that another order can place more.
    """

    domain: Placement
    pods: int
    nodes: Nodes | None = None
    in_order: bool = False


def needed(state: PlacementState, request: PlacementRequest) -> int:
    """Return the number of pods of a leaf that still need a node; 1 if its minimum is met."""
    if state.options.every_pod:
        return len(request.entity.waiting)
    return max(request.entity.minimum - len(request.entity.running), 1)


def homogeneous(request: PlacementRequest) -> bool:
    """Return whether the pods of a leaf are equal and independent of other pods, so that counting capacity is exact."""
    return request.memorable and len(request.runs) == 1


def slots(state: PlacementState, run: Run, nodes: Nodes | None = None) -> Ints:
    """Return how many pods of *run* each of *nodes* has capacity for, by default each node; affinities to other pods are ignored."""
    profile, among = state.profile.compile(run.shape), slice(None) if nodes is None else nodes
    mask = None if profile.mask is None else profile.mask[among]
    counts: Ints = np.clip(slots_of(free_of(state, profile.rows, nodes), profile.amounts, mask), 0, run.count)
    return np.minimum(counts, admitted(state, run.shape)[among]) if profile.one_by_one else counts


def capacity(state: PlacementState, request: PlacementRequest, places: tuple[Placement, ...]) -> Ints:
    """Return an upper bound on the pending pods of *request* in each place; exact for a homogeneous leaf."""
    total: Ints = np.zeros(len(places), dtype=np.int64)
    known: dict[tuple[int, int], Ints] = {}
    for run in request.runs:
        # Alternating runs can be many, but few are distinct.
        key = (run.shape.serial, run.count)
        if key not in known:
            known[key] = np.minimum(sums_over(slots(state, run), [place.nodes for place in places]), run.count)
        total += known[key]
    for child in request.children:
        total += capacity(state, child, places)
    return total


def ranked(greedy: Greedy, request: PlacementRequest, places: tuple[Placement, ...]) -> list[Held]:
    """Return the number of pods of a leaf that each place holds, most first, then by value.

    Places whose results are not cached are omitted, except those with the most capacity.
    """
    most = capacity(greedy.state, request, places).tolist()
    order = sorted(range(len(places)), key=lambda index: (-most[index], places[index].value))
    if homogeneous(request):
        return [Held(places[index], most[index]) for index in order]
    if not request.memorable or len(request.runs) * len(places) > _RUNS:
        order = order[:_TRIED]
    # kube-scheduler has no other order.
    ordered = greedy.state.options.four_statuses and len({run.shape for run in request.runs}) > 1
    # For one pod, each is tried.
    several = needed(greedy.state, request) > 1
    result = []
    for index in order:
        nodes = _attempted_nodes(greedy, request, places[index])
        pods = int((nodes >= 0).sum())
        result.append(Held(places[index], pods, nodes, in_order=ordered and (several or pods > 0)))
    return sorted(result, key=lambda each: (-each.pods, each.domain.value))


def nodes_of_pods(greedy: Greedy, request: PlacementRequest, held: Held) -> Nodes:
    """Return the node of each pod of a leaf in that domain, in pod order, as far as they were tried; -1 for none."""
    if held.nodes is not None:
        return held.nodes
    if homogeneous(request) and held.pods < len(request.entity.waiting):
        return _filled(greedy.state, request, held)
    return _attempted_nodes(greedy, request, held.domain)


def _filled(state: PlacementState, request: PlacementRequest, held: Held) -> Nodes:
    """Return the nodes of equal pods that are more than the domain holds: each node takes all that it has capacity for, in any order."""
    nodes: Nodes = np.full(len(request.entity.waiting), -1, dtype=np.int64)
    nodes[: held.pods] = held.domain.nodes.repeat(slots(state, request.runs[0], held.domain.nodes))
    return nodes


def _attempted_nodes(greedy: Greedy, request: PlacementRequest, domain: Placement) -> Nodes:
    nodes = greedy.attempt(request, domain).nodes
    return np.full(len(request.entity.waiting), -1, dtype=np.int64) if nodes is None else nodes


def places_to_try(greedy: Greedy, request: PlacementRequest, places: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """Return the places of a composite to try again: all if results are cached."""
    return places if request.memorable else largest_places(greedy.state, request, places, _TRIED)


def largest_places(state: PlacementState, request: PlacementRequest, places: tuple[Placement, ...], limit: int) -> tuple[Placement, ...]:
    """Return the *limit* places with the most capacity, ties by value."""
    if len(places) <= limit:
        return places
    most = capacity(state, request, places).tolist()
    order = sorted(range(len(places)), key=lambda index: (-most[index], places[index].value))
    return tuple(places[index] for index in order[:limit])
