"""Node table of a snapshot: arrays with one column for each node, in the order of names."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kubeapi.nodes import Taint
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.model.attach_limits import AttachLimits, driver_of, limit_rows
from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.device_rows import DeviceRows
from scheduler_core.model.devices import Allocation, ClaimSpec
from scheduler_core.model.resource_values import AttachableVolumes, Resource
from scheduler_core.model.storage import Storage

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Nodes = NDArray[np.int64]
"""Indices of nodes, ascending."""

CPU, MEMORY, EPHEMERAL, PODS = 0, 1, 2, 3
"""Rows of the resource arrays.  CPU is in millicores, all else in units (bytes, pods, devices).  Extended resources and attach limits follow by name."""
UNLIMITED = 2**40
"""Amount of a resource that another plugin checks."""
OTHERS = "resources that no node has"
"""Shared row of all resources without their own row; no node has any of them."""


class Rows(dict[str, int]):
    """Row of each resource; ``OTHERS``, if present, is the row of all resources that are not listed."""

    def __missing__(self, name: str) -> int:
        if name == OTHERS:
            raise KeyError(name)
        return self[OTHERS]

    def has(self, name: str) -> bool:
        """Return whether *name* has a row."""
        return name in self or (OTHERS in self and not driver_of(name))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of one label on all nodes."""

    values: tuple[str, ...]
    """Distinct values, sorted."""
    ids: NDArray[np.int32]
    """Shape (nodes,): index into ``values``, -1 if the node does not have the label."""


T = TypeVar("T")
Image = tuple[str, int]
"""Name and size in bytes."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ReportedImage:
    """Image that at least one node has."""

    size: int
    """Bytes, as the first node reports it."""
    nodes: Nodes


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Resources that scores count: cpu, memory, then others by name.

    Attributes:
        rows: their rows in ``NodeTable.allocatable``.
        position: position of each resource in ``rows``.

    """

    rows: slice | Ints
    position: Mapping[str, int]


CPU_AND_MEMORY_ROWS = ScoredRows(slice(0, 2), {"cpu": CPU, "memory": MEMORY})


class NodeTable:
    """Nodes sorted by name; the position in that order is a node's index everywhere in this package.

    Attributes:
        names: names, ascending.
        labels: labels, by node.
        taints: taints, by node.
        unschedulable: shape (nodes,).
        resources: names of the rows of ``allocatable``: ``BUILT_IN``, then every other resource of a node or a pod, or ``OTHERS``,
            by name.
        allocatable: shape (resources, nodes), non-negative int64.
        kept: values that plugins keep of each node, by name.
        attach: CSI drivers and attached volumes of the nodes.
        limit_rows: CSI drivers whose volumes are limited, by row.
        images: images of pods, by node.
        reported: the same by name.
        storage: options of claims that wait for their first consumer, as set by ``report_storage``; None if they are not modelled.
        volume_rows: rows that count volumes, as set by ``count_volumes``.
        volume_names: names of the rows that it has added at the end.
        device_rows: interchangeable devices, as set by ``count_devices``; None if no pod has claims to allocate.
        counted: rows that count devices.
        device_reach: nodes that reach devices for each request of a claim, shape (nodes,), by specification; all nodes if it is not listed.
        backed: nodes on which devices provide an extended resource, shape (nodes,), by resource; there ``allocatable`` is ``UNLIMITED``, so that
            NodeResourcesFit does not check it.
        scored: resources that scores count.
        levels: topology levels by the requested keys, filled by ``topology_levels.levels``.
        behavior: kube-scheduler that places pods on these nodes.
        device_levels: domain of each node by topology key, of keys that are attributes of devices; as set by ``report_device_levels``.

    """

    def __init__(  # noqa: PLR0913 - a table is complete once it is made
        self,
        names: Sequence[str],
        labels: Sequence[Mapping[str, str]],
        taints: Sequence[tuple[Taint, ...]],
        unschedulable: Sequence[bool],
        resources: Sequence[str],
        allocatable: Ints,
        attach: AttachLimits | None = None,
        *,
        kept: Mapping[str, Sequence[Hashable]] | None = None,
        images: Iterable[tuple[Image, ...]] | None = None,
        backed: Mapping[str, Bools] | None = None,
        scored: ScoredRows = CPU_AND_MEMORY_ROWS,
        behavior: SchedulerBehavior = KUBERNETES_1_37,
    ) -> None:
        self.names = tuple(names)
        self.labels = tuple(labels)
        self.taints = tuple(taints)
        self.unschedulable: Bools = np.array(unschedulable, dtype=bool)
        self.resources = tuple(resources)
        self.allocatable = allocatable
        self.kept: Mapping[str, tuple[Hashable, ...]] = {name: tuple(values) for name, values in (kept or {}).items()}
        self.attach = AttachLimits() if attach is None else attach
        self.limit_rows = limit_rows(self.resources)
        self.index: dict[str, int] = {name: index for index, name in enumerate(self.names)}
        self.row = Rows({name: row for row, name in enumerate(self.resources)})
        self.everything: Nodes = np.arange(len(self.names), dtype=np.int64)
        self.behavior = behavior
        self._columns: dict[str, Column] = {}
        self._level_columns: dict[str, Column] = {}
        self.report_images(((),) * len(self.names) if images is None else images)
        self.storage: Storage | None = None
        self.volume_rows: frozenset[int] = frozenset()
        self.volume_names: tuple[str, ...] = ()
        self.scored, self.backed = scored, {**(backed or {})}
        self.levels: dict[frozenset[str], tuple[str, ...]] = {}
        self.device_levels: dict[str, tuple[str | None, ...]] = {}
        self.device_rows: DeviceRows | None = None
        self.counted: frozenset[int] = frozenset()
        self.device_reach: Mapping[ClaimSpec, Bools] = {}

    def __len__(self) -> int:
        return len(self.names)

    def report_images(self, images: Iterable[tuple[Image, ...]]) -> None:
        """Set the images of the nodes: those that pods have, by node."""
        self.images: tuple[tuple[Image, ...], ...] = tuple(images)
        sizes: dict[str, int] = {}
        nodes: dict[str, set[int]] = {}
        for node, each in enumerate(self.images):
            for name, size in each:
                sizes.setdefault(name, size)
                nodes.setdefault(name, set()).add(node)
        self.reported: dict[str, ReportedImage] = {
            name: ReportedImage(size, np.array(sorted(nodes[name]), dtype=np.int64)) for name, size in sizes.items()
        }

    def count_volumes(self, numbers: Mapping[str, Ints]) -> None:
        """Set the numbers of interchangeable volumes by name, each of shape (nodes,); rows of other names are removed if they are the last.

        New names get a row after all others, in their order.
        """
        kept = len(self.resources) - len(self.volume_names)
        if self.volume_names != tuple(numbers) and self.resources[kept:] == self.volume_names:
            self.allocatable, self.resources = self.allocatable[:kept], self.resources[:kept]
            self.row = Rows({name: row for row, name in enumerate(self.resources)})
            self.volume_names = tuple(name for name in numbers if name not in self.row)
        self._set_rows(numbers)
        self.volume_rows = frozenset(self.row[name] for name in numbers)

    def resource(self, row: int) -> Resource:
        """Return the resource of a row: that of nodes by its name, or the volumes that it counts."""
        if (driver := self.limit_rows.get(row)) is not None:
            return AttachableVolumes(driver)
        name = self.resources[row]
        counted = self.storage.resources.values() if self.storage is not None else ()
        return next((each for each in counted if each.row == name), name)

    def count_devices(self, rows: DeviceRows, amounts: Mapping[str, Ints] | None = None) -> None:
        """Set the numbers of interchangeable devices; new names get a row, and rows of other names count none.

        *amounts* are the numbers by row, each of shape (nodes,); without them those of *rows* are used.
        """
        if amounts is None:
            amounts = {name: self._amounts(numbers) for name, numbers in rows.numbers.items()}
        unused = {name for name in map(self.resources.__getitem__, self.counted) if name not in amounts}
        self._set_rows({**dict.fromkeys(sorted(unused), self._amounts({})), **amounts})
        self.device_rows = rows
        self.counted |= {self.row[name] for name in amounts}

    def add_device_rows(self, names: Sequence[str]) -> None:
        """Add rows for interchangeable devices, which ``count_devices`` sets."""
        self._set_rows(dict.fromkeys(names, self._amounts({})))
        self.counted |= {self.row[name] for name in names}

    def devices_in_use(self, allocations: Iterable[Allocation]) -> Mapping[int, Ints]:
        """Return how many devices of each row of ``device_rows`` *allocations* hold; each of shape (nodes,)."""
        if self.device_rows is None:
            return {}
        held: dict[str, dict[str, int]] = {name: {} for name in self.device_rows.names}
        for (name, node), number in self.device_rows.in_use(allocations).items():
            held[name][node] = number
        return {self.row[name]: self._amounts(numbers) for name, numbers in held.items()}

    def devices_beyond_requests(self, claims: Iterable[tuple[DeviceNeed, Allocation]]) -> Counter[tuple[int, int]]:
        """Return ``DeviceRows.beyond_requests`` by row and index of the node."""
        found = self.device_rows.beyond_requests(claims) if self.device_rows is not None else Counter[tuple[str, str]]()
        return Counter({(self.row[name], self.index[node]): number for (name, node), number in found.items() if node in self.index})

    def devices_not_requested(
        self, allocations: Iterable[Allocation], requests: Iterable[tuple[int, int]], node: int
    ) -> Counter[tuple[int, int]]:
        """Return how many devices of each row and node *allocations* have that *requests*, by row, of their pod on *node* do not count."""
        found = self.device_rows.in_use(allocations) if self.device_rows is not None else Counter[tuple[str, str]]()
        beyond = Counter({(self.row[name], self.index[where]): number for (name, where), number in found.items() if where in self.index})
        beyond.subtract({(row, node): amount for row, amount in requests if row in self.counted})
        return +beyond

    def _amounts(self, numbers: Mapping[str, int]) -> Ints:
        """Return *numbers* by node; shape (nodes,)."""
        amounts: Ints = np.zeros(len(self), dtype=np.int64)
        for node, number in numbers.items():
            if node in self.index:
                amounts[self.index[node]] = number
        return amounts

    def _set_rows(self, numbers: Mapping[str, Ints]) -> None:
        """Set rows of ``allocatable``; new names get a row."""
        if more := [name for name in numbers if name not in self.row]:
            self.allocatable = np.concatenate((self.allocatable, np.zeros((len(more), len(self)), dtype=np.int64)))
            self.resources = (*self.resources, *more)
            self.row = Rows({name: row for row, name in enumerate(self.resources)})
        for name, amounts in numbers.items():
            self.allocatable[self.row[name]] = amounts

    def report_storage(self, storage: Storage) -> None:
        """Set the options of claims."""
        self.storage = storage

    def report_device_levels(self, levels: Mapping[str, tuple[str | None, ...]]) -> None:
        """Set the domains of nodes by topology key, for keys that are attributes of devices; these keys are no labels."""
        self.device_levels = dict(levels)

    def joined(self, more: NodeTable) -> tuple[NodeTable, list[int]]:
        """Return these nodes with those of *more*, which take precedence for equal names; and the new index of each of these.

        *more* has the rows of this table.  A node that replaces another one has its devices, and is in its domains; a new node has none.
        """
        kept = [index for index, name in enumerate(self.names) if name not in more.index]
        names = [*map(self.names.__getitem__, kept), *more.names]
        order = sorted(range(len(names)), key=names.__getitem__)

        def both(one: Sequence[T], other: Sequence[T]) -> list[T]:
            values = [*map(one.__getitem__, kept), *other]
            return [values[index] for index in order]

        rows = [more.row[name] for name in self.resources]
        table = NodeTable(
            both(self.names, more.names),
            both(self.labels, more.labels),
            both(self.taints, more.taints),
            both(self.unschedulable.tolist(), more.unschedulable.tolist()),
            self.resources,
            np.concatenate((self.allocatable[:, kept], more.allocatable[rows]), axis=1)[:, order],
            more.attach,
            kept={name: both(values, more.kept[name]) for name, values in self.kept.items()},
            images=both(self.images, more.images),
            backed={name: np.array(both(mask.tolist(), [False] * len(more)), dtype=bool) for name, mask in self.backed.items()},
            scored=self.scored,
            behavior=self.behavior,
        )
        levels = {key: dict(zip(self.names, values, strict=True)) for key, values in self.device_levels.items()}
        table.report_device_levels({key: tuple(map(values.get, table.names)) for key, values in levels.items()})
        return table, [table.index[name] for name in self.names]

    def column(self, key: str) -> Column:
        """Return the values of the topology key *key* on all nodes: a level of devices, else a label (cached).

        An empty value is no value if kube-scheduler does not form a domain of the nodes that have it.
        """
        is_level = bool(self.device_levels) and key in self.device_levels
        if not is_level and (self.behavior.empty_value_is_domain or "" not in self.label_column(key).values):
            return self.label_column(key)
        if (column := self._level_columns.get(key)) is None:
            values = self.device_levels[key] if is_level else [labels.get(key) or None for labels in self.labels]
            column = self._level_columns[key] = _column(values)
        return column

    def label_column(self, key: str) -> Column:
        """Return the values of the label *key* on all nodes (cached)."""
        if (column := self._columns.get(key)) is None:
            column = self._columns[key] = _column([labels.get(key) for labels in self.labels])
        return column


def _column(by_node: Sequence[str | None]) -> Column:
    values = tuple(sorted({value for value in by_node if value is not None}))
    number: dict[str | None, int] = {value: index for index, value in enumerate(values)}
    return Column(values, np.array([number.get(value, -1) for value in by_node], dtype=np.int32))
