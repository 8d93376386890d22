"""Remedies for the decisions of a simulation."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Sequence

from kubeapi.gathered import Given
from scheduler_core.causes.changes import SearchedRoots
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.options import COMPLETE, REMEDIES_BY_DEFAULT
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status

_HOPELESS = frozenset({Status.SUCCESS, Status.INVALID})


def with_remedies(
    decisions: Sequence[Decision],
    objects: Iterable[Given],
    snapshot: ClusterSnapshot,
    options: CycleOptions,
    most: int | None,
    only: Container[Name] | None = None,
    fixed: Container[Name] = (),
) -> tuple[Decision, ...]:
    """Return *decisions* with remedies for the first *most* roots that are not placed in the end (None: the default number).

    With *only*, other roots get no remedies.  *fixed* are groups whose minimum no field sets.
    """
    places = _failed(decisions, only)[: remedy_limit(options, most)]
    if not places:
        return tuple(decisions)
    # Imported late: not needed if everything is placed.
    from scheduler_core.whatif.edits.raw_objects import Book
    from scheduler_core.whatif.remedies.remedies import advise

    book, found = Book(objects), list(decisions)
    for place in places:
        each = decisions[place]
        first = next(number for number, other in enumerate(decisions) if other.root == each.root)
        advice = advise(book, snapshot, each, options, before=decisions[:first], fixed=fixed)
        found[place] = dataclasses.replace(each, remedies=advice.remedies, conflict=advice.conflict, remedies_note=advice.limit)
    return tuple(found)


def without_search(
    decisions: Sequence[Decision], options: CycleOptions, most: int | None, only: Container[Name] | None = None
) -> SearchedRoots | None:
    """Return the number of roots with remedies if others have none because of the limit *most*; None if it is no limit, or 0.

    Arguments as for ``with_remedies``.
    """
    number, failed = remedy_limit(options, most), len(_failed(decisions, only))
    if not number or failed <= number:
        return None
    return SearchedRoots(number, failed)


def remedy_limit(options: CycleOptions, most: int | None) -> int:
    """Return the number of roots for which remedies are searched: *most*, or the default of the strategy if that is None."""
    return most if most is not None else REMEDIES_BY_DEFAULT if options.strategy == COMPLETE else 0


def _failed(decisions: Sequence[Decision], only: Container[Name] | None) -> list[int]:
    """Return the places of the last decisions on roots that a change may help."""
    last = {decision.root: place for place, decision in enumerate(decisions)}
    wanted = (place for root, place in last.items() if only is None or root in only)
    return [place for place in sorted(wanted) if decisions[place].status not in _HOPELESS and not _is_binding(decisions[place])]


def _is_binding(decision: Decision) -> bool:
    """Return whether the pods of *decision* have nodes, and wait only until a driver has bound their devices."""
    return decision.status is Status.WAIT and bool(decision.nominations)
