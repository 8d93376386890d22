"""Topology levels of a live cluster by attributes of devices; only nodes are read again whose slices or labels changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeapi.problem import Problem
from scheduler_core.loading.device_levels import Values, problems_of_levels, reached_values, set_levels
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.sidecar.cache.live_devices import LiveDevices


class LiveLevels:
    """Levels by *attributes* of *devices*."""

    def __init__(self, devices: LiveDevices, attributes: Iterable[str]) -> None:
        self.attributes = tuple(sorted({*attributes}))
        self._devices = devices
        self._values: dict[str, tuple[Mapping[str, str], Values]] = {}
        """Labels and values of each node."""
        self._changed = False

    def slices_changed(self, nodes: Iterable[str]) -> None:
        """Record that slices of *nodes* changed; an empty name stands for a slice that several nodes can reach."""
        nodes = {*nodes} if self.attributes else set()
        self._changed |= bool(nodes)
        if "" in nodes:
            self._values.clear()
        for each in nodes:
            self._values.pop(each, None)

    def set_on(self, table: NodeTable) -> None:
        """Set the levels of a new *table*."""
        if self.attributes:
            set_levels(table, self.attributes, self._values_on(table))
        self._changed = False

    def differ(self, table: NodeTable) -> bool:
        """Return whether the levels of *table* are outdated: then a new table is needed."""
        if not self._changed:
            return False
        before = table.device_levels
        self.set_on(table)
        return table.device_levels != before

    def problems(self, table: NodeTable) -> Iterator[Problem]:
        """Yield the problems of the levels of *table*, as ``load`` reports them."""
        if self.attributes:
            devices = self._devices.objects(table) or DeviceObjects()
            yield from problems_of_levels(table, devices, self.attributes, self._values_on(table))

    def _values_on(self, table: NodeTable) -> list[Values]:
        pools = self._devices.pools(table)
        before, self._values = self._values, {}
        for node, (name, labels) in enumerate(zip(table.names, table.labels, strict=True)):
            known = before.get(name)
            # Labels decide which slices of several nodes a node reaches.
            if known is None or known[0] != labels:
                known = labels, reached_values(pools, node, self.attributes)
            self._values[name] = known
        return [values for _, values in self._values.values()]
