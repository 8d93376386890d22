"""What would help the roots of a simulation that are not placed, and how that is told in lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from muster.render.phrases import folded
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision, Status
from scheduler_core.model.snapshot import ClusterSnapshot
from validators.model.decode import Source

BY_DEFAULT = 3
"""Roots that remedies are looked for, with the strategy ``complete``; with ``greedy`` none, unless they are asked for."""
_HOPELESS = frozenset({Status.SUCCESS, Status.INVALID})


def with_remedies(
    decisions: Sequence[Decision], objects: Iterable[Source], snapshot: ClusterSnapshot, options: CycleOptions, most: int | None
) -> tuple[Decision, ...]:
    """*decisions* with what would help the first *most* roots that are not placed in the end (None: as many as is the default)."""
    number = most if most is not None else BY_DEFAULT if options.strategy == "complete" else 0
    last = {decision.root: place for place, decision in enumerate(decisions)}
    places = [place for place in sorted(last.values()) if decisions[place].status not in _HOPELESS][:number]
    if not places:
        return tuple(decisions)
    from scheduler_core.whatif.edits.raw_objects import Book
    from scheduler_core.whatif.remedies.remedies import advise

    book, found = Book(objects), list(decisions)
    for place in places:
        each = decisions[place]
        first = next(number for number, other in enumerate(decisions) if other.root == each.root)
        advice = advise(book, snapshot, each, options, before=decisions[:first])
        found[place] = dataclasses.replace(each, remedies=advice.remedies, conflict=advice.conflict, remedies_note=advice.note)
    return tuple(found)


def remedy_lines(decision: Decision, lead: str) -> Iterator[str]:
    """What cannot hold together, and what would help."""
    if decision.conflict:
        yield from folded(f"cannot hold together: {'; '.join(decision.conflict)}", lead)
    if decision.remedies:
        yield f"{lead}what would help:"
    for remedy in decision.remedies:
        yield from folded(f"- {remedy.change}", f"{lead}  ")
    if decision.remedies_note:
        yield from folded(decision.remedies_note, lead)
