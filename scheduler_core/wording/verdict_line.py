"""Wording of a verdict: the first sentence of a reason in one line, with the clauses that decide and those that fit in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from scheduler_core.causes.cause import Cause
from scheduler_core.causes.changes import Change
from scheduler_core.causes.node_states import UntoleratedTaint
from scheduler_core.causes.removed_causes import removes
from scheduler_core.wording.decision_words import sentences
from scheduler_core.wording.domain_words import SEPARATE_TAINTS, rest_clause, taints_clause
from scheduler_core.wording.sentences import Clause, ClauseDomains
from scheduler_core.wording.truncation import cut

_LONG = 240
"""Characters of the clauses to which further ones are added."""
_LONGEST = 600
"""Characters of a line whose clauses cannot be left out."""


def verdict_line(causes: Sequence[Cause], removed: Change | None = None) -> str:
    """Return the first sentence of *causes*, with its main clauses; empty without causes.

    The clause that decides is that of the cause which the change *removed* removes; without one, that about the filter without which
    more pods would fit.
    """
    first = next(iter(sentences(causes)), None)
    if first is None:
        return ""
    clauses = _main_clauses(_taints_together(first.clauses, removed), removed)
    return cut(": ".join(filter(None, (first.lead, clauses))).rstrip("."), _LONGEST)


def _main_clauses(clauses: Sequence[Clause], removed: Change | None) -> str:
    """Return the clauses that decide, and others that fit in; of these, those about the largest parts of the nodes, until all are stated.

    Clauses about domains are in their order, and those left out are counted at the end.
    """
    deciding = [each for each in clauses if any(removes(removed, cause) for cause in each.causes)]
    deciding = deciding[:1] or [each for each in clauses if each.is_condition]
    others = [each for each in clauses if not (each.is_further or each.is_rest) and not any(each is other for other in deciding)]
    main: list[Clause] = []
    length, part = sum(len(each.text) for each in deciding), sum(each.part for each in deciding if not each.is_condition)
    for each in sorted(others, key=lambda each: (each.is_condition, -each.part)):
        first = not (main or deciding)
        if first or ((each.part == 1 or part < 1) and length + len(each.text) <= _LONG):
            main.append(each)
            length, part = length + len(each.text), part + each.part
    if any(each.domains is not None for each in clauses):
        return "; ".join(each.text for each in _by_domain(clauses, [*main, *deciding]))
    kept = [*main, *deciding] if all(each.is_condition for each in deciding) else [*deciding, *main]
    return "; ".join(each.text for each in kept)


def _by_domain(clauses: Sequence[Clause], kept: Sequence[Clause]) -> list[Clause]:
    """Return those of *clauses* that are *kept*, in their order, and one that counts the domains of the others."""
    left_out = [each.domains for each in clauses if each.domains is not None and each not in kept]
    shown = [each for each in clauses if each in kept]
    if not left_out:
        return shown
    # Domains that were not examined can hold any number.
    held = [each.most for each in left_out if each.most is not None]
    most = max(held) if len(held) == len(left_out) else None
    return [*shown, rest_clause(ClauseDomains(sum(each.number for each in left_out), left_out[0].key, most))]


def _taints_together(clauses: Sequence[Clause], removed: Change | None) -> list[Clause]:
    """Return *clauses*, with one in place of those about taints that the pods do not tolerate; that of the change is named first."""
    plain = (() if each.is_condition or each.domains else each.causes for each in clauses)
    about = [bool(causes) and all(isinstance(each, UntoleratedTaint) for each in causes) for causes in plain]
    taints = [cause for each in itertools.compress(clauses, about) for cause in each.causes if isinstance(cause, UntoleratedTaint)]
    if len(taints) < SEPARATE_TAINTS:
        return [*clauses]
    together = taints_clause(sorted(taints, key=lambda cause: not removes(removed, cause)))
    before = about.index(True)
    return [*clauses[:before], together, *(each for each, apart in zip(clauses[before:], about[before:], strict=True) if not apart)]
