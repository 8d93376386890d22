"""Nodes, unique by name, and the node table of a snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Hashable, Iterable, Mapping

from kubeapi import pod_requests
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Objects, Unusable
from kubeapi.nodes import ContainerImage, Node
from kubeapi.problem import Problem
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model.nodes import Image
from scheduler_core.plugins import registry


@dataclasses.dataclass(frozen=True, slots=True)
class NodeRead:
    """A node, its allocatable by resource (CPU in millicores, all else in units), and the values that plugins keep of it, in order."""

    node: Node
    allocatable: Mapping[str, int]
    kept: tuple[Hashable, ...]


def read_nodes(objects: Objects, problems: list[Problem]) -> dict[str, NodeRead]:
    """Return the usable nodes, sorted by name."""
    nodes = one_each(objects, read_node, problems).good
    return {name: nodes["", name] for _, name in sorted(nodes)}


def images_among(listed: Iterable[ContainerImage] | None, names: Container[str]) -> tuple[Image, ...]:
    """Return the images of a node whose name is in *names*."""
    return tuple((name, image.size_bytes) for image in listed or () for name in image.names or () if name in names)


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
        return name, NodeRead(node, pod_requests.amounts(written, path), registry.declared().kept_of_node(node))
    except ValueError as error:
        raise Unusable(str(error)) from None
