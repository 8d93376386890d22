"""Nodes, unique by name, and the node table of a snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Mapping

import numpy as np

from kubeapi.nodes import ContainerImage, Node, Taint
from scheduler_core.loading import object_errors, pod_requests
from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import GatheredObjects, Objects, Unusable
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model.attach_limits import AttachLimits, driver_of
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.nodes import OTHERS, Image, NodeTable
from scheduler_core.model.problem import Problem, ProblemKind
from scheduler_core.model.resource_names import BUILT_IN


@dataclasses.dataclass(frozen=True, slots=True)
class NodeRead:
    """A node and its allocatable by resource: CPU in millicores, all else in units."""

    node: Node
    allocatable: Mapping[str, int]


def read_nodes(objects: Objects, problems: list[Problem]) -> dict[str, NodeRead]:
    """Return the usable nodes, sorted by name."""
    nodes = one_each(objects, read_node, problems).good
    return {name: nodes["", name] for _, name in sorted(nodes)}


def node_table(
    nodes: Mapping[str, NodeRead],
    requested: Iterable[str],
    problems: list[Problem],
    attach: AttachLimits | None = None,
    *,
    most: int | None = None,
) -> NodeTable:
    """Return the table of *nodes*, which are sorted by name; *requested* are the resources and volumes that pods request.

    At most *most* of the requested resources that no node has get their own rows, the first by name; None: all.
    """
    attach, requested = AttachLimits() if attach is None else attach, set(requested)
    volumes = {name for name in requested if driver_of(name)}
    allocated_resources = {name for each in nodes.values() for name in each.allocatable}.difference(BUILT_IN) | volumes
    names = (
        *BUILT_IN,
        *sorted(allocated_resources.union(_rows_of_missing(requested.difference(allocated_resources, BUILT_IN), most))),
    )
    allocatable = np.zeros((len(names), len(nodes)), dtype=np.int64)
    row = {name: index for index, name in enumerate(names)}
    for column, each in enumerate(nodes.values()):
        for name, amount in each.allocatable.items():
            allocatable[row[name], column] = amount
    for column, node in enumerate(nodes if volumes else ()):
        for name, amount in attach.amounts(node):
            if name in volumes:
                allocatable[row[name], column] = amount
    return NodeTable(
        tuple(nodes),
        [each.node.metadata.labels or {} for each in nodes.values()],
        [_taints(name, each.node, problems) for name, each in nodes.items()],
        [each.node.spec.unschedulable for each in nodes.values()],
        names,
        allocatable,
        [frozenset(each.node.status.declared_features or ()) for each in nodes.values()],
        attach,
    )


def images_among(listed: Iterable[ContainerImage] | None, names: Container[str]) -> tuple[Image, ...]:
    """Return the images of a node whose name is in *names*."""
    return tuple((name, image.size_bytes) for image in listed or () for name in image.names or () if name in names)


def _rows_of_missing(requested: set[str], most: int | None) -> Iterable[str]:
    """Return the resources in *requested*, which no node has, that get a row."""
    own = requested - {OTHERS}
    if most is None or (len(own) <= most and OTHERS not in requested):
        return own
    return (*sorted(own)[:most], OTHERS)


def read_node(gathered: GatheredObjects) -> tuple[Name, NodeRead]:
    """Return the name of a node, and the node.

    Raises:
        Unusable: the node cannot be used.

    """
    node = typed(gathered, Node)
    name = name_in(gathered.kind, node.metadata)
    # The API server sets allocatable to capacity by default.
    written, path = node.status.allocatable, "status.allocatable"
    if written is None:
        written, path = node.status.capacity, "status.capacity"
    if written is None:
        raise Unusable("status.allocatable is missing")
    try:
        return name, NodeRead(node, pod_requests.amounts(written, path))
    except ValueError as error:
        raise Unusable(str(error)) from None


def _taints(name: str, node: Node, problems: list[Problem]) -> tuple[Taint, ...]:
    taints = node.spec.taints or ()
    # There are thousands of nodes, and few errors.
    problems += [Problem.about(ObjectName("Node", "", name), ProblemKind.INVALID_FIELD, text) for text in object_errors.taints(taints)]
    return tuple(each for each in taints if each.effect in object_errors.EFFECTS)
