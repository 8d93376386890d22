"""Pools of devices, as one node sees them (Kubernetes 1.37.1, GatherPools of the incubating allocator).

Pools are ordered by driver and name, those with binding conditions last; slices by name; devices as in the slice.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from kubeapi import quantity
from kubeapi.base_structs import Record
from kubeapi.devices import CounterSet, DeviceContent
from kubeapi.selectors import NodeSelector
from scheduler_core.model import selectors
from scheduler_core.model.devices import DeviceId, DeviceSlice
from scheduler_core.model.nodes import Bools, Nodes, NodeTable

PoolName = tuple[str, str]
"""Driver and pool."""


class PoolDevice(Record, frozen=True, eq=False, gc=False):
    """Device of a pool."""

    id: DeviceId
    content: DeviceContent
    published: DeviceSlice


class NodePool(Record, frozen=True, eq=False):
    """Pool as some nodes see it.

    Attributes:
        incomplete: True if slices are missing; the pool has no usable devices then.
        invalid: the reason why the pool has no usable devices; empty if there is none.
        devices: devices of slices that reach the nodes.
        elsewhere: devices of other slices of the pool.
        counters: values of the shared counters, by set and name.
        selective: True if some of the devices reach only some of these nodes.

    """

    name: PoolName
    incomplete: bool = False
    invalid: str = ""
    devices: tuple[PoolDevice, ...] = ()
    elsewhere: tuple[PoolDevice, ...] = ()
    counters: Mapping[str, Mapping[str, Decimal]] = {}
    selective: bool = False

    @property
    def usable(self) -> bool:
        """Return whether its devices can be allocated."""
        return not self.incomplete and not self.invalid


class DevicePools:
    """Pools of all nodes, computed for a node when it is needed first.

    Attributes:
        slices: the slices, by name.

    """

    def __init__(self, nodes: NodeTable, slices: Iterable[DeviceSlice]) -> None:
        self._nodes = nodes
        self.slices = tuple(slices)
        self._on: dict[int, tuple[NodePool, ...]] = {}
        self._views: dict[tuple[PoolName, tuple[int, ...]], NodePool | None] = {}
        self._masks: dict[NodeSelector, Bools] = {}

    def are_of(self, nodes: NodeTable, slices: tuple[DeviceSlice, ...]) -> bool:
        """Return whether these are the pools of *nodes* and *slices*."""
        return self._nodes is nodes and self.slices is slices

    @functools.cached_property
    def _of_pool(self) -> dict[PoolName, list[int]]:
        """Slices by pool."""
        found: dict[PoolName, list[int]] = {}
        for number, each in enumerate(self.slices):
            found.setdefault((each.driver, each.pool), []).append(number)
        return found

    @functools.cached_property
    def _local(self) -> dict[str, list[int]]:
        """Slices by node; those of no single node under the empty name."""
        found: dict[str, list[int]] = {"": []}
        for number, each in enumerate(self.slices):
            if (numbers := found.get(each.node)) is None:
                found[each.node] = [number]
            else:
                numbers.append(number)
        return found

    def on(self, node: int) -> tuple[NodePool, ...]:
        """Return the pools that *node* reaches, in the order in which they are tried."""
        if (found := self._on.get(node)) is None:
            found = self._on[node] = tuple(self._pools_of_node(node))
        return found

    def nodes_of(self, pool: PoolName) -> Iterable[int] | None:
        """Return the nodes that reach devices of *pool*; None if any node may."""
        slices = [self.slices[each] for each in self._of_pool.get(pool, ())]
        if any(not each.node for each in slices):
            return None
        return [self._nodes.index[each.node] for each in slices if each.node in self._nodes.index]

    def reach_invalid(self, nodes: Nodes) -> Bools:
        """Return which of *nodes* reach an invalid pool; shape of *nodes*."""
        if not self._may_be_invalid:
            return np.zeros(len(nodes), dtype=bool)
        return np.array([any(pool.invalid for pool in self.on(node)) for node in nodes.tolist()], dtype=bool)

    @functools.cached_property
    def _may_be_invalid(self) -> bool:
        """Return whether a pool can be invalid: it has counters, or several devices of one name."""
        if any(each.can_be_invalid for each in self.slices):
            return True
        # A pool of one slice is incomplete if it has several, and then not invalid.
        pools = {(each.driver, each.pool) for each in self.slices if each.count != 1}
        names = ([device.name for each in self._of_pool[pool] for device in self.slices[each].devices] for pool in pools)
        return any(len({*each}) < len(each) for each in names)

    def is_local(self, pool: PoolName, node: int) -> bool:
        """Return whether all slices of *pool* are those of *node*."""
        return all(self.slices[each].node == self._nodes.names[node] for each in self._of_pool.get(pool, ()))

    def reaches(self, device: PoolDevice, node: int) -> bool:
        """Return whether *node* reaches *device*, whose slice it reaches."""
        content = device.content
        if not device.published.by_device:
            return True
        return self._matches(content.node_name or "", content.node_selector, node, everywhere=bool(content.all_nodes))

    def _pools_of_node(self, node: int) -> list[NodePool]:
        numbers: dict[PoolName, list[int]] = {}
        common = (each for each in self._local[""] if self._reached(each, node))
        for number in (*self._local.get(self._nodes.names[node], ()), *common):
            each = self.slices[number]
            numbers.setdefault((each.driver, each.pool), []).append(number)
        views = [self._view(name, each) for name, each in sorted(numbers.items())]
        found = [each for each in views if each is not None]
        return sorted(found, key=_has_binding_conditions) if len(found) > 1 else found

    def _reached(self, number: int, node: int) -> bool:
        """Return whether *node* reaches the slice *number*, which is not that of one node."""
        each = self.slices[number]
        if each.everywhere or each.selector is not None:
            return self._matches("", each.selector, node, everywhere=each.everywhere)
        if not each.by_device:
            return False
        contents = (device.content for device in each.devices)
        return any(self._matches(one.node_name or "", one.node_selector, node, everywhere=bool(one.all_nodes)) for one in contents)

    def _matches(self, name: str, selector: NodeSelector | None, node: int, *, everywhere: bool) -> bool:
        if name:
            return self._nodes.names[node] == name
        if everywhere or selector is None:
            return everywhere
        return bool(self.matching(selector)[node])

    def matching(self, selector: NodeSelector) -> Bools:
        """Return the nodes that match *selector*; shape (nodes,)."""
        if (mask := self._masks.get(selector)) is None:
            mask = self._masks[selector] = selectors.node_mask(selector, self._nodes)
        return mask

    def _view(self, name: PoolName, numbers: Sequence[int]) -> NodePool | None:
        """Return the pool of which the slices *numbers* reach a node; None if a newer generation exists."""
        generation = max(self.slices[each].generation for each in numbers)
        newest = tuple(each for each in numbers if self.slices[each].generation == generation)
        at = name, newest
        if at not in self._views:
            self._views[at] = self._new_view(name, newest, generation)
        return self._views[at]

    def _new_view(self, name: PoolName, numbers: tuple[int, ...], generation: int) -> NodePool | None:
        """Return the same; the slices *numbers* are of one generation."""
        count = self.slices[numbers[0]].count
        others: list[DeviceSlice] = []
        if len(numbers) != count:
            known = self._of_pool[name]
            if any(self.slices[each].generation > generation for each in known):
                return None
            same = [each for each in known if self.slices[each].generation == generation]
            if len(same) != count:
                return NodePool(name, incomplete=True)
            others = [self.slices[each] for each in same if each not in numbers]
        return _pool(name, [self.slices[each] for each in numbers], others)


def _pool(name: PoolName, slices: list[DeviceSlice], others: list[DeviceSlice]) -> NodePool:
    """Return a complete pool; slices with counters have no devices."""
    slices.sort(key=lambda each: each.name)
    devices = _devices(each for each in slices if not each.counters)
    elsewhere = _devices(each for each in others if not each.counters)
    selective = any(each.by_device for each in slices)
    if len(slices) == 1 and not others and not slices[0].can_be_invalid:
        return NodePool(name, devices=devices, selective=selective)
    names = [each.id[2] for each in devices]
    if len({*names}) < len(names):
        repeated = next(each for each, count in Counter(names).items() if count > 1)
        return NodePool(name, invalid=f"duplicate device name {repeated}")
    sets = [counters for each in (*slices, *others) for counters in each.counters]
    invalid = _counter_error(sets, (*devices, *elsewhere))
    if invalid:
        return NodePool(name, invalid=invalid)
    values = {each.name: {key: quantity.exact(counter.value) for key, counter in (each.counters or {}).items()} for each in sets}
    return NodePool(name, devices=devices, elsewhere=elsewhere, counters=values, selective=selective)


def _devices(slices: Iterable[DeviceSlice]) -> tuple[PoolDevice, ...]:
    return tuple([PoolDevice((each.driver, each.pool, device.name), device.content, each) for each in slices for device in each.devices])


def _counter_error(sets: Sequence[CounterSet], devices: Iterable[PoolDevice]) -> str:
    """Return the reason why the counters of a pool are invalid; empty if they are valid."""
    known: dict[str, CounterSet] = {}
    for each in sets:
        if each.name in known:
            return f"duplicate counter set name {each.name}"
        known[each.name] = each
    for device in devices:
        for use in device.content.consumes_counters or ():
            if use.counter_set not in known:
                return f"counter set {use.counter_set} not found"
            for counter in use.counters or {}:
                if counter not in (known[use.counter_set].counters or {}):
                    return f"counter {counter} not found in counter set {use.counter_set}"
    return ""


def _has_binding_conditions(pool: NodePool) -> bool:
    return any(device.content.binding_conditions is not None for device in pool.devices)
