"""What would help a root that is not placed: changes that were tried, and work.

A remedy is told only if the root is placed in a whole cycle on the changed cluster.  The order is: a single change before two
together; then by class (pods tolerate or select less; a group is confined less; a group demands less; running pods move; running
pods leave; nodes are added), then by how far it goes, then by its words.  Minimums are lowered as little as works, and of nodes
as few are added as work, taken that fewer demands never harm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.loading.feature_gates import gated
from scheduler_core.model.decision import Decision, Remedy, Status
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.edits import Both, Edit, Lowered
from scheduler_core.whatif.edits.raw_objects import Book
from scheduler_core.whatif.remedies import candidates, conflict
from scheduler_core.whatif.remedies.conflict import Conflict
from scheduler_core.whatif.remedies.lower_demands import keep_alike, keep_lowered
from scheduler_core.whatif.remedies.make_room import MakingRoom
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.nearly_room import NearlyRoom
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial, TrialsSpentError
from validators.model.decode import Source

MOST = 8
"""Remedies told of one root."""
_AREAS = 2
_ENOUGH = 3
"""With so many found no change is searched further."""


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """What was found, and whether all that was to be tried was."""

    remedies: tuple[Remedy, ...]
    note: str = ""
    conflict: tuple[str, ...] = ()
    """Constraints that cannot hold together, in words; see ``Decision.conflict``."""


def advise(
    objects: Iterable[Source] | Book,
    snapshot: ClusterSnapshot,
    decision: Decision,
    options: CycleOptions,
    *,
    tries: int = 0,
    before: Sequence[Decision] | None = None,
) -> Advice:
    """Remedies for the root of *decision*, and why it cannot be placed.

    Args:
        objects: the raw objects that *snapshot* was loaded from.
        snapshot: the cluster.
        decision: of a root that is not placed; for others there is nothing to find.
        options: those of the cycle.
        tries: how many roots may be decided on for it; 0 for as many as its size allows.
        before: the decisions of the same cycle on the roots before it; None where they are not at hand.

    """
    snapshot = gated(snapshot, options.gates)
    subject = None if decision.status is Status.SUCCESS else Subject.from_snapshot(snapshot, decision.root)
    if subject is None:
        return Advice(())
    book = objects if isinstance(objects, Book) else Book(objects)
    trial = Trial(snapshot, options, subject, tries=tries, before=before)
    why = conflict.find_conflict(trial, subject) if decision.status in conflict.PROVABLE else Conflict()
    trial.refill()
    there = NearlyRoom(trial.ground.base, subject, book)
    found, note = _Search(Finding(book, trial, subject, why=why), there, evicts=not decision.victims).run()
    return Advice(found, note, why.words)


def remedies(
    objects: Iterable[Source] | Book, snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, *, tries: int = 0
) -> tuple[Remedy, ...]:
    """The remedies alone; see ``advise``."""
    return advise(objects, snapshot, decision, options, tries=tries).remedies


_SPENT = "remedies were looked for until the number of tries was used up: there may be more"
_CUT = "not every change could be searched to its end: there may be more"


class _Search:
    def __init__(self, finding: Finding, there: NearlyRoom, *, evicts: bool) -> None:
        self._finding = finding
        self._subject = finding.subject
        self._evicts = evicts
        self._room = there
        self._making = MakingRoom(finding, there)
        self._relaxed = candidates.relaxations(there.snapshot, finding.subject)

    def run(self) -> tuple[tuple[Remedy, ...], str]:
        note = ""
        try:
            self._all()
            if self._finding.trial.undecided and len(self._finding.verified_edits()) < _ENOUGH:
                # What was not searched to its end is so now, further.
                self._finding.trial.deepen()
                self._all()
        except TrialsSpentError:
            note = _SPENT
        told = tuple(Remedy(edit.words, steps) for edit, steps in self._finding.verified_edits()[:MOST])
        return told, note or (_CUT if self._finding.trial.undecided else "")

    def _all(self) -> None:
        self._single()
        if not self._finding.found and self._finding.why.constraints:
            # The search is taken at its word once; where that leads nowhere, all is tried.
            self._finding.why = Conflict()
            self._single()
        self._paired()

    def _single(self) -> None:
        if short := candidates.quorum(self._subject):
            self._finding.keep_if_verified(short)
        for edit in self._relaxed:
            self._finding.keep_if_verified(edit)
        for ladder in candidates.widenings(self._room.snapshot, self._subject):
            next((edit for edit in ladder if self._finding.keep_if_verified(edit)), None)
        for group in self._subject.unlike:
            keep_lowered(self._finding, group)
        areas = self._room.areas(_AREAS)
        for group in self._subject.unlike:
            keep_alike(self._finding, group, areas[0].slots)
        for area in areas:
            self._making.keep_moved(area)
        for area in areas if self._evicts else ():
            self._making.keep_evicted(area)
        self._making.keep_more(areas, _AREAS)

    def _paired(self) -> None:
        """Two changes: where a relaxation makes a smaller change do, and of any kinds where no single one does."""
        alone = bool(self._finding.found)
        before = {edit.group: edit.minimum for edit, _ in self._finding.found.values() if isinstance(edit, Lowered)}
        for edit in self._relaxed:
            if any(edit is found for found, _ in self._finding.found.values()):
                continue
            for group in self._subject.unlike:
                if not alone or before.get(group.name, group.minimum) < group.minimum - 1:
                    keep_lowered(self._finding, group, edit, above=before.get(group.name, 0))
        if not self._finding.found:
            self._any_two()

    def _any_two(self) -> None:
        """No single change works: all that is confined let go together with something else, or relaxed and more nodes."""
        wide: list[Edit] = [ladder[-1] for ladder in candidates.widenings(self._room.snapshot, self._subject)][::-1]
        short = candidates.quorum(self._subject)
        for first in (*([short] if short else ()), *wide, *self._relaxed):
            for edit in (*self._relaxed, *wide):
                if edit is not first:
                    self._finding.keep_if_verified(Both(first, edit))
            for area in self._room.areas(1):
                self._making.keep_nodes(area, first)
            for group in self._subject.unlike:
                keep_lowered(self._finding, group, first)
            if self._finding.found:
                return
