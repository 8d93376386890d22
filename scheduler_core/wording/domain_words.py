"""Wording of causes in a domain: ``rack-4 can hold 1 (short of …), or 3 if the taint … were tolerated``."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from kubeapi.base_structs import replaced
from scheduler_core.causes.domains import AttemptFailed, DomainCause, NodeCause, Relaxable
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, UntoleratedTaint
from scheduler_core.wording import phrases
from scheduler_core.wording.node_words import node_words, without_filter
from scheduler_core.wording.nouns import level, listed
from scheduler_core.wording.phrases import NamedNode
from scheduler_core.wording.sentences import Clause, ClauseDomains
from scheduler_core.wording.titles import taint_text

_THE_NODE = "the node"
_Stated = TypeVar("_Stated", bound=NodeCause | AttemptFailed | Relaxable)
_REASONS = 3
"""Maximum number of reasons for a domain, and of taints in one reason."""
SEPARATE_TAINTS = 2
"""Number of taints up to which each is a reason of its own in a message; a line of a verdict, which is short, merges this number too."""


def domains_words(causes: Sequence[DomainCause], key: str) -> list[Clause]:
    """Return a clause for each domain of *key*, empty if there is one only; adjacent equal ones are merged."""
    clauses = []
    each_with_text = ((cause, _clause(cause)) for cause in causes)
    for (pods, text), equal in itertools.groupby(each_with_text, key=lambda each: (each[0].pods, each[1])):
        alike = [cause for cause, _ in equal]
        text = _clause(alike[0], "each node") if len(alike) > 1 else text  # noqa: PLW2901 - the same for several domains
        stated = tuple(stated for cause in alike for stated in (*cause.decisive, *cause.causes))
        whole = f"{phrases.holds_phrase([cause.domain for cause in alike], pods)}{text}"
        domains = ClauseDomains(len(alike), key, pods) if key else None
        clauses.append(Clause(whole, is_condition=any(cause.relaxation is not None for cause in alike), causes=stated, domains=domains))
    return clauses


def rest_clause(domains: ClauseDomains) -> Clause:
    """Return the clause that counts *domains*, which no other clause is about."""
    return Clause(phrases.further(domains.number, domains.key, domains.most), domains=domains, is_rest=True)


def domain_clauses(cause: DomainCause, *, own_node: bool = False) -> list[Clause]:
    """Return the clauses about a domain that the sentence has named already: the reasons, and the filter without which pods would fit.

    *own_node*: the sentence has named the only node of a pod.
    """
    noun = _THE_NODE if own_node else _noun(cause)
    clauses = _reasons(cause, noun)
    if cause.relaxation is not None:
        dropped = cause.relaxation.dropped
        text = f"{_would_fit(cause)} if {without_filter(_named(dropped, noun))}"
        clauses.append(Clause(text, is_condition=True, causes=(dropped,)))
    return clauses or [Clause("no reason is known" if cause.nodes else "there are no nodes")]


def _clause(cause: DomainCause, noun: str = "") -> str:
    """Return the clause after the number of pods that a domain holds; *noun* is that of the only node of several domains that are nodes."""
    noun = _noun(cause) and (noun or _THE_NODE)
    why = _why(cause, noun)
    ordered = " in the order of the queue" if cause.in_order else ""
    alternative = f", or {_instead(cause) or 1} if {without_filter(_named(cause.relaxation.dropped, noun))}" if cause.relaxation else ""
    return f"{ordered}{f' ({why})' if why else ''}{alternative}"


def _instead(cause: DomainCause) -> str:
    """Return the number of pods that the domain would hold without the filter: ``3``, ``all 4``; empty for a single pod."""
    if cause.wanted == 1 or cause.relaxation is None:
        return ""
    return phrases.all_of(cause.wanted) if cause.relaxation.pods == cause.wanted else str(cause.relaxation.pods)


def _would_fit(cause: DomainCause) -> str:
    """Return which pods would fit without the filter: ``all 4 pods would fit``, ``only 2 of 4 pods would fit``, ``it would fit``."""
    if cause.wanted == 1 or cause.relaxation is None:
        return "it would fit"
    pods = cause.relaxation.pods
    return f"{phrases.all_of(pods) if pods == cause.wanted else f'only {pods} of {cause.wanted}'} pods would fit"


def _noun(cause: DomainCause) -> str:
    """Return the noun for the only node of a domain that is a node; empty for other domains."""
    return _THE_NODE if level(cause.domain.key) == "node" else ""


def _named(cause: _Stated, noun: str) -> _Stated:
    """Return *cause* with *noun* for the only node of the domain, if that was named."""
    nodes = getattr(cause, "nodes", None)
    if not noun or not isinstance(nodes, NodeCount) or nodes.total != 1:
        return cause
    named: _Stated = replaced(cast("Any", cause), nodes=NamedNode(nodes.count, nodes.total, noun))
    return named


def _why(cause: DomainCause, noun: str) -> str:
    return "; ".join(each.text for each in _reasons(cause, noun) if not each.is_further)


def _reasons(cause: DomainCause, noun: str) -> list[Clause]:
    """Return the reasons, of which the first are shown, without the filter that the clause about the alternative states."""
    dropped = cause.relaxation.dropped if cause.relaxation else None
    stated = dropped if isinstance(dropped, Cordoned | NodeAffinityMismatch | UntoleratedTaint) else None
    others = [each for each in cause.causes if each != stated]
    together = []
    taints = [each for each in cause.causes if isinstance(each, UntoleratedTaint)]
    if len(taints) > SEPARATE_TAINTS:
        together.append(taints_clause(taints))
        others = [each for each in others if not isinstance(each, UntoleratedTaint)]
    reasons = [*(_reason(each, noun) for each in cause.decisive), *together, *(_reason(each, noun) for each in others)]
    return [*reasons[:_REASONS], *(dataclasses.replace(each, is_further=True) for each in reasons[_REASONS:])]


def taints_clause(taints: Sequence[UntoleratedTaint]) -> Clause:
    """Return one clause about several taints."""
    nodes = NodeCount(sum(each.nodes.count for each in taints), taints[0].nodes.total)
    named = dict.fromkeys((*(each.taint for each in taints), *(further.taint for each in taints for further in each.further_taints)))
    listing = listed([*map(taint_text, named)], _REASONS)
    return Clause(f"{phrases.verb(nodes, 'has', 'have')} untolerated taints: {listing}", nodes, causes=tuple(taints))


def _reason(cause: NodeCause | AttemptFailed, noun: str) -> Clause:
    nodes = getattr(cause, "nodes", None)
    return Clause(node_words(_named(cause, noun)), nodes if isinstance(nodes, NodeCount) else None, causes=(cause,))
