"""Preemption units: what leaves together.

For each pod that runs the way goes up from its PodGroup; the highest group on it whose disruption mode is ``all`` owns the unit,
which is every pod that runs below that group, on whatever node.  Without such a group the pod is a unit by itself (KEP-6012,
Integration with workload-aware preemption).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from scheduler_core.model.decision import Name
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.preemption.units.unit_order import RANKS, instant, positions
from validators.model.group import CompositePodGroup, Group, PodGroup
from validators.model.objects import namespace_of


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Pods that leave together."""

    owner: Name
    """The group with disruption mode ``all``; the pod itself where it leaves alone."""
    type: str
    """What it ranks as: CompositePodGroup, PodGroup or Pod.  A pod of a PodGroup that leaves alone still ranks as PodGroup."""
    priority: int
    """That of the root of its tree, as far as the parents are there; the pod's own where it has no group."""
    pods: tuple[PodRecord, ...]
    """By key."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tie:
    """What a PodGroup's pods have from the groups above: who owns their unit, and the priority of the root."""

    owner: Name | None
    priority: int | None


class Below:
    """All units under some priority: whom a preemptor of that priority may make leave.

    Attributes:
        units: shape (units,): their indices, ascending.
        pods: indices of their pods, ascending.
        loads: what they take, one entry a shape.

    """

    def __init__(self, units: Ints, pods: Ints, loads: tuple[PodLoad, ...]) -> None:
        self.units = units
        self.pods = pods
        self.loads = loads
        self._ledger: Ledger | None = None
        self._cause = 0

    def cause(self, ledger: Ledger) -> int:
        """What stands for the loads in *ledger*: the same each time, so that the same release leads to the same versions."""
        if self._ledger is not ledger:
            self._ledger, self._cause = ledger, ledger.fresh()
        return self._cause


class Units:
    """The preemption units of the pods that run, in arrays.

    A pod's index is its place in ``pods``; a unit's number is by the first of its pods.

    Attributes:
        pods: those with a node, by key.
        nodes: shape (pods,): their nodes.
        unit_of: shape (pods,): their units.
        terminating: shape (pods,).
        preempted: shape (pods,): those that are terminating because of a preemption.
        priority: shape (units,).
        rank: shape (units,): of order.RANKS.
        size: shape (units,): pods.

    """

    def __init__(self, pods: Iterable[PodRecord], groups: Iterable[Group], priorities: Mapping[tuple[str, str, str], int]) -> None:
        self.pods = tuple(sorted((pod for pod in pods if pod.node >= 0), key=lambda pod: pod.key))
        self._groups: dict[tuple[str, str, str], Group] = {}
        for group in groups:
            self._groups.setdefault((group.kind, namespace_of(group), group.metadata.name), group)
        self._priorities = priorities
        self._ties: dict[tuple[str, str], Tie] = {}
        self.nodes: Nodes = np.array([pod.node for pod in self.pods], dtype=np.int64)
        self.terminating: Bools = np.array([pod.terminating for pod in self.pods], dtype=bool)
        self.preempted: Bools = np.array([pod.preempted for pod in self.pods], dtype=bool)
        self._number()
        self.size: Ints = np.bincount(self.unit_of, minlength=len(self.priority))
        self._units: dict[int, Unit] = {}
        self._below: dict[int, Below] = {}

    @classmethod
    def from_snapshot(cls, snapshot: ClusterSnapshot) -> Units:
        """The units of *snapshot*."""
        return cls(snapshot.pods, snapshot.groups, snapshot.priorities)

    def __len__(self) -> int:
        return len(self.priority)

    def tie(self, namespace: str, group: str) -> Tie:
        """What the PodGroup of that name hands down to its pods."""
        if (tie := self._ties.get((namespace, group))) is None:
            tie = self._ties[namespace, group] = self._climb(namespace, group)
        return tie

    def unit(self, number: int) -> Unit:
        """The unit of that number."""
        if (unit := self._units.get(number)) is None:
            pods = tuple(self.pods[index] for index in self.members(number).tolist())
            owner = self._owners.get(number) or Name("Pod", pods[0].namespace, pods[0].name)
            rank = int(self.rank[number])
            kind = next(kind for kind, each in RANKS.items() if each == rank)
            unit = self._units[number] = Unit(owner, kind, int(self.priority[number]), pods)
        return unit

    def members(self, number: int) -> Ints:
        """The indices of the pods of a unit, ascending."""
        order, starts = self.by_unit
        return order[starts[number] : starts[number] + self.size[number]]

    def below(self, priority: int) -> Below:
        """The units of a lower priority than *priority*."""
        level = int(np.searchsorted(self._levels, priority))
        if (found := self._below.get(level)) is None:
            lower = self.priority < priority
            pods = np.flatnonzero(lower[self.unit_of])
            found = self._below[level] = Below(np.flatnonzero(lower), pods, tuple(self._loads(pods)))
        return found

    def some(self, numbers: Iterable[int]) -> Below:
        """These units alone, as ``below`` has them."""
        units = np.array(sorted(numbers), dtype=np.int64)
        pods = np.flatnonzero(np.isin(self.unit_of, units))
        return Below(units, pods, tuple(self._loads(pods)))

    def amounts(self, resources: int) -> Ints:
        """Shape (resources, pods): what each pod requests."""
        serials, shape_of = np.unique(self._serials, return_inverse=True)
        found: Ints = np.zeros((resources, len(serials)), dtype=np.int64)
        for column, serial in enumerate(serials.tolist()):
            for row, amount in self._shapes[serial].requests:
                found[row, column] = amount
        return found[:, shape_of]

    @functools.cached_property
    def by_unit(self) -> tuple[Ints, Ints]:
        """Pod indices, unit after unit; and where each unit begins among them."""
        return np.argsort(self.unit_of, kind="stable"), np.cumsum(self.size) - self.size

    @functools.cached_property
    def starts(self) -> Ints:
        """Shape (pods,): when each pod started, as order.instant says."""
        written = [pod.started for pod in self.pods]
        found = {each: instant(each) for each in set(written)}
        return np.array([found[each] for each in written], dtype=np.int64)

    @functools.cached_property
    def positions(self) -> Ints:
        """Shape (units,): where each stands in the order of importance."""
        order, starts = self.by_unit
        earliest = np.minimum.reduceat(self.starts[order], starts) if len(self) else self.starts
        return positions(self.priority, self.rank, self.size, earliest)

    @functools.cached_property
    def _levels(self) -> Ints:
        return np.unique(self.priority)

    def _number(self) -> None:
        unit_of: list[int] = []
        priority: list[int] = []
        rank: list[int] = []
        owned: dict[Name, int] = {}
        for pod in self.pods:
            tie = self.tie(pod.namespace, pod.group) if pod.group else _ALONE
            number = owned.setdefault(tie.owner, len(priority)) if tie.owner else len(priority)
            unit_of.append(number)
            if number == len(priority):
                priority.append(pod.priority if tie.priority is None else tie.priority)
                rank.append(RANKS[tie.owner.kind if tie.owner else "PodGroup" if pod.group else "Pod"])
        self._owners = {number: owner for owner, number in owned.items()}
        self.unit_of: Ints = np.array(unit_of, dtype=np.int64)
        self.priority: Ints = np.array(priority, dtype=np.int64)
        self.rank: Ints = np.array(rank, dtype=np.int64)

    def _climb(self, namespace: str, name: str) -> Tie:
        owner, priority = None, None
        for group in self._way_up(namespace, name):
            key = (group.kind, namespace, group.metadata.name)
            if group.spec.disruption_mode is not None and group.spec.disruption_mode.all is not None:
                owner = Name(*key)
            priority = self._priorities.get(key, 0)
        return Tie(owner, priority)

    def _way_up(self, namespace: str, name: str) -> Iterator[PodGroup | CompositePodGroup]:
        """The PodGroup and its ancestors; a parent that is not there ends it, and so does one seen before."""
        seen = {""}
        group = self._groups.get(("PodGroup", namespace, name))
        while group is not None:
            yield group
            parent = group.spec.parent_composite_pod_group_name or ""
            group = None if parent in seen else self._groups.get(("CompositePodGroup", namespace, parent))
            seen.add(parent)

    def _loads(self, pods: Ints) -> Iterator[PodLoad]:
        serials = self._serials[pods]
        order = np.argsort(serials, kind="stable")
        found, begins = np.unique(serials[order], return_index=True)
        ends = np.append(begins, len(order))[1:]
        for serial, begin, end in zip(found.tolist(), begins.tolist(), ends.tolist(), strict=True):
            yield PodLoad(self._shapes[serial], self.nodes[pods[order[begin:end]]])

    @functools.cached_property
    def _shapes(self) -> dict[int, PodShape]:
        return {pod.shape.serial: pod.shape for pod in self.pods}

    @functools.cached_property
    def _serials(self) -> Ints:
        return np.array([pod.shape.serial for pod in self.pods], dtype=np.int64)


_ALONE = Tie(None, None)
