"""Kinds of devices: devices of one kind are alike in all that selectors, tolerations and requests can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.model import selectors
from scheduler_core.model.devices import Alternative, DeviceId, DeviceSlice
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.wire_devices import Attribute, DeviceContent
from scheduler_core.plugins.devices.attributes_read import AttributesRead
from scheduler_core.plugins.devices.consumable_capacity import CapacityError, is_sufficient
from scheduler_core.plugins.devices.pools import PoolDevice
from scheduler_core.plugins.devices.selection import AllocationError, Selection
from scheduler_core.plugins.devices.tolerations import tolerated


class DeviceKinds:
    """Kinds of the devices in *slices*.

    A device is special if numbers by node do not say all about it: it does not belong to one node, its pool may be incomplete, it can have
    several users, or it shares counters with others.  Special devices have kinds of their own.

    Attributes:
        unusable: True if a pool is incomplete or invalid.

    """

    def __init__(self, slices: Sequence[DeviceSlice], read: AttributesRead, selection: Selection) -> None:
        self._read = read
        self._selection = selection
        self._numbers: dict[Hashable, int] = {}
        self._examples: list[PoolDevice] = []
        self._special: set[int] = set()
        self._kept: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        self._by_node: list[Counter[str]] = []
        self._local: list[tuple[DeviceSlice, list[int]]] = []
        self._common: dict[int, list[DeviceSlice]] = {}
        self.unusable = False
        for local, pool in _pools(slices):
            self.unusable |= not pool
            for each in pool:
                kinds = [self._kind(each, device.name, device.content, local=local) for device in each.devices]
                if local:
                    self._local.append((each, kinds))
                    for kind in kinds:
                        self._by_node[kind][each.node] += 1
                for kind in () if local else set(kinds):
                    self._common.setdefault(kind, []).append(each)

    @property
    def tainted(self) -> bool:
        """Return whether devices have taints."""
        return any(each.content.taints for each in self._examples)

    def special(self, kind: int) -> bool:
        """Return whether the devices of *kind* are special."""
        return kind in self._special

    def numbers(self, kinds: Iterable[int]) -> Counter[str]:
        """Return the number of devices of *kinds* by node."""
        return sum((self._by_node[kind] for kind in kinds), Counter[str]())

    def reached(self, kinds: Iterable[int], table: NodeTable) -> Bools:
        """Return the nodes that can reach devices of *kinds*, shape (nodes,); more nodes if each device has its own."""
        mask: Bools = np.zeros(len(table), dtype=bool)
        for kind in kinds:
            slices = self._common.get(kind, ())
            names = (*self._by_node[kind], *(each.node for each in slices))
            mask[[table.index[name] for name in names if name in table.index]] = True
            for each in slices:
                if each.everywhere or each.by_device:
                    mask[:] = True
                elif each.selector is not None:
                    mask |= selectors.node_mask(each.selector, table)
        return mask

    def local_devices(self) -> Iterator[tuple[DeviceId, str, int]]:
        """Yield the devices of one node, with node and kind."""
        for each, kinds in self._local:
            for device, kind in zip(each.devices, kinds, strict=True):
                yield (each.driver, each.pool, device.name), each.node, kind

    def selected(self, alternative: Alternative) -> tuple[frozenset[int], bool]:
        """Return the kinds that *alternative* can use, and whether that is certain: kinds that cannot be evaluated are included."""
        found, certain = set(), True
        for kind, example in enumerate(self._examples):
            try:
                able = self._selection.selects(alternative, 0, example) and is_sufficient(alternative.capacity, example.content.capacity)
                able = able and tolerated(example.content.taints, alternative.tolerations)
            except (AllocationError, CapacityError):
                able, certain = True, False
            if able:
                found.add(kind)
        return frozenset(found), certain

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

    def _attributes(self, driver: str, attributes: Mapping[str, Attribute]) -> tuple[object, ...]:
        """Return the attributes that are read."""
        names = tuple(attributes)
        if (kept := self._kept.get((driver, names))) is None:
            kept = self._kept[driver, names] = tuple(sorted(name for name in names if self._read.reads(driver, name)))
        return kept, *(attributes[name] for name in kept)


def _pools(slices: Iterable[DeviceSlice]) -> Iterator[tuple[bool, list[DeviceSlice]]]:
    """Yield whether each pool is on one node, and its slices with devices that can be usable; none of an incomplete pool of one node."""
    pools: dict[tuple[str, str], list[DeviceSlice]] = {}
    for each in slices:
        pools.setdefault((each.driver, each.pool), []).append(each)
    for pool in pools.values():
        if len({each.node for each in pool}) > 1 or not pool[0].node or any(each.counters for each in pool):
            yield False, pool
            continue
        generation = max(each.generation for each in pool)
        newest = [each for each in pool if each.generation == generation]
        names = [device.name for each in newest for device in each.devices]
        if len(newest) != newest[0].count or len(set(names)) < len(names):
            # kube-scheduler allocates no device of an incomplete or invalid pool.
            yield True, []
            continue
        yield True, newest
