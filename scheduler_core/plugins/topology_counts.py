"""Set of pods that a term selects, and the number of its pods by node and by topology domain."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kubeapi.selectors import Requirement
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.selectors import Clauses, admits

Ids = NDArray[np.int32]
"""Shape (nodes,): the domain of each node, -1 for none."""
FRESH = itertools.count(1)
"""Unused versions."""


class PodSet(NamedTuple):
    """Pods by namespace and labels.

    Attributes:
        namespaces: allowed namespaces.
        others: clauses about the names of further allowed namespaces; None for no further ones, no clauses for all.
        clauses: clauses about the labels; None selects no pod.

    """

    namespaces: frozenset[str]
    others: Clauses | None
    clauses: Clauses | None

    def difference(self) -> tuple[PodSet, PodSet] | None:
        """Return a set of pods, and the part of it that must be left out to get this one: pods with one value of a label.

        So the anti-affinity of a group to all other groups is to all groups but itself.  None if no clause excludes a single value.
        """
        clauses = self.clauses or ()
        if (out := next((each for each in clauses if each.operator == "NotIn" and len(each.values) == 1), None)) is None:
            return None
        rest = tuple(each for each in clauses if each is not out)
        own = (out._replace(operator="In"), *(each for each in rest if (each.key, each.operator) != (out.key, "Exists")))
        return self._replace(clauses=rest), self._replace(clauses=own)

    def has(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod of *namespace* with *labels* is selected."""
        if namespace not in self.namespaces and (self.others is None or not all(clause.admits(namespace) for clause in self.others)):
            return False
        return admits(self.clauses, labels)


class PodTally:
    """Number of pods of one set, by node and by domain."""

    __slots__ = ("_counts", "_size", "by_node", "ids", "version")

    def __init__(self, ids: Ids, size: int) -> None:
        self.ids = ids
        self.version = 0
        """Equal versions mean equal numbers on all nodes, also of different tallies; 0 without pods."""
        self.by_node: dict[int, int] = {}
        self._size = size
        self._counts: Ints | None = None

    def add(self, node: int, amount: int) -> None:
        """Add *amount* (may be negative) on *node*."""
        bump(self.by_node, node, amount)
        self.version = next(FRESH) if self.by_node else 0
        if self._counts is not None and (domain := int(self.ids[node])) >= 0:
            self._counts[domain] += amount

    def add_all(self, nodes: Sequence[int], amount: int) -> None:
        """Add *amount* (may be negative) on each of *nodes*."""
        by_node = self.by_node
        get = by_node.get
        for node in nodes:
            if count := get(node, 0) + amount:
                by_node[node] = count
            else:
                by_node.pop(node, None)
        self.version = next(FRESH) if by_node else 0
        if self._counts is not None:
            domains = self.ids[nodes]
            np.add.at(self._counts, domains[domains >= 0], amount)

    def none(self) -> Ints:
        """Return zeros of the shape of ``domains``."""
        zeros: Ints = np.zeros(self._size + 1, dtype=np.int64)
        return zeros

    def domains(self, within: Nodes | None = None) -> Ints:
        """Return the number in each domain, counted on the nodes *within* (None: all nodes).

        Shape (domains + 1,), read-only.  The last entry is 0, for nodes whose id is -1.
        """
        if within is not None:
            return self._counted(within)
        if self._counts is None:
            self._counts = self._counted(None)
        return self._counts

    def counts_at(self, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Return the number in the domain of each of *nodes*; 0 for a node in no domain."""
        return self.domains(within)[self.ids[nodes]]

    def _counted(self, within: Nodes | None) -> Ints:
        nodes = np.fromiter(self.by_node.keys(), dtype=np.int64, count=len(self.by_node))
        amounts = np.fromiter(self.by_node.values(), dtype=np.int64, count=len(self.by_node))
        domains = self.ids[nodes]
        kept = domains >= 0
        if within is not None:
            kept &= np.isin(nodes, within)
        counts = self.none()
        np.add.at(counts, domains[kept], amounts[kept])
        return counts


class PodDifference:
    """Number of the pods of one set without those of another, which is a part of it: both can be counted for many selectors."""

    __slots__ = ("_left_out", "_whole")

    def __init__(self, whole: PodTally, left_out: PodTally) -> None:
        self._whole, self._left_out = whole, left_out

    def counts_at(self, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Return the number in the domain of each of *nodes*, see PodTally."""
        return self._whole.counts_at(nodes, within) - self._left_out.counts_at(nodes, within)


class NodeTally(PodTally):
    """Number of pods of one set by node: each node is a domain."""

    def __init__(self, ids: Ids) -> None:
        super().__init__(ids, len(ids))


def own_values(keys: tuple[str, ...] | None, operator: str, labels: Mapping[str, str]) -> list[Requirement]:
    """Return requirements with the pod's own label values; keys that the pod lacks are skipped."""
    return [Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels]


def bump(counts: dict[int, int], node: int, amount: int) -> None:
    """Add *amount*; entries of 0 are removed."""
    if count := counts.get(node, 0) + amount:
        counts[node] = count
    else:
        counts.pop(node, None)
