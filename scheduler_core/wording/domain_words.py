"""Wording of causes in a domain: ``rack-4 can hold 1 (short of …), or 3 if the taint … were tolerated``."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from scheduler_core.causes.domains import AttemptFailed, DomainCause, NodeCause
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, UntoleratedTaint
from scheduler_core.wording import phrases
from scheduler_core.wording.node_words import node_words, without_filter
from scheduler_core.wording.nouns import listed
from scheduler_core.wording.sentences import Clause, ClauseDomains
from scheduler_core.wording.titles import taint_text

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
        stated = tuple(stated for cause in alike for stated in (*cause.decisive, *cause.causes))
        whole = f"{phrases.holds_phrase([cause.domain for cause in alike], pods)}{text}"
        domains = ClauseDomains(len(alike), key, pods) if key else None
        clauses.append(Clause(whole, is_condition=any(cause.relaxation is not None for cause in alike), causes=stated, domains=domains))
    return clauses


def rest_clause(domains: ClauseDomains) -> Clause:
    """Return the clause that counts *domains*, which no other clause is about."""
    return Clause(phrases.further(domains.number, domains.key, domains.most), domains=domains, is_rest=True)


def domain_clauses(cause: DomainCause) -> list[Clause]:
    """Return the clauses about a domain that the sentence has named already: the reasons, and the filter without which pods would fit."""
    clauses = _reasons(cause)
    if cause.relaxation is not None:
        dropped = cause.relaxation.dropped
        text = f"{_instead(cause) or 'it'} would fit if {without_filter(dropped)}"
        clauses.append(Clause(text, is_condition=True, causes=(dropped,)))
    return clauses or [Clause("no reason is known" if cause.nodes else "there are no nodes")]


def _clause(cause: DomainCause) -> str:
    """Return the clause after the number of pods that a domain holds."""
    why = _why(cause)
    ordered = " in the order of the queue" if cause.in_order else ""
    alternative = f", or {_instead(cause) or 1} if {without_filter(cause.relaxation.dropped)}" if cause.relaxation else ""
    return f"{ordered}{f' ({why})' if why else ''}{alternative}"


def _instead(cause: DomainCause) -> str:
    """Return the number of pods that the domain would hold without the filter: ``3``, ``all 4``; empty for a single pod."""
    if cause.wanted == 1 or cause.relaxation is None:
        return ""
    return phrases.all_of(cause.wanted) if cause.relaxation.pods == cause.wanted else str(cause.relaxation.pods)


def _why(cause: DomainCause) -> str:
    return "; ".join(each.text for each in _reasons(cause) if not each.is_further)


def _reasons(cause: DomainCause) -> list[Clause]:
    """Return the reasons, of which the first are shown, without the filter that the clause about the alternative states."""
    dropped = cause.relaxation.dropped if cause.relaxation else None
    stated = dropped if isinstance(dropped, Cordoned | NodeAffinityMismatch | UntoleratedTaint) else None
    others = [each for each in cause.causes if each != stated]
    together = []
    taints = [each for each in cause.causes if isinstance(each, UntoleratedTaint)]
    if len(taints) > SEPARATE_TAINTS:
        together.append(taints_clause(taints))
        others = [each for each in others if not isinstance(each, UntoleratedTaint)]
    reasons = [*map(_reason, cause.decisive), *together, *map(_reason, others)]
    return [*reasons[:_REASONS], *(dataclasses.replace(each, is_further=True) for each in reasons[_REASONS:])]


def taints_clause(taints: Sequence[UntoleratedTaint]) -> Clause:
    """Return one clause about several taints."""
    nodes = NodeCount(sum(each.nodes.count for each in taints), taints[0].nodes.total)
    listing = listed([taint_text(each.taint) for each in taints], _REASONS)
    return Clause(f"{phrases.verb(nodes, 'has', 'have')} untolerated taints: {listing}", nodes, causes=tuple(taints))


def _reason(cause: NodeCause | AttemptFailed) -> Clause:
    nodes = getattr(cause, "nodes", None)
    return Clause(node_words(cause), nodes if isinstance(nodes, NodeCount) else None, causes=(cause,))
