"""What a tree needs at least, wherever it goes."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest


def satisfied(request: PlacementRequest) -> bool:
    """Whether the members that run meet the minimum already."""
    if request.leaf:
        return len(request.entity.running) >= request.entity.minimum
    return sum(satisfied(child) for child in request.children) >= request.entity.minimum


def lacking(request: PlacementRequest) -> int:
    """How many pods must be placed at least; composites: by their smallest children."""
    if satisfied(request):
        return 0
    if request.leaf:
        return request.entity.minimum - len(request.entity.running)
    missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
    return sum(sorted(lacking(child) for child in request.children if not satisfied(child))[:missing])


def leaves(request: PlacementRequest) -> Iterator[PlacementRequest]:
    """*request* and what is below it, as far as it holds pods."""
    if request.leaf:
        yield request
    for child in request.children:
        yield from leaves(child)


def selections(request: PlacementRequest) -> Iterator[tuple[tuple[PodShape, int], ...]]:
    """The ways to choose as many pods as are lacking: how many of each shape, the first in their order before others."""
    waiting: dict[int, tuple[PodShape, int]] = {}
    for run in request.runs:
        _, count = waiting.get(run.shape.serial, (run.shape, 0))
        waiting[run.shape.serial] = (run.shape, count + run.count)
    kinds = list(waiting.values())

    def choose(number: int, missing: int) -> Iterator[tuple[tuple[PodShape, int], ...]]:
        if number == len(kinds):
            if not missing:
                yield ()
            return
        shape, count = kinds[number]
        rest = sum(each for _, each in kinds[number + 1 :])
        for taken in range(min(count, missing), max(0, missing - rest) - 1, -1):
            for others in choose(number + 1, missing - taken):
                yield ((shape, taken), *others) if taken else others

    return choose(0, lacking(request))
