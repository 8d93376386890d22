"""Wording of a verdict: the beginning of a reason, with the clauses that have room in one line."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.causes.cause import Cause
from scheduler_core.causes.node_states import UntoleratedTaint
from scheduler_core.wording.decision_words import sentences
from scheduler_core.wording.domain_words import taints_clause
from scheduler_core.wording.sentences import Clause

_LONG = 240
"""Characters of the clauses to which further ones are added."""


def verdict_line(causes: Sequence[Cause]) -> str:
    """Return the first sentence of *causes*, with its main clauses; empty without causes."""
    first = next(iter(sentences(causes)), None)
    if first is None:
        return ""
    return f"{first.lead}: {_main_clauses(_taints_together(first.clauses))}" if first.clauses else first.lead.rstrip(".")


def _main_clauses(clauses: Sequence[Clause]) -> str:
    """Return the clause that decides, because the pods would fit without its cause, and others that have room in the line.

    Of others, those about the largest parts of the nodes are kept, until they can be all nodes.
    """
    deciding = [each for each in clauses if each.is_condition]
    main: list[Clause] = []
    length, part = sum(len(each.text) for each in deciding), 0.0
    for each in sorted((each for each in clauses if not each.is_condition), key=lambda each: each.part, reverse=True):
        needed = not (main or deciding)
        if needed or ((each.part == 1 or part < 1) and length + len(each.text) <= _LONG):
            main.append(each)
            length, part = length + len(each.text), part + each.part
    return "; ".join(each.text for each in (*main, *deciding))


def _taints_together(clauses: Sequence[Clause]) -> list[Clause]:
    """Return *clauses*, with one in place of those about taints that the pods do not tolerate."""
    taints = [each.cause for each in clauses if isinstance(each.cause, UntoleratedTaint)]
    if len(taints) < 2:
        return [*clauses]
    first = next(number for number, each in enumerate(clauses) if isinstance(each.cause, UntoleratedTaint))
    others = [each for each in clauses if not isinstance(each.cause, UntoleratedTaint)]
    return [*others[:first], taints_clause(taints), *others[first:]]
