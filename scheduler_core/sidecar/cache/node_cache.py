"""Nodes of a live cluster; a node counts as changed only if a field that placement reads has changed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Container
from typing import Any

import numpy as np

from kubeapi.gather import Name
from kubeapi.nodes import ContainerImage
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.cluster.node_store import NodeChange, NodeStore
from scheduler_core.cluster.node_table import TableInputs, build_node_table
from scheduler_core.loading.read_nodes import NodeRead, images_among
from scheduler_core.model.attach_limits import AttachLimits
from scheduler_core.model.nodes import NodeTable

Images = tuple[ContainerImage, ...]
MAX_UNKNOWN_RESOURCES = 64
"""Maximum number of rows for resources that no node has: each row has one entry per node, and pods can request any name."""
_MAX_TEXTS = 100_000
"""Maximum number of shared label strings, and of shared images."""


class NodeCache(NodeStore):
    """Nodes by name.

    Attributes:
        behavior: kube-scheduler that is mirrored.
        attach: CSI drivers and attached volumes of the nodes.
        image_counts: number of nodes with each image, by name.
        scored_resources: resources that scores count, besides cpu and memory.
        device_resources: extended resources that devices provide.
        changed_images: names of images whose nodes or sizes changed since the last ``report_images``.

    """

    def __init__(self, attach: AttachLimits, behavior: SchedulerBehavior = KUBERNETES_1_37) -> None:
        super().__init__()
        self.behavior = behavior
        self.attach = attach
        self.image_counts: Counter[str] = Counter()
        self.scored_resources: frozenset[str] = frozenset()
        self.device_resources: Container[str] = frozenset()
        self.changed_images: set[str] = set()
        self._nodes_with_changes: set[str] = set()
        self._shared_images: dict[ContainerImage, ContainerImage] = {}
        self._texts: dict[str, str] = {}

    def table(self, requested: Collection[str], images: Collection[str]) -> NodeTable:
        """Return the node table for placement; *requested* are the resources that pods request, *images* the names of their images."""
        self.changed_images.clear()
        self._nodes_with_changes.clear()
        inputs = TableInputs(
            self.nodes,
            requested,
            self.attach,
            images,
            device_resources=self.device_resources,
            scored=self.scored_resources,
            most=MAX_UNKNOWN_RESOURCES,
            behavior=self.behavior,
        )
        return build_node_table(inputs)

    def table_like(self, before: NodeTable, images: Collection[str]) -> NodeTable | None:
        """Return the table of the present nodes with the rows of *before*; None if the names of nodes or resources changed."""
        added = before.volume_rows | before.counted
        resources = tuple(name for row, name in enumerate(before.resources) if row not in added)
        table = self.table(resources, images)
        if table.names != before.names or table.resources != resources:
            return None
        # Rows of devices and volumes follow those of resources; they are filled when these are updated.
        table.add_device_rows([name for row, name in enumerate(before.resources) if row in before.counted])
        table.count_volumes({name: np.zeros(len(table), dtype=np.int64) for name in before.volume_names})
        return table

    def report_images(self, table: NodeTable, names: Container[str], *, changed_nodes: bool) -> None:
        """Set the images of *table* whose name is in *names*; only on nodes whose images changed since the last call if *changed_nodes*."""
        images = list(table.images)
        for node in self._nodes_with_changes if changed_nodes else table.names:
            if (index := table.index.get(node)) is not None:
                images[index] = images_among(self.nodes[node].images, names)
        table.report_images(images)
        self.changed_images.clear()
        self._nodes_with_changes.clear()

    def _set(self, kind: str, name: Name, value: Any) -> NodeChange:
        before = self.nodes.get(name[1])
        if isinstance(value, NodeRead) and (value != before or value.images != before.images):
            value = self._with_shared_texts(value)
        elif value is not None:
            # Most events change nothing that is read.
            value = before
        if value is not before:
            self._images_changed(name[1], before.images if before is not None else (), value.images if value is not None else ())
        return super()._set(kind, name, value)

    def _images_changed(self, node: str, before: Images, images: Images) -> None:
        if images == before:
            return
        self._nodes_with_changes.add(node)
        old, new = set(before), set(images)
        for changed, amount in ((old - new, -1), (new - old, 1)):
            for name in (name for image in changed for name in image.names or ()):
                self.changed_images.add(name)
                self.image_counts[name] += amount
                if not self.image_counts[name]:
                    del self.image_counts[name]

    def _with_shared_texts(self, read: NodeRead) -> NodeRead:
        """Return *read* with the label strings and images of other nodes."""
        for shared in (self._texts, self._shared_images):
            if len(shared) > _MAX_TEXTS:
                shared.clear()
        share, share_image = self._texts.setdefault, self._shared_images.setdefault
        labels = {share(key, key): share(value, value) for key, value in read.labels.items()}
        return dataclasses.replace(read, labels=labels, images=tuple(share_image(each, each) for each in read.images))
