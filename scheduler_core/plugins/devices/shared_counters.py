"""Counters that the devices of a pool share (partitionable devices)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from kubeapi import quantity
from scheduler_core.model.device_pools import NodePool, PoolDevice
from scheduler_core.model.device_usage import DeviceUsage

_CounterName = tuple[str, str]
"""Set and counter."""


class CounterState:
    """Counters that are left for the claims of a pod, and those that its chosen devices consume."""

    def __init__(self, usage: DeviceUsage) -> None:
        self._usage = usage
        self._left: dict[NodePool, dict[_CounterName, Decimal]] = {}
        self._consumed: dict[NodePool, defaultdict[_CounterName, Decimal]] = {}

    def consume(self, pool: NodePool, device: PoolDevice) -> bool:
        """Consume the counters of *device*, and return whether all counters of *pool* suffice; if not, nothing changes."""
        left, consumed = self._left_of(pool), self._consumed.setdefault(pool, defaultdict(Decimal))
        for name, amount in _consumption(device):
            consumed[name] += amount
        if all(amount >= consumed[name] for name, amount in left.items()):
            return True
        self.restore_counters(pool, device)
        return False

    def restore_counters(self, pool: NodePool, device: PoolDevice) -> None:
        """Undo ``consume``."""
        for name, amount in _consumption(device):
            self._consumed[pool][name] -= amount

    def _left_of(self, pool: NodePool) -> dict[_CounterName, Decimal]:
        """Return the counters that the devices in use leave; negative if they consume too much."""
        if (left := self._left.get(pool)) is None:
            left = {(group, name): value for group, counters in pool.counters.items() for name, value in counters.items()}
            for device in (*pool.devices, *pool.elsewhere):
                if self._usage.is_used(device.id):
                    for counter, amount in _consumption(device):
                        left[counter] -= amount
            self._left[pool] = left
        return left


def _consumption(device: PoolDevice) -> Iterator[tuple[_CounterName, Decimal]]:
    for use in device.content.consumes_counters or ():
        for name, counter in (use.counters or {}).items():
            yield (use.counter_set, name), quantity.exact(counter.value)
