"""NodeUnschedulable: nodes that are cordoned take no pod that does not tolerate it."""

from __future__ import annotations

from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.wire import Taint
from scheduler_core.plugins.base import Filters, StaticPlugin
from scheduler_core.plugins.taint_toleration import tolerates

UNSCHEDULABLE = "node(s) were unschedulable"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""What a cordoned node amounts to: pods that tolerate this taint pass."""


class NodeUnschedulable(StaticPlugin):
    """``spec.unschedulable`` of a node."""

    name = "NodeUnschedulable"

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._cordoned = bool(nodes.unschedulable.any())

    def filters(self, shape: PodShape) -> Filters:
        """One, where any node is cordoned."""
        if not self._cordoned or tolerates(shape.tolerations, CORDON):
            return []
        return [(UNSCHEDULABLE, ~self.nodes.unschedulable)]
