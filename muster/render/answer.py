"""Answer of a simulation: decisions, pending pods, problems, and the counts and exit status derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kubeapi.base_structs import Record, record_field
from kubeapi.problem import ObjectLeftOut, Problem, ProblemKind
from scheduler_core.causes.cause import Cause
from scheduler_core.model.decision import Decision, latest, unplaced_pods
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording import decision_words

if TYPE_CHECKING:
    from scheduler_core.diagnosis.fragmentation import Fragment

ALL_PLACED, NOT_PLACED, NOTHING_DECIDED = 0, 1, 2
"""Exit statuses."""
_UNREAD = frozenset({ProblemKind.NO_FILE, ProblemKind.UNREADABLE_FILE, ProblemKind.UNREADABLE_RESOURCE, ProblemKind.UNREADABLE_OBJECT})


def is_unread(problem: Problem) -> bool:
    """Return whether a file, a kind or an object could not be read; for a live cluster, a pod on a node that was deleted could."""
    return problem.kind in _UNREAD or isinstance(problem.fact, ObjectLeftOut)


class Share(Record, frozen=True):
    """Part of an answer about the requested objects: numbers of roots, placed roots, pending pods, problems."""

    roots: int
    placed: int
    pending: int
    problems: int


class Heading(Record, frozen=True):
    """Heading of a page: the sign, the result, and sentences about it, which follow after *stop*."""

    sign: str
    head: str
    details: tuple[str, ...] = ()
    stop: str = ":"

    @property
    def text(self) -> str:
        """Return the heading without the sign."""
        return f"{self.head}{self.stop} {'. '.join(self.details)}" if self.details else self.head


class Answer(Record, frozen=True):
    """One simulation.

    Attributes:
        decisions: in the order in which they were made; with evictions, those of the later cycle follow.
        pending: every pod without a node, with the causes, by name.
        problems: inputs that could not be used.
        seconds: duration; None if not requested.
        skipped: objects at PATH that create pods, or may create pods, and were not used; they are among *problems*.
        unread: inputs and objects of the rest of the cluster that were not used; they are among *problems*.
        refused: objects at PATH whose pods the API server would refuse, with the reason; they are among *notes*.
        notes: what the groups and pods of controllers' objects cannot express, and objects that create no pods.
        awaited: pods that are being deleted already, and must be gone before the decisions are made.
        own: the part about PATH, which sets the exit status; None if the whole answer counts.
        path_roots: roots of the objects at PATH; None if the whole answer is about PATH.
        origins: the object that a person wrote of each group and pod that was created for one.
        heading: the heading of a page; None: derived from the decisions.
        fragments: the largest gangs that fitted before anything was placed; None if not requested.

    """

    decisions: tuple[Decision, ...]
    pending: tuple[tuple[str, tuple[Cause, ...]], ...] = ()
    problems: tuple[Problem, ...] = ()
    seconds: float | None = None
    skipped: tuple[Problem, ...] = ()
    unread: tuple[Problem, ...] = ()
    refused: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    awaited: tuple[Name, ...] = ()
    own: Share | None = None
    path_roots: frozenset[Name] | None = None
    origins: Mapping[Name, Name] = record_field(default_factory=dict)
    heading: Heading | None = None
    fragments: tuple[Fragment, ...] | None = None

    @classmethod
    def from_decisions(
        cls,
        decisions: Sequence[Decision],
        rootless: Sequence[tuple[str, tuple[Cause, ...]]] = (),
        problems: Sequence[Problem] = (),
        seconds: float | None = None,
    ) -> Answer:
        """Return the answer with *decisions*; *rootless* are pods without a decision."""
        return cls(tuple(decisions), tuple(unplaced_pods(decisions, rootless).items()), tuple(problems), seconds)

    @property
    def reasons(self) -> dict[str, str]:
        """Return the causes of every pod without a node in words, by name."""
        return decision_words.pending(dict(self.pending))

    @property
    def roots(self) -> int:
        """Return the number of roots with a decision."""
        return len(latest(self.decisions))

    @property
    def placed(self) -> int:
        """Return the number of roots that are placed in the end, completely or as far as required."""
        return len(self.placed_roots)

    @property
    def placed_roots(self) -> frozenset[Name]:
        """Return the roots that are placed in the end."""
        return frozenset(root for root, decision in latest(self.decisions).items() if decision.status is Status.SUCCESS)

    @property
    def pods(self) -> int:
        """Return the number of pods that got a node."""
        return len({pod for decision in self.decisions for pod in decision.assignments})

    @property
    def not_read(self) -> tuple[Problem, ...]:
        """Return what could not be read, at PATH and of the rest of the cluster: it is named first."""
        return tuple(dict.fromkeys((*self.unread, *filter(is_unread, self.skipped))))

    @property
    def exit_status(self) -> int:
        """Return 0 if every pod has a node in the end, 1 if not; of ``own`` if that is set.

        It is 2 if an object was skipped, a part of the cluster was not read, or if there were only problems.
        """
        if self.skipped or self.unread:
            return NOTHING_DECIDED
        counts = self.own or Share(self.roots, self.placed, len(self.pending), len(self.problems))
        if not counts.roots and not counts.pending:
            return NOTHING_DECIDED if counts.problems else ALL_PLACED
        return ALL_PLACED if counts.placed == counts.roots and not counts.pending else NOT_PLACED

    def cycles(self) -> list[list[Decision]]:
        """Return the decisions of each cycle; a root has at most one in a cycle."""
        cycles: list[list[Decision]] = []
        seen: set[Name] = set()
        for decision in self.decisions:
            if not cycles or decision.root in seen:
                cycles.append([])
                seen = set()
            seen.add(decision.root)
            cycles[-1].append(decision)
        return cycles
