"""Label selectors of pods and node selectors of nodes, for one object and for all nodes at once.

Semantics of metav1.LabelSelector and core/v1 NodeSelector (KEP-5732, Candidate Placement Generation, selects nodes by the same
labels).  A selector is first compiled to clauses.  A selector that the API server would reject, such as ``In`` without values,
matches nothing.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kubeapi import content
from kubeapi.affinity import PreferredSchedulingTerm
from kubeapi.base_structs import Record
from kubeapi.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.model.selector_clause import SelectorClause, parse_integer

_SETS = frozenset({"In", "NotIn"})
_PRESENCE = frozenset({"Exists", "DoesNotExist"})
_ORDERS = frozenset({"Gt", "Lt"})
_NAME = "metadata.name"
"""The only node field that matchFields supports."""


Clauses = tuple[SelectorClause, ...]
"""Clauses that must all match; an empty tuple matches everything.  None instead of a tuple matches nothing."""


def compiled(selector: LabelSelector | None, more: Iterable[Requirement] = ()) -> Clauses | None:
    """Return the clauses of *selector* and the expressions *more*; None if it matches nothing: absent or invalid."""
    if selector is None:
        return None
    pairs = sorted((selector.match_labels or {}).items())
    required = [Requirement(key, "In", (value,)) for key, value in pairs]
    return _clauses((*required, *(selector.match_expressions or ()), *more), _SETS | _PRESENCE)


def admits(clauses: Clauses | None, labels: Mapping[str, str]) -> bool:
    """Return whether *labels* match all of *clauses*."""
    if clauses is None:
        return False
    for clause in clauses:  # noqa: SIM110 - a generator takes as long as the rest: thousands of terms meet thousands of pods
        if not clause.admits(labels.get(clause.key)):
            return False
    return True


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether *selector* matches *labels*; an absent selector matches nothing, an empty one everything."""
    return admits(compiled(selector), labels)


def node_mask(selector: NodeSelector, nodes: NodeTable, *, named: bool = True) -> Bools:
    """Return the nodes that match a term of *selector*; shape (nodes,).

    The selector of a volume is compared with labels only: not *named*, all nodes have an empty name.
    """
    mask: Bools = np.zeros(len(nodes), dtype=bool)
    for each in selector.node_selector_terms or ():
        if (term := _term(each)) is None:
            continue
        if named:
            mask |= _term_mask(term, nodes)
        elif not any(equal for _, equal in term.names):
            mask |= clauses_mask(term.labels, nodes)
    return mask


def admits_volume(affinity: NodeSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether a volume with this required node affinity can be used on a node with *labels*; the node's name is not compared."""
    if affinity is None:
        return True
    terms = (_term(each) for each in affinity.node_selector_terms or ())
    return any(term is not None and not any(equal for _, equal in term.names) and admits(term.labels, labels) for term in terms)


def simple_mask(pairs: Iterable[tuple[str, str]], nodes: NodeTable) -> Bools:
    """Return the nodes that have all of these labels, as for a pod's nodeSelector; shape (nodes,)."""
    return clauses_mask([SelectorClause(key, "In", frozenset({value})) for key, value in pairs], nodes)


def preferred_scores(terms: Iterable[PreferredSchedulingTerm], nodes: NodeTable) -> Ints:
    """Return the sum of the weights of matching terms; an empty term adds nothing; shape (nodes,)."""
    scores: Ints = np.zeros(len(nodes), dtype=np.int64)
    for each in terms:
        if (term := _term(each.preference)) is not None:
            scores += each.weight * _term_mask(term, nodes)
    return scores


class _Term(Record, frozen=True):
    labels: Clauses
    names: tuple[tuple[str, bool], ...]
    """Names that the node's name must equal (True) or differ from (False)."""


def _term(term: NodeSelectorTerm) -> _Term | None:
    """Return None if the term matches no node: empty or invalid."""
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    if not expressions and not fields:
        return None
    clauses = _clauses(expressions, _SETS | _PRESENCE | _ORDERS)
    names = []
    for each in fields:
        if each.key != _NAME or each.operator not in _SETS or len(each.values or ()) != 1:
            return None
        names.append(((each.values or ("",))[0], each.operator == "In"))
    return None if clauses is None else _Term(clauses, tuple(names))


def _clauses(requirements: Sequence[Requirement], operators: frozenset[str]) -> Clauses | None:
    clauses = [_clause(each) if each.operator in operators else None for each in requirements]
    valid = tuple(each for each in clauses if each is not None)
    return valid if len(valid) == len(clauses) else None


def _clause(requirement: Requirement) -> SelectorClause | None:
    """Return None if the API server rejects the expression; it requires label values also for bounds, so none is negative."""
    values = requirement.values or ()
    if content.label_key(requirement.key) or any(content.label_value(value) for value in values):
        return None
    if requirement.operator in _SETS:
        return SelectorClause(requirement.key, requirement.operator, frozenset(values)) if values else None
    if requirement.operator in _PRESENCE:
        return None if values else SelectorClause(requirement.key, requirement.operator)
    bound = parse_integer(values[0]) if len(values) == 1 else None
    return None if bound is None else SelectorClause(requirement.key, requirement.operator, bound=bound)


def _term_mask(term: _Term, nodes: NodeTable) -> Bools:
    mask = clauses_mask(term.labels, nodes)
    for name, equal in term.names:
        index = nodes.index.get(name, -1)
        if equal:
            mask &= nodes.everything == index
        elif index >= 0:
            mask[index] = False
    return mask


def clauses_mask(clauses: Iterable[SelectorClause], nodes: NodeTable) -> Bools:
    """Return the nodes that match all *clauses*; each clause is evaluated once for each distinct value of its label."""
    mask: Bools = np.ones(len(nodes), dtype=bool)
    for clause in clauses:
        column = nodes.label_column(clause.key)
        mask &= _admitted(clause, column.values)[column.ids]
    return mask


def _admitted(clause: SelectorClause, values: Sequence[str]) -> Bools:
    """Return which of *values*, which are sorted, match; the result for a missing label is the last entry, so that the id -1 selects it."""
    if clause.operator not in _SETS:
        return np.array([clause.admits(value) for value in (*values, None)], dtype=bool)
    # Of many terms with few values each, only the values are looked up.
    admitted: Bools = np.full(len(values) + 1, clause.operator == "NotIn", dtype=bool)
    for value in clause.values:
        place = bisect.bisect_left(values, value)
        if place < len(values) and values[place] == value:
            admitted[place] = clause.operator == "In"
    return admitted
