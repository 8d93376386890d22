"""How many pods of a leaf the domains hold, and which domains are worth showing."""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import admitted, free_of
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.topology import Placement
from scheduler_core.placement.equal_pods import slots_of
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.state import PlacementState

_TRIED = phrases.SHOWN
"""Of domains that are not remembered, at most so many are tried again."""
_RUNS = 1000
"""So many runs of pods are tried in all domains together, at most."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A domain, and how many pods of the group it holds; ``nodes`` is where, if that is known already."""

    domain: Placement
    pods: int
    nodes: Nodes | None = None


def needed(state: PlacementState, request: PlacementRequest) -> int:
    """Pods of a leaf that must still find a node; 1 where its minimum is met already."""
    if state.options.every_pod:
        return len(request.entity.waiting)
    return max(request.entity.minimum - len(request.entity.running), 1)


def homogeneous(request: PlacementRequest) -> bool:
    """Whether the pods of a leaf are alike and no other pod matters to them: then counting room is exact."""
    return request.memorable and len(request.runs) == 1


def slots(state: PlacementState, run: Run) -> Ints:
    """How many pods of *run* each node of the cluster has room for by itself, other pods' affinities left aside."""
    profile = state.profile.compile(run.shape)
    found: Ints = np.clip(slots_of(free_of(state, profile.rows), profile.amounts, profile.mask), 0, run.count)
    return np.minimum(found, admitted(state, run.shape)) if profile.one_by_one else found


def room(state: PlacementState, request: PlacementRequest, places: tuple[Placement, ...]) -> Ints:
    """How many waiting pods of *request*, all below it included, each place could hold at most; exact for a homogeneous leaf."""
    total: Ints = np.zeros(len(places), dtype=np.int64)
    known: dict[tuple[int, int], Ints] = {}
    for run in request.runs:
        # Runs that alternate are many, and few of them differ.
        at = (run.shape.serial, run.count)
        if at not in known:
            known[at] = np.minimum(summed(slots(state, run), places), run.count)
        total += known[at]
    for child in request.children:
        total += room(state, child, places)
    return total


def summed(values: Ints, places: tuple[Placement, ...]) -> Ints:
    """The sum of *values*, one for each node of the cluster, over each place."""
    if not places:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum([0, *(len(each) for each in places)])
    running = np.concatenate([ends[:1], np.cumsum(values[np.concatenate([each.nodes for each in places])])])
    sums: Ints = np.diff(running[ends])
    return sums


def ranked(greedy: Greedy, request: PlacementRequest, places: tuple[Placement, ...]) -> list[Held]:
    """What each place holds of a leaf, most first, then by value.

    Places that would have to be tried anew are left out but for those with the most room.
    """
    most = room(greedy.state, request, places).tolist()
    order = sorted(range(len(places)), key=lambda index: (-most[index], places[index].value))
    if homogeneous(request):
        return [Held(places[index], most[index]) for index in order]
    if not request.memorable or len(request.runs) * len(places) > _RUNS:
        order = order[:_TRIED]
    found = []
    for index in order:
        nodes = _picks(greedy, request, places[index])
        found.append(Held(places[index], int((nodes >= 0).sum()), nodes))
    return sorted(found, key=lambda each: (-each.pods, each.domain.value))


def picks(greedy: Greedy, request: PlacementRequest, held: Held) -> Nodes:
    """The node of each pod of a leaf in that domain, in the order of the pods, as far as they were tried; -1 for none."""
    return _picks(greedy, request, held.domain) if held.nodes is None else held.nodes


def _picks(greedy: Greedy, request: PlacementRequest, domain: Placement) -> Nodes:
    nodes = greedy.attempt(request, domain).nodes
    return np.full(len(request.entity.waiting), -1, dtype=np.int64) if nodes is None else nodes


def tries(greedy: Greedy, request: PlacementRequest, places: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """The places of a composite that are worth trying again: all where the results are remembered."""
    return places if request.memorable else roomiest(greedy.state, request, places, _TRIED)


def roomiest(state: PlacementState, request: PlacementRequest, places: tuple[Placement, ...], limit: int) -> tuple[Placement, ...]:
    """Of more than *limit* places those with the most room, of equal ones the first by value."""
    if len(places) <= limit:
        return places
    most = room(state, request, places).tolist()
    order = sorted(range(len(places)), key=lambda index: (-most[index], places[index].value))
    return tuple(places[index] for index in order[:limit])
