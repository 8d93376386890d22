"""Optional pods of a plan: waiting pods beyond the minimum that fit in the chosen domains."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from scheduler_core.exact.packing.capacity import Capacity, Demand
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.feasibility import inadmissible
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlannedGroup:
    """A group of a plan with its domain; for a leaf also the number of pods of each shape."""

    request: PlacementRequest
    domain: Placement
    counts: tuple[tuple[PodShape, int], ...] = ()


Offer = tuple[int, PodShape, int]
"""Index of the group, shape of its pods, and the largest number to add."""


def with_more(plan: Sequence[PlannedGroup], capacity: Capacity) -> list[PlannedGroup]:
    """Return *plan* with as many optional pods as fit.  Pods with few eligible nodes come first, then small pods.

    Raises:
        StepsSpentError: the budget is spent before the answer is known.

    """
    offers = [(number, shape, count) for number, chosen in enumerate(plan) if chosen.request.leaf for shape, count in _waiting(chosen)]
    offers.sort(key=lambda offer: (len(plan[offer[0]].domain), capacity.amounts(offer[1]).tolist(), offer[0]))
    demands = [(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts]

    def fits(more: Mapping[int, int]) -> bool:
        added: list[Demand] = [(offers[index][1], plan[offers[index][0]].domain, count) for index, count in more.items()]
        return capacity.fits([*demands, *added], thorough=False)

    taken = most(offers, fits)
    counts = [{shape.serial: (shape, count) for shape, count in chosen.counts} for chosen in plan]
    for index, more in taken.items():
        number, shape, _ = offers[index]
        counts[number][shape.serial] = shape, counts[number].get(shape.serial, (shape, 0))[1] + more
    return [dataclasses.replace(chosen, counts=tuple(own.values())) for chosen, own in zip(plan, counts, strict=True)]


def raised(request: PlacementRequest, *, whole: bool) -> PlacementRequest:
    """Return *request* with all its children required, and with *whole* all its pods.

    The result keeps the number of *request*, so a search must not use both.
    """
    entity = request.entity
    if request.leaf:
        minimum = max(entity.minimum, len(entity.running) + len(entity.waiting)) if whole else entity.minimum
        return dataclasses.replace(request, entity=dataclasses.replace(entity, minimum=minimum))
    children = tuple(raised(child, whole=whole) for child in request.children)
    minimum = max(entity.minimum, sum(not inadmissible(child) for child in request.children))
    return dataclasses.replace(request, children=children, entity=dataclasses.replace(entity, minimum=minimum))


def most(offers: Sequence[Offer], fits: Callable[[Mapping[int, int]], bool]) -> dict[int, int]:
    """Return the number of pods to add of each offer, by its index.

    The result is all pods if *fits* accepts them, else the largest accepted number of one offer after the other.
    """
    everything = {index: count for index, (_, _, count) in enumerate(offers)}
    if fits(everything):
        return everything
    taken: dict[int, int] = {}
    for index, (_, _, count) in enumerate(offers):
        low, high = 0, count
        while low < high:
            middle = (low + high + 1) // 2
            if fits({**taken, index: middle}):
                low = middle
            else:
                high = middle - 1
        if low:
            taken[index] = low
    return taken


def _waiting(chosen: PlannedGroup) -> list[tuple[PodShape, int]]:
    """Return the waiting pods that *chosen* does not include yet, by shape."""
    have = {shape.serial: count for shape, count in chosen.counts}
    left: dict[int, tuple[PodShape, int]] = {}
    for run in chosen.request.runs:
        _, count = left.get(run.shape.serial, (run.shape, 0))
        left[run.shape.serial] = run.shape, count + run.count
    counts = [(shape, count - have.get(serial, 0)) for serial, (shape, count) in left.items()]
    return [(shape, count) for shape, count in counts if count]
