"""Nodes by label, so that selectors of many objects, each for few nodes, are evaluated fast."""

from __future__ import annotations

import numpy as np

from kubeapi.selectors import LabelSelector, NodeSelector, NodeSelectorTerm
from scheduler_core.model import selectors
from scheduler_core.model.delayed_claims import Expressions
from scheduler_core.model.nodes import Bools, Ints, NodeTable


class NodeLabelIndex:
    """Nodes of a table by the values of their labels."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._by_value: dict[str, dict[str, Ints]] = {}

    def matching(self, expressions: Expressions) -> Bools:
        """Return the nodes that match all *expressions*; shape (nodes,)."""
        clauses = selectors.compiled(LabelSelector(match_expressions=expressions))
        mask: Bools = np.zeros(len(self._nodes), dtype=bool)
        if clauses is None:
            return mask
        if (first := next((each for each in clauses if each.operator == "In"), None)) is None:
            return selectors.clauses_mask(clauses, self._nodes)
        for value in first.values:
            for node in self._having(first.key, value).tolist():
                mask[node] = selectors.admits(clauses, self._nodes.labels[node])
        return mask

    def _matching_terms(self, selector: NodeSelector) -> Bools:
        """Return the nodes that match the node affinity of a volume; shape (nodes,)."""
        terms = selector.node_selector_terms or ()
        if any(each.match_fields or not _is_set_based(each) for each in terms):
            return selectors.node_mask(selector, self._nodes, named=False)
        mask: Bools = np.zeros(len(self._nodes), dtype=bool)
        for each in terms:
            if each.match_expressions:
                mask |= self.matching(each.match_expressions)
        return mask

    def places(self, selector: NodeSelector) -> tuple[int, ...]:
        """Return the nodes that match the node affinity of a volume, ascending."""
        terms = selector.node_selector_terms or ()
        if len(terms) == 1 and not terms[0].match_fields and len(terms[0].match_expressions or ()) == 1:
            (only,) = terms[0].match_expressions or ()
            if only.operator == "In" and len(only.values or ()) == 1:
                # Volumes of one node: the usual case.
                return tuple(self._having(only.key, (only.values or ("",))[0]).tolist())
        return tuple(self._matching_terms(selector).nonzero()[0].tolist())

    def _having(self, key: str, value: str) -> Ints:
        if (by_value := self._by_value.get(key)) is None:
            column = self._nodes.label_column(key)
            order = np.argsort(column.ids, kind="stable")
            bounds = np.searchsorted(column.ids[order], np.arange(len(column.values) + 1))
            by_value = self._by_value[key] = {each: order[bounds[number] : bounds[number + 1]] for number, each in enumerate(column.values)}
        return by_value.get(value, _NO_NODES)


_NO_NODES: Ints = np.zeros(0, dtype=np.int64)


def _is_set_based(term: NodeSelectorTerm) -> bool:
    return all(each.operator in ("In", "NotIn", "Exists", "DoesNotExist") for each in term.match_expressions or ())
