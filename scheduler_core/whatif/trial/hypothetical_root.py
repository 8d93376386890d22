"""A root as it would be after a change that is not written down: to see whether it is worth being written.

What is supposed here is what the steps of the change make of the root, but for the rules about trees, which are held against the
steps alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container

from scheduler_core.model.decision import Name
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.whatif.edits.edits import Both, Edit, Leaving, Lowered, Moved, Quorum, Widened
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.trial.subject import Subject

SUPPOSABLE = (Lowered, Widened, Quorum, Respecified, Moved, Leaving)
"""Changes that leave the nodes alone, apart from ``Both`` of two of them."""


class Shapes:
    """Shapes that changed pods would have, each under a number of its own."""

    def __init__(self, first: int) -> None:
        self.next = first
        self._found: dict[tuple[str, int], PodShape] = {}

    def respecify(self, edit: Respecified, pod: PodRecord) -> PodRecord:
        """*pod* after *edit*."""
        at = (edit.words, pod.shape.serial)
        if (shape := self._found.get(at)) is None:
            shape = self._found[at] = dataclasses.replace(edit.reshape(pod.shape), serial=self.next)
            self.next += 1
        return dataclasses.replace(pod, shape=shape)


def supposable(edit: Edit) -> bool:
    """Whether ``supposed`` knows what comes of it."""
    return supposable(edit.first) and supposable(edit.second) if isinstance(edit, Both) else isinstance(edit, SUPPOSABLE)


def supposed(entity: Entity, edit: Edit, subject: Subject, shapes: Shapes) -> Entity:
    """*entity*, a root, after *edit*, which is ``supposable``; changes of other pods leave it as it is."""
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
    """*entity* with the groups *names* in it demanding no more than *minimum*, and confined by *key*, where these are given."""
    children = tuple(changed(child, names, minimum=minimum, key=key) for child in entity.children)
    if entity.name not in names:
        return dataclasses.replace(entity, children=children) if children else entity
    lowered = entity.minimum if minimum is None else min(minimum, entity.minimum)
    return dataclasses.replace(entity, children=children, minimum=lowered, key=entity.key if key is None else key)


def spared(entity: Entity, absent: Container[Name]) -> Entity | None:
    """*entity* if the groups *absent* below it were satisfied without taking room; None if it is satisfied then.

    Each counts for the minimum of its parent, and is not placed.
    """
    if entity.name in absent:
        return None
    if not entity.children:
        return entity
    left = [found for child in entity.children if (found := spared(child, absent)) is not None]
    minimum = entity.minimum - (len(entity.children) - len(left))
    if minimum <= 0:
        return None
    return dataclasses.replace(entity, children=tuple(left), minimum=minimum)


def bare(entity: Entity) -> Entity:
    """*entity* without pods beyond its minimums, as far as these are all alike: what it needs is met with or without them."""
    if entity.children:
        return dataclasses.replace(entity, children=tuple(bare(child) for child in entity.children))
    missing = max(1, entity.minimum - len(entity.running))
    alike = all(pod.shape is entity.waiting[0].shape and pod.nominated < 0 for pod in entity.waiting)
    return dataclasses.replace(entity, waiting=entity.waiting[:missing]) if alike and missing < len(entity.waiting) else entity


def _reshaped(entity: Entity, edit: Respecified, pods: frozenset[str], shapes: Shapes) -> Entity:
    children = tuple(_reshaped(child, edit, pods, shapes) for child in entity.children)
    waiting = tuple(shapes.respecify(edit, pod) if pod.key in pods else pod for pod in entity.waiting)
    return dataclasses.replace(entity, children=children, waiting=waiting)
