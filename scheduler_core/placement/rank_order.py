"""Rank order: equal pods exchange their nodes so that pods with consecutive ranks are neighbours in the topology.

A tree of domains is visited depth first, and its nodes are given to the pods in the order of their ranks.  Of a level with *d* domains,
only ``d - 1`` consecutive pairs are then in different domains.  No order has fewer, because each domain but the first is entered at least
once.  So the numbers are minimal at every level at the same time.

If a pod with a node comes directly before or after the pods, the visit begins in its domains or ends there.  Between several such pods the
order is heuristic.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence

from scheduler_core.model.decision import RankedGroup, RankLevel
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pod_ranks import INDEX_LABELS, Rank, rank_of
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.topology_levels import levels
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest

Path = tuple[int, ...]
"""Domains of a node: the index of the value of each level, -1 without the label, the widest level first; the last is the node."""
_MOST_GAPS = 32
"""Number of gaps between pods with nodes up to which the order considers these pods."""
Kind = Callable[[PodRecord], Hashable]
_LABELS = operator.attrgetter("labels")


def is_ranked(leaf: Entity) -> bool:
    """Return whether *leaf* has several pods, and one to place has a rank."""
    # Most pods have none of these labels, which is found without a call for each of them.
    if len(leaf.waiting) + len(leaf.running) <= 1 or all(map(INDEX_LABELS.isdisjoint, map(_LABELS, leaf.waiting))):
        return False
    return any(map(rank_of, leaf.waiting))


class RankOrder:
    """Rank order of the pods of one root.

    *kind* returns equal values for pods of one shape that no constraint distinguishes.
    """

    def __init__(self, request: PlacementRequest, nodes: NodeTable, kind: Kind) -> None:
        self._nodes = nodes
        self._kind = kind
        self._keys = levels(nodes, {each.key for each in request.entity.walk() if each.key})
        self._columns = [nodes.column(key).ids for key in self._keys]

    def apply(self, request: PlacementRequest, outcome: PlacementOutcome) -> PlacementOutcome:
        """Return *outcome*, a success of *request*, with its nodes in rank order.

        Each group keeps its nodes.  If some of its equal pods have no node, these are the pods with the last ranks.
        """
        if not request.leaf:
            pairs = zip(request.children, outcome.children, strict=True)
            children = tuple(each if each is None or not each.success else self.apply(child, each) for child, each in pairs)
            return dataclasses.replace(outcome, children=children)
        if outcome.nodes is None or outcome.volumes:
            return outcome
        found = outcome.nodes.tolist()
        ranks = {index: rank for index, pod in enumerate(request.entity.waiting) if (rank := rank_of(pod)) is not None}
        running = [(rank, pod.node) for pod in request.entity.running if (rank := rank_of(pod)) is not None]
        for alike in self._exchangeable(request.entity.waiting, ranks):
            own = set(alike)
            placed = [*running, *((ranks[index], found[index]) for index in ranks if index not in own and found[index] >= 0)]
            free = [found[index] for index in alike if found[index] >= 0]
            for index, node in itertools.zip_longest(alike, self._ordered([ranks[index] for index in alike], free, placed), fillvalue=-1):
                found[index] = node
        if found == outcome.nodes.tolist():
            return outcome
        nodes = outcome.nodes.copy()
        nodes[:] = found
        return dataclasses.replace(outcome, nodes=nodes)

    def report(self, request: PlacementRequest, outcome: PlacementOutcome) -> Iterator[RankedGroup]:
        """Yield the order of each group with at least two ranked pods with nodes; *outcome* is a success of *request*."""
        if not request.leaf:
            for child, each in zip(request.children, outcome.children, strict=True):
                if each is not None and each.success:
                    yield from self.report(child, each)
            return
        nodes = [] if outcome.nodes is None else outcome.nodes.tolist()
        members = [*zip(request.entity.waiting, nodes, strict=False), *((pod, pod.node) for pod in request.entity.running)]
        ranked = sorted((rank, self._path(node)) for pod, node in members if node >= 0 and (rank := rank_of(pod)) is not None)
        if request.entity.name.kind == "PodGroup" and len(ranked) > 1:
            yield RankedGroup(request.entity.name, len(ranked), tuple(self._levels([path for _, path in ranked])))

    def _levels(self, paths: Sequence[Path]) -> Iterator[RankLevel]:
        for number, key in enumerate((*self._keys, HOSTNAME), start=1):
            domains = [path[:number] for path in paths]
            apart = sum(one != other for one, other in itertools.pairwise(domains))
            yield RankLevel(key, len(set(domains)), apart)

    def _exchangeable(self, waiting: Sequence[PodRecord], ranks: dict[int, Rank]) -> list[list[int]]:
        """Return the positions of pods that can exchange their nodes, each set in the order of ranks, two pods at least."""
        kinds: dict[Hashable, list[int]] = {}
        for index in sorted(ranks, key=lambda index: (ranks[index], waiting[index].key)):
            pod = waiting[index]
            if pod.nominated < 0 and not (pod.named_volumes or pod.shape.picks_volumes or pod.device_claims):
                kinds.setdefault((pod.shape, pod.controller, self._kind(pod)), []).append(index)
        return [each for each in kinds.values() if len(each) > 1]

    def _path(self, node: int) -> Path:
        return (*(int(column[node]) for column in self._columns), node)

    def _ordered(self, ranks: Sequence[Rank], nodes: Sequence[int], placed: Sequence[tuple[Rank, int]]) -> list[int]:
        """Return *nodes* for the first of *ranks*, which are sorted; *placed* are other pods of the group with nodes."""
        ranks = ranks[: len(nodes)]
        gaps = [*_gaps(ranks, sorted(placed))]
        if len(gaps) > _MOST_GAPS:
            gaps = [(len(ranks), None, None)]
        remaining = sorted(map(self._path, nodes))
        if not placed:
            return [path[-1] for path in remaining]
        ordered: list[int] = []
        for count, before, after in gaps:
            first, last = None if before is None else self._path(before), None if after is None else self._path(after)
            remaining.sort(key=lambda path: (-max(_common(path, first), _common(path, last)), path))
            chosen, remaining = remaining[:count], remaining[count:]
            chosen.sort(key=lambda path: _turn(path, first, last))
            ordered += [path[-1] for path in chosen]
        return ordered


def _gaps(ranks: Sequence[Rank], placed: Sequence[tuple[Rank, int]]) -> Iterator[tuple[int, int | None, int | None]]:
    """Yield the numbers of *ranks* between consecutive *placed* pods, with the nodes of these pods; all arguments are sorted."""
    start = 0
    for number in range(len(placed) + 1):
        end = len(ranks)
        if number < len(placed):
            end = next((index for index in range(start, len(ranks)) if ranks[index] > placed[number][0]), len(ranks))
        if end > start:
            before, after = placed[number - 1][1] if number else None, placed[number][1] if number < len(placed) else None
            yield end - start, before, after
        start = end


def _common(path: Path, other: Path | None) -> int:
    """Return the number of levels, from the widest, on which two nodes are in the same domain."""
    if other is None:
        return 0
    return next((number for number, (one, two) in enumerate(zip(path, other, strict=True)) if one != two), len(path))


def _turn(path: Path, first: Path | None, last: Path | None) -> tuple[tuple[int, int], ...]:
    """Return a sort key that visits the domains depth first, those of *first* first and those of *last* last."""
    begins, ends = _common(path, first), _common(path, last)
    return tuple((0 if level < begins else 2 if level < ends else 1, domain) for level, domain in enumerate(path))
