"""NodeUnschedulable: a cordoned node accepts only pods that tolerate its taint."""

from __future__ import annotations

from kubeapi.nodes import Taint
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin
from scheduler_core.plugins.taint_toleration import Tolerations

UNSCHEDULABLE = "node(s) were unschedulable"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""Taint that a pod must tolerate to be placed on a cordoned node."""


class NodeUnschedulable(StaticPlugin):
    """``spec.unschedulable`` of a node."""

    name = "NodeUnschedulable"

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._cordoned = bool(nodes.unschedulable.any())

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if any node is cordoned and *shape* does not tolerate it."""
        if not self._cordoned or Tolerations(shape.tolerations).cover(CORDON):
            return []
        return [(UNSCHEDULABLE, ~self.nodes.unschedulable)]
