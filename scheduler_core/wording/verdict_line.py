"""Wording of a verdict: the beginning of a reason, with the clauses that have room in one line."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.causes.groups import GroupCause
from scheduler_core.wording.domain_words import Clause
from scheduler_core.wording.group_words import first_sentence

_LONG = 240
"""Characters of the clauses to which further ones are added."""


def verdict_line(cause: GroupCause) -> str:
    """Return the first sentence of *cause*, with its main clauses."""
    head, clauses = first_sentence(cause)
    return f"{head}: {_main_clauses(clauses)}" if clauses else head


def _main_clauses(clauses: Sequence[Clause]) -> str:
    """Return the clauses that have room in the line, without those about a part of the nodes.

    If all of them are about parts of the nodes, those of the largest parts are kept, until they can be all nodes.
    """
    reasons = [each for each in clauses if not each.is_condition]
    first, *rest = sorted(reasons or clauses, key=lambda each: each.part, reverse=True)
    main, part = first.text, first.part
    for each in (*rest, *(each for each in clauses if reasons and each.is_condition)):
        if (each.part == 1 or part < 1) and len(main) + len(each.text) <= _LONG:
            main, part = f"{main}; {each.text}", part + each.part
    return main
