"""Verdict in a few lines, about the objects that a person wrote: what is short and where, and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from expansion.notes import FitsWithPlugin
from expansion.rollouts.play import Outcome
from muster.commands.fit.judged import Judged
from muster.commands.fit.rollout_report import change_words, kept_words, unfinished_words, update_text
from muster.commands.fit.verdict import COLOURS
from muster.render.answer_text import supported_lines, unread_lines
from muster.render.object_results import MARKS, PLACED, Kind, ObjectResult
from muster.render.phrases import WIDTH, first_line, folded
from muster.render.problem_words import grouped, object_words, problem_words
from muster.render.root_text import Paint
from muster.render.verdict_words import NAMED, have_no_node
from scheduler_core.causes.changes import AddedNodes, AddedNodesByDomain, Change, EnabledPlugin, LoweredMinimums, SearchedRoots
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.changes import limit_text
from scheduler_core.wording.nouns import listed
from scheduler_core.wording.titles import short_title
from validators.reports.counts import counted

LINES, OBJECTS = 10, 20
"""Limits of the lines about one object, and of the objects that get a line each."""
_CHANGES = 3
_INDENT = "  "
_PLAIN = Paint(colour=False)


class ShortReport:
    """Report about *judged* in lines of *columns*.  *scales* are lines about how far objects can be scaled."""

    def __init__(self, judged: Judged, paint: Paint = _PLAIN, columns: int = WIDTH, scales: Sequence[str] = ()) -> None:
        self._judged, self._paint, self._columns, self._scales = judged, paint, columns, scales
        self._words = judged.words()
        self._results = judged.results()
        self._stated = {*judged.own.not_read, *judged.own.skipped, *judged.own.refused}
        if judged.change is not None:
            self._stated |= {each for each in judged.own.notes if isinstance(each.fact, SearchedRoots)}
        self._stated |= {each for each in judged.own.notes if isinstance(each.fact, FitsWithPlugin)}

    def text(self) -> str:
        """Return the whole text."""
        verdict, many = self._judged.verdict, len(self._results) > 1
        if verdict.kind is Kind.NOTHING or not self._results:
            supported = supported_lines(self._judged.own.skipped, self._columns, _INDENT)
            return _joined([*self._first(verdict.line), *self._unread(), *supported])
        only = self._results[0]
        head = f"{verdict.head}: {self._of_all() if many else self._summary(only)}{verdict.rest}"
        needed = [*self._first(head), *self._unread()]
        if many:
            needed += [*self._for_all(), *self._objects(), *self._scales]
            return _joined([*needed, *self._within(self._notes(None), LINES)])
        reason = [] if only.kind is Kind.FITS else self._folded(self._reason(only))
        parts = [*self._changes(only), *([each] for each in self._scales), *self._updates(), *self._notes(only.name)]
        first = parts[0] if parts else []
        # Lines about what was not read can take all.
        most = max(1, LINES - 1 - len(needed) - len(first))
        needed += [*(reason if len(reason) <= most else [*reason[: most - 1], f"{reason[most - 1]} …"]), *first]
        return _joined([*needed, *self._within(parts[1:], LINES - len(needed))])

    def shortage(self, owner: Name) -> str:
        """Return what is missing for a further part of *owner*: the nodes that help, or else why an object does not fit."""
        verdict, change = self._judged.verdict, self._judged.change
        if verdict.kind is Kind.AFTER_EVICTION:
            return verdict.head
        if change is not None and isinstance(change.remedy.change, AddedNodes | AddedNodesByDomain):
            return f"needs {self._judged.in_words(change.remedy)}"
        failed = next((each for each in self._results if each.kind not in PLACED), None)
        if failed is None:
            return f"{verdict.head}: {verdict.details}"
        named = "" if failed.name == owner else f"{short_title(failed.name)}: "
        return f"{verdict.head}: {named}{self._brief(failed, whole=False)}"

    def _first(self, text: str) -> list[str]:
        """Return the first lines, in the colour of the verdict."""
        verdict = self._judged.verdict
        return [self._paint.paint_status(verdict.status, each) for each in folded(f"{verdict.sign} {text}", "", columns=self._columns)]

    def _unread(self) -> list[str]:
        """Return lines about what could not be read, or was not judged, and is not in the first line."""
        own = self._judged.own
        unread = [each for each in dict.fromkeys((*own.not_read, *own.skipped)) if each is not self._judged.verdict.stated]
        return unread_lines(unread, self._paint, columns=self._columns)

    def _folded(self, text: str) -> list[str]:
        return folded(text, _INDENT, columns=self._columns)

    def _within(self, parts: Iterable[Sequence[str]], lines: int) -> list[str]:
        """Return as many of *parts* as fit into *lines*, and the option that shows the rest."""
        shown, left = list[str](), 0
        for each in parts:
            if left or len(shown) + len(each) > lines - 1:
                left += 1
            else:
                shown += each
        if not left and self._judged.verdict.kind is Kind.FITS:
            return shown
        more = f", and {counted(left, 'more note')}" if left else ""
        return [*shown, self._paint.dim(f"{_INDENT}-v lists groups, nodes and reasons{more}")]

    # One object.

    def _summary(self, result: ObjectResult) -> str:
        """Return the end of the first line about the only object."""
        name = short_title(result.name)
        match result.kind:
            case Kind.FITS:
                return f"{name}: {self._placed(result)}"
            case Kind.AFTER_EVICTION:
                return self._evicted()
            case Kind.DOES_NOT_FIT if not result.refused and result.is_divided:
                return f"{name}: {have_no_node(result)}"
        return name

    def _placed(self, result: ObjectResult) -> str:
        """Return where the pods of an object are, and what its update needs."""
        rollout = self._judged.update_of(result.name)
        if rollout is not None and rollout.is_finished and result.pending:
            return kept_words(rollout)
        waits = rollout is not None and rollout.played.outcome is Outcome.DURING
        return f"{self._words.places(result.decisions, result.assigned, self._columns)}{'; new pods wait for old ones to end' if waits else ''}"

    def _evicted(self) -> str:
        """Return which pods must leave, and which are awaited before."""
        return self._words.evicted() or f"during the update, {listed(self._judged.evicted_by_updates, NAMED)}"

    def _reason(self, result: ObjectResult) -> str:
        """Return why an object does not fit; of one that fits, where its pods are."""
        if result.kind in PLACED:
            return f"{short_title(result.name)}: {self._placed(result)}"
        if result.kind is Kind.DOES_NOT_FIT and not result.refused and (unplaced := result.unplaced):
            suggested = self._words.suggested(unplaced[0])
            self._stated |= set() if suggested is None else {suggested}
        if text := self._words.reason_of(result, lambda each: f"{self._words.cause(each)}{self._words.suggestion(each)}"):
            return text
        rollout = self._judged.update_of(result.name)
        return result.kind.value if rollout is None else unfinished_words(rollout)

    def _brief(self, result: ObjectResult, *, whole: bool) -> str:
        """Return why one of several objects does not fit, in few words unless *whole*."""
        failed = [each for each in result.failed if each.pending]
        if result.kind is not Kind.DOES_NOT_FIT or result.refused or not failed:
            return self._reason(result)
        reason = self._reason(result) if whole else self._words.brief(failed[0])
        return f"{reason} ({have_no_node(result)})" if result.is_divided else reason

    def _changes(self, result: ObjectResult) -> Iterator[list[str]]:
        """Yield what helps: the change with which everything at PATH fits, then others."""
        if result.kind is not Kind.DOES_NOT_FIT:
            return
        change, rollout = self._judged.change, self._judged.update_of(result.name)
        head = "the smallest change that helps" if change is not None and change.proven else "a change that helps"
        texts = [] if change is None else [self._judged.in_words(change.remedy)]
        remedies = result.failed[0].remedies if len(result.failed) == 1 else ()
        if remedies:
            texts += [self._judged.in_words(each) for each in remedies if self._can_be_made(each.change)]
        elif rollout is not None and not rollout.is_finished:
            texts += [change_words(each) for each in rollout.changes]
        for number, text in enumerate([*dict.fromkeys(texts)][:_CHANGES]):
            yield self._folded(f"{'or' if number else head}: {text}")
        if (plugin := self._words.with_plugin(result.failed)) and not any(isinstance(each.change, EnabledPlugin) for each in remedies):
            yield self._folded(plugin)
        if not texts and (note := next((limit_text(each.remedies_note) for each in result.failed), "")):
            yield self._folded(note)

    def _can_be_made(self, change: Change) -> bool:
        """Return whether a field of a person's object makes *change*: the minimum of a gang that was only requested has none."""
        lowered = change.groups if isinstance(change, LoweredMinimums) else ()
        judged = self._judged
        return not any(judged.is_gang_requested or judged.minimums.get(each.group, "") is None for each in lowered)

    def _updates(self) -> Iterator[list[str]]:
        """Yield a part for each update of a running object; one that hangs is the reason."""
        yield from (self._folded(update_text(each, short_title)) for each in self._judged.rollouts if each.is_finished)

    def _notes(self, only: Name | None) -> Iterator[list[str]]:
        """Yield notes and problems that are not stated yet; those about the object *only* do not name it."""
        own = self._judged.own
        for alike in grouped(each for each in dict.fromkeys((*own.problems, *own.notes)) if each not in self._stated):
            about = "" if only is not None and alike[0].names == (only,) else f"{listed([object_words(each) for each in alike], NAMED)}: "
            yield self._folded(f"note: {about}{problem_words(alike[0])}")

    # Several objects.

    def _of_all(self) -> str:
        """Return the end of the first line about several objects."""
        kind, number = self._judged.verdict.kind, len(self._results)
        if kind is Kind.FITS:
            return f"{counted(number, 'object')}, {counted(sum(each.placed for each in self._results), 'pod')}"
        if kind is Kind.AFTER_EVICTION:
            return self._evicted()
        return f"{sum(each.kind is kind for each in self._results):,} of {counted(number, 'object')}"

    def _for_all(self) -> list[str]:
        """Return what helps all objects."""
        change = self._judged.change
        if change is None:
            return []
        head = "the smallest change with which all fit" if change.proven else "a change with which all fit"
        return self._folded(f"{head}: {self._judged.in_words(change.remedy)}")

    def _objects(self) -> Iterator[str]:
        """Yield one line for each object; the whole reason if only one does not fit."""
        alone = sum(each.kind not in PLACED for each in self._results) == 1
        for each in self._results[:OBJECTS]:
            whole = alone and each.kind not in PLACED
            text = self._placed(each) if each.kind is Kind.FITS else self._brief(each, whole=whole)
            named = "" if each.kind is Kind.AFTER_EVICTION else f"{short_title(each.name)}: "
            line = f"{MARKS[each.kind]} {named}{text}"
            for part in self._folded(line) if whole else [first_line(line, _INDENT, self._columns)]:
                yield self._paint.paint_status(COLOURS.get(each.kind, Status.WAIT), part)
        rest = self._results[OBJECTS:]
        if rest:
            failed = sum(each.kind is not Kind.FITS for each in rest)
            yield f"{_INDENT}… and {counted(len(rest), 'more object')}{f', {failed:,} of which do not fit' if failed else ', which fit'}"


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{each}\n" for each in lines)
