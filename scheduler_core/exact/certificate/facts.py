"""Facts that a certificate refers to: groups and their needs, sets of nodes and their free capacity, in several measures.

Facts can be read from the objects with little code, so they know less than the scheduler.  A toleration covers every taint of its key,
comparisons of numbers in node affinity hold, and every node declares every feature.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kubeapi.affinity import Affinity, NodeAffinity
from kubeapi.pods import Toleration
from kubeapi.selectors import NodeSelector, NodeSelectorTerm
from scheduler_core.exact.certificate.counted_rows import Counted, counted_devices, counted_volumes
from scheduler_core.exact.certificate.node_sets import NodeSets
from scheduler_core.model.nodes import CPU, Bools, Ints, Nodes
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_COMPARING = frozenset({"Gt", "Lt"})
_LARGEST_COUNT = 50_000
"""Approximate limit of the numbers that a measure yields."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One size for each of some resources; pods and nodes measure how often the sizes fit into their amounts.

    Attributes:
        sizes: by row of the nodes' allocatable.
        weights: measure of one pod, by number of its shape.
        free: shape (nodes,): measure of the free amounts of each node.

    """

    sizes: Mapping[int, int]
    weights: tuple[int, ...]
    free: Ints


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CertificateGroup:
    """A group of the tree whose minimum is not met.

    Attributes:
        name: kind and name.
        key: topology key; empty without a constraint.
        missing: number of pods or children that it lacks.
        children: numbers of the children whose minimum is not met.
        leaf: True for a PodGroup or a single pod.
        waiting: shape number and number of waiting pods.
        shapes: shapes of all waiting pods, descendants included.
        pinned: nodes of running members, descendants included.

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
    """Facts of one root on the present placement state, or with *empty* as if only its own members ran.

    Attributes:
        groups: the root and its descendants whose minimum is not met; parents first.
        requests: requests of a pod, by shape number and row.
        free: shape (resources, nodes): free amounts.
        eligible: eligible nodes as a mask, by shape number; None for all nodes.
        measures: measures of needs and nodes.
        node_sets: numbered sets of nodes.

    """

    def __init__(self, state: PlacementState, request: PlacementRequest, *, empty: bool) -> None:
        self._state = state
        self.groups: list[CertificateGroup] = []
        self._shapes: dict[int, int] = {}
        shapes: list[PodShape] = []
        self._read(request, shapes)
        self._counted = counted_volumes(state.nodes)
        rows_of_volumes = state.nodes.volume_rows.union(state.nodes.limit_rows).difference(self._counted)
        left_out = rows_of_volumes.union(state.nodes.row[name] for name in state.nodes.backed)
        self.requests = [{row: amount for row, amount in shape.requests if row not in left_out} for shape in shapes]
        self.free = self._free_amounts(request, empty=empty)
        self.eligible = [self._admits(shape) for shape in shapes]
        self.measures = [*self._measures()]
        self.node_sets = NodeSets(state.nodes)
        self._free_in: dict[tuple[int, frozenset[int]], list[int]] = {}
        self._least: dict[int, list[int]] = {}

    def domains(self, group: int, node_set: int) -> dict[str, int]:
        """Return the domains of *group* inside *node_set*, by label value; running members pin the group to their domain."""
        each = self.groups[group]
        domains = self.node_sets.domains_of(node_set, each.key)
        if not each.key or not each.pinned:
            return domains
        column = self._state.nodes.column(each.key)
        values = {column.values[int(column.ids[node])] if column.ids[node] >= 0 else "" for node in each.pinned}
        return {value: domain for value, domain in domains.items() if values <= {value}}

    def least(self, group: int) -> list[int]:
        """Return the least need of *group*, by measure."""
        if (amounts := self._least.get(group)) is None:
            each = self.groups[group]
            if each.leaf:
                amounts = [self._least_of_pods(each, measure.weights) for measure in self.measures]
            else:
                parts = [self.least(child) for child in each.children]
                amounts = [sum(sorted(part[number] for part in parts)[: each.missing]) for number in range(len(self.measures))]
            self._least[group] = amounts
        return amounts

    def free_in(self, node_set: int, shapes: frozenset[int]) -> list[int]:
        """Return the free capacity of the nodes of *node_set* that are eligible for one of *shapes*, by measure."""
        if (amounts := self._free_in.get((node_set, shapes))) is None:
            nodes = self._usable(node_set, shapes)
            amounts = self._free_in[node_set, shapes] = [int(measure.free[nodes].sum()) for measure in self.measures]
        return amounts

    def packed(self, node_set: int, groups: Iterable[int], number: int, *, needed: int) -> int:
        """Return the most of measure *number* that the waiting pods of *groups* can fill in *node_set*, each pod on one node.

        A node counts at most *needed*.
        """
        groups = frozenset(groups)
        measure, nodes = self.measures[number], self._usable(node_set, self.shapes(groups))
        if not len(nodes):
            return 0
        capacities, counts = np.unique(measure.free[nodes].clip(max=needed), return_counts=True)
        subset_sums, cap = 1, (2 << int(capacities[-1])) - 1
        for weight, count in self._weights(groups, number):
            for _ in range(min(count, int(capacities[-1]) // weight) if weight else 0):
                subset_sums |= (subset_sums << weight) & cap
        return sum(
            largest_sum(subset_sums, capacity) * nodes_of_capacity
            for capacity, nodes_of_capacity in zip(capacities.tolist(), counts.tolist(), strict=True)
        )

    def shapes(self, groups: Iterable[int]) -> frozenset[int]:
        """Return the shapes of all waiting pods of *groups*."""
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

    def _usable(self, node_set: int, shapes: frozenset[int]) -> Nodes:
        """Return the nodes of *node_set* that are eligible for one of *shapes*."""
        nodes = self.node_sets.nodes(node_set)
        masks = [mask for shape in shapes if (mask := self.eligible[shape]) is not None]
        if not shapes:
            return nodes[:0]
        return nodes[np.logical_or.reduce(masks)[nodes]] if len(masks) == len(shapes) else nodes

    def written(self, measure: Measure) -> dict[str, int]:
        """Return the sizes of *measure* by resource name, in thousandths."""
        names = self._state.nodes.resources
        return {names[row]: size if row == CPU else size * 1000 for row, size in measure.sizes.items()}

    def counted(self, proof: Mapping[str, Any]) -> dict[str, Counted]:
        """Return what the measures of *proof* count in addition to the allocatable resources of nodes, by name."""
        names, stack = set[str](), [proof]
        while stack:
            each = stack.pop()
            names.update(each.get("measure", ()))
            stack += each.get("each", {}).values()
        rows = {self._state.nodes.resources[row]: each for row, each in {**self._counted, **counted_devices(self._state.nodes)}.items()}
        return {name: rows[name] for name in sorted(names & rows.keys())}

    def _least_of_pods(self, group: CertificateGroup, weights: Sequence[int]) -> int:
        total, missing = 0, group.missing
        for weight, count in sorted((weights[shape], count) for shape, count in group.waiting):
            taken = min(count, missing)
            total, missing = total + taken * weight, missing - taken
        return total

    def _read(self, request: PlacementRequest, shapes: list[PodShape]) -> int:
        number = len(self.groups)
        self.groups.append(CertificateGroup("", "", 0, (), request.leaf, (), frozenset(), ()))  # replaced below
        children = tuple(self._read(child, shapes) for child in request.children if missing(child) > 0)
        counts: dict[int, int] = {}
        for run in request.runs if request.leaf else ():
            if run.shape.serial not in self._shapes:
                self._shapes[run.shape.serial] = len(shapes)
                shapes.append(run.shape)
            shape = self._shapes[run.shape.serial]
            counts[shape] = counts.get(shape, 0) + run.count
        shapes_below = frozenset(counts).union(*(self.groups[child].shapes for child in children))
        name = f"{request.entity.name.kind}/{request.entity.name.name}"
        waiting = tuple(sorted(counts.items()))
        self.groups[number] = CertificateGroup(
            name, request.entity.key, missing(request), children, request.leaf, waiting, shapes_below, request.pinned
        )
        return number

    def _free_amounts(self, request: PlacementRequest, *, empty: bool) -> Ints:
        ledger, nodes = self._state.ledger, self._state.nodes
        left: Ints = nodes.allocatable - ledger.used - ledger.held
        if not empty:
            # Earlier roots need what their pods request, whichever volumes and devices they have.
            for (row, node), amount in ledger.beyond.items():
                left[row, node] += amount
            return left.clip(min=0)
        taken: Ints = np.zeros(nodes.allocatable.shape, dtype=np.int64)
        for leaf in request.entity.leaves():
            for pod in leaf.running:
                for row, amount in pod.shape.charges:
                    taken[row, pod.node] += amount
        left = nodes.allocatable - taken
        return left.clip(min=0)

    def _admits(self, shape: PodShape) -> Bools | None:
        tolerations = tuple(Toleration(key=each.key, operator="Exists") for each in shape.tolerations)
        weakened = dataclasses.replace(
            shape,
            tolerations=tolerations,
            affinity=_without_comparisons(shape.affinity),
            kept=(),
            unmodelled=(),
            volumes=(),
            devices=(),
        )
        mask: Bools | None = None
        for _, each in self._state.profile.filters(weakened):
            mask = each if mask is None else mask & each
        return mask

    def _measures(self) -> Iterator[Measure]:
        rows = sorted({row for requests in self.requests for row in requests})
        sizes: dict[tuple[tuple[int, int], ...], None] = {tuple(sorted(requests.items())): None for requests in self.requests}
        if len(self.requests) > 1:
            waiting = Counter(shape for each in self.groups for shape, count in each.waiting for _ in range(count))
            for row in rows:
                amounts = [requests[row] for requests in self.requests if row in requests]
                unit, total = math.gcd(*amounts), sum(self.requests[shape].get(row, 0) * count for shape, count in waiting.items())
                # A larger unit keeps the numbers small.
                sizes |= {((row, size),): None for size in (unit * (1 + total // unit // _LARGEST_COUNT), *amounts)}
        for size in sizes:
            free = np.min([self.free[row] // amount for row, amount in size], axis=0)
            weights = tuple(min(requests.get(row, 0) // amount for row, amount in size) for requests in self.requests)
            yield Measure(dict(size), weights, free)


def largest_sum(sums: int, limit: int) -> int:
    """Return the largest number up to *limit* whose bit is set in *sums*."""
    return (sums & ((2 << limit) - 1)).bit_length() - 1


def missing(request: PlacementRequest) -> int:
    """Return the number of pods or children that *request* lacks."""
    have = len(request.entity.running) if request.leaf else sum(missing(child) <= 0 for child in request.children)
    return request.entity.minimum - have


def _without_comparisons(affinity: Affinity | None) -> Affinity | None:
    """Return the required node affinity of *affinity* without comparisons of numbers."""
    required = affinity and affinity.node_affinity and affinity.node_affinity.required_during_scheduling_ignored_during_execution
    terms = []
    for term in (required and required.node_selector_terms) or ():
        expressions = tuple(each for each in term.match_expressions or () if each.operator not in _COMPARING)
        fields = tuple(each for each in term.match_fields or () if each.operator not in _COMPARING)
        if not expressions and not fields:
            return None
        terms.append(NodeSelectorTerm(expressions, fields))
    return Affinity(NodeAffinity(NodeSelector(tuple(terms)))) if terms else None
