"""Optional pods beside those that must be placed: as many as fit in the domains that were chosen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from scheduler_core.exact.packing.capacity import Capacity, Wish
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.composite_progress import inadmissible
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlannedGroup:
    """A group of a plan with its domain, and the pods of a leaf that are placed there: how many of each shape."""

    request: PlacementRequest
    domain: Placement
    counts: tuple[tuple[PodShape, int], ...] = ()


Offer = tuple[int, PodShape, int]
"""Whose pods, their shape, and how many of them may be added."""


def with_more(plan: Sequence[PlannedGroup], capacity: Capacity) -> list[PlannedGroup]:
    """*plan* with as many optional pods of its leaves as fit; those that may use fewest nodes come first, of these the small ones.

    Raises:
        StepsSpentError: the budget is spent before that is known.

    """
    offers = [(number, shape, count) for number, chosen in enumerate(plan) if chosen.request.leaf for shape, count in _waiting(chosen)]
    offers.sort(key=lambda offer: (len(plan[offer[0]].domain), capacity.amounts(offer[1]).tolist(), offer[0]))
    wishes = [(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts]

    def fit(more: Mapping[int, int]) -> bool:
        added: list[Wish] = [(offers[at][1], plan[offers[at][0]].domain, count) for at, count in more.items()]
        return capacity.fits([*wishes, *added], thorough=False)

    taken = most(offers, fit)
    counts = [{shape.serial: (shape, count) for shape, count in chosen.counts} for chosen in plan]
    for at, more in taken.items():
        number, shape, _ = offers[at]
        counts[number][shape.serial] = shape, counts[number].get(shape.serial, (shape, 0))[1] + more
    return [dataclasses.replace(chosen, counts=tuple(own.values())) for chosen, own in zip(plan, counts, strict=True)]


def raised(request: PlacementRequest, *, whole: bool) -> PlacementRequest:
    """*request* as if all its children were required, and with *whole* all its pods; in a search of its own its number stands for it."""
    entity = request.entity
    if request.leaf:
        minimum = max(entity.minimum, len(entity.running) + len(entity.waiting)) if whole else entity.minimum
        return dataclasses.replace(request, entity=dataclasses.replace(entity, minimum=minimum))
    children = tuple(raised(child, whole=whole) for child in request.children)
    minimum = max(entity.minimum, sum(not inadmissible(child) for child in request.children))
    return dataclasses.replace(request, children=children, entity=dataclasses.replace(entity, minimum=minimum))


def most(offers: Sequence[Offer], fit: Callable[[Mapping[int, int]], bool]) -> dict[int, int]:
    """How many of each of *offers* are added, by position: all if *fit* says so, else of one after the other as many as it lets."""
    everything = {at: count for at, (_, _, count) in enumerate(offers)}
    if fit(everything):
        return everything
    taken: dict[int, int] = {}
    for at, (_, _, count) in enumerate(offers):
        low, high = 0, count
        while low < high:
            middle = (low + high + 1) // 2
            if fit({**taken, at: middle}):
                low = middle
            else:
                high = middle - 1
        if low:
            taken[at] = low
    return taken


def _waiting(chosen: PlannedGroup) -> list[tuple[PodShape, int]]:
    """The pods that wait beside those that *chosen* has already."""
    have = {shape.serial: count for shape, count in chosen.counts}
    left: dict[int, tuple[PodShape, int]] = {}
    for run in chosen.request.runs:
        _, count = left.get(run.shape.serial, (run.shape, 0))
        left[run.shape.serial] = run.shape, count + run.count
    found = [(shape, count - have.get(serial, 0)) for serial, (shape, count) in left.items()]
    return [(shape, count) for shape, count in found if count]
