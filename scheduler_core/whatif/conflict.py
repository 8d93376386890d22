"""Why a root cannot be placed: the smallest set of constraints that cannot hold together, found by leaving out one after the other.

What is left out and not missed is left out for good; so of the rest none can be left out (a minimal set, not the least one).
What the nodes hold when empty is always there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from scheduler_core.cycle import CycleOptions
from scheduler_core.decision import Decision, Status, Step
from scheduler_core.diagnosis import phrases
from scheduler_core.snapshot import ClusterSnapshot
from scheduler_core.whatif import candidates, edits
from scheduler_core.whatif.book import Book, merged
from scheduler_core.whatif.changes import applied, without
from scheduler_core.whatif.edits import Edit, Lowered, Widened
from scheduler_core.whatif.subject import Subject
from scheduler_core.whatif.trial import SpentError, Trial
from validators.model.decode import Source


@dataclasses.dataclass(frozen=True, slots=True)
class _Constraint:
    words: str
    edit: Edit | None = None
    """How it is let go of, by objects replaced; or else:"""
    groups: tuple[tuple[str, str, str], ...] = ()
    """by groups left out, and"""
    pods: tuple[str, ...] = ()
    """pods left out."""


def conflict(
    objects: Iterable[Source] | Book, snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, tries: int = 0
) -> tuple[str, ...]:
    """Constraints in words; empty where the root is placed, waits for members, or fits nowhere whatever is let go of.

    Arguments are as those of ``remedies.advise``; where the tries are used up nothing is told, as what is left may not be minimal.
    """
    subject = None if decision.status not in (Status.UNSCHEDULABLE, Status.UNRESOLVABLE) else Subject.of(snapshot, decision.root)
    if subject is None:
        return ()
    trial = Trial(snapshot, options, subject, tries)
    book = objects if isinstance(objects, Book) else Book(objects)
    try:
        return _minimal(_constraints(trial.base, subject), lambda let_go: _placed(trial, book, let_go))
    except SpentError:
        return ()


def _minimal(constraints: Sequence[_Constraint], placed: Callable[[Sequence[_Constraint]], bool]) -> tuple[str, ...]:
    if not placed(constraints):
        return ()
    let_go: list[_Constraint] = []
    for each in constraints:
        if not placed([*let_go, each]):
            let_go.append(each)
    return tuple(each.words for each in constraints if each not in let_go)


def _placed(trial: Trial, book: Book, let_go: Sequence[_Constraint]) -> bool:
    trial.take()
    found: list[tuple[Step, ...]] = []
    for each in let_go:
        if each.edit is not None and (steps := each.edit.steps(book)):
            found.append(steps)
            book = book.after(steps)
    changed = applied(trial.base, merged(*found))
    groups = [group for each in let_go for group in each.groups]
    pods = [pod for each in let_go for pod in each.pods]
    return trial.tried(without(changed, groups, pods) if groups or pods else changed) is not None


def _constraints(snapshot: ClusterSnapshot, subject: Subject) -> list[_Constraint]:
    """What is let go of first is told only where nothing else will do: other pods' room, then what the root itself demands."""
    found = [_Constraint(_told(edit), edit) for edit in candidates.relaxations(snapshot, subject)]
    for group in reversed(subject.groups):
        if group.gang and group.minimum > 1:
            words = f"{edits.titled(group.name)} demands {group.minimum} {'pods' if group.name.kind == 'PodGroup' else 'groups'}"
            found.append(_Constraint(words, Lowered(group.name, group.minimum, 1)))
        if group.key:
            words = f"{edits.titled(group.name)} stays in one {phrases.level(group.key)} ({group.key})"
            found.append(_Constraint(words, Widened((group.name,), group.key, "")))
    running = tuple(pod.key for pod in snapshot.pods if pod.node >= 0 and pod.key not in subject.own)
    if running:
        found.append(_Constraint("the pods that run keep their nodes", pods=running))
    return found


def _told(edit: Edit) -> str:
    return edit.words.replace(" tolerated by ", " is not tolerated by ").replace(" dropped", " hold").replace(" removed", " stand")
