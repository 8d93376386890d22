"""Conflicting constraints of a root: a minimal set that cannot be satisfied together, found by dropping constraints.

A constraint stays dropped if the root does not fit without it either.  None of the remaining ones can be dropped (a minimal set,
not the smallest one).  Constraints that the causes of the root name are dropped last, so that they remain.  The capacity of empty nodes is always a constraint.  A group that takes capacity from its
siblings is dropped by counting it as satisfied without any pods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.constraints import (
    Constraint,
    EarlierRoot,
    EarlierRoots,
    InOneDomain,
    NeedsMembers,
    NominatedPodsKeepCapacity,
    NotRelaxed,
    RunningPodsKeepNodes,
    TakesCapacity,
)
from scheduler_core.causes.groups import ChildrenInDomain, failing_groups
from scheduler_core.causes.removed_causes import removes, stated_filters
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edits import Both, Edit, Evicted, Lowered, Moved, Quorum, Widened, combine
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.remedies import candidates
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial, TrialsSpentError

PROVABLE = frozenset({Status.UNSCHEDULABLE, Status.UNRESOLVABLE})
"""Statuses that constraints can explain; roots with other statuses wait for members or violate rules."""
_STEPS = 10_000
"""Maximum search steps for one trial."""
_SEPARATE_ROOTS = 16
"""Up to this number, earlier roots are dropped one by one; more are dropped together."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DroppableConstraint:
    """A constraint that can be dropped.

    Attributes:
        value: the constraint; one of a group of the tree is dropped there.
        relaxed: the edit of pods that drops it.
        pods: pods that are removed to drop it.

    """

    value: Constraint
    relaxed: Respecified | None = None
    pods: tuple[PodRecord, ...] = ()

    @property
    def group(self) -> Name | None:
        """Return its group; None if it belongs to no group of the tree."""
        return self.value.group if isinstance(self.value, NeedsMembers | InOneDomain | TakesCapacity) else None

    @property
    def absent(self) -> bool:
        """Return whether the group counts as satisfied if it is dropped."""
        return isinstance(self.value, TakesCapacity)


class Conflict(Record, frozen=True):
    """Conflicting constraints; empty if no such set is known."""

    constraints: tuple[DroppableConstraint, ...] = ()
    minimal: tuple[Constraint, ...] = ()
    """The constraints for people; empty if the set is not known to be minimal."""

    def met_by(self, edit: Edit, subject: Subject) -> bool:
        """Return whether *edit* changes any of the constraints; otherwise it cannot help by itself."""
        return not self.constraints or any(_changes(edit, each, subject) for each in self.constraints)


def find_conflict(trial: Trial, subject: Subject, causes: Sequence[Cause] = ()) -> Conflict:
    """Return the conflicting constraints of the root of *trial*, which fails for *causes*; empty if the tries are used up."""
    if (entity := trial.cluster.unchanged.entity) is None:
        return Conflict()
    trial.refill(_STEPS)
    try:
        return _Search(trial, subject, entity, causes).run()
    except TrialsSpentError:
        return Conflict()


class _Search:
    def __init__(self, trial: Trial, subject: Subject, entity: Entity, causes: Sequence[Cause]) -> None:
        self._trial = trial
        self._causes = causes
        self._failing = [cause for cause, _ in failing_groups(causes)]
        self._subject = subject
        self._entity = entity
        self._minimal = True
        self._kept: list[DroppableConstraint] = []
        self._dropped: list[DroppableConstraint] = []

    def run(self) -> Conflict:
        trial, subject = self._trial, self._subject
        relaxations = candidates.relaxations(trial.cluster.base, subject)
        relaxed = [DroppableConstraint(NotRelaxed(edit.change), relaxed=edit) for edit in relaxations]
        siblings, own, others = [*_siblings(subject)], [*_own(subject)], [*_others(trial)]
        every = [*relaxed, *siblings, *own, *others]
        if not self._placed(every) or not self._minimal:
            return Conflict()
        for constraints in (relaxed, siblings):
            self._reduce(sorted(constraints, key=self._names))
        # Constraints of a group that takes no capacity have no effect.
        absent = _below(_groups(self._dropped, TakesCapacity), subject)
        self._dropped += [each for each in own if each.group in absent]
        effective = sorted((each for each in own if each.group not in absent), key=self._names)
        self._reduce([*effective, *others], placed=not self._kept)
        kept = sorted(self._kept, key=every.index)
        return Conflict(tuple(kept), tuple(_meaningful(kept, subject)) if self._minimal else ())

    def _names(self, constraint: DroppableConstraint) -> bool:
        """Return whether the causes name *constraint*."""
        match constraint.value:
            case NotRelaxed(change):
                return any(removes(change, cause) for cause in stated_filters(self._causes))
            case TakesCapacity(group):
                return any(group == each.group for cause in self._failing if isinstance(cause, ChildrenInDomain) for each in cause.taken)
            case NeedsMembers(group) | InOneDomain(group):
                names = (cause.failing[0] if isinstance(cause, ChildrenInDomain) else cause for cause in self._failing)
                return any(group == cause.path[-1] for cause in names)
        return False

    def _reduce(self, constraints: Sequence[DroppableConstraint], *, placed: bool = False) -> None:
        """Drop all of *constraints* that are not needed; *placed*: True if the root is known to fit with all of them dropped."""
        if not placed and not self._placed(constraints):
            self._dropped += constraints
        elif len(constraints) == 1:
            self._kept.append(constraints[0])
        elif constraints:
            kept, half = len(self._kept), len(constraints) // 2
            self._reduce(constraints[:half])
            self._reduce(constraints[half:], placed=len(self._kept) == kept)

    def _placed(self, more: Sequence[DroppableConstraint]) -> bool:
        dropped = [*self._dropped, *more]
        relaxed: Edit | None = None
        for each in dropped:
            relaxed = relaxed if each.relaxed is None else combine(relaxed, each.relaxed)
        fork = self._trial.cluster.unchanged if relaxed is None else self._trial.fork(relaxed)
        entity = fork.entity or self._entity
        entity = changed(entity, _groups(dropped, NeedsMembers), minimum=1)
        entity = changed(entity, _groups(dropped, InOneDomain), key="")
        remaining = without_satisfied(entity, _groups(dropped, TakesCapacity))
        if remaining is None:
            return True
        self._trial.undecided = False
        placed = self._trial.attempt(fork, remaining, [pod for each in dropped for pod in each.pods]) is not None
        if self._trial.undecided:
            # Keep an undecided constraint, so that the set certainly conflicts.
            self._minimal = False
        return placed or self._trial.undecided


def _groups(constraints: Iterable[DroppableConstraint], kind: type[NeedsMembers | InOneDomain | TakesCapacity]) -> set[Name]:
    """Return the groups that have a constraint of a kind among *constraints*."""
    return {each.value.group for each in constraints if isinstance(each.value, kind)}


def _meaningful(constraints: Sequence[DroppableConstraint], subject: Subject) -> Iterator[Constraint]:
    """Yield the constraints for people; that a group takes capacity is omitted if it has no sibling in the set, or the set contains its demand."""
    for each in constraints:
        if each.absent:
            within = _below({each.group}, subject)
            above = {group.name for group in subject.groups if within <= _below({group.name}, subject)}
            demanding = any(other.group in within for other in constraints if not other.absent)
            with_sibling = any(other.group is not None and other.group not in within | above for other in constraints)
            if demanding or not with_sibling:
                continue
        yield each.value


def _siblings(subject: Subject) -> Iterator[DroppableConstraint]:
    """Return a constraint for each group that takes capacity from its siblings."""
    alone = {group.children[0] for group in subject.groups if len(group.children) == 1}
    for group in reversed(subject.groups[1:]):
        if group.name not in alone:
            yield DroppableConstraint(TakesCapacity(group.name))


def _own(subject: Subject) -> Iterator[DroppableConstraint]:
    """Return the demands of the root's groups, leaves first."""
    for group in reversed(subject.groups):
        if group.gang and group.minimum > 1:
            yield DroppableConstraint(NeedsMembers(group.name, group.minimum))
        if group.key:
            yield DroppableConstraint(InOneDomain(group.name, group.key))


def _others(trial: Trial) -> Iterator[DroppableConstraint]:
    """Return constraints by other pods: earlier roots, nominated pods, running pods."""
    before = {pod.key for each in trial.earlier for pod in each.pods}
    if len(trial.earlier) <= _SEPARATE_ROOTS:
        for each in trial.earlier:
            yield DroppableConstraint(EarlierRoot(each.root), pods=each.pods)
    else:
        pods = tuple(pod for each in trial.earlier for pod in each.pods)
        yield DroppableConstraint(EarlierRoots(len(trial.earlier)), pods=pods)
    others = trial.cluster.others.values()
    if nominated := tuple(pod for pod in others if pod.node < 0 and pod.nominated >= 0):
        yield DroppableConstraint(NominatedPodsKeepCapacity(), pods=nominated)
    if running := tuple(pod for pod in others if pod.node >= 0 and pod.key not in before):
        yield DroppableConstraint(RunningPodsKeepNodes(), pods=running)


def _below(names: Iterable[Name | None], subject: Subject) -> set[Name | None]:
    """Return *names* with all groups below them."""
    below = set(names)
    for group in subject.groups:
        if group.name in below:
            below.update(group.children)
    return below


def _changes(edit: Edit, constraint: DroppableConstraint, subject: Subject) -> bool:
    match edit:
        case Lowered():
            changes = bool(_groups([constraint], NeedsMembers) & subject.mates(edit.group))
        case Widened():
            changes = any(_groups([constraint], InOneDomain) & subject.mates(each) for each in edit.groups)
        case Quorum():
            changes = any(_changes(each, constraint, subject) for each in edit.lowered)
        case Both():
            changes = _changes(edit.first, constraint, subject) or _changes(edit.second, constraint, subject)
        case Moved() | Evicted():
            changes = bool(constraint.pods)
        case Respecified():
            changes = constraint.value == NotRelaxed(edit.change)
        case _:
            # The capacity of nodes is not in the set, but always applies.
            changes = True
    return changes


def changed(entity: Entity, names: Container[Name], *, minimum: int | None = None, key: str | None = None) -> Entity:
    """Return *entity* with minimum at most *minimum*, and topology key *key*, in the groups *names*; None keeps the value."""
    children = tuple(changed(child, names, minimum=minimum, key=key) for child in entity.children)
    if entity.name not in names:
        return dataclasses.replace(entity, children=children) if children else entity
    lowered = entity.minimum if minimum is None else min(minimum, entity.minimum)
    return dataclasses.replace(entity, children=children, minimum=lowered, key=entity.key if key is None else key)


def without_satisfied(entity: Entity, absent: Container[Name]) -> Entity | None:
    """Return *entity* with the groups *absent* counted as satisfied without being placed; None if it is satisfied then.

    Each of them counts for the minimum of its parent.
    """
    if entity.name in absent:
        return None
    if not entity.children:
        return entity
    remaining = [kept for child in entity.children if (kept := without_satisfied(child, absent)) is not None]
    minimum = entity.minimum - (len(entity.children) - len(remaining))
    if minimum <= 0:
        return None
    return dataclasses.replace(entity, children=tuple(remaining), minimum=minimum)
