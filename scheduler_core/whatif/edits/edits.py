"""Kinds of edits: each carries its change as a value, and has the steps on whole objects.

The weight of an edit is its class, then its extent.  The classes, from small to large: pods that are being deleted are awaited, pods tolerate more or select
less, a group is confined to a wider domain, a group needs less, nodes are uncordoned, running pods are moved, running pods are evicted,
volumes or storage are added, nodes are added.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from kubeapi.base_structs import Record
from scheduler_core.causes import changes
from scheduler_core.causes.changes import Change
from scheduler_core.model.decision import Step
from scheduler_core.model.names import Name
from scheduler_core.whatif.edits.edited_objects import deletion, pod_name, pod_of, released_claims, respecified, successive
from scheduler_core.whatif.edits.node_templates import Content, belongs_to_its_node, section
from scheduler_core.whatif.edits.raw_objects import Book

AWAITED, RELAXED, CONFINED, DEMANDED, UNCORDONED, MOVED, EVICTED, MORE_STORAGE, MORE_NODES = range(9)
"""Classes of changes."""
Weight = tuple[int, int]
"""Class, and extent within the class."""


class Edit(Protocol):
    """Interface of an edit."""

    @property
    def change(self) -> Change:
        """Return the change, which identifies the edit."""

    @property
    def weight(self) -> Weight:
        """Return the class and extent."""

    def steps(self, book: Book) -> tuple[Step, ...]:
        """Return the objects to replace or delete; none if the raw objects do not allow the change."""


class DeletionsAwaitedFirst(Record, frozen=True):
    """Pods that are being deleted are gone."""

    pods: tuple[str, ...]

    @property
    def change(self) -> changes.AwaitedDeletions:
        """See Edit."""
        return changes.AwaitedDeletions(tuple(map(pod_name, self.pods)))

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return AWAITED, len(self.pods)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit; claims are released as those of evicted pods."""
        return (*map(deletion, self.pods), *released_claims(book, self.pods))


class Lowered(Record, frozen=True):
    """A group needs fewer pods, or fewer groups; groups of the same template are changed too."""

    group: Name
    before: int
    minimum: int

    @property
    def lowered(self) -> changes.LoweredMinimum:
        """Return the change of the group."""
        return changes.LoweredMinimum(self.group, self.before, self.minimum)

    @property
    def change(self) -> changes.LoweredMinimums:
        """See Edit."""
        return changes.LoweredMinimums((self.lowered,))

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return DEMANDED, self.before - self.minimum

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""

        def lower(spec: Content) -> bool:
            gang = section(section(spec, "schedulingPolicy"), "gang")
            field = self.lowered.field
            if field not in gang:
                return False
            gang[field] = self.minimum
            return True

        return respecified(book, self.group, lower)


class Widened(Record, frozen=True):
    """Groups that are confined by the keys *before* are confined to a domain of another key, or (empty) to none."""

    groups: tuple[Name, ...]
    before: tuple[str, ...]
    key: str

    @property
    def change(self) -> changes.WidenedTopology | changes.DroppedTopology:
        """See Edit."""
        return (
            changes.WidenedTopology(self.groups, self.before[0], self.key)
            if self.key
            else changes.DroppedTopology(self.before, self.groups)
        )

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return CONFINED, 2 * len(self.groups) + (not self.key)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""

        def widen(spec: Content) -> bool:
            constraints = section(spec, "schedulingConstraints")
            if not constraints.get("topology"):
                return False
            if self.key:
                constraints["topology"] = [{"key": self.key}]
            else:
                del spec["schedulingConstraints"]
            return True

        return successive(book, (functools.partial(respecified, name=group, change=widen) for group in self.groups))


class Moved(Record, frozen=True):
    """Running pods are moved to other nodes."""

    nodes: Mapping[str, tuple[str, str]]
    """Old and new node, by pod."""

    @property
    def change(self) -> changes.MovedPods:
        """See Edit."""
        return changes.MovedPods(tuple(changes.MovedPod(pod_name(pod), *nodes) for pod, nodes in sorted(self.nodes.items())))

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MOVED, len(self.nodes)

    def only(self, pods: Collection[str]) -> Moved:
        """Return the edit that moves only *pods* of these."""
        return Moved({pod: nodes for pod, nodes in self.nodes.items() if pod in pods})

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit; DaemonSet and static pods cannot be moved."""
        result = []
        for key, (_, node) in sorted(self.nodes.items()):
            pod = pod_of(book, key)
            if pod is None or belongs_to_its_node(pod):
                return ()
            pod["spec"]["nodeName"] = node
            result.append(Step(apply=pod))
        return tuple(result)


class Evicted(Record, frozen=True):
    """Running pods are evicted."""

    units: tuple[Name, ...]
    """Whole trees, and single pods."""
    pods: tuple[str, ...]

    @property
    def change(self) -> changes.EvictedUnits:
        """See Edit."""
        return changes.EvictedUnits(len(self.pods), self.units)

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return EVICTED, len(self.pods)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit; DaemonSet and static pods would be recreated.

        Claims that no other pod uses are released, as the resourceclaim controller does.
        """
        result = []
        for key in self.pods:
            pod = pod_of(book, key)
            if pod is None or belongs_to_its_node(pod):
                return ()
            result.append(deletion(key))
        return (*result, *released_claims(book, self.pods))


class Quorum(Record, frozen=True):
    """The minimums of several groups are lowered."""

    lowered: tuple[Lowered, ...]

    @property
    def change(self) -> changes.LoweredMinimums:
        """See Edit."""
        return changes.LoweredMinimums(tuple(each.lowered for each in self.lowered))

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return DEMANDED, sum(each.before - each.minimum for each in self.lowered)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""
        return successive(book, (each.steps for each in self.lowered))


class Both(Record, frozen=True):
    """Two changes, one after the other."""

    first: Edit
    second: Edit

    @property
    def change(self) -> changes.Successive:
        """See Edit."""
        return changes.Successive(self.first.change, self.second.change)

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return max(self.first.weight, self.second.weight)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""
        return successive(book, (self.first.steps, self.second.steps))


@dataclasses.dataclass(frozen=True, slots=True)
class Rewritten:
    """Objects that are changed or added by their contents: *rewrite* returns them, or None if they cannot be changed."""

    change: Change
    rewrite: Callable[[Book], Sequence[Content] | None]
    weight: Weight

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""
        return tuple(Step(apply=each) for each in self.rewrite(book) or ())


def disruption(edit: Edit) -> tuple[int, ...]:
    """Return a sort key: the class, then two changes after one, then the extent."""
    kind, extent = edit.weight
    return kind, isinstance(edit, Both), extent


def combine(first: Edit | None, edit: Edit) -> Edit:
    """Return *edit*, or *first* and then *edit*."""
    return edit if first is None else Both(first, edit)
