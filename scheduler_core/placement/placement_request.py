"""Entity prepared for placement.  Entities with equal signatures have equal results on the same placement."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins import registry
from scheduler_core.plugins.spread_score import SoftSpread, SpreadKind
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from scheduler_core.plugins.topology_counts import NodeTally

KindsByPod = Mapping[PodRecord, SpreadKind]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Consecutive pods of one shape and spread kind."""

    shape: PodShape
    count: int
    spread: SpreadKind | None = None
    """None if no pod of the root has a topology spread constraint with ScheduleAnyway."""

    @property
    def soft(self) -> SoftSpread | None:
        """Return the constraints by which the pods are scored."""
        return None if self.spread is None else self.spread.soft


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
        only_searched: True if its pods depend on other pods only by volumes and devices, and have no host ports.
        counts: of pods, by which pods of the request are scored; results are valid while their ``versions`` are the same too.

    """

    entity: Entity
    number: int
    runs: tuple[Run, ...]
    children: tuple[PlacementRequest, ...]
    pinned: tuple[int, ...]
    special: bool
    counted: bool = True
    only_searched: bool = True
    counts: tuple[NodeTally, ...] = ()

    @property
    def versions(self) -> tuple[int, ...]:
        """Return the present versions of ``counts``."""
        return tuple([count.version for count in self.counts]) if self.counts else ()

    @property
    def leaf(self) -> bool:
        """Return whether it holds pods itself."""
        return self.entity.name.kind != "CompositePodGroup"

    @property
    def memorable(self) -> bool:
        """Return whether its result on a placement is valid while the placement's version is the same."""
        return self.number >= 0

    def leaves(self) -> list[PlacementRequest]:
        """Return the requests that hold pods: below this one, or itself."""
        return [self] if self.leaf else [leaf for child in self.children for leaf in child.leaves()]


class Signatures:
    """Numbering of signatures: equal signatures get equal numbers.

    Results of entities with a pod for which *related* is true are not cached; by default one that *stateful* touches.  With *one_by_one*
    all pods are placed one by one.
    """

    def __init__(
        self, related: Callable[[PodRecord], bool] | None = None, stateful: StatefulPlugins | None = None, *, one_by_one: bool = False
    ) -> None:
        self._related = related
        self._stateful = stateful
        self._one_by_one = one_by_one
        self._numbers: dict[object, int] = {}
        self._unlike = itertools.count(-1, -1)

    def request(self, entity: Entity) -> PlacementRequest:
        """Return *entity* and all groups below it prepared for placement."""
        kinds: KindsByPod = {}
        if self._stateful is not None:
            kinds = self._stateful.spread_kinds([pod for leaf in entity.leaves() for pod in leaf.waiting])
        return self._request(entity, kinds)

    def _request(self, entity: Entity, kinds: KindsByPod) -> PlacementRequest:
        children = tuple(self._request(child, kinds) for child in entity.children)
        running = {pod.node for pod in entity.running}
        pinned = tuple(sorted(running.union(*(child.pinned for child in children)))) if running or children else ()
        runs = _spread_runs(entity.waiting, kinds) if kinds else _runs(entity.waiting)
        nominated = tuple(pod.nominated for pod in entity.waiting)
        promised = any(node >= 0 for node in nominated)
        special = self._one_by_one or any(registry.one_by_one(run.shape) for run in runs)
        dependent = self._dependent(entity)
        counted = not dependent or (self._related is None and self._stateful is not None and all(map(self._stateful.counted, dependent)))
        only_searched = not special and (counted or (self._related is None and all(map(self._only_searched, dependent))))
        spread = [run.spread for run in (*runs, *(run for child in children for run in _all_runs(child)))] if kinds else []
        counts = tuple(dict.fromkeys(rule.tally for kind in spread if kind is not None and kind.soft for rule in kind.soft.rules))
        if dependent or any(child.number < 0 for child in children):
            number = next(self._unlike)
        else:
            pattern = _pattern(spread, counts) if spread else ()
            number = self._number(entity, runs, children, (pinned, nominated if promised else (), pattern))
        return PlacementRequest(entity, number, runs, children, pinned, special or promised, counted, only_searched, counts)

    def _dependent(self, entity: Entity) -> list[PodRecord]:
        """Return the pods of a leaf that depend on other pods."""
        if self._related is not None:
            return [pod for pod in entity.waiting if self._related(pod)]
        return [] if self._stateful is None else self._stateful.touched(entity.waiting)

    def _only_searched(self, pod: PodRecord) -> bool:
        """Return whether *pod* depends on other pods only by volumes."""
        return self._stateful is not None and all(plugin.searched for plugin in self._stateful.plugins if plugin.touches(pod))

    def _number(self, entity: Entity, runs: tuple[Run, ...], children: tuple[PlacementRequest, ...], more: tuple[object, ...]) -> int:
        signature = (
            entity.name.kind == "CompositePodGroup",
            entity.minimum,
            entity.key,
            entity.desired,
            len(entity.running),
            tuple([(run.shape.serial, run.count) for run in runs]),
            tuple([child.number for child in children]),
            more,
        )
        return self._numbers.setdefault(signature, len(self._numbers))


def _spread_runs(pods: tuple[PodRecord, ...], kinds: KindsByPod) -> tuple[Run, ...]:
    each = [(pod.shape, kinds[pod]) for pod in pods]
    if each and each.count(each[0]) == len(each):
        return (Run(each[0][0], len(each), each[0][1]),)
    return tuple(Run(shape, len(list(same)), kind) for (shape, kind), same in itertools.groupby(each))


def _runs(pods: tuple[PodRecord, ...]) -> tuple[Run, ...]:
    shapes = [pod.shape for pod in pods]
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return (Run(shapes[0], len(shapes)),)
    return tuple(Run(shape, len(list(same))) for shape, same in itertools.groupby(shapes))


def _all_runs(request: PlacementRequest) -> Iterator[Run]:
    yield from request.runs
    for child in request.children:
        yield from _all_runs(child)


def _pattern(kinds: Sequence[SpreadKind | None], counts: tuple[NodeTally, ...]) -> tuple[object, ...]:
    """Return the same for requests that differ only in what their *counts* count: which runs are scored and counted by which of them."""
    number = {count: index for index, count in enumerate(counts)}
    return tuple(
        (
            tuple((rule.term.key, rule.term.skew, rule.term.affinity, rule.term.taints, number[rule.tally]) for rule in kind.soft.rules)
            if kind.soft
            else (),
            frozenset(number[count] for count in kind.counted_by if count in number),
        )
        for kind in kinds
        if kind is not None
    )
