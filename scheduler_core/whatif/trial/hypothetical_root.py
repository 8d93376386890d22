"""The root after an edit that is not written as steps yet: a fast check before writing it.

The result equals that of the steps, except that rules about trees are only checked on the steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container

from kubeapi.meta import replaced
from scheduler_core.causes.changes import Relaxation
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.whatif.edits.edits import Both, Edit, Evicted, Lowered, Moved, Quorum, Widened
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.trial.subject import Subject

SUPPOSABLE = (Lowered, Widened, Quorum, Respecified, Moved, Evicted)
"""Changes that do not affect nodes, in addition to ``Both`` of two of these."""


class Shapes:
    """Shapes of changed pods, each with its own number."""

    def __init__(self, first: int) -> None:
        self.next = first
        self._found: dict[tuple[Relaxation, int], PodShape] = {}

    def respecify(self, edit: Respecified, pod: PodRecord) -> PodRecord:
        """Return *pod* after *edit*."""
        key = (edit.change, pod.shape.serial)
        if (shape := self._found.get(key)) is None:
            shape = self._found[key] = dataclasses.replace(edit.reshape(pod.shape), serial=self.next)
            self.next += 1
        return replaced(pod, shape=shape)


def supposable(edit: Edit) -> bool:
    """Return whether ``supposed`` can apply *edit*."""
    return supposable(edit.first) and supposable(edit.second) if isinstance(edit, Both) else isinstance(edit, SUPPOSABLE)


def supposed(entity: Entity, edit: Edit, subject: Subject, shapes: Shapes) -> Entity:
    """Return *entity*, a root, after *edit*, which must be ``supposable``; changes of other pods do not affect it."""
    match edit:
        case Lowered():
            return changed(entity, subject.mates(edit.group), minimum=edit.minimum)
        case Quorum():
            for each in edit.lowered:
                entity = supposed(entity, each, subject, shapes)
        case Widened():
            names = frozenset(mate for group in edit.groups for mate in subject.mates(group))
            return changed(entity, names, key=edit.key)
        case Respecified():
            return _reshaped(entity, edit, frozenset(edit.pods), shapes)
        case Both():
            return supposed(supposed(entity, edit.first, subject, shapes), edit.second, subject, shapes)
    return entity


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


def bare(entity: Entity) -> Entity:
    """Return *entity* without pods beyond its minimums, for leaves whose pods are all equal: its feasibility is the same."""
    if entity.children:
        return dataclasses.replace(entity, children=tuple(bare(child) for child in entity.children))
    missing = max(1, entity.minimum - len(entity.running))
    equal = all(pod.shape is entity.waiting[0].shape and pod.nominated < 0 for pod in entity.waiting)
    return dataclasses.replace(entity, waiting=entity.waiting[:missing]) if equal and missing < len(entity.waiting) else entity


def _reshaped(entity: Entity, edit: Respecified, pods: frozenset[str], shapes: Shapes) -> Entity:
    children = tuple(_reshaped(child, edit, pods, shapes) for child in entity.children)
    waiting = tuple(shapes.respecify(edit, pod) if pod.key in pods else pod for pod in entity.waiting)
    return dataclasses.replace(entity, children=children, waiting=waiting)
