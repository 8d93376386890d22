"""Verdict about the objects at PATH: the worst result of their roots, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from expansion.notes import SharesAhead, SharesUncounted
from expansion.rollouts.play import Outcome
from kubeapi.base_structs import Record, replaced
from kubeapi.problem import Problem, ProblemKind
from muster.commands.fit.rollout_report import hanging_words
from muster.commands.fit.rollout_trial import JudgedRollout
from muster.commands.simulate.own_objects import Own
from muster.render.answer import Answer
from muster.render.object_results import MARKS, ORDER, PLACED, Kind, kind_of, subject
from muster.render.problem_words import object_words, problem_words, without_nodes_words
from muster.render.tree_rows import Kinship, pod_name
from muster.render.verdict_words import NAMED, VerdictWords
from scheduler_core.causes.changes import Change
from scheduler_core.model.decision import latest
from scheduler_core.model.status import Status
from scheduler_core.wording.nouns import listed
from scheduler_core.wording.titles import titled
from validators.reports.counts import counted
from validators.reports.escape import printable

_PODLESS = frozenset({ProblemKind.CREATES_NO_PODS, ProblemKind.HAS_ENDED})


_NOTHING = "nothing to judge"
COLOURS = {Kind.FITS: Status.SUCCESS, Kind.DOES_NOT_FIT: Status.ERROR}
_CAPACITY = {Kind.FITS: "; the nodes have capacity", Kind.AFTER_EVICTION: "; the nodes have capacity after evictions"}


class Verdict(Record, frozen=True):
    """Verdict; its text without the sign is *head*, a colon, and *details*."""

    kind: Kind
    head: str
    details: str
    incomplete: bool = False
    """A part of PATH was skipped, or a part of the cluster was not read."""
    left_out: tuple[str, ...] = ()
    """What was not judged or not read; *details* end with it."""
    stated: Problem | None = None
    """The problem that *details* are about; None if they are about none."""

    @property
    def rest(self) -> str:
        """Return the clauses about what was not judged or not read."""
        return _clauses(self.left_out)

    @property
    def line(self) -> str:
        """Return the text as one line, without characters that a terminal obeys: it has names and values of PATH."""
        return f"{self.head}: {printable(self.details)}"

    @property
    def sign(self) -> str:
        """Return the sign before the line; a part does not get that of the whole."""
        return MARKS[Kind.NOTHING] if self.incomplete and self.kind is Kind.FITS else MARKS[self.kind]

    @property
    def status(self) -> Status:
        """Return the status that has the same colour."""
        return Status.WAIT if self.incomplete else COLOURS.get(self.kind, Status.WAIT)

    @property
    def exit_status(self) -> int:
        """Return 0 if everything fits, 1 if not, 2 if nothing was judged, or not everything was read."""
        if self.incomplete or self.kind is Kind.NOTHING:
            return 2
        return 0 if self.kind is Kind.FITS else 1


def judge(answer: Answer, own: Own | None, kinship: Kinship, unread: int = 0, change: str = "", removed: Change | None = None) -> Verdict:
    """Return the verdict of *answer*, which is restricted to PATH.

    *unread* is the number of the cluster's inputs that were not read, *change* a clause about the smallest change that helps,
    and *removed* that change.
    """
    incomplete, left_out = bool(answer.skipped or unread), _left_out(answer, unread)
    rest = _clauses(left_out)
    last = latest(answer.decisions)
    decided = {pod for each in last.values() for pod in each.pending}
    rootless = [(pod, why) for pod, why in answer.reasons.items() if pod not in decided]
    if not last and not rootless and not answer.refused:
        return _nothing(answer, own, incomplete=incomplete)
    words = VerdictWords(answer, own.origins if own is not None else {}, kinship, removed)
    evicting = {each.root for each in answer.decisions if each.victims}
    kinds = {root: kind_of(decision, evicts=root in evicting) for root, decision in last.items()}
    worst = max((*kinds.values(), *((Kind.DOES_NOT_FIT,) if rootless or not last else ())), key=ORDER.index)
    if answer.refused:
        return Verdict(
            Kind.DOES_NOT_FIT,
            "does not fit",
            f"{words.refusal(_CAPACITY.get(worst, ''), with_shortage=worst is Kind.DOES_NOT_FIT)}{rest}",
            incomplete,
            left_out,
        )
    concerned = [decision for root, decision in last.items() if kinds[root] is worst]
    match worst:
        case Kind.FITS:
            head, details = "fits", words.where(list(last.values()))
        case Kind.AFTER_EVICTION:
            head, details = f"fits after evicting {counted(len(words.victims()), 'pod')}", words.evicted()
        case Kind.UNDECIDED:
            head, details = "undecided", f"the search for {words.named(concerned)} spent its budget of {words.budget(concerned)}"
        case _:
            plugin = words.with_plugin(concerned)
            head, details = "does not fit", f"{words.reason(concerned, rootless)}{change}{f'; {plugin}' if plugin else ''}"
    return Verdict(worst, head, f"{details}{rest}", incomplete, left_out)


def kept_rollouts(answer: Answer, own: Own, rollouts: Sequence[JudgedRollout]) -> tuple[JudgedRollout, ...]:
    """Return the updates that are finished although not all pods of their objects have a place; none if anything else does not fit.

    They keep old pods, as below a partition.
    """
    unplaced = {*(each.root for each in latest(answer.decisions).values() if each.pending), *map(pod_name, answer.reasons)}
    failing = {subject(own.origins, each) for each in unplaced} | {name for each in answer.refused for name in each.names}
    kept = tuple(each for each in rollouts if each.is_finished and each.origin in failing)
    return kept if failing == {each.origin for each in kept} else ()


def with_rollouts(judged: Verdict, rollouts: Sequence[JudgedRollout], kept: Sequence[JudgedRollout] = ()) -> Verdict:
    """Return the verdict with the updates of running objects: one can hang, or evict pods on the way.

    If the objects do not fit in place of running ones, nothing is added, except where *kept*, as in ``kept_rollouts``, are all that fail.
    """
    if kept:
        more = f" (and {counted(len(kept) - 1, 'more update')})" if len(kept) > 1 else ""
        old = counted(kept[0].played.last.old, "old pod")
        details = f"{titled(kept[0].origin)}{more}: the update is finished, and keeps {old}; not all would fit as new ones"
        judged = replaced(judged, kind=Kind.FITS, head="fits", details=details)
    if judged.kind not in PLACED:
        return judged
    if hanging := [each for each in rollouts if each.played.outcome is Outcome.HANGS]:
        more = f" (and {counted(len(hanging) - 1, 'more update')})" if len(hanging) > 1 else ""
        details = f"{titled(hanging[0].origin)}{more}: {hanging_words(hanging[0])}"
        return replaced(judged, kind=Kind.DOES_NOT_FIT, head="does not fit", details=details)
    if unsettled := [each for each in rollouts if each.played.outcome is Outcome.TOO_LONG]:
        details = f"{judged.details}; but the update of {titled(unsettled[0].origin)} was not played to its end"
        return replaced(judged, kind=Kind.UNDECIDED, head="undecided", details=details)
    victims = sorted({pod for each in rollouts for pod in each.victims})
    if victims and judged.kind is Kind.FITS:
        details = f"during the update, {listed(victims, NAMED)}"
        return replaced(judged, kind=Kind.AFTER_EVICTION, head=f"fits after evicting {counted(len(victims), 'pod')}", details=details)
    waits = any(each.played.outcome is Outcome.DURING for each in rollouts)
    return replaced(judged, details=f"{judged.details}; new pods wait for old ones to end") if waits else judged


def without_nodes(answer: Answer) -> Verdict:
    """Return the verdict if no node is known."""
    unread, why = answer.not_read, without_nodes_words(answer.not_read, "--objects, --nodes or --cluster")
    if has_node(unread):
        return Verdict(Kind.NOTHING, _NOTHING, why, incomplete=True)
    return Verdict(Kind.NOTHING, _NOTHING, f"{why}{_clauses(filter(None, [_unread(len(answer.unread))]))}", bool(unread))


def has_node(problems: Sequence[Problem]) -> bool:
    """Return whether one of *problems* is about a node."""
    return any(name.kind == "Node" for each in problems for name in each.names)


def _clauses(texts: Iterable[str]) -> str:
    return "".join(f"; {each}" for each in texts)


def _left_out(answer: Answer, unread: int) -> tuple[str, ...]:
    """Return what was not judged or not read."""
    beside = [each for each in answer.skipped if isinstance(each.fact, SharesUncounted | SharesAhead)]
    number = len(answer.skipped) - len(beside)
    skipped = f"{counted(number, 'object')} at PATH {'was' if number == 1 else 'were'} skipped and not judged" if number else ""
    unsure = f"but {problem_words(beside[0])}" if beside else ""
    return tuple(filter(None, (skipped, unsure, _unread(unread))))


def _unread(number: int) -> str:
    return f"{counted(number, 'input')} of the cluster could not be read" if number else ""


def _nothing(answer: Answer, own: Own | None, *, incomplete: bool) -> Verdict:
    if reasons := answer.skipped or [each for each in answer.notes if each.kind in _PODLESS]:
        more = f" (and {counted(len(reasons) - 1, 'more object')})" if len(reasons) > 1 else ""
        why = f"{object_words(reasons[0])}: {problem_words(reasons[0])}{more}"
        return Verdict(Kind.NOTHING, _NOTHING, why, incomplete, stated=reasons[0])
    if own is not None:
        return Verdict(Kind.NOTHING, _NOTHING, "the pods at PATH have nodes already, or its groups have no pods", incomplete)
    return Verdict(Kind.NOTHING, _NOTHING, "PATH has no object that creates pods", incomplete)
