"""Entity prepared for placement.  Entities with equal signatures have equal results on the same placement."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins import registry


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Consecutive pods of one shape."""

    shape: PodShape
    count: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlacementRequest:
    """Entity prepared for placement.

    Attributes:
        entity: the group or pod.
        number: its signature; negative if results must not be cached.
        runs: the waiting pods of a leaf.
        children: of a composite.
        pinned: nodes of running members, of all groups below.
        special: True if its pods must be placed one by one.
        counted: True if its pods depend on other pods only by volumes that requests count.

    """

    entity: Entity
    number: int
    runs: tuple[Run, ...]
    children: tuple[PlacementRequest, ...]
    pinned: tuple[int, ...]
    special: bool
    counted: bool = True

    @property
    def leaf(self) -> bool:
        """Return whether it holds pods itself."""
        return self.entity.name.kind != "CompositePodGroup"

    @property
    def memorable(self) -> bool:
        """Return whether its result on a placement is valid while the placement's version is the same."""
        return self.number >= 0


class Signatures:
    """Numbering of signatures: equal signatures get equal numbers.

    Results of entities with a pod for which *related* is true are not cached.  *counted* is true for a pod that is related only by volumes
    that requests count.  With *one_by_one* all pods are placed one by one.
    """

    def __init__(
        self,
        related: Callable[[PodRecord], bool] | None = None,
        counted: Callable[[PodRecord], bool] | None = None,
        *,
        one_by_one: bool = False,
    ) -> None:
        self._related = related
        self._counted = counted
        self._one_by_one = one_by_one
        self._numbers: dict[object, int] = {}
        self._unlike = itertools.count(-1, -1)

    def request(self, entity: Entity) -> PlacementRequest:
        """Return *entity* and all groups below it prepared for placement."""
        children = tuple(self.request(child) for child in entity.children)
        running = {pod.node for pod in entity.running}
        pinned = tuple(sorted(running.union(*(child.pinned for child in children)))) if running or children else ()
        runs = _runs(entity.waiting)
        nominated = tuple(pod.nominated for pod in entity.waiting)
        promised = any(node >= 0 for node in nominated)
        special = self._one_by_one or promised or any(registry.one_by_one(run.shape) for run in runs)
        dependent = [pod for pod in entity.waiting if self._related(pod)] if self._related is not None else []
        counted = not dependent or (self._counted is not None and all(map(self._counted, dependent)))
        if dependent or any(child.number < 0 for child in children):
            number = next(self._unlike)
        else:
            number = self._number(entity, runs, children, pinned, nominated if promised else ())
        return PlacementRequest(entity, number, runs, children, pinned, special, counted)

    def _number(
        self,
        entity: Entity,
        runs: tuple[Run, ...],
        children: tuple[PlacementRequest, ...],
        pinned: tuple[int, ...],
        nominated: tuple[int, ...],
    ) -> int:
        signature = (
            entity.name.kind == "CompositePodGroup",
            entity.minimum,
            entity.key,
            entity.desired,
            len(entity.running),
            pinned,
            tuple([(run.shape.serial, run.count) for run in runs]),
            tuple([child.number for child in children]),
            nominated,
        )
        return self._numbers.setdefault(signature, len(self._numbers))


def _runs(pods: tuple[PodRecord, ...]) -> tuple[Run, ...]:
    shapes = [pod.shape for pod in pods]
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return (Run(shapes[0], len(shapes)),)
    return tuple(Run(shape, len(list(same))) for shape, same in itertools.groupby(shapes))
