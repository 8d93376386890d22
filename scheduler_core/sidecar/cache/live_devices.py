"""Rows that count the interchangeable devices of a live cluster, and pools of its nodes; updated when needed.

A claim that is allocated or released changes the figures of its nodes only, and so does a slice, unless there are other kinds of devices
then.  All devices are read again only after the attributes changed that claims read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.model.device_claims import DeviceNeed, DeviceObjects
from scheduler_core.model.device_pools import DevicePools
from scheduler_core.model.device_rows import DeviceRows
from scheduler_core.model.devices import ClaimSpec, DeviceId
from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.plugins.devices.attributes_read import AttributesRead
from scheduler_core.plugins.devices.device_kinds import DeviceKinds, total
from scheduler_core.plugins.devices.interchangeable import CountedSet, Counting, Wish, narrowing, wishes_of
from scheduler_core.plugins.devices.node_state import KeptObjects, PoolStructures
from scheduler_core.sidecar.cache.device_cache import DeviceCache

_MOST_UNUSED_KINDS = 1_000
"""Number of kinds without devices above which all devices are read again."""
_MOST_UNUSED_ROWS = 64
"""Number of rows without use above which they are dropped."""
_MOST_SETS = 256
"""Number of sets, and of specifications, above which their figures are computed again."""
_MANY_KINDS = 100
"""Number of kinds of a set above which the figures of all nodes are computed again."""
_Set = frozenset[int]
"""Kinds of devices."""


class DeviceDemand:
    """Claims of pods to allocate.

    Attributes:
        wishes: number of claims by specification, and by whether they can be counted.
        changed: True if a key was added or removed since the reader of this flag has cleared it.

    """

    def __init__(self) -> None:
        self.wishes: Counter[Wish] = Counter()
        self.changed = False

    def count(self, needs: Sequence[DeviceNeed], change: int) -> None:
        """Add a pod with *needs*, or (*change* -1) remove it."""
        for each in wishes_of(needs) if needs else ():
            before = self.wishes[each]
            self.wishes[each] += change
            if not self.wishes[each]:
                del self.wishes[each]
            self.changed |= not before or before + change == 0


class _UsedDevices:
    """Number of devices in use by kind and node, of devices that belong to one node; and kinds with contended devices."""

    def __init__(self, cache: DeviceCache, kinds: DeviceKinds) -> None:
        self._claimed, self._kinds = cache.claimed, kinds
        self._numbers: dict[int, Counter[str]] = {}
        self._counted: dict[tuple[str, str], dict[DeviceId, tuple[str, int]]] = {}
        self._contended: dict[DeviceId, int] = {}
        self.contended: frozenset[int] = frozenset()
        self.update({each.id for allocation in cache.claimed.allocated.values() for each in allocation.devices})

    def update(self, devices: Iterable[DeviceId], pools: Iterable[tuple[str, str]] = ()) -> set[str]:
        """Count *devices*, whose use changed, and those of *pools*, which changed; return the nodes with other numbers."""
        changed: set[str] = set()
        pools = {*pools}
        before_and_now = (each for pool in pools for each in (*self._counted.get(pool, ()), *self._kinds.devices(pool)))
        for device in {*devices, *before_and_now, *(each for each in self._contended if each[:2] in pools)}:
            counted = self._counted.setdefault(device[:2], {})
            used = self._claimed.usage.is_used(device)
            before, after = counted.pop(device, None), self._kinds.local(device) if used else None
            if after is not None:
                counted[device] = after
            if not counted:
                del self._counted[device[:2]]
            if before != after:
                self._count(before, -1)
                self._count(after, 1)
                changed.update(each[0] for each in (before, after) if each is not None)
            self._contended.pop(device, None)
            if self._claimed.is_contended(device) and (found := self._kinds.local(device)) is not None:
                self._contended[device] = found[1]
        self.contended = frozenset(self._contended.values())
        return changed

    def number(self, kind: int, node: str) -> int:
        """Return the number of devices of *kind* in use on *node*."""
        return self._numbers[kind][node] if kind in self._numbers else 0

    def numbers(self, kinds: Iterable[int]) -> Counter[str]:
        """Return the number of devices of *kinds* in use by node."""
        return total(self._numbers[kind] for kind in kinds if kind in self._numbers)

    def _count(self, where: tuple[str, int] | None, amount: int) -> None:
        if where is not None:
            node, kind = where
            numbers = self._numbers.setdefault(kind, Counter())
            numbers[node] += amount
            if not numbers[node]:
                del numbers[node]


class LiveDevices:
    """Devices of the node tables of a live cluster.

    Attributes:
        demand: the claims of the pods that are known, updated by the caller.
        names: names of the rows that a node table needs.

    """

    def __init__(self, cache: DeviceCache, is_running: Callable[[str], bool]) -> None:
        """Prepare; *is_running* returns whether the pod with a key runs on a known node, or is assumed to."""
        self.demand = DeviceDemand()
        self._is_running = is_running
        self.names: tuple[str, ...] = ()
        self._cache = cache
        self._read = AttributesRead((), ())
        self._kinds = DeviceKinds(self._read)
        self._used = _UsedDevices(cache, self._kinds)
        self._structures: PoolStructures | None = None
        self._table: NodeTable | None = None
        self._wishes: frozenset[Wish] = frozenset()
        self._figures: dict[_Set, tuple[Ints, Ints]] = {}
        """Number of devices, and of those in use, by set of kinds; shape (nodes,) each."""
        self._sets: Mapping[_Set, CountedSet] = {}
        self._rows: DeviceRows | None = None
        self._reach: dict[ClaimSpec, Bools] = {}

    def count(self, parsed_pod: ParsedPod, amount: int) -> None:
        """Count the claims of a pod that is added, or with *amount* -1 removed."""
        self.demand.count(parsed_pod.form.devices, amount)
        if parsed_pod.device_claims:
            self._cache.releasable.count(parsed_pod, amount)

    def pod_changed(self, key: str) -> None:
        """Record that a pod may run now, or not any more."""
        self._cache.releasable.pod_changed(key)

    def nodes_changed(self) -> None:
        """Record that nodes were added or removed."""
        self._cache.releasable.nodes_changed()

    def objects(self, table: NodeTable) -> DeviceObjects | None:
        """Return all objects about devices, with the pools of *table*; None if there are none."""
        objects = self._cache.objects
        return KeptObjects.with_structures(objects, self._renewed_structures(table)) if objects is not None else None

    def pools(self, table: NodeTable) -> DevicePools:
        """Return the pools of *table*."""
        return self._renewed_structures(table).pools

    def is_stale(self, table: NodeTable) -> bool:
        """Return whether *table* must be updated."""
        cache = self._cache
        self._update_releasable()
        changed = self.demand.changed or cache.specs_changed or bool(cache.claimed.changed) or bool(cache.slices.changed)
        return changed or table is not self._table

    def update(self, table: NodeTable) -> bool:
        """Compute the rows of *table*, which are still to be written, and return whether other nodes can reach devices."""
        self._update_releasable()
        before, self._table = self._table, table
        if before is None or before.names != table.names:
            self._figures.clear()
        contended = self._used.contended
        other_devices = self._update_devices()
        others = other_devices or before is not table
        if others:
            self._reach.clear()
        wishes, self.demand.changed = frozenset(self.demand.wishes), False
        if others or wishes != self._wishes or contended != self._used.contended or self._rows is None:
            self._wishes = wishes
            self._count(table)
        return others

    def fill(self, table: NodeTable) -> None:
        """Write the rows to *table*, which has a row for each of ``names``."""
        if self._rows is not None:
            table.count_devices(self._rows, {each.rows[0]: each.amounts for each in self._sets.values()})
            table.device_reach = narrowing(self._reach)

    def in_use(self, table: NodeTable) -> dict[int, Ints]:
        """Return how many devices of each row of *table* are in use; shape (nodes,) each."""
        found: dict[int, Ints] = dict.fromkeys(table.counted, np.zeros(len(table), dtype=np.int64))
        return found | {table.row[each.rows[0]]: self._figure(own)[1] for own, each in self._sets.items()}

    def is_wanted(self, needs: Sequence[DeviceNeed]) -> bool:
        """Return whether a known pod has each of the claims *needs*."""
        return self._wishes.issuperset(wishes_of(needs))

    def _renewed_structures(self, table: NodeTable) -> PoolStructures:
        slices, kept = self._cache.slices.all(), self._structures
        pools = kept.pools if kept is not None and kept.pools.are_of(table, slices) else DevicePools(table, slices)
        if kept is None or (kept.pools, kept.read) != (pools, self._read):
            kept = PoolStructures(pools, self._read) if kept is None else kept.renewed(pools, self._read)
        self._structures = kept
        return kept

    def _count(self, table: NodeTable) -> None:
        """Find the sets to count."""
        counting = Counting(table, self._kinds, self._wishes, self._used.contended, lambda own: self._figure(own)[0])
        if max(len(self._figures), len(self._reach)) > _MOST_SETS:
            self._figures.clear()
            self._reach.clear()
        self._sets = counting.sets()
        self._rows = counting.rows(self._sets)
        self._reach |= counting.reach(self._reach)
        unused = [each for each in self.names if each not in self._rows.names]
        kept = () if len(unused) > _MOST_UNUSED_ROWS else self.names
        self.names = tuple(dict.fromkeys((*kept, *self._rows.names)))

    def _update_releasable(self) -> None:
        """Count what the users of releasable claims need later, as devices that are free only when several pods are gone."""
        for name, before, after in self._cache.releasable.update(self._is_running):
            for need, amount in ((before, -1), (after, 1)):
                self.demand.count((need,) if need is not None else (), amount)
            self._cache.claimed.set_releasable(name, releasable=after is not None)

    def _update_devices(self) -> bool:
        """Update kinds and use of the devices, and return whether slices or kinds differ."""
        cache, anew = self._cache, self._kinds.unused > _MOST_UNUSED_KINDS
        if cache.specs_changed:
            read = AttributesRead(cache.specs, cache.resources.values())
            if not read.same(self._read):
                self._read, anew = read, True
        pools, devices = {*cache.slices.changed}, {*cache.claimed.changed}
        cache.slices.changed.clear()
        cache.claimed.changed.clear()
        cache.specs_changed = False
        if anew:
            self._read_devices()
            return True
        nodes: set[str] = set()
        for pool in pools:
            nodes |= self._kinds.nodes(pool)
            self._kinds.set_pool(pool, cache.slices.of_pool(pool))
            nodes |= self._kinds.nodes(pool)
        self._update_figures(nodes | self._used.update(devices, pools))
        return bool(pools)

    def _read_devices(self) -> None:
        """Read all devices."""
        self._kinds = DeviceKinds(self._read)
        for pool in self._cache.slices.pools():
            self._kinds.set_pool(pool, self._cache.slices.of_pool(pool))
        self._used = _UsedDevices(self._cache, self._kinds)
        self._figures.clear()

    def _update_figures(self, nodes: Iterable[str]) -> None:
        index = self._table.index if self._table is not None else {}
        columns = [(node, index[node]) for node in nodes if node in index]
        for own, (numbers, used) in [*self._figures.items()] if columns else ():
            if len(own) > _MANY_KINDS:
                del self._figures[own]
                continue
            for node, column in columns:
                numbers[column] = sum(self._kinds.number(kind, node) for kind in own)
                used[column] = sum(self._used.number(kind, node) for kind in own)

    def _figure(self, own: _Set) -> tuple[Ints, Ints]:
        """Return the number of devices of kinds, and of those in use, by node."""
        if (found := self._figures.get(own)) is None:
            found = self._figures[own] = self._by_column(self._kinds.numbers(own)), self._by_column(self._used.numbers(own))
        return found

    def _by_column(self, numbers: Mapping[str, int]) -> Ints:
        """Return *numbers* by node; shape (nodes,)."""
        index = self._table.index if self._table is not None else {}
        found: Ints = np.zeros(len(index), dtype=np.int64)
        for node, number in numbers.items():
            if node in index:
                found[index[node]] = number
        return found
