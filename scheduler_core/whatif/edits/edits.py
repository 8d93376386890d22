"""Kinds of changes: text for users, and steps on whole objects.

The weight of a change is its class, then its extent.  The classes, from small to large: pods tolerate more or select
less, a group is confined to a wider domain, a group needs less, nodes are uncordoned, running pods are moved, running pods are evicted,
volumes or storage are added, nodes are added.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from scheduler_core.model import nouns as phrases
from scheduler_core.model.decision import Name, Step
from scheduler_core.whatif.edits.edited_objects import minimum_field, pod_of, released_claims, respecified
from scheduler_core.whatif.edits.node_templates import Content, belongs_to_its_node, section
from scheduler_core.whatif.edits.raw_objects import Book

RELAXED, CONFINED, DEMANDED, UNCORDONED, MOVED, EVICTED, MORE_STORAGE, MORE_NODES = range(8)
"""Classes of changes."""
Weight = tuple[int, int]
"""Class, and extent within the class."""


class Edit(Protocol):
    """Interface of a change."""

    @property
    def words(self) -> str:
        """Return the change in words, such as ``minCount of PodGroup default/a lowered from 4 to 2``."""

    @property
    def weight(self) -> Weight:
        """Return the class and extent."""

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """Return the objects to replace or delete; None if the raw objects do not allow the change."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lowered:
    """A group needs fewer pods, or fewer groups; groups of the same template are changed too."""

    group: Name
    before: int
    minimum: int

    @property
    def words(self) -> str:
        """See Edit."""
        return f"{minimum_field(self.group.kind)} of {titled(self.group)} lowered from {self.before} to {self.minimum}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return DEMANDED, self.before - self.minimum

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""

        def lower(spec: Content) -> bool:
            gang = section(section(spec, "schedulingPolicy"), "gang")
            field = minimum_field(self.group.kind)
            if field not in gang:
                return False
            gang[field] = self.minimum
            return True

        return respecified(book, self.group, lower)


@dataclasses.dataclass(frozen=True, slots=True)
class Widened:
    """Groups are confined to a domain of another key, or (empty) to none."""

    groups: tuple[Name, ...]
    before: str
    key: str

    @property
    def words(self) -> str:
        """See Edit."""
        group_names = phrases.listed([titled(group) for group in self.groups])
        if not self.key:
            return f"topology constraint {self.before} of {group_names} dropped"
        return f"topology constraint of {group_names} widened from {phrases.level(self.before)} to {phrases.level(self.key)} ({self.key})"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return CONFINED, 2 * len(self.groups) + (not self.key)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
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

        result: list[Step] = []
        for group in self.groups:
            if (steps := respecified(book, group, widen)) is None:
                return None
            result += steps
            book = book.with_steps(steps)
        return tuple(result)


@dataclasses.dataclass(frozen=True, slots=True)
class Moved:
    """Running pods are moved to other nodes."""

    nodes: Mapping[str, tuple[str, str]]
    """Old and new node, by pod."""

    @property
    def words(self) -> str:
        """See Edit."""
        moves = [f"{pod} from {before} to {after}" for pod, (before, after) in sorted(self.nodes.items())]
        return f"{phrases.counted(len(moves), 'running pod')} moved: {phrases.listed(moves, 8)}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MOVED, len(self.nodes)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit; DaemonSet and static pods cannot be moved."""
        result = []
        for key, (_, node) in sorted(self.nodes.items()):
            pod = pod_of(book, key)
            if pod is None or belongs_to_its_node(pod):
                return None
            pod["spec"]["nodeName"] = node
            result.append(Step(apply=pod))
        return tuple(result)


@dataclasses.dataclass(frozen=True, slots=True)
class Evicted:
    """Running pods are evicted."""

    who: tuple[str, ...]
    """Names of groups and pods."""
    pods: tuple[str, ...]

    @property
    def words(self) -> str:
        """See Edit."""
        return f"{phrases.listed(self.who, 8)} evicted ({phrases.counted(len(self.pods), 'running pod')})"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return EVICTED, len(self.pods)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit; DaemonSet and static pods would be recreated.

        Claims that no other pod uses are released, as the resourceclaim controller does.
        """
        result = []
        for key in self.pods:
            pod = pod_of(book, key)
            if pod is None or belongs_to_its_node(pod):
                return None
            namespace, _, name = key.partition("/")
            result.append(Step(delete={"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}))
        return (*result, *released_claims(book, self.pods))


@dataclasses.dataclass(frozen=True, slots=True)
class Quorum:
    """The minimums of several groups are lowered."""

    lowered: tuple[Lowered, ...]

    @property
    def words(self) -> str:
        """See Edit."""
        first = self.lowered[0]
        if len({(each.group.kind, each.before, each.minimum) for each in self.lowered}) > 1:
            return phrases.listed([each.words for each in self.lowered], 8)
        group_names = phrases.listed([titled(each.group) for each in self.lowered])
        return f"{minimum_field(first.group.kind)} of {group_names} lowered from {first.before} to {first.minimum}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return DEMANDED, sum(each.before - each.minimum for each in self.lowered)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        result: list[Step] = []
        for each in self.lowered:
            if (steps := each.steps(book)) is None:
                return None
            result += steps
            book = book.with_steps(steps)
        return tuple(result)


@dataclasses.dataclass(frozen=True, slots=True)
class Both:
    """Two changes, one after the other."""

    first: Edit
    second: Edit

    @property
    def words(self) -> str:
        """See Edit."""
        return f"{self.first.words}, and {self.second.words}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return max(self.first.weight, self.second.weight)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        first = self.first.steps(book)
        second = None if first is None else self.second.steps(book.with_steps(first))
        return None if first is None or second is None else (*first, *second)


def combine(first: Edit | None, edit: Edit) -> Edit:
    """Return *edit*, or *first* and then *edit*."""
    return edit if first is None else Both(first, edit)


def titled(name: Name) -> str:
    """Return the name of a group or pod in words: ``PodGroup default/a``."""
    return f"{name.kind} {name.namespace}/{name.name}"
