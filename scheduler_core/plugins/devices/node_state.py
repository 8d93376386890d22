"""State of the devices of a node, equal for nodes on which a search has the same result by position."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Hashable

from kubeapi import decode
from kubeapi.devices import unnamed
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.device_pools import DevicePools, NodePool, PoolDevice
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import DeviceSlice
from scheduler_core.plugins.devices.attributes_read import AttributesRead


class PoolStructures:
    """Numbers of pools and nodes that are equal if allocations of their devices can differ only in use; *read* are attributes that claims read."""

    def __init__(self, pools: DevicePools, read: AttributesRead) -> None:
        self.pools = pools
        self.read = read
        self._contents: dict[DeviceSlice, dict[str, Hashable]] = {}
        self._structures: dict[NodePool, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._reach: dict[tuple[NodePool, int], Hashable] = {}

    def renewed(self, pools: DevicePools, read: AttributesRead) -> PoolStructures:
        """Return those of other *pools* or attributes; slices that they have in common are not read again."""
        found = PoolStructures(pools, read)
        if read.same(self.read):
            found._contents = {each: self._contents[each] for each in pools.slices if each in self._contents}
        return found

    def structure(self, pool: NodePool) -> int:
        """Return a number that is equal for pools that differ only in names."""
        if (known := self._structures.get(pool)) is None:
            known = self._structures[pool] = self._numbers.setdefault(self._structure(pool), len(self._numbers))
        return known

    def reached(self, pool: NodePool, node: int) -> Hashable:
        """Return which devices of *pool* the *node* reaches."""
        at = pool, node
        if (known := self._reach.get(at)) is None:
            known = self._reach[at] = tuple(self.pools.reaches(device, node) for device in pool.devices)
        return known

    def content(self, device: PoolDevice) -> Hashable:
        """Return a key that is equal for devices that differ only in names and in attributes that no claim reads."""
        known = self._contents.setdefault(device.published, {})
        if (content := known.get(device.id[2])) is None:
            read = {name: value for name, value in (device.content.attributes or {}).items() if self.read.reads(device.id[0], name)}
            content = known[device.id[2]] = decode.ENCODER.encode(unnamed(device.content, read))
        return content

    def _structure(self, pool: NodePool) -> Hashable:
        counters = tuple((name, tuple(sorted(values.items()))) for name, values in sorted(pool.counters.items()))
        # The name of an unusable pool is in the message.
        name = pool.name if not pool.usable else pool.name[0]
        return name, tuple(map(self.content, pool.devices)), tuple(map(self.content, pool.elsewhere)), counters, pool.incomplete


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KeptObjects(DeviceObjects):
    """Objects about devices, with the structures of their pools on the nodes of the snapshot, which are kept between cycles."""

    structures: PoolStructures | None = None

    @classmethod
    def with_structures(cls, objects: DeviceObjects, structures: PoolStructures) -> KeptObjects:
        """Return *objects* with *structures*."""
        return cls(**{each.name: getattr(objects, each.name) for each in dataclasses.fields(objects)}, structures=structures)


class NodeStates:
    """States of nodes, kept until a device of a pool that the node reaches is taken or given back."""

    def __init__(self, pools: DevicePools, usage: DeviceUsage, find: Callable[[], PoolStructures]) -> None:
        """Prepare; *find* returns the structures of *pools*, and is called when a state is computed first."""
        self._pools = pools
        self._usage = usage
        self._find = find
        self._kinds: dict[PoolDevice, Hashable] = {}
        self._uses: dict[NodePool, tuple[int, Hashable]] = {}
        self._known: dict[NodePool, tuple[int, Hashable]] = {}

    @functools.cached_property
    def _structures(self) -> PoolStructures:
        return self._find()

    def state(self, node: int) -> Hashable:
        """Return the state of the devices of *node*."""
        pools = self._pools.on(node)
        return tuple([(self._state(pool), self._structures.reached(pool, node) if pool.selective else None) for pool in pools])

    def kind(self, device: PoolDevice) -> Hashable:
        """Return a key that is equal for devices that can be exchanged in the present state."""
        if (kind := self._kinds.get(device)) is None:
            reach = device.published.node, device.published.selector, device.published.everywhere
            kind = self._kinds[device] = device.id[:2], self._structures.content(device), reach
        return kind, self._usage.state(device.id)

    def use(self, node: int) -> Hashable:
        """Return the use of the devices that *node* reaches: equal for exchangeable uses of the same devices."""
        return tuple([self._pool_use(pool) for pool in self._pools.on(node)])

    def _pool_use(self, pool: NodePool) -> Hashable:
        version = self._usage.versions[pool.name]
        known = self._uses.get(pool)
        if known is None or known[0] != version:
            devices = (*pool.devices, *pool.elsewhere)
            used = Counter((self._structures.content(each), state) for each in devices if (state := self._usage.state(each.id)) is not None)
            known = self._uses[pool] = version, frozenset(used.items())
        return known[1]

    def reach(self, node: int) -> Hashable:
        """Return a key that is equal for nodes whose own devices are exchangeable and that reach the same shared devices."""
        pools = self._pools.on(node)
        return tuple(
            [
                self._state(pool) if self._pools.is_local(pool.name, node) else (pool.name, self._structures.reached(pool, node))
                for pool in pools
            ]
        )

    def _state(self, pool: NodePool) -> Hashable:
        version = self._usage.versions[pool.name]
        known = self._known.get(pool)
        if known is None or known[0] != version:
            known = self._known[pool] = version, self._computed(pool)
        return known[1]

    def _computed(self, pool: NodePool) -> Hashable:
        devices = (*pool.devices, *pool.elsewhere)
        used = tuple((number, state) for number, each in enumerate(devices) if (state := self._usage.state(each.id)) is not None)
        return self._structures.structure(pool), used
