"""Label selectors of pods and node selectors of nodes: what they match, for one object and for all nodes at once.

They mean what metav1.LabelSelector and core/v1 NodeSelector mean (KEP-5732, Candidate Placement Generation, takes its nodes by
the same labels).  A selector is compiled to clauses first; one that the API server would refuse, such as ``In`` without values,
matches nothing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.model.wire import LabelSelector, NodeSelector, NodeSelectorTerm, PreferredNodes, Requirement
from validators import content

_SETS = frozenset({"In", "NotIn"})
_PRESENCE = frozenset({"Exists", "DoesNotExist"})
_ORDERS = frozenset({"Gt", "Lt"})
_NAME = "metadata.name"
"""The only field of a node that matchFields knows."""
_is_whole = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII).fullmatch
_LIMIT = 2**63


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorClause:
    """One expression about one label, known to be sound.

    Attributes:
        key: the label.
        operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
        values: of In and NotIn, at least one; empty for the others.
        bound: of Gt and Lt.

    """

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    bound: int = 0

    def admits(self, value: str | None) -> bool:
        """Whether a label of *value* (None: no such label) is as the clause wants it."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                number = None if value is None else parse_integer(value)
                return number is not None and (number > self.bound if self.operator == "Gt" else number < self.bound)


Clauses = tuple[SelectorClause, ...]
"""All must hold: none of them is everything.  In its place None is nothing."""


def compiled(selector: LabelSelector | None, more: Iterable[Requirement] = ()) -> Clauses | None:
    """*selector* with the expressions *more* added; None where it matches nothing: absent, or not sound."""
    if selector is None:
        return None
    pairs = sorted((selector.match_labels or {}).items())
    wanted = [Requirement(key, "In", (value,)) for key, value in pairs]
    return _clauses((*wanted, *(selector.match_expressions or ()), *more), _SETS | _PRESENCE)


def admits(clauses: Clauses | None, labels: Mapping[str, str]) -> bool:
    """Whether *labels* are as all of *clauses* want them."""
    return clauses is not None and all(clause.admits(labels.get(clause.key)) for clause in clauses)


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether *selector* matches *labels*: an absent one nothing, an empty one everything."""
    return admits(compiled(selector), labels)


def node_mask(selector: NodeSelector, nodes: NodeTable) -> Bools:
    """Shape (nodes,): which nodes one of the terms of *selector* matches."""
    mask: Bools = np.zeros(len(nodes), dtype=bool)
    for each in selector.node_selector_terms or ():
        if (term := _term(each)) is not None:
            mask |= _term_mask(term, nodes)
    return mask


def simple_mask(pairs: Iterable[tuple[str, str]], nodes: NodeTable) -> Bools:
    """Shape (nodes,): which nodes have all of these labels, as a pod's nodeSelector wants them."""
    return _clauses_mask([SelectorClause(key, "In", frozenset({value})) for key, value in pairs], nodes)


def preferred_scores(terms: Iterable[PreferredNodes], nodes: NodeTable) -> Ints:
    """Shape (nodes,): the sum of the weights of the terms that match; a term that says nothing adds nothing."""
    scores: Ints = np.zeros(len(nodes), dtype=np.int64)
    for each in terms:
        if (term := _term(each.preference)) is not None:
            scores += each.weight * _term_mask(term, nodes)
    return scores


def parse_integer(text: str) -> int | None:
    """A whole number of 64 bits as Go's strconv.ParseInt reads it in base 10; None if it is none."""
    if (found := _is_whole(text)) is None:
        return None
    number = int(found[1] + found[2])
    return number if -_LIMIT <= number < _LIMIT else None


@dataclasses.dataclass(frozen=True, slots=True)
class _Term:
    labels: Clauses
    names: tuple[tuple[str, bool], ...]
    """Names that the node's must equal (True) or differ from."""


def _term(term: NodeSelectorTerm) -> _Term | None:
    """None where the term matches no node: it says nothing, or is not sound."""
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
    found = [_clause(each) if each.operator in operators else None for each in requirements]
    sound = tuple(each for each in found if each is not None)
    return sound if len(sound) == len(found) else None


def _clause(requirement: Requirement) -> SelectorClause | None:
    """None where the API server refuses it; it wants sound values also where they are bounds, so that none is negative."""
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
    mask = _clauses_mask(term.labels, nodes)
    for name, wanted in term.names:
        index = nodes.index.get(name, -1)
        if wanted:
            mask &= nodes.everything == index
        elif index >= 0:
            mask[index] = False
    return mask


def _clauses_mask(clauses: Iterable[SelectorClause], nodes: NodeTable) -> Bools:
    """Each clause is asked once for each distinct value of its label."""
    mask: Bools = np.ones(len(nodes), dtype=bool)
    for clause in clauses:
        column = nodes.column(clause.key)
        # The answer for no label stands last, where the id -1 finds it.
        mask &= np.array([clause.admits(value) for value in (*column.values, None)], dtype=bool)[column.ids]
    return mask
