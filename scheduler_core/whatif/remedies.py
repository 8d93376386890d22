"""What would help a root that is not placed: changes that were tried, and work.

A remedy is told only if the root is placed in a whole cycle on the changed cluster.  The order is: a single change before two
together; then by class (pods tolerate or select less; a group is confined less; a group demands less; running pods move; running
pods leave; nodes are added), then by how far it goes, then by its words.  Minimums are lowered as little as works, and of nodes
as few are added as work, taken that fewer demands never harm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from scheduler_core.cycle import CycleOptions
from scheduler_core.decision import Decision, Remedy, Status, Step
from scheduler_core.pods import PodRecord
from scheduler_core.snapshot import ClusterSnapshot
from scheduler_core.whatif import candidates, room
from scheduler_core.whatif.book import Book, merged
from scheduler_core.whatif.edits import Both, Edit, Leaving, Lowered, Moved
from scheduler_core.whatif.kinds import Kind, kinds
from scheduler_core.whatif.room import Area, Room
from scheduler_core.whatif.subject import Group, Subject
from scheduler_core.whatif.trial import SpentError, Trial
from validators.model.decode import Source

MOST = 8
"""Remedies told of one root."""
_AREAS = 2
_MOST_NODES = 256
_TAKEN = 2
"""Nodes added beyond what the root needs by itself, at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """What was found, and whether all that was to be tried was."""

    remedies: tuple[Remedy, ...]
    note: str = ""


def advise(
    objects: Iterable[Source] | Book, snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, tries: int = 0
) -> Advice:
    """Remedies for the root of *decision*.

    Args:
        objects: the raw objects that *snapshot* was loaded from.
        snapshot: the cluster.
        decision: of a root that is not placed; for others there is nothing to find.
        options: those of the cycle.
        tries: how many roots may be decided on for it; 0 for as many as its size allows.

    """
    subject = None if decision.status is Status.SUCCESS else Subject.of(snapshot, decision.root)
    if subject is None:
        return Advice(())
    book = objects if isinstance(objects, Book) else Book(objects)
    search = _Search(book, Trial(snapshot, options, subject, tries), subject, evicts=not decision.victims)
    return search.run()


def remedies(
    objects: Iterable[Source] | Book, snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, tries: int = 0
) -> tuple[Remedy, ...]:
    """The remedies alone; see ``advise``."""
    return advise(objects, snapshot, decision, options, tries).remedies


class _Search:
    def __init__(self, book: Book, trial: Trial, subject: Subject, *, evicts: bool) -> None:
        self._book = book
        self._trial = trial
        self._subject = subject
        self._evicts = evicts
        self._room = Room(trial.base, subject)
        self._relaxed = candidates.relaxations(trial.base, subject)
        self._found: list[tuple[Edit, tuple[Step, ...]]] = []

    def run(self) -> Advice:
        note = ""
        try:
            self._single()
            self._paired()
        except SpentError:
            note = "remedies were looked for until the number of tries was used up: there may be more"
        ordered = sorted(self._found, key=lambda each: (isinstance(each[0], Both), each[0].weight, each[0].words))
        return Advice(tuple(Remedy(edit.words, steps) for edit, steps in ordered[:MOST]), note)

    def _single(self) -> None:
        if short := candidates.quorum(self._subject):
            self._keep(short)
        for edit in self._relaxed:
            self._keep(edit)
        for ladder in candidates.widenings(self._trial.base, self._subject):
            next((edit for edit in ladder if self._keep(edit)), None)
        for group in self._subject.unlike:
            self._keep_lowered(group)
        areas = self._room.areas(_AREAS)
        for area in areas:
            self._keep_moved(area)
        for area in areas if self._evicts else ():
            self._keep_evicted(area)
        # A node in the narrowest domain is in the wider one too.
        narrow = [self._keep_nodes(area) for area in areas[:_AREAS]]
        if not any(narrow):
            any(self._keep_nodes(area) for area in areas[_AREAS:])

    def _paired(self) -> None:
        """Two changes: where a relaxation makes a smaller change do, and of any kinds where no single one does."""
        alone = bool(self._found)
        before = {edit.group: edit.minimum for edit, _ in self._found if isinstance(edit, Lowered)}
        for edit in self._relaxed:
            if any(edit is found for found, _ in self._found):
                continue
            for group in self._subject.unlike:
                if not alone or before.get(group.name, group.minimum) < group.minimum - 1:
                    self._keep_lowered(group, edit, above=before.get(group.name, 0))
        if not self._found:
            self._any_two()

    def _any_two(self) -> None:
        """No single change works: all that is confined let go together with something else, or relaxed and more nodes."""
        wide: list[Edit] = [ladder[-1] for ladder in candidates.widenings(self._trial.base, self._subject)][::-1]
        short = candidates.quorum(self._subject)
        for first in (*([short] if short else ()), *wide, *self._relaxed):
            for edit in (*self._relaxed, *wide):
                if edit is not first:
                    self._keep(Both(first, edit))
            for area in self._room.areas(1):
                self._keep_nodes(area, first)
            for group in self._subject.unlike:
                self._keep_lowered(group, first)
            if self._found:
                return

    def _steps(self, edit: Edit) -> tuple[Step, ...] | None:
        steps = edit.steps(self._book)
        return None if not steps else merged(steps)

    def _placed(self, edit: Edit) -> dict[str, str] | None:
        steps = self._steps(edit)
        return None if steps is None else self._trial.placed(steps)

    def _keep(self, edit: Edit) -> bool:
        """Try *edit*, and keep it where it works."""
        return self._placed(edit) is not None and self._confirm(edit)

    def _confirm(self, edit: Edit) -> bool:
        """Keep *edit*, which works where the roots before stand as they are, if it works with them as well."""
        steps = self._steps(edit)
        good = steps is not None and (not self._trial.crowded or self._trial.works(steps))
        if good and steps is not None:
            self._found.append((edit, steps))
        return good

    def _keep_lowered(self, group: Group, first: Edit | None = None, above: int = 0) -> None:
        """The largest minimum below the group's, and over *above*, that works."""
        if not group.gang or group.minimum - 1 <= above:
            return

        def lowered(minimum: int) -> Edit:
            return _after(first, Lowered(group.name, group.minimum, minimum))

        placed = self._placed(lowered(above + 1))
        if placed is None:
            return
        count = sum(pod.key in placed for pod in group.waiting) + group.members - len(group.waiting)
        likely = min(max(above + 1, count if group.name.kind == "PodGroup" else 0), group.minimum - 1)
        best = _largest(above + 1, group.minimum - 1, likely, lambda each: self._placed(lowered(each)) is not None)
        self._confirm(lowered(best))

    def _wanted(self, area: Area) -> int:
        """How many slots *area* lacks for the root, about."""
        groups = self._subject.groups
        need = groups[0].minimum if len(groups) == 1 and groups[0].gang else len(self._subject.waiting)
        return max(1, min(need, len(self._subject.waiting)) - area.slots)

    def _keep_moved(self, area: Area) -> None:
        """Running pods of *area* moved to other nodes, where few of them make the room."""
        pods = self._room.blockers(area, self._wanted(area), self._movable)
        moves = self._room.moves(pods, area) if pods and area.key else None
        if not moves or self._placed(Moved(moves)) is None:
            return
        for pod in sorted(moves) if len(moves) > 1 else ():
            fewer = {key: nodes for key, nodes in moves.items() if key != pod}
            if fewer and self._placed(Moved(fewer)) is not None:
                moves = fewer
        self._confirm(Moved(moves))

    def _movable(self, pod: PodRecord) -> bool:
        shape = pod.shape
        related = shape.affinity is not None or shape.spread or shape.ports
        confined = pod.group and (pod.namespace, pod.group) in self._subject.confined
        return pod.key not in self._subject.own and not pod.terminating and not related and not confined

    def _keep_evicted(self, area: Area) -> None:
        """Running pods of no higher priority leave *area*, whole gangs of them."""
        pods = self._room.blockers(area, self._wanted(area), self._evictable)
        leaving = [*room.units(pods, self._trial.base, self._subject)]
        if not leaving or self._placed(_leaving(leaving)) is None:
            return
        for unit in [*leaving] if len(leaving) > 1 else ():
            fewer = [each for each in leaving if each is not unit]
            if fewer and self._placed(_leaving(fewer)) is not None:
                leaving = fewer
        self._confirm(_leaving(leaving))

    def _evictable(self, pod: PodRecord) -> bool:
        return pod.key not in self._subject.own and pod.priority <= self._subject.priority

    def _keep_nodes(self, area: Area, first: Edit | None = None) -> bool:
        """The fewest nodes of a kind in *area* that work; whether there are."""
        for kind in kinds(self._trial.base, self._subject, self._room, area):

            def works(count: int, kind: Kind = kind) -> bool:
                return self._placed(_after(first, kind.more(count))) is not None

            most = min(_MOST_NODES, -(-len(self._subject.waiting) // kind.slots))
            likely = min(most, -(-self._wanted(area) // kind.slots))
            best = _least(likely, most, works)
            # Roots before this one may take some of them.
            if best and any(self._confirm(_after(first, kind.more(best + taken))) for taken in range(_TAKEN + 1)):
                return True
        return False


def _after(first: Edit | None, edit: Edit) -> Edit:
    return edit if first is None else Both(first, edit)


def _leaving(units: Sequence[tuple[str, tuple[str, ...]]]) -> Leaving:
    return Leaving(tuple(who for who, _ in units), tuple(sorted(pod for _, pods in units for pod in pods)))


def _largest(low: int, high: int, likely: int, good: Callable[[int], bool]) -> int:
    """The largest number from *low*, which is good, to *high* that is good, taken that all below a good one are; *likely* is asked first."""
    if likely > low:
        if not good(likely):
            high = likely - 1
        else:
            low = likely
    step = 1
    while low < high:
        ask = min(low + step, high)
        if good(ask):
            low, step = ask, step * 2
        else:
            high = ask - 1
            step = max(1, (high - low) // 2)
    return low


def _least(likely: int, high: int, good: Callable[[int], bool]) -> int:
    """The least number from 1 to *high* that is good, taken that all above a good one are; *likely* is asked first; 0 if none is."""
    low, ask = 1, likely
    while not good(ask):
        if ask >= high:
            return 0
        low, ask = ask + 1, min(high, ask * 2)
    # Mostly one less is too few already.
    high, ask = ask, ask - 1
    while low < high:
        if good(ask):
            high = ask
        else:
            low = ask + 1
        ask = (low + high) // 2
    return high
