"""Pods that a tree of groups lacks."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest


def satisfied(request: PlacementRequest) -> bool:
    """Return whether running members already meet the minimum."""
    if request.leaf:
        return len(request.entity.running) >= request.entity.minimum
    return sum(satisfied(child) for child in request.children) >= request.entity.minimum


def lacking(request: PlacementRequest) -> int:
    """Return the least number of pods to place; for a composite the sum over its smallest children."""
    if satisfied(request):
        return 0
    if request.leaf:
        return request.entity.minimum - len(request.entity.running)
    missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
    return sum(sorted(lacking(child) for child in request.children if not satisfied(child))[:missing])


def selections(request: PlacementRequest) -> Iterator[tuple[tuple[PodShape, int], ...]]:
    """Yield the ways to select as many waiting pods as *request* lacks: counts by shape, more of the first shapes first."""
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
        for selected in range(min(count, missing), max(0, missing - rest) - 1, -1):
            for others in choose(number + 1, missing - selected):
                yield ((shape, selected), *others) if selected else others

    return choose(0, lacking(request))
