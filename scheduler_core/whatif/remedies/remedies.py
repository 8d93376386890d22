"""Remedies for a root that is not placed: changes that were tried and work.

A remedy is reported only if a whole cycle on the changed cluster places the root.  The order is by class, then single changes before
combinations of two, then by extent and values; ``edits`` has the classes.  Minimums are lowered as little, and nodes added as
few, as works, on the assumption that smaller demands never harm.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Container, Iterable, Sequence

import numpy as np

from kubeapi.base_structs import Record, replaced
from kubeapi.gathered import Given
from scheduler_core.causes.changes import SearchLimit, UncordonedNodes
from scheduler_core.causes.constraints import Constraint
from scheduler_core.causes.pre_enqueue import GroupBeingDeleted
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision, Remedy
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edits import Both, Edit, Lowered, disruption
from scheduler_core.whatif.edits.raw_objects import Book, after, merged
from scheduler_core.whatif.remedies import candidates, conflict
from scheduler_core.whatif.remedies.capacity_remedies import CapacityRemedies
from scheduler_core.whatif.remedies.conflict import Conflict
from scheduler_core.whatif.remedies.deletions import Deletions, leaving_pods
from scheduler_core.whatif.remedies.lower_demands import keep_alike, keep_lowered
from scheduler_core.whatif.remedies.provide_devices import ProvidingDevices
from scheduler_core.whatif.remedies.provide_storage import ProvidingStorage
from scheduler_core.whatif.remedies.uncordon import keep_uncordoned
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.present_capacity import PresentCapacity
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial, TrialsSpentError

MOST = 8
"""Maximum number of remedies for a root."""
_AREAS = 2
_AREAS_MOVED = 4
"""Maximum number of domains of a level in which running pods are moved, until that works in ``_AREAS``."""
_ENOUGH = 3
"""With this many remedies, undecided changes are not searched further."""


class Advice(Record, frozen=True):
    """Remedies, the limit of the search for them if it was not complete, and conflicting constraints as in ``Decision``."""

    remedies: tuple[Remedy, ...]
    limit: SearchLimit | None = None
    conflict: tuple[Constraint, ...] = ()


def advise(
    objects: Iterable[Given] | Book,
    snapshot: ClusterSnapshot,
    decision: Decision,
    options: CycleOptions,
    *,
    tries: int = 0,
    before: Sequence[Decision] | None = None,
    fixed: Container[Name] = (),
) -> Advice:
    """Return remedies for the root of *decision*, and its conflicting constraints.

    Args:
        objects: the raw objects that *snapshot* was loaded from.
        snapshot: the cluster.
        decision: on a root that is not placed; for placed roots, and those of groups that can never get their members, the result is empty.
        options: those of the cycle.
        tries: maximum number of trial decisions; 0 for a limit by the size of the cluster.
        before: the decisions of the same cycle on earlier roots; None if unknown.
        fixed: groups whose minimum no field sets.

    """
    snapshot = apply_feature_gates(snapshot, options.gates, options.ignored)
    never = any(isinstance(cause, GroupBeingDeleted) and cause.missing for cause in decision.causes)
    subject = None if never or decision.status is Status.SUCCESS else Subject.from_snapshot(snapshot, decision.root)
    if subject is None:
        return Advice(())
    subject = subject.with_fixed(fixed)
    book = objects if isinstance(objects, Book) else Book(objects)
    if leaving := leaving_pods(snapshot, subject.own):
        deletions = Deletions(book, snapshot, decision, dataclasses.replace(options, progress=None), leaving)
        if (remedy := deletions.remedy) is not None:
            return Advice((remedy,))
        if deletions.decision is not None:
            later = advise(deletions.book, deletions.snapshot, deletions.decision, options, tries=tries, fixed=fixed)
            return replaced(later, remedies=tuple(map(deletions.of_present, later.remedies)))
    trial = Trial(snapshot, options, subject, book, tries=tries, before=before)
    conflicting = conflict.find_conflict(trial, subject, decision.causes) if decision.status in conflict.PROVABLE else Conflict()
    trial.refill()
    capacity = PresentCapacity(trial.cluster.base, subject, book)
    verified_remedies, limit = _Search(Finding(trial, subject, why=conflicting), capacity, evicts=not decision.victims).run()
    return Advice(verified_remedies, limit, conflicting.minimal)


class _Search:
    def __init__(self, finding: Finding, capacity: PresentCapacity, *, evicts: bool) -> None:
        self._finding = finding
        self._subject = finding.subject
        self._evicts = evicts
        self._capacity = capacity
        self._making = CapacityRemedies(finding, capacity)
        self._providing = ProvidingStorage(finding, capacity)
        self._devices = ProvidingDevices(finding, capacity)
        self._relaxed = candidates.relaxations(capacity.snapshot, finding.subject)

    def run(self) -> tuple[tuple[Remedy, ...], SearchLimit | None]:
        limit = None
        try:
            self._all()
            if self._finding.trial.undecided and len(self._finding.verified_edits()) < _ENOUGH:
                # Try undecided changes again with more search steps.
                self._finding.trial.deepen()
                self._all()
        except TrialsSpentError:
            limit = SearchLimit.TRIES
        reasons = self._finding.reasons
        verified_edits = self._finding.verified_edits()[:MOST]
        result = tuple(
            Remedy(edit.change, steps, because=reasons.get(edit.change), weight=disruption(edit)) for edit, steps in verified_edits
        )
        return result, limit or (SearchLimit.STEPS if self._finding.trial.undecided else None)

    def _all(self) -> None:
        self._single()
        if not self._finding.verified and self._finding.why.constraints:
            # First only changes that resolve the conflict are tried; if none works, all are.
            self._finding.why = Conflict()
            self._single()
        self._paired()

    def _single(self) -> None:
        if short := candidates.quorum(self._subject):
            self._finding.keep_if_verified(short)
        for edit in self._relaxed:
            self._finding.keep_if_verified(edit)
        for ladder in candidates.widenings(self._capacity.snapshot, self._subject):
            next((edit for edit in ladder if self._finding.keep_if_verified(edit)), None)
        for group in self._subject.unlike:
            keep_lowered(self._finding, group)
        areas = self._capacity.areas(_AREAS)
        for group in self._subject.unlike:
            keep_alike(self._finding, group, areas[0].slots)
        self._uncordon()
        moved = (self._making.keep_moved(area) for area in self._capacity.areas(_AREAS_MOVED))
        next(itertools.islice(filter(None, moved), _AREAS - 1, None), None)
        for area in areas if self._evicts else ():
            self._making.keep_evicted(area)
        self._providing.keep(_AREAS)
        self._devices.keep(_AREAS)
        self._making.keep_more(areas, _AREAS)

    def _uncordon(self, first: Edit | None = None) -> None:
        if self._capacity.snapshot.nodes.unschedulable.any() and (capacity := self._capacity_after(first)) is not None:
            keep_uncordoned(self._finding, capacity, _AREAS, first)

    def _uncordon_tainted(self) -> None:
        """Try to uncordon nodes after their taints are tolerated, if uncordoned nodes are not enough."""
        if any(isinstance(edit.change, UncordonedNodes) for edit, _ in self._finding.verified.values()):
            return
        cordoned = np.flatnonzero(self._capacity.snapshot.nodes.unschedulable).tolist()
        for tolerating in candidates.joint_tolerations(self._capacity.snapshot, self._subject, cordoned):
            self._uncordon(tolerating)

    def _capacity_after(self, first: Edit | None) -> PresentCapacity | None:
        """Return the capacity after *first*; None if it cannot be made."""
        if first is None:
            return self._capacity
        book = self._capacity.book
        changed = after(book.cluster(self._capacity.snapshot), merged(first.steps(book))).snapshot()
        subject = Subject.from_snapshot(changed, self._subject.root)
        return None if subject is None else PresentCapacity(changed, subject, book)

    def _paired(self) -> None:
        """Try two changes together: a relaxation that allows a smaller change, and any pair if no single change works."""
        alone = bool(self._finding.verified)
        before = {edit.group: edit.minimum for edit, _ in self._finding.verified.values() if isinstance(edit, Lowered)}
        for edit in self._relaxed:
            if any(edit is known for known, _ in self._finding.verified.values()):
                continue
            for group in self._subject.unlike:
                if not alone or before.get(group.name, group.minimum) < group.minimum - 1:
                    keep_lowered(self._finding, group, edit, above=before.get(group.name, 0))
        self._uncordon_tainted()
        if not self._finding.verified:
            self._any_two()

    def _any_two(self) -> None:
        """Try two changes together if no single one works: a widening or relaxation with another one, or with more nodes or lower
        minimums.
        """
        wide: list[Edit] = [ladder[-1] for ladder in candidates.widenings(self._capacity.snapshot, self._subject)][::-1]
        short = candidates.quorum(self._subject)
        snapshot = self._capacity.snapshot
        joint = [
            edit for edit in candidates.joint_tolerations(snapshot, self._subject, range(len(snapshot.nodes))) if isinstance(edit, Both)
        ]
        for tolerating in joint:
            self._finding.keep_if_verified(tolerating)
        for first in (*([short] if short else ()), *wide, *self._relaxed, *joint):
            for edit in (*self._relaxed, *wide):
                if edit is not first:
                    self._finding.keep_if_verified(Both(first, edit))
            self._uncordon(first)
            for area in self._capacity.areas(1):
                self._making.keep_nodes(area, first)
            for group in self._subject.unlike:
                keep_lowered(self._finding, group, first)
            if self._finding.verified:
                return
