"""Running pods that make way for a root: those that can be moved, with their new nodes, and those that can be evicted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from scheduler_core.causes.domains import PodRule
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.whatif.edits.edits import Evicted
from scheduler_core.whatif.edits.pod_edits import rules_about_pods
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity, charge

_MOST = 8
"""Maximum number of running pods moved or evicted for a root."""
_SMALL = 32
"""Maximum number of small running pods of a node of which some are moved or evicted."""
_NODES = 256
"""Maximum number of nodes examined in a domain."""
_SETS = 16
"""Maximum number of sets of pods of one node for which other nodes are searched, before one is moved."""

Unit = tuple[Name, tuple[str, ...]]
"""Whole tree, or single pod, with its running pods."""
Allowed = Callable[[PodRecord], bool]


class RunningPods:
    """Running pods of the cluster of *capacity*; pods that are being deleted neither move nor are evicted."""

    def __init__(self, capacity: PresentCapacity, state: PlacementState, placed: Collection[str] = ()) -> None:
        """*state* is that of the same cluster; the pods *placed*, by their keys, have nodes, but do not run yet."""
        self._capacity, self._state, self._placed = capacity, state, placed
        self._subject, self._nodes = capacity.subject, capacity.snapshot.nodes
        self._shape = capacity.subject.shape
        self._bound: dict[str, bool] = {}

    def moves(self, area: DomainCapacity, missing: int) -> dict[str, tuple[str, str]]:
        """Return a few pods with which *area* has *missing* more slots if they move: old and new node by pod; empty if there are none."""
        free, names = self._capacity.free.copy(), self._nodes.names
        within = np.zeros(len(names), dtype=bool)
        within[area.nodes] = True
        nodes, moved = self._nearest(area), dict[str, tuple[PodRecord, int]]()
        sets: dict[int, list[tuple[PodRecord, ...]]] = {}
        while missing > 0:
            sets |= {node: [*self._sets(node, free, self._is_movable, moved)] for node in nodes if node not in sets}
            ordered = sorted((pods for node in nodes for pods in sets[node]), key=lambda pods: (len(pods), pods[0].key))
            found = (self._targets(pods, free, within) for pods in ordered[:_SETS])
            if (targets := next(filter(None, found), None)) is None:
                return {}
            left = targets[0][0].node
            missing += self._slots(left, free)
            for pod, node in targets:
                charge(free, pod.shape, pod.node, -1)
                charge(free, pod.shape, node, 1)
                moved[pod.key] = pod, node
                sets.pop(node, None)
            sets.pop(left)
            missing -= self._slots(left, free)
            if len(moved) > _MOST:
                return {}
        return {key: (names[pod.node], names[node]) for key, (pod, node) in moved.items()}

    def units(self, area: DomainCapacity, missing: int) -> list[Unit]:
        """Return a few units whose priority is not higher and without which *area* has *missing* more slots; empty if there are none."""
        free, pods = self._capacity.free.copy(), dict[str, PodRecord]()

        def smallest(node: int) -> tuple[PodRecord, ...]:
            return next(self._sets(node, free, self._is_evictable, pods), ())

        sets = {node: smallest(node) for node in self._nearest(area)}
        while missing > 0:
            remaining = [(len(each), each[0].key, node) for node, each in sets.items() if each]
            if not remaining:
                return []
            _, _, node = min(remaining)
            missing += self._slots(node, free)
            for pod in sets[node]:
                charge(free, pod.shape, node, -1)
                pods[pod.key] = pod
            missing -= self._slots(node, free)
            if len(pods) > _MOST:
                return []
            sets[node] = smallest(node)
        return [*self._whole_units(pods.values())]

    def _slots(self, node: int, free: Ints) -> int:
        return _count(free[:, node], self._shape)

    def _nearest(self, area: DomainCapacity) -> list[int]:
        """Return the nodes of *area* that the root's pods can use if they have capacity; of many, those that lack the least for one more."""
        compiled = self._capacity.compiled(self._shape)
        nodes = area.nodes if compiled.mask is None else area.nodes[compiled.mask[area.nodes]]
        if len(nodes) > _NODES:
            rest = (self._capacity.free[compiled.rows][:, nodes] % compiled.amounts / compiled.amounts).min(axis=0)
            nodes = np.sort(nodes[np.argsort(-rest, kind="stable")[:_NODES]])
        result: list[int] = nodes.tolist()
        return result

    def _whole_units(self, pods: Iterable[PodRecord]) -> Iterator[Unit]:
        """Yield the units of *pods*, without pods that are being deleted."""
        seen: set[object] = set()
        unit_of = self._subject.units
        for pod in pods:
            unit = unit_of.get((pod.namespace, pod.group)) if pod.group else None
            if unit is None:
                yield Name("Pod", pod.namespace, pod.name), (pod.key,)
            elif unit not in seen:
                seen.add(unit)
                members = (each for each in self._capacity.snapshot.pods if each.node >= 0 and each.group and not each.terminating)
                yield unit, tuple(each.key for each in members if unit_of.get((each.namespace, each.group)) == unit)

    def _runs(self, pod: PodRecord) -> bool:
        """Return whether *pod* is one of another root that can leave its node."""
        if pod.terminating or pod.key in self._subject.own or pod.key in self._placed:
            return False
        if pod.key not in self._bound:
            self._bound[pod.key] = self._capacity.book.belongs_to_its_node(pod.namespace, pod.name)
        return not self._bound[pod.key]

    def _is_evictable(self, pod: PodRecord) -> bool:
        return pod.priority <= self._subject.priority and self._runs(pod)

    def _is_movable(self, pod: PodRecord) -> bool:
        return not pod.shape.ports and rules_about_pods(pod.shape) <= {PodRule.ANTI_AFFINITY} and self._runs(pod)

    def _targets(self, leaving: Sequence[PodRecord], free: Ints, within: Bools) -> list[tuple[PodRecord, int]]:
        """Return a node for each of the pods *leaving* one node, where it takes no slot of the domain *within*; empty if one has none."""
        free, shape, result = free.copy(), self._shape, []
        for pod in leaving:
            charge(free, pod.shape, pod.node, -1)
        for pod in leaving:
            filled = free.copy()
            for row, amount in pod.shape.charges:
                filled[row] -= amount
            slots = self._capacity.slots(shape, free)
            lost = slots - self._capacity.slots(shape, filled)
            nodes = np.flatnonzero((self._capacity.slots(pod.shape, free) > 0) & ~(within & (lost > 0)) & self._reachable(pod))
            if not len(nodes := nodes[nodes != pod.node]):
                return []
            # Choose the node that loses the fewest slots for the root's pods, then the one with the fewest, then by name.
            node = int(nodes[np.lexsort((slots[nodes], lost[nodes]))[0]])
            charge(free, pod.shape, node, 1)
            result.append((pod, node))
        return result

    def _reachable(self, pod: PodRecord) -> Bools:
        """Return the nodes to which *pod* can move by the rules about other pods, volumes and devices; shape (nodes,)."""
        everything = self._nodes.everything
        mask: Bools = np.ones(len(everything), dtype=bool)
        for key in self._subject.confined.get((pod.namespace, pod.group), ()):
            ids = self._nodes.column(key).ids
            mask &= ids == ids[pod.node]
        stateful = self._state.stateful
        filters = stateful.filters_by_plugin(pod, everything) if stateful.touches(pod) else ()
        return functools.reduce(np.logical_and, (passing for _, passing in filters), mask)

    def _sets(self, node: int, free: Ints, allowed: Allowed, gone: Collection[str]) -> Iterator[tuple[PodRecord, ...]]:
        """Yield sets of *allowed* pods of *node*, of which those *gone* have left it, whose removal adds a slot, the smallest set first."""
        if not (present := [pod for pod in self._capacity.on.get(node, ()) if pod.key not in gone]):
            return
        column, shape = free[:, node], self._shape
        scarce = min(shape.requests, key=lambda each: (column[each[0]] // each[1], each[0]))[0]
        present.sort(key=lambda pod: (dict(pod.shape.charges).get(scarce, 0), pod.key))
        large = _leaving(sorted(present, key=lambda pod: (-dict(pod.shape.charges).get(scarce, 0), pod.key)), column, shape, allowed, _MOST)
        small = _leaving(present, column, shape, allowed, _SMALL) if large else ()
        yield from sorted(filter(None, dict.fromkeys((small, large))), key=len)


def evicted(units: Iterable[Unit]) -> Evicted:
    """Return the edit that evicts *units*."""
    units = [*units]
    return Evicted(tuple(unit for unit, _ in units), tuple(sorted(pod for _, pods in units for pod in pods)))


def _leaving(pods: Iterable[PodRecord], column: Ints, shape: PodShape, allowed: Allowed, most: int) -> tuple[PodRecord, ...]:
    """Return the first *allowed* pods that leave a slot for *shape* on a node with the free resources *column*, without those not needed.

    The result is empty if *most* of them are not enough.
    """
    column, wanted = column.copy(), _count(column, shape) + 1
    chosen: list[PodRecord] = []
    for pod in pods:
        if not allowed(pod):
            continue
        chosen.append(pod)
        _release(column, pod, 1)
        if _count(column, shape) >= wanted:
            break
        if len(chosen) == most:
            return ()
    else:
        return ()
    for pod in [*chosen]:
        _release(column, pod, -1)
        if _count(column, shape) >= wanted:
            chosen.remove(pod)
        else:
            _release(column, pod, 1)
    return tuple(chosen) if len(chosen) <= _MOST else ()


def _release(column: Ints, pod: PodRecord, sign: int) -> None:
    """Free what *pod* uses in *column*, the free resources of its node; use it again with *sign* -1."""
    for row, amount in pod.shape.charges:
        column[row] += sign * amount


def _count(column: Ints, shape: PodShape) -> int:
    return max(0, min(int(column[row]) // amount for row, amount in shape.requests))
