"""The node table of a snapshot, built in one way from nodes that files, events or hypothetical changes gave."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping

import numpy as np

from kubeapi.base_structs import Record
from kubeapi.resource_names import BUILT_IN
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.loading.read_nodes import NodeRead, images_among
from scheduler_core.model.attach_limits import AttachLimits, driver_of
from scheduler_core.model.nodes import CPU, CPU_AND_MEMORY_ROWS, MEMORY, OTHERS, PODS, UNLIMITED, Bools, Ints, NodeTable, ScoredRows
from scheduler_core.plugins import registry


class TableInputs(Record, frozen=True):
    """Input of a node table.

    Attributes:
        nodes: the nodes, in any order.
        rows: resources that pods request, and CSI drivers whose volumes count against a limit.
        attach: CSI drivers and attached volumes of the nodes; None if their limits are not known.
        images: names of images that pods have.
        device_resources: extended resources that devices provide on nodes without them.
        scored: resources that scores count, besides cpu and memory.
        behavior: kube-scheduler that places pods on the nodes.
        most: of the requested resources that no node has at most so many get their own rows, the first by name; None: all.

    """

    nodes: Mapping[str, NodeRead]
    rows: Collection[str]
    attach: AttachLimits | None
    images: Collection[str] = ()
    device_resources: Container[str] = frozenset()
    scored: Collection[str] = frozenset()
    most: int | None = None
    behavior: SchedulerBehavior = KUBERNETES_1_37


def build_node_table(inputs: TableInputs) -> NodeTable:
    """Return the table, without rows for devices and volumes that are claimed."""
    nodes = {name: inputs.nodes[name] for name in sorted(inputs.nodes)}
    attach, requested = AttachLimits() if inputs.attach is None else inputs.attach, set(inputs.rows)
    volumes = {name for name in requested if driver_of(name)}
    provided = {name for each in nodes.values() for name in each.allocatable}.difference(BUILT_IN) | volumes
    names = (*BUILT_IN, *sorted(provided.union(_rows_of_missing(requested.difference(provided, BUILT_IN), inputs.most))))
    row = {name: index for index, name in enumerate(names)}
    allocatable = _allocatable(nodes, row, volumes, attach)
    return NodeTable(
        tuple(nodes),
        [each.labels for each in nodes.values()],
        [each.taints for each in nodes.values()],
        [each.unschedulable for each in nodes.values()],
        names,
        allocatable,
        attach,
        kept={value.name: [each.kept[place] for each in nodes.values()] for place, value in enumerate(registry.declared().of_nodes)},
        images=[images_among(each.images, inputs.images) for each in nodes.values()] if inputs.images else None,
        backed=_backed(names, allocatable, inputs.device_resources),
        scored=scored_rows(row, inputs.scored),
        behavior=inputs.behavior,
    )


def _allocatable(nodes: Mapping[str, NodeRead], row: Mapping[str, int], volumes: Container[str], attach: AttachLimits) -> Ints:
    allocatable: Ints = np.zeros((len(row), len(nodes)), dtype=np.int64)
    for column, each in enumerate(nodes.values()):
        for name, amount in each.allocatable.items():
            allocatable[row[name], column] = amount
    for column, node in enumerate(nodes if attach else ()):
        for name, amount in attach.amounts(node):
            if name in volumes:
                allocatable[row[name], column] = amount
    return allocatable


def _backed(names: Iterable[str], allocatable: Ints, device_resources: Container[str]) -> dict[str, Bools]:
    """Let devices provide those resources that have a row, on each node without any."""
    backed: dict[str, Bools] = {}
    for row, name in enumerate(names):
        if row > PODS and name in device_resources:
            backed[name] = allocatable[row] == 0
            allocatable[row][backed[name]] = UNLIMITED
    return backed


def scored_rows(row: Mapping[str, int], names: Collection[str]) -> ScoredRows:
    """Return the rows that scores count; resources that no node has do not matter."""
    more = sorted(name for name in {*names}.difference(("cpu", "memory", "pods")) if name in row)
    if not more:
        return CPU_AND_MEMORY_ROWS
    rows = [CPU, MEMORY, *(row[name] for name in more)]
    return ScoredRows(np.array(rows, dtype=np.int64), {name: at for at, name in enumerate(("cpu", "memory", *more))})


def _rows_of_missing(requested: set[str], most: int | None) -> Iterable[str]:
    """Return the resources in *requested*, which no node has, that get a row."""
    own = requested - {OTHERS}
    if most is None or (len(own) <= most and OTHERS not in requested):
        return own
    return (*sorted(own)[:most], OTHERS)
