"""Kinds of devices: devices of one kind are alike in all that selectors, tolerations and requests can read."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from kubeapi.devices import DeviceAttribute, DeviceContent
from scheduler_core.model import selectors
from scheduler_core.model.device_pools import PoolDevice, PoolName
from scheduler_core.model.devices import Alternative, DeviceId, DeviceSlice, distinct
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.plugins.devices.attributes_read import AttributesRead
from scheduler_core.plugins.devices.consumable_capacity import CapacityError, as_published, is_sufficient
from scheduler_core.plugins.devices.selection import AllocationError, Selection
from scheduler_core.plugins.devices.tolerations import tolerated

K = TypeVar("K")
_MOST_ALTERNATIVES = 1_000
"""Number of alternatives of requests above which the devices that they select are evaluated again."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Pool:
    """Pool of devices.

    Attributes:
        first: name of its first slice.
        local: True if it is on one node.
        slices: slices with devices that can be usable; none of an incomplete pool of one node.
        kinds: kinds of their devices, by slice.

    """

    first: str
    local: bool
    slices: Sequence[DeviceSlice]
    kinds: Sequence[Sequence[int]]

    @functools.cached_property
    def of_device(self) -> Mapping[str, int]:
        """Kind by name of the device."""
        pairs = zip(self.slices, self.kinds, strict=True)
        return {device.name: kind for piece, kinds in pairs for device, kind in zip(piece.devices, kinds, strict=True)}


class DeviceKinds:
    """Kinds of the devices of pools.

    A device is special if numbers by node do not say all about it: it does not belong to one node, its pool may be incomplete, it can have
    several users, or it shares counters with others.  Special devices have kinds of their own.
    """

    def __init__(self, read: AttributesRead) -> None:
        """Prepare, without pools; devices that differ in attributes that *read* does not have are alike."""
        self._read = read
        self._selection = Selection()
        self._pools: dict[PoolName, _Pool] = {}
        self._incomplete = 0
        self._numbers: dict[Hashable, int] = {}
        self._examples: list[PoolDevice] = []
        self._special: set[int] = set()
        self._kept: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        self._devices: Counter[int] = Counter()
        self._by_node: list[Counter[str]] = []
        self._common: dict[int, list[DeviceSlice]] = {}
        self._evaluated: dict[Alternative, _Evaluated] = {}

    @classmethod
    def of_slices(cls, slices: Iterable[DeviceSlice], read: AttributesRead) -> DeviceKinds:
        """Return the kinds of the devices in *slices*, which are sorted by name."""
        kinds = cls(read)
        for name, pool in slices_by_pool(slices).items():
            kinds.set_pool(name, pool)
        return kinds

    def set_pool(self, name: PoolName, slices: Sequence[DeviceSlice]) -> None:
        """Set the slices of a pool, sorted by name; none if it does not exist any more."""
        if (before := self._pools.pop(name, None)) is not None:
            self._count(before, -1)
        if slices:
            local, usable = _usable(slices)
            kinds = [[self._kind(piece, device.name, device.content, local=local) for device in piece.devices] for piece in usable]
            pool = self._pools[name] = _Pool(slices[0].name, local, usable, kinds)
            self._count(pool, 1)

    def _count(self, pool: _Pool, amount: int) -> None:
        self._incomplete += 0 if pool.slices else amount
        for piece, kinds in zip(pool.slices, pool.kinds, strict=True):
            for kind, number in Counter(kinds).items():
                _add(self._devices, kind, amount * number)
                if pool.local:
                    _add(self._by_node[kind], piece.node, amount * number)
                elif amount > 0:
                    self._common.setdefault(kind, []).append(piece)
                else:
                    self._common[kind].remove(piece)

    @property
    def unused(self) -> int:
        """Return the number of kinds that devices had earlier."""
        return len(self._examples) - len(self._devices)

    def devices(self, pool: PoolName) -> Iterator[DeviceId]:
        """Yield the devices of a pool that belong to one node."""
        if (found := self._pools.get(pool)) is not None and found.local:
            yield from ((*pool, name) for name in found.of_device)

    def all_devices(self) -> Iterator[DeviceId]:
        """Yield the devices of all pools that belong to one node."""
        for pool in self._pools:
            yield from self.devices(pool)

    def nodes(self, pool: PoolName) -> set[str]:
        """Return the nodes to which devices of a pool belong."""
        return {each.node for each in found.slices} if (found := self._pools.get(pool)) is not None else set()

    @property
    def unusable(self) -> bool:
        """Return whether a pool is incomplete or invalid."""
        return self._incomplete > 0

    @property
    def tainted(self) -> bool:
        """Return whether devices have taints."""
        return any(self._examples[kind].content.taints for kind in self._devices)

    def special(self, kind: int) -> bool:
        """Return whether the devices of *kind* are special."""
        return kind in self._special

    def number(self, kind: int, node: str) -> int:
        """Return the number of devices of *kind* on *node*."""
        return self._by_node[kind][node]

    def numbers(self, kinds: Iterable[int]) -> Counter[str]:
        """Return the number of devices of *kinds* by node."""
        return total(self._by_node[kind] for kind in kinds)

    def reached(self, kinds: Iterable[int], table: NodeTable) -> Bools:
        """Return the nodes that can reach devices of *kinds*, shape (nodes,); more nodes if each device has its own."""
        mask: Bools = np.zeros(len(table), dtype=bool)
        for kind in kinds:
            slices = self._common.get(kind, ())
            names = (*self._by_node[kind], *(piece.node for piece in slices))
            mask[[table.index[name] for name in names if name in table.index]] = True
            for piece in slices:
                if piece.everywhere or piece.by_device:
                    mask[:] = True
                elif piece.selector is not None:
                    mask |= selectors.node_mask(piece.selector, table)
        return mask

    def local(self, device: DeviceId) -> tuple[str, int] | None:
        """Return node and kind of a device that belongs to one node; None for any other device."""
        pool = self._pools.get(device[:2])
        if pool is None or not pool.local or (kind := pool.of_device.get(device[2])) is None:
            return None
        return pool.slices[0].node, kind

    def order(self) -> Mapping[int, int]:
        """Return the position of each kind in the order in which the slices, sorted by name, show them, pool by pool."""
        pools = sorted(self._pools.values(), key=lambda each: each.first)
        shown = dict.fromkeys(kind for pool in pools for kinds in pool.kinds for kind in kinds)
        return {kind: position for position, kind in enumerate(shown)}

    def selected(self, alternative: Alternative) -> tuple[frozenset[int], bool]:
        """Return the kinds that *alternative* can use, and whether that is certain: kinds that cannot be evaluated are included."""
        if len(self._evaluated) > _MOST_ALTERNATIVES:
            self._evaluated.clear()
            self._selection = Selection()
        if (known := self._evaluated.get(alternative)) is None:
            known = self._evaluated[alternative] = _Evaluated()
        for kind in range(known.count, len(self._examples)):
            example = self._examples[kind]
            try:
                able = self._selection.selects(alternative, 0, example) and self._suffices(alternative, kind)
                able = able and tolerated(example.content.taints, alternative.tolerations)
            except (AllocationError, CapacityError):
                able = True
                known.uncertain.add(kind)
            if _has_two_names(example):
                able = True
                known.uncertain.add(kind)
            if able:
                known.able.add(kind)
        known.count = len(self._examples)
        return frozenset(known.able & self._devices.keys()), known.uncertain.isdisjoint(self._devices)

    def _suffices(self, alternative: Alternative, kind: int) -> bool:
        """Return whether the capacity suffices; uncertain if that depends on names without a domain.  Raises CapacityError."""
        driver, offered, requested = self._examples[kind].id[0], self._examples[kind].content.capacity or {}, alternative.capacity
        counted = distinct(offered, driver)
        published = as_published(requested, counted, driver)
        if len(counted) < len(offered) or published != requested:
            self._evaluated[alternative].uncertain.add(kind)
            return True
        return is_sufficient(requested, offered)

    def _kind(self, published: DeviceSlice, name: str, content: DeviceContent, *, local: bool) -> int:
        special = not local or content.allow_multiple_allocations or content.consumes_counters is not None
        key = (
            published.driver,
            special,
            content.allow_multiple_allocations,
            None if not content.attributes else self._attributes(published.driver, content.attributes),
            None if not content.capacity else tuple(content.capacity.items()),
            content.taints,
        )
        if (number := self._numbers.get(key)) is None:
            number = self._numbers[key] = len(self._numbers)
            self._examples.append(PoolDevice((published.driver, published.pool, name), content, published))
            self._by_node.append(Counter())
            if special:
                self._special.add(number)
        return number

    def _attributes(self, driver: str, attributes: Mapping[str, DeviceAttribute]) -> tuple[object, ...]:
        """Return the attributes that are read."""
        names = tuple(attributes)
        if (kept := self._kept.get((driver, names))) is None:
            kept = self._kept[driver, names] = tuple(sorted(name for name in names if self._read.reads(driver, name)))
        return kept, *(attributes[name] for name in kept)


def _has_two_names(device: PoolDevice) -> bool:
    """Return whether an attribute of *device* has two names: which one counts depends on the version of kube-scheduler."""
    published = device.content.attributes or {}
    return len(distinct(published, device.id[0])) < len(published)


@dataclasses.dataclass(slots=True, eq=False)
class _Evaluated:
    """Kinds that an alternative can use, among the first *count*; *uncertain* ones cannot be evaluated."""

    count: int = 0
    able: set[int] = dataclasses.field(default_factory=set)
    uncertain: set[int] = dataclasses.field(default_factory=set)


def total(counts: Iterable[Counter[str]]) -> Counter[str]:
    """Return the sum of *counts*, which are not negative."""
    found: Counter[str] = Counter()
    for each in counts:
        if found:
            found.update(each)
        else:
            found = each.copy()
    return found


def slices_by_pool(slices: Iterable[DeviceSlice]) -> dict[PoolName, list[DeviceSlice]]:
    """Return *slices* by pool, in their order."""
    pools: dict[PoolName, list[DeviceSlice]] = {}
    for each in slices:
        pools.setdefault((each.driver, each.pool), []).append(each)
    return pools


def _usable(pool: Sequence[DeviceSlice]) -> tuple[bool, Sequence[DeviceSlice]]:
    """Return whether a pool is on one node, and its slices with devices that can be usable; none of an incomplete pool of one node."""
    if len({each.node for each in pool}) > 1 or not pool[0].node or any(each.counters for each in pool):
        return False, pool
    generation = max(each.generation for each in pool)
    newest = [each for each in pool if each.generation == generation]
    names = [device.name for piece in newest for device in piece.devices]
    if len(newest) != newest[0].count or len(set(names)) < len(names):
        # kube-scheduler allocates no device of an incomplete or invalid pool.
        return True, []
    return True, newest


def _add(counter: Counter[K], key: K, amount: int) -> None:
    counter[key] += amount
    if not counter[key]:
        del counter[key]
