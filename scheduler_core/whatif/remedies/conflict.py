"""Why a root cannot be placed: the smallest set of constraints that cannot hold together, found by leaving out some after the other.

What is left out and not missed is left out for good; so of the rest none can be left out (a minimal set, not the least one).
What the nodes hold when empty is always there.  A group that takes room beside others is left out by counting it as satisfied
without any.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.diagnosis import phrases
from scheduler_core.loading.feature_gates import gated
from scheduler_core.model.decision import Decision, Name, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits import edits
from scheduler_core.whatif.edits.edits import Both, Edit, Leaving, Lowered, Moved, Quorum, Widened
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.remedies import candidates
from scheduler_core.whatif.trial.hypothetical_root import changed, spared, supposed
from scheduler_core.whatif.trial.prepared_cluster import PreparedCluster
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial, TrialsSpentError

PROVABLE = frozenset({Status.UNSCHEDULABLE, Status.UNRESOLVABLE})
"""Decisions that constraints can explain; others wait for members, or are against the rules."""
_STEPS = 10_000
"""What a search may take for one try."""
_TOLD_APART = 16
"""Roots before it that are let go of one by one; of more all at once."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """Something that holds, and how it is let go of: exactly one of the ways.

    Attributes:
        words: for people.
        of: the group that it is about, where it is about one of the tree.
        demand: that group demands but one pod or group.
        confined: that group has no key.
        absent: that group counts as satisfied.
        relaxed: pods are changed so.
        pods: these pods are left out.

    """

    words: str
    of: Name | None = None
    demand: bool = False
    confined: bool = False
    absent: bool = False
    relaxed: Respecified | None = None
    pods: tuple[PodRecord, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Conflict:
    """Constraints that cannot hold together; none where no such set is known."""

    constraints: tuple[Constraint, ...] = ()
    words: tuple[str, ...] = ()
    """For people; none where it is not known whether any of them could be kept without the others."""

    def met_by(self, edit: Edit, subject: Subject) -> bool:
        """Whether *edit* changes any of them; one that does not cannot help by itself."""
        return not self.constraints or any(_meets(edit, each, subject) for each in self.constraints)


def conflict(snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, *, tries: int = 0) -> tuple[str, ...]:
    """Constraints in words; empty where the root is placed, waits for members, or fits nowhere whatever is let go of.

    Arguments are as those of ``remedies.advise``; where the tries are used up nothing is told, as what is left may not be minimal.
    """
    snapshot = gated(snapshot, options.gates)
    subject = Subject.from_snapshot(snapshot, decision.root)
    if subject is None or decision.status not in PROVABLE:
        return ()
    return find_conflict(Trial(snapshot, options, subject, tries=tries), subject).words


def find_conflict(trial: Trial, subject: Subject) -> Conflict:
    """The constraints of the root of *trial* that cannot hold together; none where the tries do not suffice to know."""
    if (entity := trial.ground.entity) is None:
        return Conflict()
    trial.refill(_STEPS)
    try:
        return _Search(trial, subject, entity).run()
    except TrialsSpentError:
        return Conflict()


class _Search:
    def __init__(self, trial: Trial, subject: Subject, entity: Entity) -> None:
        self._trial = trial
        self._subject = subject
        self._entity = entity
        self._minimal = True
        self._kept: list[Constraint] = []
        self._let_go: list[Constraint] = []
        self._grounds: dict[tuple[str, ...], PreparedCluster] = {}

    def run(self) -> Conflict:
        trial, subject = self._trial, self._subject
        relaxed = [Constraint(_told(edit), relaxed=edit) for edit in candidates.relaxations(trial.ground.base, subject)]
        beside, own, others = [*_beside(subject)], [*_own(subject)], [*_others(trial)]
        if not self._placed([*relaxed, *beside, *own, *others]) or not self._minimal:
            return Conflict()
        for constraints in (relaxed, beside):
            self._reduce(constraints)
        # Of what takes no room nothing else matters.
        absent = _below({each.of for each in self._let_go if each.absent}, subject)
        self._let_go += [each for each in own if each.of in absent]
        self._reduce([*(each for each in own if each.of not in absent), *others], placed=not self._kept)
        return Conflict(tuple(self._kept), tuple(_words(self._kept, subject)) if self._minimal else ())

    def _reduce(self, constraints: Sequence[Constraint], *, placed: bool = False) -> None:
        """Let go of all of *constraints* that are not missed; *placed*: whether the root is known to be, with none of them."""
        if not placed and not self._placed(constraints):
            self._let_go += constraints
        elif len(constraints) == 1:
            self._kept.append(constraints[0])
        elif constraints:
            kept, half = len(self._kept), len(constraints) // 2
            self._reduce(constraints[:half])
            self._reduce(constraints[half:], placed=len(self._kept) == kept)

    def _placed(self, more: Sequence[Constraint]) -> bool:
        let_go = [*self._let_go, *more]
        ground, entity = self._relaxed([each.relaxed for each in let_go if each.relaxed is not None])
        entity = changed(entity, {each.of for each in let_go if each.of and each.demand}, minimum=1)
        entity = changed(entity, {each.of for each in let_go if each.of and each.confined}, key="")
        left = spared(entity, {each.of for each in let_go if each.of and each.absent})
        if left is None:
            return True
        self._trial.undecided = False
        placed = self._trial.attempt(left, [pod for each in let_go for pod in each.pods], ground=ground) is not None
        if self._trial.undecided:
            # It is kept, so that the rest cannot hold together for certain.
            self._minimal = False
        return placed or self._trial.undecided

    def _relaxed(self, changes: Sequence[Respecified]) -> tuple[PreparedCluster, Entity]:
        """The root with *changes* of its pods, and where to try it."""
        ground = self._trial.ground
        if changes and ground.related:
            at = tuple(edit.words for edit in changes)
            if at not in self._grounds:
                self._grounds[at] = ground.reshaped(changes)
            ground, changes = self._grounds[at], ()
        entity = ground.entity or self._entity
        for edit in changes:
            entity = supposed(entity, edit, self._subject, ground.shapes)
        return ground, entity


def _words(constraints: Sequence[Constraint], subject: Subject) -> Iterator[str]:
    """What is told: that a group takes room only where it does so beside another, and is not said to demand anything."""
    for each in constraints:
        if each.absent:
            within = _below({each.of}, subject)
            above = {group.name for group in subject.groups if within <= _below({group.name}, subject)}
            demanding = any(other.of in within for other in constraints if not other.absent)
            beside = any(other.of is not None and other.of not in within | above for other in constraints)
            if demanding or not beside:
                continue
        yield each.words


def _beside(subject: Subject) -> Iterator[Constraint]:
    """Groups that take room beside their siblings."""
    alone = {group.children[0] for group in subject.groups if len(group.children) == 1}
    for group in reversed(subject.groups[1:]):
        if group.name not in alone:
            yield Constraint(f"{edits.titled(group.name)} takes room as well", of=group.name, absent=True)


def _own(subject: Subject) -> Iterator[Constraint]:
    """What its groups demand, from the leaves up."""
    for group in reversed(subject.groups):
        title = edits.titled(group.name)
        if group.gang and group.minimum > 1:
            words = f"{title} demands {group.minimum} {'pods' if group.name.kind == 'PodGroup' else 'groups'}"
            yield Constraint(words, of=group.name, demand=True)
        if group.key:
            words = f"{title} stays in one {phrases.level(group.key)} ({group.key})"
            yield Constraint(words, of=group.name, confined=True)


def _others(trial: Trial) -> Iterator[Constraint]:
    """What takes room that is none of its own: roots before it, promises, pods that run."""
    before = {pod.key for each in trial.earlier for pod in each.pods}
    if len(trial.earlier) <= _TOLD_APART:
        for each in trial.earlier:
            yield Constraint(f"{edits.titled(each.root)}, placed before it, takes room", pods=each.pods)
    else:
        pods = tuple(pod for each in trial.earlier for pod in each.pods)
        yield Constraint(f"{len(trial.earlier)} roots placed before it take room", pods=pods)
    others = trial.ground.others.values()
    if promised := tuple(pod for pod in others if pod.node < 0 and pod.nominated >= 0):
        yield Constraint("pods that are promised a node keep their room", pods=promised)
    if running := tuple(pod for pod in others if pod.node >= 0 and pod.key not in before):
        yield Constraint("the pods that run keep their nodes", pods=running)


def _below(names: Iterable[Name | None], subject: Subject) -> set[Name | None]:
    """*names* with all groups below them."""
    below = set(names)
    for group in subject.groups:
        if group.name in below:
            below.update(group.children)
    return below


def _meets(edit: Edit, constraint: Constraint, subject: Subject) -> bool:
    match edit:
        case Lowered():
            met = constraint.demand and constraint.of in subject.mates(edit.group)
        case Widened():
            met = constraint.confined and any(constraint.of in subject.mates(each) for each in edit.groups)
        case Quorum():
            met = any(_meets(each, constraint, subject) for each in edit.lowered)
        case Both():
            met = _meets(edit.first, constraint, subject) or _meets(edit.second, constraint, subject)
        case Moved() | Leaving():
            met = bool(constraint.pods)
        case Respecified():
            met = constraint.relaxed is not None and constraint.relaxed.words == edit.words
        case _:
            # What the nodes hold is no constraint.
            met = True
    return met


def _told(edit: Edit) -> str:
    return edit.words.replace(" tolerated by ", " is not tolerated by ").replace(" dropped", " hold").replace(" removed", " stand")
