"""Nodes of a live cluster; a node counts as changed only if a field that placement reads has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container

import numpy as np

from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.meta import ObjectMeta
from kubeapi.nodes import ContainerImage, Node, NodeSpec
from kubeapi.problem import Problem
from scheduler_core.cluster.node_table import TableInputs, build_node_table
from scheduler_core.loading.read_nodes import NodeRead, images_among, read_node
from scheduler_core.loading.read_objects import attempt
from scheduler_core.model.attach_limits import AttachLimits
from scheduler_core.model.nodes import NodeTable
from validators.model import views

Images = tuple[ContainerImage, ...]
MAX_UNKNOWN_RESOURCES = 64
"""Maximum number of rows for resources that no node has: each row has one entry per node, and pods can request any name."""
_MAX_TEXTS = 100_000
"""Maximum number of shared label strings."""


class NodeCache:
    """Nodes by name.

    Attributes:
        attach: CSI drivers and attached volumes of the nodes.
        nodes: usable nodes.
        unusable: the reason for each unusable node.
        images: images of each usable node.
        image_counts: number of nodes with each image, by name.
        scored_resources: resources that scores count, besides cpu and memory.
        device_resources: extended resources that devices provide.
        changed_images: names of images whose nodes or sizes changed since the last ``report_images``.

    """

    def __init__(self, attach: AttachLimits) -> None:
        self.attach = attach
        self.nodes: dict[str, NodeRead] = {}
        self.unusable: dict[str, str] = {}
        self.images: dict[str, Images] = {}
        self.image_counts: Counter[str] = Counter()
        self.scored_resources: frozenset[str] = frozenset()
        self.device_resources: Container[str] = frozenset()
        self.changed_images: set[str] = set()
        self._nodes_with_changes: set[str] = set()
        self._shared_images: dict[ContainerImage, ContainerImage] = {}
        self._known: dict[str, Node] = {}
        self._texts: dict[str, str] = {}

    def add_or_update(self, raw_object: GatheredObjects) -> tuple[str, bool, bool]:
        """Add or replace a node; return its name, whether a relevant field changed, and whether the set of nodes changed.

        Heartbeats and conditions are not relevant; images are kept in ``images``, and their changes are not reported here.

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
        self._set_images(name, read.node.status.images or ())
        if before == slim:
            return name, False, False
        self.nodes[name] = slim
        self._known.pop(name, None)
        return name, True, before is None

    def remove(self, name: str) -> bool:
        """Remove a node and return whether it existed."""
        self.unusable.pop(name, None)
        self._known.pop(name, None)
        self._set_images(name, ())
        return self.nodes.pop(name, None) is not None

    def table(self, requested: Collection[str], problems: list[Problem]) -> NodeTable:
        """Return the node table for placement; *requested* are the resources that pods request."""
        nodes = {name: self.nodes[name] for name in sorted(self.nodes)}
        inputs = TableInputs(
            nodes,
            requested,
            self.attach,
            device_resources=self.device_resources,
            scored=self.scored_resources,
            most=MAX_UNKNOWN_RESOURCES,
        )
        return build_node_table(inputs, problems)

    def table_like(self, before: NodeTable) -> NodeTable | None:
        """Return the table of the present nodes with the rows of *before*; None if the names of nodes or resources changed."""
        added = before.volume_rows | before.counted
        resources = tuple(name for row, name in enumerate(before.resources) if row not in added)
        table = self.table(resources, [])
        if table.names != before.names or table.resources != resources:
            return None
        # Rows of devices and volumes follow those of resources; they are filled when these are updated.
        table.add_device_rows([name for row, name in enumerate(before.resources) if row in before.counted])
        table.count_volumes({name: np.zeros(len(table), dtype=np.int64) for name in before.volume_names})
        return table

    def report_images(self, table: NodeTable, names: Container[str], *, changed_nodes: bool = False) -> None:
        """Set the images of *table* whose name is in *names*; only on nodes whose images changed since the last call if *changed_nodes*."""
        images = list(table.images)
        for node in self._nodes_with_changes if changed_nodes else table.names:
            if (index := table.index.get(node)) is not None:
                images[index] = images_among(self.images.get(node), names)
        table.report_images(images)
        self.changed_images.clear()
        self._nodes_with_changes.clear()

    def resources(self) -> set[str]:
        """Return the resources that at least one node has."""
        return {name for each in self.nodes.values() for name in each.allocatable}

    def get_node(self, name: str) -> Node | None:
        """Return the node in the form that the validation rules use."""
        if (read := self.nodes.get(name)) is None:
            return None
        if (known := self._known.get(name)) is None:
            known = self._known[name] = views.Node(metadata=read.node.metadata)
        return known

    def list_nodes(self) -> tuple[Node, ...]:
        """Return all nodes in the form that the validation rules use."""
        return tuple(known for name in self.nodes if (known := self.get_node(name)) is not None)

    def _set_images(self, node: str, images: Images) -> None:
        before = self.images.get(node, ())
        if images == before:
            return
        if len(self._shared_images) > _MAX_TEXTS:
            self._shared_images.clear()
        self.images[node] = tuple(self._shared_images.setdefault(each, each) for each in images)
        if not images:
            del self.images[node]
        self._nodes_with_changes.add(node)
        old, new = set(before), set(images)
        for changed, amount in ((old - new, -1), (new - old, 1)):
            for name in (name for image in changed for name in image.names or ()):
                self.changed_images.add(name)
                self.image_counts[name] += amount
                if not self.image_counts[name]:
                    del self.image_counts[name]

    def _slim(self, read: NodeRead) -> NodeRead:
        """Return a node with the fields that placement reads; label strings are shared."""
        metadata, spec = read.node.metadata, read.node.spec
        if len(self._texts) > _MAX_TEXTS:
            self._texts.clear()
        share = self._texts.setdefault
        labels = {share(key, key): share(value, value) for key, value in (metadata.labels or {}).items()}
        slim = Node(
            ObjectMeta(name=metadata.name, labels=labels),
            NodeSpec(spec.taints or None, spec.unschedulable),
        )
        return NodeRead(slim, dict(read.allocatable), read.kept)
