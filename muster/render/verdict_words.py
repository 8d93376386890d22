"""Parts of a verdict in words: objects at PATH with their pods and nodes, victims, reasons."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from expansion.notes import FitsWithPlugin, NeverCreated
from kubeapi.base_structs import Record
from kubeapi.problem import Problem, ProblemKind
from muster.render.answer import Answer
from muster.render.object_results import Kind, ObjectResult, is_unsettled, subject
from muster.render.phrases import nodes, per_node
from muster.render.problem_words import object_words, plugin_clause, problem_words, reason_words
from muster.render.tree_rows import Kinship, pod_name
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.changes import AwaitedDeletions, Change
from scheduler_core.model.decision import Decision, latest
from scheduler_core.model.names import Name
from scheduler_core.wording.changes import change_text
from scheduler_core.wording.headline import partial_capacity, shortage
from scheduler_core.wording.itself import about_itself
from scheduler_core.wording.titles import Shown, domain_text, titled
from scheduler_core.wording.verdict_line import verdict_line
from validators.reports.counts import counted

_WIDTH = 90
"""Columns of a list of nodes."""
NAMED = 4
"""Maximum number of victims' groups, and of objects, that are named."""
_MISSPELT = frozenset({ProblemKind.UNKNOWN_TOPOLOGY_KEY, ProblemKind.UNKNOWN_LABEL, ProblemKind.UNKNOWN_RESOURCE})


class VerdictWords(Record, frozen=True):
    """Words about an answer that is restricted to PATH.

    Attributes:
        answer: the answer.
        origins: the object at PATH of each group and pod that was created for it.
        kinship: groups and pods by parent.
        removed: the change that helps; the cause that it removes decides.
        shown: the form of a name.
        of_person: True if reasons are about the object at PATH, and not about the root that was created for it.

    """

    answer: Answer
    origins: Mapping[Name, Name]
    kinship: Kinship
    removed: Change | None = None
    shown: Shown = titled
    of_person: bool = False

    def refusal(self, capacity: str, *, with_shortage: bool) -> str:
        """Return the first reason why the API server would refuse pods; *capacity*: the clause that the nodes have it."""
        refused = self.answer.refused
        first, number = refused[0], len(refused) - 1
        placed = {pod_name(pod) for each in self.answer.decisions for pod in each.assignments}
        judged = {self._subject(root) for root in latest(self.answer.decisions)} | placed
        more = f" (and {counted(number, 'more reason')})" if number else ""
        shortage = self._shortage() if with_shortage else ""
        return f"{object_words(first)}: {reason_words(first)}{more}{capacity if judged.issuperset(first.names) else ''}{shortage}"

    def _shortage(self) -> str:
        """Return how many pods have no node, apart from the refusal, and why the first of them; nothing if all have one."""
        failed = [each for each in latest(self.answer.decisions).values() if each.pending]
        left = sum(len(each.pending) for each in failed)
        placed = {pod for each in self.answer.decisions for pod in each.assignments}
        number = f"{left:,} of {counted(left + len(placed), 'pod')} {'has' if left == 1 else 'have'} no node"
        return f"; besides, {number}: {self.cause(failed[0])}" if failed else ""

    def budget(self, decisions: Sequence[Decision]) -> str:
        """Return which budget of the search was spent: that of a cycle's steps, or that of cycles."""
        if any(not is_unsettled(each) for each in decisions):
            return "steps; set a larger --budget"
        left = sum(len(each.pending) for each in decisions)
        return f"{len(self.answer.cycles()):,} cycles; {counted(left, 'pod')} {'has' if left == 1 else 'have'} no node yet"

    def _subject(self, root: Name) -> Name:
        return subject(self.origins, root)

    def named(self, decisions: Sequence[Decision]) -> str:
        """Return the objects of *decisions*."""
        subjects = list(dict.fromkeys(self._subject(each.root) for each in decisions))
        more = len(subjects) - NAMED
        return ", ".join(map(self.shown, subjects[:NAMED])) + (f" and {counted(more, 'more object')}" if more > 0 else "")

    def where(self, decisions: Sequence[Decision]) -> str:
        """Return the objects with their pods, domains and nodes."""
        assigned = {pod: node for each in decisions for pod, node in each.assignments.items()}
        return f"{self.named(decisions)}: {self.places(decisions, assigned, _WIDTH)}"

    def places(self, decisions: Sequence[Decision], assigned: Mapping[str, str], columns: int) -> str:
        """Return the number of *assigned* pods, with domains and nodes; the list of nodes has at most *columns*."""
        domains = [*dict.fromkeys(each.domain for decision in decisions for each in decision.groups if each.domain is not None)]
        place = f" in {', '.join(map(domain_text, domains))}" if 0 < len(domains) <= NAMED else ""
        return f"{counted(len(assigned), 'pod')}{place} on {nodes(per_node(assigned), columns)}"

    def victims(self) -> list[str]:
        """Return the victims."""
        return sorted({pod for each in self.answer.decisions for pod in each.victims})

    def units(self, victims: Sequence[str]) -> str:
        """Return the groups of *victims*."""
        leaves = Counter(map(self.kinship.leaf, victims))
        parts = [_unit(leaf, number, self.shown) for leaf, number in sorted(leaves.items(), key=lambda each: (-each[1], str(each[0])))]
        more = len(parts) - NAMED
        return f"{', '.join(parts[:NAMED])}{f' and {more:,} more' if more > 0 else ''}"

    def evicted(self) -> str:
        """Return the groups of the victims, and which deletions must end before; nothing without victims."""
        victims, awaited = self.victims(), self.answer.awaited
        return f"{self.units(victims)}{f'; first, {change_text(AwaitedDeletions(awaited))}' if awaited else ''}" if victims else ""

    def why(self, decision: Decision) -> str:
        """Return the beginning of the reason; if some pods of the root are placed, that of the others."""
        return f"{self._left(decision)}{self.cause(decision)}"

    def _left(self, decision: Decision) -> str:
        """Return how many pods of a root have no node; nothing if none has one."""
        placed = {pod for each in self.answer.decisions if each.root == decision.root for pod in each.assignments}
        left = len(decision.pending)
        return f"{left:,} of {counted(left + len(placed), 'pod')} {'has' if left == 1 else 'have'} no node: " if placed and left else ""

    def cause(self, decision: Decision) -> str:
        """Return the beginning of the reason for the pods of *decision*."""
        return verdict_line(self._causes(decision), self.removed) or ("no reason is known" if self.of_person else decision.status.value)

    def brief(self, decision: Decision) -> str:
        """Return what is short for the pods of *decision*, or else the beginning of the reason."""
        return shortage(self._causes(decision)) or self.cause(decision)

    def capacity(self, decision: Decision) -> str:
        """Return for how many pods of *decision* there is capacity, or else what is short."""
        return partial_capacity(self._causes(decision)) or self.brief(decision)

    def reason_of(self, result: ObjectResult, described: Callable[[Decision], str]) -> str:
        """Return why an object does not fit, with its first decision *described*; nothing if no reason is known."""
        unplaced = result.unplaced
        if result.refused:
            return self._refusal_of(result)
        if result.kind is Kind.UNDECIDED:
            return f"the search spent its budget of {self.budget(unplaced)}" if unplaced else ""
        if unplaced:
            return described(unplaced[0])
        if not result.rootless:
            return ""
        (pod, why), number = result.rootless[0], len(result.rootless) - 1
        more = f" (and {counted(number, 'more pod')})" if number else ""
        return f"pod {pod_name(pod).name}{more}: {self.rootless(pod, why)}"

    def _refusal_of(self, result: ObjectResult) -> str:
        """Return why the API server would refuse pods, and whether the nodes have capacity for them."""
        first, number = result.refused[0], len(result.refused) - 1
        about = "" if first.names == (result.name,) else f"{object_words(first)}: "
        more = f" (and {counted(number, 'more reason')})" if number else ""
        failed = next(iter(result.unplaced), None)
        capacity = "; the nodes have capacity" if result.placed and failed is None else ""
        besides = f"; besides, {have_no_node(result)}: {self.cause(failed)}" if failed is not None else ""
        return f"{about}{reason_words(first)}{more}{capacity}{besides}"

    def _causes(self, decision: Decision) -> Sequence[Cause]:
        causes = decision.causes or next(iter(decision.pending.values()), ())
        return about_itself(causes, decision.root) if self.of_person and decision.root.kind != "Pod" else causes

    def reason(self, decisions: Sequence[Decision], rootless: Sequence[tuple[str, str]]) -> str:
        """Return the reason of the first object that does not fit, and what it waits for."""
        if not decisions:
            pod, why = rootless[0]
            more = f" (and {counted(len(rootless) - 1, 'more pod')})" if len(rootless) > 1 else ""
            return f"Pod {pod}{more}: {self.rootless(pod, why)}"
        first = decisions[0]
        subjects = len({self._subject(each.root) for each in decisions})
        more = f" (and {counted(subjects - 1, 'more object')})" if subjects > 1 else ""
        return f"{self.shown(self._subject(first.root))}{more}: {self.failed(decisions)}{self.why(first)}{self.suggestion(first)}"

    def rootless(self, pod: str, why: str) -> str:
        """Return the reason of a *pod* without a decision, with the object that is missing."""
        origin = self._subject(pod_name(pod))
        missing = next((each for each in self.answer.notes if each.kind is ProblemKind.MISSING_OBJECT and origin in each.names), None)
        return f"{why}{f'; {problem_words(missing)}' if missing is not None else ''}"

    def failed(self, decisions: Sequence[Decision]) -> str:
        """Return how many roots of the first object do not fit, if it has several."""
        first = decisions[0]
        mine = self._subject(first.root)
        alike = [root for root in latest(self.answer.decisions) if self._subject(root) == mine]
        number = sum(self._subject(each.root) == mine for each in decisions)
        noun = "pod" if first.root.kind == "Pod" else "group"
        return f"{number:,} of {counted(len(alike), noun)} {'does' if number == 1 else 'do'} not fit: " if len(alike) > 1 else ""

    def with_plugin(self, decisions: Sequence[Decision]) -> str:
        """Return with which admission plugin all objects of *decisions* fit; nothing if there is none."""
        subjects = {self._subject(each.root) for each in decisions}
        for each in self.answer.notes:
            if subjects and isinstance(each.fact, FitsWithPlugin) and subjects.issubset(each.names):
                return plugin_clause(each.fact)
        return ""

    def suggested(self, decision: Decision) -> Problem | None:
        """Return what the pods of a root wait for and never get, or the problem of a misspelt key, label or resource; or None."""
        own = {decision.root, *(each.group for each in decision.groups), *map(pod_name, decision.pending)}
        mine = self._subject(decision.root)
        missing = (each for each in self.answer.notes if each.kind is ProblemKind.MISSING_OBJECT and mine in each.names)
        later = (
            each for each in self.answer.notes if isinstance(each.fact, NeverCreated) and (mine in each.names or each.fact.gang in own)
        )
        misspelt = (each for each in self.answer.problems if each.kind in _MISSPELT and not own.isdisjoint(each.names))
        return next(itertools.chain(missing, later, misspelt), None)

    def suggestion(self, decision: Decision) -> str:
        """Return ``suggested`` as a clause."""
        if (first := self.suggested(decision)) is None:
            return ""
        mine = self._subject(decision.root)
        named = f"{object_words(first)}: " if isinstance(first.fact, NeverCreated) and mine not in first.names else ""
        return f"; {named}{problem_words(first)}"


def have_no_node(result: ObjectResult) -> str:
    """Return how many pods of an object have no node: ``2 of 4 pods have no node``."""
    number = result.pending
    return f"{number:,} of {counted(result.placed + number, 'pod')} {'has' if number == 1 else 'have'} no node"


def _unit(leaf: Name, number: int, shown: Shown) -> str:
    name = shown(leaf)
    return name if leaf.kind == "Pod" else f"{name} ({counted(number, 'pod')})"
