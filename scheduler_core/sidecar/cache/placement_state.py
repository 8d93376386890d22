"""Placement state that is kept between cycles: node table, resources requested by pods, compiled profiles.

It is rebuilt only after a relevant change of a node; the requested resources are updated as pods are added and removed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Ints, Nodes, NodeTable
from scheduler_core.model.nominations import Nominations
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord, PodShape, Port
from scheduler_core.model.topology import Topology
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.state import NO_PLUGINS, PlacementState, new_ledger
from scheduler_core.plugins.assumed_volumes import picks_of_running, provisioned_storage, volumes_beyond_requests
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.stateful_plugins import StatefulPlugins

MAX_PENDING_CHANGES = 10_000
"""Maximum number of changes before the sums are updated: pods are added and removed even while no cycle reads the sums."""


class RequestedByPods:
    """Resources and ports used by pods with a node.

    Changes are collected and added when the sums are read, so many changes cost little more than one.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._sums: Ints = np.zeros((len(nodes.resources) + 2, len(nodes)), dtype=np.int64)
        self._ports: dict[int, Counter[Port]] = {}
        self._changes: dict[PodShape, Counter[int]] = {}
        self._pending_count = 0
        self._devices = nodes.counted

    def set_devices(self, in_use: Mapping[int, Ints]) -> None:
        """Set how many devices are in use, by row; shape (nodes,) each.  Pods have their devices by their claims."""
        for row, numbers in in_use.items():
            self._sums[row] = numbers

    def add(self, shape: PodShape, node: int, count: int) -> None:
        """Add *count* pods of *shape* to *node*; a negative count removes pods."""
        changes = self._changes.get(shape)
        if changes is None:
            changes = self._changes[shape] = Counter()
        changes[node] += count
        self._pending_count += 1
        if self._pending_count >= MAX_PENDING_CHANGES:
            self.sums()
        for port in shape.ports:
            taken = self._ports.setdefault(node, Counter())
            taken[port] += count
            if not taken[port]:
                del taken[port]
                if not taken:
                    del self._ports[node]

    def sums(self) -> Ints:
        """Return an array of shape (resources + 2, nodes): requests, then the millicores and bytes that scores use; read-only."""
        for shape, all_changes in self._changes.items():
            # A bind that is watched replaces one that was assumed: nothing changes.
            if not (changes := {node: count for node, count in all_changes.items() if count}):
                continue
            nodes: Nodes = np.fromiter(changes.keys(), dtype=np.int64, count=len(changes))
            counts: Ints = np.fromiter(changes.values(), dtype=np.int64, count=len(changes))
            for row, amount in shape.charges:
                if row not in self._devices:
                    self._sums[row, nodes] += amount * counts
            self._sums[-2, nodes] += shape.scored[0] * counts
            self._sums[-1, nodes] += shape.scored[1] * counts
        self._changes.clear()
        self._pending_count = 0
        return self._sums

    def replace_last_rows(self, before: int, count: int) -> None:
        """Replace the last rows of resources, *before* in number, by *count* new ones; no pod uses any of them."""
        sums = self.sums()
        none = np.zeros((count, sums.shape[1]), dtype=np.int64)
        self._sums = np.concatenate((sums[: len(sums) - 2 - before], none, sums[-2:]))

    def fill(self, ledger: Ledger) -> None:
        """Initialize *ledger* with these resources and ports."""
        ledger.begin(self.sums(), self._ports)


@dataclasses.dataclass(slots=True, eq=False)
class LivePlacementState:
    """Nodes of a cluster with their usage; valid until a node changes."""

    nodes: NodeTable
    topology: Topology
    requested: RequestedByPods
    allocatable: Floats
    has_cpu_and_memory: bool
    profiles: dict[frozenset[str], Profile]

    @classmethod
    def from_nodes(cls, nodes: NodeTable) -> LivePlacementState:
        """Return the state of *nodes* without pods."""
        allocatable = nodes.allocatable[nodes.scored.rows].astype(float)
        return cls(nodes, Topology(nodes), RequestedByPods(nodes), allocatable, bool(allocatable[:2].all()), {})

    def forget(self, serials: Iterable[int]) -> None:
        """Compile the shapes with these serials again, because the volumes of their claims changed."""
        for profile in self.profiles.values():
            profile.forget(serials)

    def profile(self, ignore: frozenset[str]) -> Profile:
        """Return the compiled plugins; unmodelled fields in *ignore* do not make a pod unschedulable."""
        if (profile := self.profiles.get(ignore)) is None:
            profile = self.profiles[ignore] = Profile(self.nodes, ignore)
        return profile

    def overcommitted(self, names: Iterable[str]) -> bool:
        """Return whether the pods on one of the nodes *names* request more than it has: another scheduler bound pods there too.

        Volumes are not counted.
        """
        at = sorted({self.nodes.index[name] for name in names if name in self.nodes.index})
        rows = sorted({*self.nodes.row.values()} - {*self.nodes.limit_rows, *self.nodes.volume_rows})
        there = np.ix_(rows, at)
        return bool((self.requested.sums()[there] > self.nodes.allocatable[there]).any())

    def set_attach_limits(self, node: int, amounts: Iterable[tuple[str, int]], *, drivers: bool) -> None:
        """Set the number of volumes that *node* can attach, by row; *drivers*: whether its drivers changed."""
        for name, amount in amounts:
            if name in self.nodes.row:
                self.nodes.allocatable[self.nodes.row[name], node] = amount
        if drivers:
            # Drivers that a node must have are in the masks of the profiles.
            self.profiles.clear()

    def start_cycle(
        self,
        options: PlacingOptions,
        ignore: frozenset[str],
        stateful: StatefulPlugins,
        nominated: Iterable[PodRecord],
        plugins: Plugins = NO_PLUGINS,
        assumed: Sequence[PodRecord] = (),
    ) -> PlacementState:
        """Return a PlacementState for one cycle; what the cycle assumes does not change this live state.

        *assumed* are the assumed pods with claims that waited for their first consumer.
        """
        ledger = new_ledger(self.topology, options)
        self.requested.fill(ledger)
        nominations = Nominations(ledger, nominated, sparing=options.sparing)
        ledger.forget()
        ledger.take_beyond(volumes_beyond_requests(picks_of_running(assumed, self.nodes), self.nodes))
        return PlacementState(
            self.nodes,
            self.topology,
            ledger,
            self.profile(ignore),
            stateful,
            self.allocatable,
            self.has_cpu_and_memory,
            options,
            nominations,
            plugins,
            provisioned=provisioned_storage(assumed),
        )
