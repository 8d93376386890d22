"""Resources taken on every node during a cycle; assume and rewind.

Every placement has a version.  It changes when something is assumed on one of the placement's nodes; rewinding restores it.
Equal versions of a placement mean equal contents, so results can be cached by placement and version.  Assuming the same outcome
on the same version leads to the same version again.
"""

from __future__ import annotations

import array
import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import Allocation
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape, Port
from scheduler_core.model.topology import Topology, sums_over


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodLoad:
    """Pods of one shape on nodes; ``nodes`` has one entry for each pod, in the order of the pods."""

    shape: PodShape
    nodes: Nodes


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """Capacity and devices that are held for a nominated pod.

    Attributes:
        cause: as in ``Ledger.assume``.
        devices: allocations of its claims.
        beyond: numbers of these devices that its requests do not count, by row and node.

    """

    loads: tuple[PodLoad, ...]
    cause: int
    devices: tuple[Allocation, ...] = ()
    beyond: Mapping[tuple[int, int], int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class _Entry:
    loads: tuple[PodLoad, ...]
    serials: Nodes
    versions: Ints
    sign: int
    hold: Hold | None
    count: int
    """Number of placements at that time."""


class Ledger:
    """Resources taken, by node.

    Attributes:
        used: shape (resources, nodes) int64: sums of requests; row PODS counts pods.
        scored: shape (2, nodes) int64: millicores and bytes as scores count them.
        held: shape (resources, nodes) int64: requests of nominated pods, which take capacity but count in no score.
        ports: host ports in use or held, by node.
        versions: shape (placements,) int64.
        unheld: rows that nominated pods do not take.
        beyond: numbers in ``used`` and ``held`` that no pod requests, by row and node: volumes and devices that other claims alone request by
            this row.
        devices: use of devices; None if none are known, or if nominated pods do not hold them.

    """

    def __init__(self, topology: Topology, *, unheld: Iterable[int] = ()) -> None:
        self.topology = topology
        nodes = topology.nodes
        self.unheld = sorted(unheld)
        # Both are views of one array, so that a load is added in one operation.
        self._taken: Ints = np.zeros((len(nodes.resources) + 2, len(nodes)), dtype=np.int64)
        self.used: Ints = self._taken[:-2]
        self.scored: Ints = self._taken[-2:]
        self.held: Ints = np.zeros_like(nodes.allocatable)
        self.holding = False
        self.beyond: Counter[tuple[int, int]] = Counter()
        self.devices: DeviceUsage | None = None
        self._holds: set[int] = set()
        self.ports: dict[int, Counter[Port]] = {}
        self.versions: Ints = np.zeros(max(64, topology.count), dtype=np.int64)
        self._journal: list[_Entry] = []
        self._fresh = itertools.count(1)
        self._columns: dict[int, Ints] = {}
        self._shared_ports: set[int] = set()
        self._next: dict[tuple[int, int, int], int] = {}

    def mark(self) -> int:
        """Return a mark for ``rewind``."""
        return len(self._journal)

    def assume(self, loads: tuple[PodLoad, ...], cause: int) -> None:
        """Add the requests of *loads*.  *cause* identifies exactly these loads: equal causes, equal loads."""
        self._apply(loads, 1)
        self._journal.append(self._journal_entry(loads, cause, 1))

    def hold(self, hold: Hold, sign: int = 1) -> None:
        """Hold *hold*, or release it (*sign* -1), unless that is so already."""
        if (hold.cause in self._holds) == (sign > 0):
            return
        self.holding = True
        self._hold(hold, sign)
        self._journal.append(self._journal_entry(hold.loads, hold.cause, sign, hold))

    def release(self, loads: tuple[PodLoad, ...], cause: int) -> None:
        """Subtract the requests of *loads*; rewinding adds them again.  *cause* as in ``assume``."""
        self._apply(loads, -1)
        self._journal.append(self._journal_entry(loads, cause, -1))

    def rewind(self, mark: int) -> None:
        """Undo everything since *mark*, in reverse order."""
        while len(self._journal) > mark:
            entry = self._journal.pop()
            if entry.hold is None:
                self._apply(entry.loads, -entry.sign)
            else:
                self._hold(entry.hold, -entry.sign)
            self.versions[entry.serials] = entry.versions
            if entry.count < self.topology.count:
                self._renew(entry)

    def version_after(self, serial: int, version: int, cause: int) -> int:
        """Return the version of the placement *serial* after loads with *cause* were assumed at *version*; -1 if they never were."""
        return self._next.get((serial, version, _step(cause, 1, held=False)), -1)

    def take_beyond(self, amounts: Mapping[tuple[int, int], int]) -> None:
        """Add *amounts* by row and node to ``used`` and ``beyond``, for ever."""
        self.beyond.update(amounts)
        for (row, node), amount in amounts.items():
            self.used[row, node] += amount
        self.grow()
        for serial in self.topology.placements_containing([node for _, node in amounts]):
            self.versions[serial] = self.fresh()

    def forget(self) -> None:
        """Make everything that is assumed permanent."""
        self._journal.clear()

    def scored_sums(self, placements: Sequence[Nodes]) -> Ints:
        """Return what is taken on the nodes of each of *placements* of the resources that scores count; shape (resources, placements)."""
        rows, scored = self.topology.nodes.scored.rows, sums_over(self.scored, placements)
        return scored if isinstance(rows, slice) else np.concatenate((scored, sums_over(self.used[rows[2:]], placements)))

    def grow(self) -> None:
        """Extend ``versions`` to placements that were added meanwhile."""
        if len(self.versions) < self.topology.count:
            self.versions = np.concatenate((self.versions, np.zeros(self.topology.count, dtype=np.int64)))

    def fresh(self) -> int:
        """Return a new number for a cause."""
        return next(self._fresh)

    def begin(self, taken: Ints, ports: Mapping[int, Counter[Port]]) -> None:
        """Set the requests of running pods as sums, before anything is assumed.

        *taken* has the shape (resources + 2, nodes), ``used`` above ``scored``; neither it nor *ports* is modified.
        """
        self._taken[:] = taken
        self.ports = dict(ports)
        self._shared_ports = set(ports)

    def bind(self, pods: Iterable[PodRecord]) -> None:
        """Add the requests of running pods, before anything is assumed."""
        by_shape: defaultdict[PodShape, array.array[int]] = defaultdict(lambda: array.array("q"))
        for pod in pods:
            by_shape[pod.shape].append(pod.node)
        for shape, nodes in by_shape.items():
            self._apply((PodLoad(shape, np.array(nodes, dtype=np.int64)),), 1)

    def _journal_entry(self, loads: tuple[PodLoad, ...], cause: int, sign: int, hold: Hold | None = None) -> _Entry:
        around = self._placements(loads)
        serials = np.fromiter(around, dtype=np.int64, count=len(around))
        self.grow()
        before = self.versions[serials]
        cause = _step(cause, sign, held=hold is not None)
        for serial, version in zip(serials.tolist(), before.tolist(), strict=True):
            step = (serial, version, cause)
            if (after := self._next.get(step)) is None:
                after = self._next[step] = self.fresh()
            self.versions[serial] = after
        return _Entry(loads, serials, before, sign, hold, self.topology.count)

    def _placements(self, loads: tuple[PodLoad, ...]) -> set[int]:
        return self.topology.placements_containing([node for load in loads for node in load.nodes.tolist()])

    def _renew(self, entry: _Entry) -> None:
        """Give placements that were added while *entry* was assumed new versions: results cached for them are no longer valid."""
        self.grow()
        for serial in self._placements(entry.loads):
            if serial >= entry.count:
                self.versions[serial] = self.fresh()

    def _apply(self, loads: tuple[PodLoad, ...], sign: int) -> None:
        for load in loads:
            _add(self._taken, load.nodes, self._amounts(load.shape), sign)
            self._take_ports(load, sign)

    def _hold(self, hold: Hold, sign: int) -> None:
        if sign > 0:
            self._holds.add(hold.cause)
        else:
            self._holds.discard(hold.cause)
        for load in hold.loads:
            amounts = self._amounts(load.shape)[:-2]
            if self.unheld:
                amounts = amounts.copy()
                amounts[self.unheld] = 0
            _add(self.held, load.nodes, amounts, sign)
            self._take_ports(load, sign)
        for at, number in hold.beyond.items():
            self.held[at] += sign * number
            self.beyond[at] += sign * number
        if self.devices is not None:
            change = self.devices.add_allocation if sign > 0 else self.devices.remove_allocation
            for each in hold.devices:
                change(each)

    def _amounts(self, shape: PodShape) -> Ints:
        """Return the amounts of one pod by row of ``used``, then of ``scored``; shape (resources + 2, 1)."""
        if (amounts := self._columns.get(shape.serial)) is None:
            amounts = self._columns[shape.serial] = np.zeros((len(self._taken), 1), dtype=np.int64)
            for row, amount in shape.charges:
                amounts[row] = amount
            amounts[-2:, 0] = shape.scored
        return amounts

    def _take_ports(self, load: PodLoad, sign: int) -> None:
        if not load.shape.ports:
            return
        for node in load.nodes.tolist():
            in_use = self.ports.setdefault(node, Counter())
            if node in self._shared_ports:
                self._shared_ports.discard(node)
                in_use = self.ports[node] = in_use.copy()
            for port in load.shape.ports:
                in_use[port] += sign
                if not in_use[port]:
                    del in_use[port]


_FEW = 16
"""Number of nodes up to which a search for repeated nodes is cheaper than counting."""


def _step(cause: int, sign: int, *, held: bool) -> int:
    """Return a number for *cause* that differs for assume, hold and release: they lead to different versions."""
    return 4 * cause + 2 * held + (sign > 0)


def _add(array: Ints, nodes: Nodes, amounts: Ints, sign: int) -> None:
    if len(nodes) < _FEW and len(set(nodes.tolist())) == len(nodes):
        array[:, nodes] += sign * amounts
    else:
        distinct, counts = np.unique(nodes, return_counts=True)
        array[:, distinct] += sign * amounts * counts
