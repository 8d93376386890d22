"""Verdict about the objects at PATH: the worst result of their roots, in one line."""

from __future__ import annotations

import dataclasses
import enum
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from expansion.notes import FitsWithPlugin, NeverCreated, SharesAhead, SharesUncounted
from expansion.rollouts.play import Outcome
from kubeapi.problem import Problem, ProblemKind
from muster.commands.fit.rollout_report import hanging_words
from muster.commands.fit.rollout_trial import JudgedRollout
from muster.commands.simulate.own_objects import Own, pod_name
from muster.render.answer import Answer, Heading
from muster.render.phrases import nodes, per_node
from muster.render.problem_words import object_words, plugin_clause, problem_words, reason_words, without_nodes_words
from muster.render.tree_rows import Kinship
from scheduler_core.causes.changes import AwaitedDeletions, Change
from scheduler_core.model.decision import Decision, latest
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.changes import change_text
from scheduler_core.wording.titles import domain_text, titled
from scheduler_core.wording.verdict_line import verdict_line
from validators.reports.counts import counted
from validators.reports.escape import printable

_WIDTH = 90
"""Columns of a list of nodes."""
_NAMED = 4
"""Maximum number of victims' groups, and of objects, that are named."""
BUDGET = "budget"
_PODLESS = frozenset({ProblemKind.CREATES_NO_PODS, ProblemKind.HAS_ENDED})
_MISSPELT = frozenset({ProblemKind.UNKNOWN_TOPOLOGY_KEY, ProblemKind.UNKNOWN_LABEL, ProblemKind.UNKNOWN_RESOURCE})


class Kind(enum.StrEnum):
    """Verdict, as in JSON."""

    FITS = "fits"
    AFTER_EVICTION = "fits-after-eviction"
    UNDECIDED = "undecided"
    DOES_NOT_FIT = "does-not-fit"
    NOTHING = "nothing-to-judge"


_NOTHING = "nothing to judge"
MARKS = {Kind.FITS: "✓", Kind.AFTER_EVICTION: "→", Kind.UNDECIDED: "?", Kind.DOES_NOT_FIT: "✗", Kind.NOTHING: "○"}
_ORDER = (Kind.FITS, Kind.AFTER_EVICTION, Kind.UNDECIDED, Kind.DOES_NOT_FIT)
"""From the best to the worst."""
PLACED = frozenset({Kind.FITS, Kind.AFTER_EVICTION})
"""Verdicts with a node for every pod."""
_CAPACITY = {Kind.FITS: "; the nodes have capacity", Kind.AFTER_EVICTION: "; the nodes have capacity after evictions"}


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict; its text without the sign is *head*, a colon, and *details*."""

    kind: Kind
    head: str
    details: str
    incomplete: bool = False
    """A part of PATH was skipped, or a part of the cluster was not read."""

    @property
    def heading(self) -> Heading:
        """Return the heading of a page, without characters that a terminal obeys: it has names and values of PATH."""
        return Heading(self.sign, self.head, printable(self.details))

    @property
    def line(self) -> str:
        """Return the text as one line that a terminal does not obey."""
        return self.heading.text

    @property
    def sign(self) -> str:
        """Return the sign before the line; a part does not get that of the whole."""
        return MARKS[Kind.NOTHING] if self.incomplete and self.kind is Kind.FITS else MARKS[self.kind]

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
    incomplete, rest = bool(answer.skipped or unread), _left_out(answer, unread)
    last = latest(answer.decisions)
    decided = {pod for each in last.values() for pod in each.pending}
    rootless = [(pod, why) for pod, why in answer.reasons.items() if pod not in decided]
    if not last and not rootless and not answer.refused:
        return Verdict(Kind.NOTHING, _NOTHING, _nothing(answer, own), incomplete)
    case = _Case(answer, own.origins if own is not None else {}, kinship, removed)
    evicting = {each.root for each in answer.decisions if each.victims}
    kinds = {root: _kind(decision, evicts=root in evicting) for root, decision in last.items()}
    worst = max((*kinds.values(), *((Kind.DOES_NOT_FIT,) if rootless or not last else ())), key=_ORDER.index)
    if answer.refused:
        return Verdict(Kind.DOES_NOT_FIT, "does not fit", f"{case.refusal(worst)}{rest}", incomplete)
    concerned = [decision for root, decision in last.items() if kinds[root] is worst]
    match worst:
        case Kind.FITS:
            head, details = "fits", case.where(list(last.values()))
        case Kind.AFTER_EVICTION:
            victims = case.victims()
            head, details = f"fits after evicting {counted(len(victims), 'pod')}", f"{case.units(victims)}{_awaited(answer.awaited)}"
        case Kind.UNDECIDED:
            head, details = "undecided", f"the search for {case.named(concerned)} spent its budget of {case.budget(concerned)}"
        case _:
            head, details = "does not fit", f"{case.reason(concerned, rootless)}{change}{case.with_plugin(concerned)}"
    return Verdict(worst, head, f"{details}{rest}", incomplete)


def _awaited(pods: Sequence[Name]) -> str:
    """Return the clause that deletions must end first; nothing if there are none."""
    return f"; first, {change_text(AwaitedDeletions(tuple(pods)))}" if pods else ""


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
        judged = dataclasses.replace(judged, kind=Kind.FITS, head="fits", details=details)
    if judged.kind not in PLACED:
        return judged
    if hanging := [each for each in rollouts if each.played.outcome is Outcome.HANGS]:
        more = f" (and {counted(len(hanging) - 1, 'more update')})" if len(hanging) > 1 else ""
        details = f"{titled(hanging[0].origin)}{more}: {hanging_words(hanging[0])}"
        return dataclasses.replace(judged, kind=Kind.DOES_NOT_FIT, head="does not fit", details=details)
    if unsettled := [each for each in rollouts if each.played.outcome is Outcome.TOO_LONG]:
        details = f"{judged.details}; but the update of {titled(unsettled[0].origin)} was not played to its end"
        return dataclasses.replace(judged, kind=Kind.UNDECIDED, head="undecided", details=details)
    victims = sorted({pod for each in rollouts for pod in each.victims})
    if victims and judged.kind is Kind.FITS:
        details = (
            f"during the update, {', '.join(victims[:_NAMED])}{f' and {len(victims) - _NAMED:,} more' if len(victims) > _NAMED else ''}"
        )
        return dataclasses.replace(
            judged, kind=Kind.AFTER_EVICTION, head=f"fits after evicting {counted(len(victims), 'pod')}", details=details
        )
    waits = any(each.played.outcome is Outcome.DURING for each in rollouts)
    return dataclasses.replace(judged, details=f"{judged.details}; new pods wait for old ones to end") if waits else judged


def without_nodes(answer: Answer) -> Verdict:
    """Return the verdict if no node is known."""
    unread, why = answer.not_read, without_nodes_words(answer.not_read)
    if has_node(unread):
        return Verdict(Kind.NOTHING, _NOTHING, why, incomplete=True)
    return Verdict(Kind.NOTHING, _NOTHING, f"{why}: give --objects, --nodes or --cluster{_unread(len(answer.unread))}", bool(unread))


def has_node(problems: Sequence[Problem]) -> bool:
    """Return whether one of *problems* is about a node."""
    return any(name.kind == "Node" for each in problems for name in each.names)


def subject(origins: Mapping[Name, Name], root: Name) -> Name:
    """Return the object at PATH to which a root belongs."""
    return origins.get(root, root)


def _left_out(answer: Answer, unread: int) -> str:
    beside = [each for each in answer.skipped if isinstance(each.fact, SharesUncounted | SharesAhead)]
    number = len(answer.skipped) - len(beside)
    skipped = f"; {counted(number, 'object')} at PATH {'was' if number == 1 else 'were'} skipped and not judged" if number else ""
    unsure = f"; but {problem_words(beside[0])}" if beside else ""
    return skipped + unsure + _unread(unread)


def _unread(number: int) -> str:
    return f"; {counted(number, 'input')} of the cluster could not be read" if number else ""


def _nothing(answer: Answer, own: Own | None) -> str:
    if reasons := answer.skipped or [each for each in answer.notes if each.kind in _PODLESS]:
        more = f" (and {counted(len(reasons) - 1, 'more object')})" if len(reasons) > 1 else ""
        return f"{object_words(reasons[0])}: {problem_words(reasons[0])}{more}"
    if own is not None:
        return "the pods at PATH have nodes already, or its groups have no pods"
    return "PATH has no object that creates pods"


@dataclasses.dataclass(frozen=True, slots=True)
class _Case:
    answer: Answer
    origins: Mapping[Name, Name]
    kinship: Kinship
    removed: Change | None = None

    def refusal(self, otherwise: Kind) -> str:
        """Return the first reason why the API server would refuse pods, and the verdict without it if that is better."""
        refused = self.answer.refused
        first, number = refused[0], len(refused) - 1
        placed = {pod_name(pod) for each in self.answer.decisions for pod in each.assignments}
        judged = {self._subject(root) for root in latest(self.answer.decisions)} | placed
        capacity = _CAPACITY.get(otherwise, "") if judged.issuperset(first.names) else ""
        more = f" (and {counted(number, 'more reason')})" if number else ""
        shortage = self._shortage() if otherwise is Kind.DOES_NOT_FIT else ""
        return f"{object_words(first)}: {reason_words(first)}{more}{capacity}{shortage}"

    def _shortage(self) -> str:
        """Return how many pods have no node, apart from the refusal, and why the first of them; nothing if all have one."""
        failed = [each for each in latest(self.answer.decisions).values() if each.pending]
        left = sum(len(each.pending) for each in failed)
        placed = {pod for each in self.answer.decisions for pod in each.assignments}
        number = f"{left:,} of {counted(left + len(placed), 'pod')} {'has' if left == 1 else 'have'} no node"
        return f"; besides, {number}: {self._cause(failed[0])}" if failed else ""

    def budget(self, decisions: Sequence[Decision]) -> str:
        """Return which budget of the search was spent: that of a cycle's steps, or that of cycles."""
        if any(not _unsettled(each) for each in decisions):
            return "steps; set a larger --budget"
        left = sum(len(each.pending) for each in decisions)
        return f"{len(self.answer.cycles()):,} cycles; {counted(left, 'pod')} {'has' if left == 1 else 'have'} no node yet"

    def _subject(self, root: Name) -> Name:
        return subject(self.origins, root)

    def named(self, decisions: Sequence[Decision]) -> str:
        """Return the objects of *decisions*."""
        subjects = list(dict.fromkeys(self._subject(each.root) for each in decisions))
        more = len(subjects) - _NAMED
        return ", ".join(map(titled, subjects[:_NAMED])) + (f" and {counted(more, 'more object')}" if more > 0 else "")

    def where(self, decisions: Sequence[Decision]) -> str:
        """Return the objects with their pods, domains and nodes."""
        assigned = {pod: node for each in decisions for pod, node in each.assignments.items()}
        domains = [*dict.fromkeys(each.domain for decision in decisions for each in decision.groups if each.domain is not None)]
        place = f" in {', '.join(map(domain_text, domains))}" if 0 < len(domains) <= _NAMED else ""
        return f"{self.named(decisions)}: {counted(len(assigned), 'pod')}{place} on {nodes(per_node(assigned), _WIDTH)}"

    def victims(self) -> list[str]:
        """Return the victims."""
        return sorted({pod for each in self.answer.decisions for pod in each.victims})

    def units(self, victims: Sequence[str]) -> str:
        """Return the groups of *victims*."""
        leaves = Counter(map(self.kinship.leaf, victims))
        parts = [_unit(leaf, number) for leaf, number in sorted(leaves.items(), key=lambda each: (-each[1], str(each[0])))]
        more = len(parts) - _NAMED
        return f"{', '.join(parts[:_NAMED])}{f' and {more:,} more' if more > 0 else ''}"

    def _why(self, decision: Decision) -> str:
        """Return the beginning of the reason; if some pods of the root are placed, that of the others."""
        placed = {pod for each in self.answer.decisions if each.root == decision.root for pod in each.assignments}
        left = len(decision.pending)
        why = self._cause(decision)
        if placed and left:
            return f"{left:,} of {counted(left + len(placed), 'pod')} {'has' if left == 1 else 'have'} no node: {why}"
        return why

    def _cause(self, decision: Decision) -> str:
        """Return the beginning of the reason for the pods of *decision*."""
        return verdict_line(decision.causes or next(iter(decision.pending.values()), ()), self.removed) or decision.status.value

    def reason(self, decisions: Sequence[Decision], rootless: Sequence[tuple[str, str]]) -> str:
        """Return the reason of the first object that does not fit, and the smallest change that helps."""
        if not decisions:
            pod, why = rootless[0]
            more = f" (and {counted(len(rootless) - 1, 'more pod')})" if len(rootless) > 1 else ""
            origin = self._subject(pod_name(pod))
            missing = next((each for each in self.answer.notes if each.kind is ProblemKind.MISSING_OBJECT and origin in each.names), None)
            return f"Pod {pod}{more}: {why}{f'; {problem_words(missing)}' if missing is not None else ''}"
        first = decisions[0]
        mine = self._subject(first.root)
        subjects = len({self._subject(each.root) for each in decisions})
        more = f" (and {counted(subjects - 1, 'more object')})" if subjects > 1 else ""
        alike = [root for root in latest(self.answer.decisions) if self._subject(root) == mine]
        failed = sum(self._subject(each.root) == mine for each in decisions)
        noun = "pod" if first.root.kind == "Pod" else "group"
        number = f"{failed:,} of {counted(len(alike), noun)} {'does' if failed == 1 else 'do'} not fit: " if len(alike) > 1 else ""
        return f"{titled(mine)}{more}: {number}{self._why(first)}{self._suggestion(first)}"

    def with_plugin(self, decisions: Sequence[Decision]) -> str:
        """Return the clause about an admission plugin with which all objects of *decisions* fit; nothing if there is none."""
        subjects = {self._subject(each.root) for each in decisions}
        for each in self.answer.notes:
            if subjects and isinstance(each.fact, FitsWithPlugin) and subjects.issubset(each.names):
                return f"; {plugin_clause(each.fact)}"
        return ""

    def _suggestion(self, decision: Decision) -> str:
        """Return what its pods wait for and never get, or the problem of a misspelt key, label or resource; or nothing."""
        own = {decision.root, *(each.group for each in decision.groups), *map(pod_name, decision.pending)}
        subject = self._subject(decision.root)
        missing = (each for each in self.answer.notes if each.kind is ProblemKind.MISSING_OBJECT and subject in each.names)
        later = (
            each for each in self.answer.notes if isinstance(each.fact, NeverCreated) and (subject in each.names or each.fact.gang in own)
        )
        misspelt = (each for each in self.answer.problems if each.kind in _MISSPELT and not own.isdisjoint(each.names))
        first = next(itertools.chain(missing, later, misspelt), None)
        if first is None:
            return ""
        named = f"{object_words(first)}: " if isinstance(first.fact, NeverCreated) and subject not in first.names else ""
        return f"; {named}{problem_words(first)}"


def _kind(decision: Decision, *, evicts: bool) -> Kind:
    """Return the result of one root by its last decision; *evicts*: whether any decision on it has victims."""
    if decision.status is Status.SUCCESS and not decision.pending:
        return Kind.AFTER_EVICTION if evicts else Kind.FITS
    if _unsettled(decision):
        return Kind.UNDECIDED
    unsure = decision.status in {Status.UNSCHEDULABLE, Status.UNRESOLVABLE} and decision.search.outcome == BUDGET
    return Kind.UNDECIDED if unsure else Kind.DOES_NOT_FIT


def _unsettled(decision: Decision) -> bool:
    """Return whether a root's last cycle evicted pods, or placed a part of a Basic group: only the limit of cycles ended the search."""
    return bool(decision.victims or (decision.assignments and decision.pending))


def _unit(leaf: Name, number: int) -> str:
    name = titled(leaf)
    return name if leaf.kind == "Pod" else f"{name} ({counted(number, 'pod')})"
