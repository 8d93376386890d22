"""Index of a page: every root with its result, in the order of the page, and the number of roots with each result."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Sequence

from muster.html.page_data import Case, Listed
from muster.html.sentences import AWAITS, mark
from muster.render.tree_rows import PARTLY
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status


class RootResult(enum.StrEnum):
    """Result of a root: its CSS class, and its name on the page."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    EVICTING = "evicting"
    WAITING = "waiting"
    PARTLY = "partly"
    PLACED = "placed"


LABELS = {
    RootResult.FAILED: "not placed",
    RootResult.UNDECIDED: "undecided",
    RootResult.EVICTING: "after evictions",
    RootResult.WAITING: "waiting",
    RootResult.PARTLY: "placed in part",
    RootResult.PLACED: "placed",
}
_MARKS = {RootResult.UNDECIDED: "?", RootResult.EVICTING: AWAITS, RootResult.PARTLY: PARTLY}


@dataclasses.dataclass(frozen=True, slots=True)
class IndexEntry:
    """A root: number of its anchor, result, sign, and True if it is at PATH."""

    root: Name
    number: int
    result: RootResult
    mark: str
    own: bool

    @property
    def label(self) -> str:
        """Return the result in words."""
        return LABELS[self.result]


@dataclasses.dataclass(frozen=True, slots=True)
class RootIndex:
    """Roots with an anchor on the page, and the number of all roots with each result.

    Attributes:
        entries: in the order of the page; *more* are the roots that the page shows only in sums.
        counts: result, name and number; the worst result first.
        numbers: number of the anchor of each root.

    """

    entries: Listed[IndexEntry]
    counts: tuple[tuple[RootResult, str, int], ...]
    numbers: dict[Name, int]


def result_of(decision: Decision) -> RootResult:
    """Return the result of a root from the last decision on it."""
    if decision.status is Status.SUCCESS:
        return RootResult.PARTLY if decision.pending else RootResult.PLACED
    if decision.victims:
        return RootResult.EVICTING
    if decision.search.outcome == "budget":
        return RootResult.UNDECIDED
    return RootResult.WAITING if decision.status is Status.WAIT else RootResult.FAILED


def index_roots(case: Case, shown: Iterable[Name], own: frozenset[Name]) -> RootIndex:
    """Return the index of the roots *shown*; *own* are those at PATH."""
    decisions: Sequence[Decision] = (*case.unplaced, *case.placed)
    by_root = {each.root: each for each in decisions}
    numbers = {root: number for number, root in enumerate(dict.fromkeys(shown))}
    counts = Counter(map(result_of, decisions))
    entries = tuple(_entry(by_root[root], number, own) for root, number in numbers.items())
    return RootIndex(
        Listed(entries, len(decisions) - len(entries)),
        tuple((result, LABELS[result], counts[result]) for result in RootResult if counts[result]),
        numbers,
    )


def _entry(decision: Decision, number: int, own: frozenset[Name]) -> IndexEntry:
    result = result_of(decision)
    return IndexEntry(decision.root, number, result, _MARKS.get(result, mark(decision.status)), decision.root in own)
