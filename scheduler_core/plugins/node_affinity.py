"""NodeAffinity: filters by nodeSelector and required node affinity, scores by preferred terms."""

from __future__ import annotations

from scheduler_core.model import selectors
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin, StaticScore

NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"


class NodeAffinity(StaticPlugin):
    """Node labels and fields that a pod requires or prefers."""

    name = "NodeAffinity"
    weight = 2

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if *shape* has a nodeSelector or required node affinity."""
        selected = selected_nodes(shape, self.nodes)
        return [] if selected is None else [(NODE_AFFINITY, selected)]

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the sum of the weights of matching preferred terms."""
        affinity = shape.affinity.node_affinity if shape.affinity else None
        terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else None
        return StaticScore(selectors.preferred_scores(terms, self.nodes), self.weight) if terms else None


def selected_nodes(shape: PodShape, nodes: NodeTable) -> Bools | None:
    """Return the nodes that nodeSelector and required node affinity allow, shape (nodes,); None if *shape* has neither."""
    mask: Bools | None = None
    if shape.node_selector:
        mask = selectors.simple_mask(shape.node_selector, nodes)
    affinity = shape.affinity.node_affinity if shape.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None:
        return mask
    found = selectors.node_mask(required, nodes)
    return found if mask is None else mask & found
