"""Preemption units: pods that are evicted together.

The highest group above a running pod with disruption mode ``all`` owns its unit: all running pods below that group, on any node.
Without such a group the pod is a unit by itself (KEP-6012, Integration with workload-aware preemption).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from kubeapi.groups import CompositePodGroup, Group, PodGroup
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.preemption.units.unit_order import RANKS, instant, positions
from validators.model.objects import namespace_of


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Pods that are evicted together."""

    owner: Name
    """The group with disruption mode ``all``, or the pod itself."""
    type: str
    """Type for the order of importance: CompositePodGroup, PodGroup or Pod."""
    priority: int
    """Priority of the root of its tree, as far as its parents exist, or of its first pod, as in kube-scheduler; of a pod without a group."""
    pods: tuple[PodRecord, ...]
    """By key."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Inherited:
    """Values that the pods of a PodGroup inherit from the groups above: the owner of their unit, and the priority of the root."""

    owner: Name | None
    priority: int | None


class PotentialVictims:
    """Potential victims: all units with a lower priority than a preemptor.

    Attributes:
        units: shape (units,): their numbers, ascending.
        pods: indices of their pods, ascending.
        loads: resources that they use, one entry for each shape.

    """

    def __init__(self, units: Ints, pods: Ints, loads: tuple[PodLoad, ...]) -> None:
        self.units = units
        self.pods = pods
        self.loads = loads
        self._ledger: Ledger | None = None
        self._cause = 0

    def cause(self, ledger: Ledger) -> int:
        """Return the cause of the loads in *ledger*; it is constant, so that releasing them again leads to the same versions."""
        if self._ledger is not ledger:
            self._ledger, self._cause = ledger, ledger.fresh()
        return self._cause


class Units:
    """Preemption units of the running pods, as arrays.

    The index of a pod is its position in ``pods``; units are numbered by their first pods.

    Attributes:
        behavior: kube-scheduler that is mirrored.
        pods: pods with a node, by key.
        nodes: shape (pods,): their nodes.
        unit_of: shape (pods,): their units.
        terminating: shape (pods,).
        preempted: shape (pods,): True if terminating because of a preemption.
        priority: shape (units,).
        rank: shape (units,): values of ``unit_order.RANKS``.
        size: shape (units,): number of pods.

    """

    def __init__(
        self,
        pods: Iterable[PodRecord],
        groups: Iterable[Group],
        priorities: Mapping[tuple[str, str, str], int],
        behavior: SchedulerBehavior = KUBERNETES_1_37,
    ) -> None:
        """Form the units as kube-scheduler with *behavior* does; *priorities* are those of the groups, by kind, namespace and name."""
        self.behavior = behavior
        self.pods = tuple(sorted((pod for pod in pods if pod.node >= 0), key=lambda pod: pod.key))
        self._groups: dict[tuple[str, str, str], Group] = {}
        for group in groups:
            self._groups.setdefault((group.kind, namespace_of(group), group.metadata.name), group)
        self._priorities = priorities
        self._inherited: dict[tuple[str, str], Inherited] = {}
        self.nodes: Nodes = np.array([pod.node for pod in self.pods], dtype=np.int64)
        self.terminating: Bools = np.array([pod.terminating for pod in self.pods], dtype=bool)
        self.preempted: Bools = np.array([pod.preempted for pod in self.pods], dtype=bool)
        self._number_units()
        self.size: Ints = np.bincount(self.unit_of, minlength=len(self.priority))
        self._units: dict[int, Unit] = {}
        self._potential_victims: dict[int, PotentialVictims] = {}

    @classmethod
    def from_snapshot(cls, snapshot: ClusterSnapshot) -> Units:
        """Return the units of *snapshot*."""
        return cls(snapshot.pods, snapshot.groups, snapshot.priorities, snapshot.behavior)

    def __len__(self) -> int:
        return len(self.priority)

    def inherited(self, namespace: str, group: str) -> Inherited:
        """Return what the pods of the PodGroup *group* inherit."""
        if (inherited := self._inherited.get((namespace, group))) is None:
            inherited = self._inherited[namespace, group] = self._inherit(namespace, group)
        return inherited

    def unit(self, number: int) -> Unit:
        """Return the unit *number*."""
        if (unit := self._units.get(number)) is None:
            pods = tuple(self.pods[index] for index in self.members(number).tolist())
            owner = self._owners.get(number) or Name("Pod", pods[0].namespace, pods[0].name)
            rank = int(self.rank[number])
            kind = next(kind for kind, each in RANKS.items() if each == rank)
            unit = self._units[number] = Unit(owner, kind, int(self.priority[number]), pods)
        return unit

    def members(self, number: int) -> Ints:
        """Return the indices of the pods of the unit *number*, ascending."""
        order, starts = self.by_unit
        return order[starts[number] : starts[number] + self.size[number]]

    def potential_victims(self, priority: int) -> PotentialVictims:
        """Return the units with a lower priority than *priority*."""
        level = int(np.searchsorted(self._levels, priority))
        if (potential := self._potential_victims.get(level)) is None:
            lower = self.priority < priority
            pods = np.flatnonzero(lower[self.unit_of])
            potential = self._potential_victims[level] = PotentialVictims(np.flatnonzero(lower), pods, tuple(self._loads(pods)))
        return potential

    def subset(self, numbers: Iterable[int]) -> PotentialVictims:
        """Return only the units *numbers*, in the form of ``potential_victims``."""
        units = np.array(sorted(numbers), dtype=np.int64)
        pods = np.flatnonzero(np.isin(self.unit_of, units))
        return PotentialVictims(units, pods, tuple(self._loads(pods)))

    def amounts(self, resources: int) -> Ints:
        """Return the requests of each pod; shape (resources, pods)."""
        serials, shape_of = np.unique(self._serials, return_inverse=True)
        amounts: Ints = np.zeros((resources, len(serials)), dtype=np.int64)
        for column, serial in enumerate(serials.tolist()):
            for row, amount in self._shapes[serial].charges:
                amounts[row, column] = amount
        return amounts[:, shape_of]

    @functools.cached_property
    def by_unit(self) -> tuple[Ints, Ints]:
        """Pod indices ordered by unit, and the position where each unit begins."""
        return np.argsort(self.unit_of, kind="stable"), np.cumsum(self.size) - self.size

    @functools.cached_property
    def starts(self) -> Ints:
        """Shape (pods,): start of each pod, as ``unit_order.instant``."""
        written = [pod.started for pod in self.pods]
        instants = {each: instant(each) for each in set(written)}
        return np.array([instants[each] for each in written], dtype=np.int64)

    @functools.cached_property
    def positions(self) -> Ints:
        """Shape (units,): position in the order of importance."""
        order, starts = self.by_unit
        earliest = np.minimum.reduceat(self.starts[order], starts) if len(self) else self.starts
        return positions(self.priority, self.rank, self.size, earliest, self._ties())

    def _ties(self) -> Ints | None:
        """Return what decides between units that are equal otherwise, shape (units,): the order of the uids of their first pods."""
        if not self.behavior.breaks_ties_by_uid:
            return None
        order, starts = self.by_unit
        uids = [self.pods[index].uid for index in order[starts].tolist()]
        rank = {uid: place for place, uid in enumerate(sorted(set(uids)))}
        return np.array([rank[uid] for uid in uids], dtype=np.int64)

    @functools.cached_property
    def _levels(self) -> Ints:
        return np.unique(self.priority)

    def _number_units(self) -> None:
        unit_of: list[int] = []
        priority: list[int] = []
        rank: list[int] = []
        owned: dict[Name, int] = {}
        by_root = self.behavior.ranks_by_root
        rank_of_pod, rank_of_member = RANKS["Pod"], RANKS["PodGroup" if self.behavior.ranks_members_as_groups else "Pod"]
        for pod in self.pods:
            if not pod.group:
                unit_of.append(len(priority))
                priority.append(pod.priority)
                rank.append(rank_of_pod)
                continue
            inherited = self.inherited(pod.namespace, pod.group)
            number = owned.setdefault(inherited.owner, len(priority)) if inherited.owner else len(priority)
            unit_of.append(number)
            if number == len(priority):
                priority.append(inherited.priority if by_root and inherited.priority is not None else pod.priority)
                rank.append(RANKS[inherited.owner.kind] if inherited.owner else rank_of_member)
        self._owners = {number: owner for owner, number in owned.items()}
        self.unit_of: Ints = np.array(unit_of, dtype=np.int64)
        self.priority: Ints = np.array(priority, dtype=np.int64)
        self.rank: Ints = np.array(rank, dtype=np.int64)

    def _inherit(self, namespace: str, name: str) -> Inherited:
        owner, priority = None, None
        for group in self._ancestors(namespace, name):
            key = (group.kind, namespace, group.metadata.name)
            if group.spec.disruption_mode is not None and group.spec.disruption_mode.all is not None:
                owner = Name(*key)
            priority = self._priorities.get(key, 0)
        return Inherited(owner, priority)

    def _ancestors(self, namespace: str, name: str) -> Iterator[PodGroup | CompositePodGroup]:
        """Yield the PodGroup and its ancestors, up to a missing parent or a cycle."""
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
        distinct, begins = np.unique(serials[order], return_index=True)
        ends = np.append(begins, len(order))[1:]
        for serial, begin, end in zip(distinct.tolist(), begins.tolist(), ends.tolist(), strict=True):
            yield PodLoad(self._shapes[serial], self.nodes[pods[order[begin:end]]])

    @functools.cached_property
    def _shapes(self) -> dict[int, PodShape]:
        return {pod.shape.serial: pod.shape for pod in self.pods}

    @functools.cached_property
    def _serials(self) -> Ints:
        return np.array([pod.shape.serial for pod in self.pods], dtype=np.int64)


def lowest_priority(snapshot: ClusterSnapshot) -> int:
    """Return a lower bound of the priorities of the units of *snapshot*, also after pending pods are placed."""
    of_groups = (*snapshot.priorities.values(), 0) if snapshot.groups else ()
    return min(itertools.chain(of_groups, map(operator.attrgetter("priority"), snapshot.pods)), default=0)
