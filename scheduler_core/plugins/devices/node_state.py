"""State of the devices of a node, equal for nodes on which a search has the same result by position."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable

from scheduler_core.model import wire
from scheduler_core.model.device_pools import DevicePools, NodePool, PoolDevice
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.wire_devices import unnamed
from scheduler_core.plugins.devices.attributes_read import AttributesRead


class NodeStates:
    """States of nodes, kept until a device of a pool that the node reaches is taken or given back."""

    def __init__(self, pools: DevicePools, usage: DeviceUsage, read: Callable[[], AttributesRead]) -> None:
        """Prepare; *read* returns the attributes that claims read, and is called when a state is computed first."""
        self._pools = pools
        self._usage = usage
        self._find_read = read
        self._structures: dict[NodePool, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._reach: dict[tuple[NodePool, int], Hashable] = {}
        self._kinds: dict[PoolDevice, Hashable] = {}
        self._uses: dict[NodePool, tuple[int, Hashable]] = {}
        self._known: dict[NodePool, tuple[int, Hashable]] = {}

    @functools.cached_property
    def _read(self) -> AttributesRead:
        return self._find_read()

    def state(self, node: int) -> Hashable:
        """Return the state of the devices of *node*."""
        pools = self._pools.on(node)
        return tuple([(self._state(pool), self._reached(pool, node) if pool.selective else None) for pool in pools])

    def kind(self, device: PoolDevice) -> Hashable:
        """Return a key that is equal for devices that can be exchanged in the present state."""
        if (kind := self._kinds.get(device)) is None:
            reach = device.published.node, device.published.selector, device.published.everywhere
            kind = self._kinds[device] = device.id[:2], self._content(device), reach
        return kind, self._usage.state(device.id)

    def use(self, node: int) -> Hashable:
        """Return the use of the devices that *node* reaches: equal for exchangeable uses of the same devices."""
        return tuple([self._pool_use(pool) for pool in self._pools.on(node)])

    def _pool_use(self, pool: NodePool) -> Hashable:
        version = self._usage.versions[pool.name]
        known = self._uses.get(pool)
        if known is None or known[0] != version:
            devices = (*pool.devices, *pool.elsewhere)
            used = Counter((self._content(each), state) for each in devices if (state := self._usage.state(each.id)) is not None)
            known = self._uses[pool] = version, frozenset(used.items())
        return known[1]

    def reach(self, node: int) -> Hashable:
        """Return a key that is equal for nodes whose own devices are exchangeable and that reach the same shared devices."""
        pools = self._pools.on(node)
        return tuple(
            [self._state(pool) if self._pools.is_local(pool.name, node) else (pool.name, self._reached(pool, node)) for pool in pools]
        )

    def _state(self, pool: NodePool) -> Hashable:
        version = self._usage.versions[pool.name]
        known = self._known.get(pool)
        if known is None or known[0] != version:
            known = self._known[pool] = version, self._computed(pool)
        return known[1]

    def _computed(self, pool: NodePool) -> Hashable:
        if (structure := self._structures.get(pool)) is None:
            key = self._structure(pool)
            structure = self._structures[pool] = self._numbers.setdefault(key, len(self._numbers))
        devices = (*pool.devices, *pool.elsewhere)
        used = tuple((number, state) for number, each in enumerate(devices) if (state := self._usage.state(each.id)) is not None)
        return structure, used

    def _structure(self, pool: NodePool) -> Hashable:
        """Return a key that is equal for pools that differ only in names."""
        counters = tuple((name, tuple(sorted(values.items()))) for name, values in sorted(pool.counters.items()))
        # The name of an unusable pool is in the message.
        name = pool.name if not pool.usable else pool.name[0]
        return name, tuple(map(self._content, pool.devices)), tuple(map(self._content, pool.elsewhere)), counters, pool.incomplete

    def _content(self, device: PoolDevice) -> Hashable:
        kept = {name: value for name, value in (device.content.attributes or {}).items() if self._read.reads(device.id[0], name)}
        return wire.ENCODER.encode(unnamed(device.content, kept))

    def _reached(self, pool: NodePool, node: int) -> Hashable:
        at = pool, node
        if (known := self._reach.get(at)) is None:
            known = self._reach[at] = tuple(self._pools.reaches(device, node) for device in pool.devices)
        return known
