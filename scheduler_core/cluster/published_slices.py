"""Slices with the taints of the rules, by name and by pool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kubeapi.devices import DeviceTaintRuleSpec, ResourceSlice
from scheduler_core.loading.read_devices import published_slice
from scheduler_core.loading.taint_rules import TaintRules
from scheduler_core.model.devices import DeviceSlice

PoolName = tuple[str, str]
"""Driver and pool."""


class PublishedSlices:
    """Slices that kube-scheduler does not ignore.

    Attributes:
        changed: pools that changed since the reader of this set has cleared it.
        moved: nodes that may reach other devices, or devices with other attributes, since the reader of this set has cleared it; empty for
            those of slices that several nodes can reach.

    """

    def __init__(self) -> None:
        self.changed: set[PoolName] = set()
        self.moved: set[str] = set()
        self._written: dict[str, ResourceSlice] = {}
        self._written_in: defaultdict[PoolName, set[str]] = defaultdict(set)
        self._rules = TaintRules()
        self._published: dict[str, DeviceSlice] = {}
        self._of_pool: dict[PoolName, dict[str, DeviceSlice]] = {}
        self._all: tuple[DeviceSlice, ...] | None = ()

    def __bool__(self) -> bool:
        return bool(self._written)

    def all(self) -> tuple[DeviceSlice, ...]:
        """Return the slices by name; the same object until one changes."""
        if self._all is None:
            self._all = tuple(each for _, each in sorted(self._published.items()))
        return self._all

    def pools(self) -> Iterable[PoolName]:
        """Return the names of all pools."""
        return self._of_pool.keys()

    def of_pool(self, pool: PoolName) -> list[DeviceSlice]:
        """Return the slices of *pool* by name; none if there is no such pool."""
        return [each for _, each in sorted(self._of_pool.get(pool, {}).items())]

    def fill(self, slices: Mapping[str, ResourceSlice]) -> None:
        """Add *slices* by name while there are none; nothing is recorded as changed."""
        self._written.update(slices)
        for name, each in slices.items():
            self._written_in[_pool_of(each)].add(name)
        published = ((name, published_slice(name, each, self._rules)) for name, each in sorted(slices.items()))
        self._published = {name: each for name, each in published if each is not None}
        for name, one in self._published.items():
            self._of_pool.setdefault((one.driver, one.pool), {})[name] = one
        self._all = None

    def set_slice(self, name: str, written: ResourceSlice | None) -> bool:
        """Add or replace a slice, or remove it (None); return whether it differs."""
        if self._written.get(name) == written:
            return False
        if (before := self._written.pop(name, None)) is not None:
            self._written_in[_pool_of(before)].remove(name)
        if written is not None:
            self._written[name] = written
            self._written_in[_pool_of(written)].add(name)
        self._publish(name)
        return True

    def set_rule(self, name: str, rule: DeviceTaintRuleSpec | None) -> bool:
        """Add or replace a taint rule, or remove it (None); return whether it differs."""
        before = self._rules.get(name)
        if before == rule:
            return False
        self._rules.set(name, rule)
        reached = {each for one in (before, rule) if one is not None for each in self._reached(one)}
        for each in sorted(reached):
            self._publish(each)
        return True

    def _reached(self, rule: DeviceTaintRuleSpec) -> Iterable[str]:
        """Return the names of the slices that can have a device that *rule* selects."""
        selector = rule.device_selector
        if selector is None:
            return ()
        if selector.driver is None or selector.pool is None:
            return self._written
        return self._written_in.get((selector.driver, selector.pool), ())

    def _publish(self, name: str) -> None:
        before, written = self._published.get(name), self._written.get(name)
        after = published_slice(name, written, self._rules) if written is not None else None
        if before is not None and after is not None and _same(before, after):
            return
        self._all = None
        changed = [each for each in (before, after) if each is not None]
        self.changed.update((each.driver, each.pool) for each in changed)
        if len(changed) < 2 or _attributes(changed[0]) != _attributes(changed[1]):
            # Whether a pool is complete depends on all its slices.
            self.moved.update(one.node for each in changed for one in (each, *self.of_pool((each.driver, each.pool))))
        if before is not None:
            pool = self._of_pool[before.driver, before.pool]
            del self._published[name], pool[name]
            if not pool:
                del self._of_pool[before.driver, before.pool]
        if after is not None:
            self._published[name] = after
            self._of_pool.setdefault((after.driver, after.pool), {})[name] = after


def _pool_of(written: ResourceSlice) -> PoolName:
    return written.spec.driver, written.spec.pool.name


def _attributes(each: DeviceSlice) -> tuple[object, ...]:
    """Return what decides which nodes reach devices with which attributes."""
    reach = each.node, each.selector, each.everywhere, each.by_device
    contents = ((one.name, one.content) for one in each.devices)
    devices = [(name, one.attributes, one.node_name, one.node_selector, one.all_nodes, one.consumes_counters) for name, one in contents]
    return each.driver, each.pool, each.generation, each.count, reach, each.counters, devices


def _same(one: DeviceSlice, other: DeviceSlice) -> bool:
    """Return whether two slices of one name are equal."""

    def fields(each: DeviceSlice) -> tuple[object, ...]:
        reach = each.node, each.selector, each.everywhere, each.by_device
        return each.driver, each.pool, each.generation, each.count, reach, each.counters, [(one.name, one.content) for one in each.devices]

    return fields(one) == fields(other)
