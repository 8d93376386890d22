"""NodeAffinity: filters by nodeSelector and required node affinity, scores by preferred terms."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.selectors import NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.model import selectors
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin, StaticScore

NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
ADDED_AFFINITY = "node(s) didn't match scheduler-enforced node affinity"


class NodeAffinity(StaticPlugin):
    """Node labels and fields that a pod or its profile (addedAffinity) requires or prefers."""

    name = "NodeAffinity"
    weight = 2

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter for the profile's required node affinity, and one for nodeSelector and node affinity of *shape*."""
        added = shape.profile.added_affinity
        required = added.required_during_scheduling_ignored_during_execution if added else None
        filters: Filters = [] if required is None else [(ADDED_AFFINITY, selectors.node_mask(required, self.nodes))]
        selected = selected_nodes(shape, self.nodes)
        return filters if selected is None else [*filters, (NODE_AFFINITY, selected)]

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the sum of the weights of matching preferred terms."""
        own = shape.affinity.node_affinity if shape.affinity else None
        both = (shape.profile.added_affinity, own)
        terms = [term for side in both if side for term in side.preferred_during_scheduling_ignored_during_execution or ()]
        return StaticScore(selectors.preferred_scores(terms, self.nodes), self.weight) if terms else None


def selected_nodes(shape: PodShape, nodes: NodeTable) -> Bools | None:
    """Return the nodes that nodeSelector and required node affinity allow, shape (nodes,); None if *shape* has neither."""
    mask: Bools | None = None
    if shape.node_selector:
        mask = selectors.simple_mask(shape.node_selector, nodes)
    required = required_affinity(shape)
    if required is None:
        return mask
    found = selectors.node_mask(required, nodes)
    return found if mask is None else mask & found


def required_affinity(shape: PodShape) -> NodeSelector | None:
    """Return the required node affinity of *shape*."""
    affinity = shape.affinity.node_affinity if shape.affinity else None
    return affinity.required_during_scheduling_ignored_during_execution if affinity else None


def unmet_requirements(shape: PodShape, nodes: NodeTable) -> tuple[Requirement, ...]:
    """Return what no node meets, so that none matches *shape*: labels of nodeSelector, and if each term has one, the first of each term."""
    required = required_affinity(shape)
    pairs = NodeSelectorTerm(tuple(Requirement(key, "In", (value,)) for key, value in shape.node_selector))
    by_term = [next(_unmet(term, nodes), None) for term in (required and required.node_selector_terms) or ()]
    of_terms = [each for each in by_term if each is not None]
    return (*dict.fromkeys((*_unmet(pairs, nodes), *(of_terms if len(of_terms) == len(by_term) else ()))),)


def _unmet(term: NodeSelectorTerm, nodes: NodeTable) -> Iterator[Requirement]:
    """Yield the requirements of *term* that no node meets."""
    for label in term.match_expressions or ():
        if not selectors.node_mask(NodeSelector((NodeSelectorTerm((label,)),)), nodes).any():
            yield label
    for field in term.match_fields or ():
        if not selectors.node_mask(NodeSelector((NodeSelectorTerm(None, (field,)),)), nodes).any():
            yield field


def own_node(shape: PodShape, nodes: NodeTable) -> int:
    """Return the index of the node that the fields of all required terms name, as in a pod of a DaemonSet; -1 if there is none."""
    required = required_affinity(shape)
    terms = (required and required.node_selector_terms) or ()
    names = {field.values for term in terms for field in term.match_fields or () if field.operator == "In"}
    if not all(term.match_fields for term in terms) or len(names) != 1 or len(values := names.pop() or ()) != 1:
        return -1
    return nodes.index.get(values[0], -1)
