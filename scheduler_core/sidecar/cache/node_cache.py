"""Nodes of a live cluster; a node counts as changed only if a field that placement reads has changed."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.loading.gather import GatheredObjects, Unusable
from scheduler_core.loading.read_nodes import NodeRead, node_table, read_node
from scheduler_core.loading.read_objects import attempt
from scheduler_core.model import cluster_objects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.problem import Problem
from validators.model.cluster import Node
from validators.model.meta import ObjectMeta

MAX_UNKNOWN_RESOURCES = 64
"""Maximum number of rows for resources that no node has: each row has one entry per node, and pods can request any name."""
_MAX_TEXTS = 100_000
"""Maximum number of shared label strings."""


class NodeCache:
    """Nodes by name.

    Attributes:
        nodes: usable nodes.
        unusable: the reason for each unusable node.

    """

    def __init__(self) -> None:
        self.nodes: dict[str, NodeRead] = {}
        self.unusable: dict[str, str] = {}
        self._known: dict[str, Node] = {}
        self._texts: dict[str, str] = {}

    def add_or_update(self, raw_object: GatheredObjects) -> tuple[str, bool, bool]:
        """Add or replace a node; return its name, whether a relevant field changed, and whether the set of nodes changed.

        Heartbeats, conditions and images are not relevant.

        Raises:
            Unusable: the node has no readable name.

        """
        (_, name), read = attempt(raw_object, read_node)
        before = self.nodes.get(name)
        if isinstance(read, Unusable):
            self.remove(name)
            self.unusable[name] = str(read)
            return name, before is not None, before is not None
        self.unusable.pop(name, None)
        slim = self._slim(read)
        if before == slim:
            return name, False, False
        self.nodes[name] = slim
        self._known.pop(name, None)
        return name, True, before is None

    def remove(self, name: str) -> bool:
        """Remove a node and return whether it existed."""
        self.unusable.pop(name, None)
        self._known.pop(name, None)
        return self.nodes.pop(name, None) is not None

    def table(self, requested: Iterable[str], problems: list[Problem]) -> NodeTable:
        """Return the node table for placement; *requested* are the resources that pods request."""
        return node_table({name: self.nodes[name] for name in sorted(self.nodes)}, requested, problems, most=MAX_UNKNOWN_RESOURCES)

    def resources(self) -> set[str]:
        """Return the resources that at least one node has."""
        return {name for each in self.nodes.values() for name in each.allocatable}

    def get_node(self, name: str) -> Node | None:
        """Return the node in the form that the validation rules use."""
        if (read := self.nodes.get(name)) is None:
            return None
        if (known := self._known.get(name)) is None:
            known = self._known[name] = Node(read.node.metadata)
        return known

    def list_nodes(self) -> tuple[Node, ...]:
        """Return all nodes in the form that the validation rules use."""
        return tuple(known for name in self.nodes if (known := self.get_node(name)) is not None)

    def _slim(self, read: NodeRead) -> NodeRead:
        """Return a node with the fields that placement reads; label strings are shared."""
        metadata, spec = read.node.metadata, read.node.spec
        if len(self._texts) > _MAX_TEXTS:
            self._texts.clear()
        share = self._texts.setdefault
        labels = {share(key, key): share(value, value) for key, value in (metadata.labels or {}).items()}
        slim = cluster_objects.Node(
            ObjectMeta(name=metadata.name, labels=labels),
            cluster_objects.NodeSpec(spec.taints or None, spec.unschedulable),
            cluster_objects.NodeStatus(declared_features=read.node.status.declared_features or None),
        )
        return NodeRead(slim, dict(read.allocatable))
