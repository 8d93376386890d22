"""What a certificate may speak of: groups and what they need, sets of nodes and what is free on them, in measures of both.

It is what can be told from the objects with little reading, and so a little more than there is: a toleration counts for every taint of its
key, and a node affinity that compares numbers as met.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.exact.certificate.node_sets import Places
from scheduler_core.model.nodes import CPU, Bools, Ints, Nodes
from scheduler_core.model.pods import PodShape
from scheduler_core.model.wire import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, Toleration
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_COMPARING = frozenset({"Gt", "Lt"})
COUNTED = 50_000
"""Numbers that are counted up to, about."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """So much of some resources; a pod measures how often that is in what it takes, a node how often it is in what is free there.

    Attributes:
        sizes: by row of the nodes' resources.
        weights: of a pod of each shape.
        free: of each node, shape (nodes,).

    """

    sizes: Mapping[int, int]
    weights: tuple[int, ...]
    free: Ints


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CertificateGroup:
    """One group of the tree that needs something.

    Attributes:
        name: kind and name.
        missing: pods or children that it needs beyond those that it has.
        children: those that need something, by number.
        leaf: whether it has pods of its own.
        waiting: how many pods of each shape, by number of the shape.
        shapes: of all pods below it that wait.
        pinned: nodes of members that run, below it as well.

    """

    name: str
    key: str
    missing: int
    children: tuple[int, ...]
    leaf: bool
    waiting: tuple[tuple[int, int], ...]
    shapes: frozenset[int]
    pinned: tuple[int, ...]


class Facts:
    """Of one root on a site as it stands, or (*empty*) as if nothing but its own members ran.

    Attributes:
        groups: the root, and what below it needs something; parents first.
        takes: what a pod of each shape takes, by row.
        free: what is free, shape (resources, nodes).
        able: where pods of each shape may run; None: everywhere.
        measures: in which needs and nodes are compared.
        places: sets of nodes.

    """

    def __init__(self, state: PlacementState, request: PlacementRequest, *, empty: bool) -> None:
        self._state = state
        self.groups: list[CertificateGroup] = []
        self._shapes: dict[int, int] = {}
        shapes: list[PodShape] = []
        self._read(request, shapes)
        self.takes = [dict(shape.requests) for shape in shapes]
        self.free = self._left(request, empty=empty)
        self.able = [self._admits(shape) for shape in shapes]
        self.measures = [*self._measures()]
        self.places = Places(state.nodes)
        self._rooms: dict[tuple[int, frozenset[int]], list[int]] = {}
        self._least: dict[int, list[int]] = {}

    def domains(self, group: int, place: int) -> dict[str, int]:
        """Those that *group* may have in a place: where its members that run are."""
        each = self.groups[group]
        found = self.places.divided(place, each.key)
        if not each.key or not each.pinned:
            return found
        column = self._state.nodes.column(each.key)
        values = {column.values[int(column.ids[node])] if column.ids[node] >= 0 else "" for node in each.pinned}
        return {value: where for value, where in found.items() if values <= {value}}

    def least(self, group: int) -> list[int]:
        """What *group* measures at least, by measure."""
        if (found := self._least.get(group)) is None:
            each = self.groups[group]
            if each.leaf:
                found = [self._of_pods(each, measure.weights) for measure in self.measures]
            else:
                parts = [self.least(child) for child in each.children]
                found = [sum(sorted(part[number] for part in parts)[: each.missing]) for number in range(len(self.measures))]
            self._least[group] = found
        return found

    def room(self, place: int, shapes: frozenset[int]) -> list[int]:
        """What is free in a place on nodes where pods of *shapes* may run, by measure."""
        if (found := self._rooms.get((place, shapes))) is None:
            nodes = self._usable(place, shapes)
            found = self._rooms[place, shapes] = [int(measure.free[nodes].sum()) for measure in self.measures]
        return found

    def packed(self, place: int, groups: Iterable[int], number: int, *, needed: int) -> int:
        """How much of measure *number* all pods of *groups* that wait can fill at most in a place, none of them divided between nodes.

        Of no node is more counted than is *needed* in all.
        """
        groups = frozenset(groups)
        measure, nodes = self.measures[number], self._usable(place, self.shapes(groups))
        if not len(nodes):
            return 0
        rooms, times = np.unique(measure.free[nodes].clip(max=needed), return_counts=True)
        sums, cap = 1, (2 << int(rooms[-1])) - 1
        for weight, count in self._weights(groups, number):
            for _ in range(min(count, int(rooms[-1]) // weight) if weight else 0):
                sums |= (sums << weight) & cap
        return sum(reached(sums, room) * many for room, many in zip(rooms.tolist(), times.tolist(), strict=True))

    def shapes(self, groups: Iterable[int]) -> frozenset[int]:
        """Those of all pods of *groups* that wait."""
        return frozenset[int]().union(*(self.groups[group].shapes for group in groups))

    def _weights(self, groups: frozenset[int], number: int) -> list[tuple[int, int]]:
        weights, counts = self.measures[number].weights, dict[int, int]()
        stack = [*groups]
        while stack:
            each = self.groups[stack.pop()]
            stack += each.children
            for shape, count in each.waiting:
                counts[weights[shape]] = counts.get(weights[shape], 0) + count
        return sorted(counts.items())

    def _usable(self, place: int, shapes: frozenset[int]) -> Nodes:
        """The nodes of a place where pods of *shapes* may run."""
        nodes = self.places.nodes(place)
        masks = [mask for shape in shapes if (mask := self.able[shape]) is not None]
        if not shapes:
            return nodes[:0]
        return nodes[np.logical_or.reduce(masks)[nodes]] if len(masks) == len(shapes) else nodes

    def written(self, measure: Measure) -> dict[str, int]:
        """A measure by resource, in thousandths."""
        names = self._state.nodes.resources
        return {names[row]: size if row == CPU else size * 1000 for row, size in measure.sizes.items()}

    def _of_pods(self, group: CertificateGroup, weights: Sequence[int]) -> int:
        total, missing = 0, group.missing
        for weight, count in sorted((weights[shape], count) for shape, count in group.waiting):
            taken = min(count, missing)
            total, missing = total + taken * weight, missing - taken
        return total

    def _read(self, request: PlacementRequest, shapes: list[PodShape]) -> int:
        number = len(self.groups)
        self.groups.append(CertificateGroup("", "", 0, (), request.leaf, (), frozenset(), ()))  # its place
        children = tuple(self._read(child, shapes) for child in request.children if missing(child) > 0)
        counts: dict[int, int] = {}
        for run in request.runs if request.leaf else ():
            if run.shape.serial not in self._shapes:
                self._shapes[run.shape.serial] = len(shapes)
                shapes.append(run.shape)
            at = self._shapes[run.shape.serial]
            counts[at] = counts.get(at, 0) + run.count
        below = frozenset(counts).union(*(self.groups[child].shapes for child in children))
        name = f"{request.entity.name.kind}/{request.entity.name.name}"
        pods = tuple(sorted(counts.items()))
        self.groups[number] = CertificateGroup(
            name, request.entity.key, missing(request), children, request.leaf, pods, below, request.pinned
        )
        return number

    def _left(self, request: PlacementRequest, *, empty: bool) -> Ints:
        ledger, nodes = self._state.ledger, self._state.nodes
        left: Ints = nodes.allocatable - ledger.used - ledger.held
        if not empty:
            return left.clip(min=0)
        taken: Ints = np.zeros(nodes.allocatable.shape, dtype=np.int64)
        for leaf in request.entity.leaves():
            for pod in leaf.running:
                for row, amount in pod.shape.requests:
                    taken[row, pod.node] += amount
        left = nodes.allocatable - taken
        return left.clip(min=0)

    def _admits(self, shape: PodShape) -> Bools | None:
        tolerations = tuple(Toleration(key=each.key, operator="Exists") for each in shape.tolerations)
        weak = dataclasses.replace(shape, tolerations=tolerations, affinity=_told(shape.affinity), unmodelled=())
        mask: Bools | None = None
        for _, each in self._state.profile.filters(weak):
            mask = each if mask is None else mask & each
        return mask

    def _measures(self) -> Iterator[Measure]:
        rows = sorted({row for takes in self.takes for row in takes})
        sizes: dict[tuple[tuple[int, int], ...], None] = {tuple(sorted(takes.items())): None for takes in self.takes}
        if len(self.takes) > 1:
            waiting = Counter(shape for each in self.groups for shape, count in each.waiting for _ in range(count))
            for row in rows:
                amounts = [takes[row] for takes in self.takes if row in takes]
                unit, total = math.gcd(*amounts), sum(self.takes[shape].get(row, 0) * count for shape, count in waiting.items())
                # Where they are many, units are counted by the dozen.
                sizes |= {((row, size),): None for size in (unit * (1 + total // unit // COUNTED), *amounts)}
        for size in sizes:
            free = np.min([self.free[row] // amount for row, amount in size], axis=0)
            weights = tuple(min(takes.get(row, 0) // amount for row, amount in size) for takes in self.takes)
            yield Measure(dict(size), weights, free)


def reached(sums: int, room: int) -> int:
    """The largest number up to *room* whose bit is set in *sums*."""
    return (sums & ((2 << room) - 1)).bit_length() - 1


def missing(request: PlacementRequest) -> int:
    """How many more pods, or children, *request* needs."""
    have = len(request.entity.running) if request.leaf else sum(missing(child) <= 0 for child in request.children)
    return request.entity.minimum - have


def _told(affinity: Affinity | None) -> Affinity | None:
    """The part of what is required of nodes that compares no numbers."""
    required = affinity and affinity.node_affinity and affinity.node_affinity.required_during_scheduling_ignored_during_execution
    terms = []
    for term in (required and required.node_selector_terms) or ():
        told = tuple(each for each in term.match_expressions or () if each.operator not in _COMPARING)
        fields = tuple(each for each in term.match_fields or () if each.operator not in _COMPARING)
        if not told and not fields:
            return None
        terms.append(NodeSelectorTerm(told, fields))
    return Affinity(NodeAffinity(NodeSelector(tuple(terms)))) if terms else None
