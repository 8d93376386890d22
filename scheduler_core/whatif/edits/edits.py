"""Kinds of changes: what each is in words, and as whole objects.

A change knows how much it is: its class first, then how far it goes.  The classes, from little to much: pods tolerate or select
less, a group is confined less, a group demands less, running pods move, running pods leave, nodes are added.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from scheduler_core.diagnosis import phrases
from scheduler_core.model.decision import Name, Step
from scheduler_core.whatif.edits.edited_objects import minimum_field, pod_of, respecified
from scheduler_core.whatif.edits.node_templates import Content, belongs_to_its_node, section
from scheduler_core.whatif.edits.raw_objects import Book

RELAXED, CONFINED, DEMANDED, MOVED, LEAVING, MORE_NODES = range(6)
"""Classes of changes."""
Weight = tuple[int, int]
"""Class, and how far it goes within its class."""


class Edit(Protocol):
    """A change."""

    @property
    def words(self) -> str:
        """What is done, as in ``minCount of PodGroup default/a lowered from 4 to 2``."""

    @property
    def weight(self) -> Weight:
        """How much it is."""

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """The objects that it replaces or deletes; None where they are not written so that it can be done."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lowered:
    """A group demands fewer pods, or fewer groups; those made of the same template are changed alike."""

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
        who = phrases.listed([titled(group) for group in self.groups])
        if not self.key:
            return f"topology constraint {self.before} of {who} dropped"
        return f"topology constraint of {who} widened from {phrases.level(self.before)} to {phrases.level(self.key)} ({self.key})"

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

        found: list[Step] = []
        for group in self.groups:
            if (steps := respecified(book, group, widen)) is None:
                return None
            found += steps
            book = book.with_steps(steps)
        return tuple(found)


@dataclasses.dataclass(frozen=True, slots=True)
class Moved:
    """Running pods are on other nodes."""

    nodes: Mapping[str, tuple[str, str]]
    """From and to, by pod."""

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
        """See Edit; pods that belong to their node cannot be moved."""
        found = []
        for key, (_, node) in sorted(self.nodes.items()):
            pod = pod_of(book, key)
            if pod is None or belongs_to_its_node(pod):
                return None
            pod["spec"]["nodeName"] = node
            found.append(Step(apply=pod))
        return tuple(found)


@dataclasses.dataclass(frozen=True, slots=True)
class Leaving:
    """Running pods are evicted."""

    who: tuple[str, ...]
    """Groups and pods in words."""
    pods: tuple[str, ...]

    @property
    def words(self) -> str:
        """See Edit."""
        return f"{phrases.listed(self.who, 8)} evicted ({phrases.counted(len(self.pods), 'running pod')})"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return LEAVING, len(self.pods)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit; pods that belong to their node would come back."""
        found = []
        for key in self.pods:
            pod = pod_of(book, key)
            if pod is None or belongs_to_its_node(pod):
                return None
            namespace, _, name = key.partition("/")
            found.append(Step(delete={"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}))
        return tuple(found)


@dataclasses.dataclass(frozen=True, slots=True)
class Quorum:
    """Several groups demand less."""

    lowered: tuple[Lowered, ...]

    @property
    def words(self) -> str:
        """See Edit."""
        first = self.lowered[0]
        if len({(each.group.kind, each.before, each.minimum) for each in self.lowered}) > 1:
            return phrases.listed([each.words for each in self.lowered], 8)
        who = phrases.listed([titled(each.group) for each in self.lowered])
        return f"{minimum_field(first.group.kind)} of {who} lowered from {first.before} to {first.minimum}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return DEMANDED, sum(each.before - each.minimum for each in self.lowered)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        found: list[Step] = []
        for each in self.lowered:
            if (steps := each.steps(book)) is None:
                return None
            found += steps
            book = book.with_steps(steps)
        return tuple(found)


@dataclasses.dataclass(frozen=True, slots=True)
class Both:
    """One change and then another."""

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
    """*edit* by itself, or on top of *first*."""
    return edit if first is None else Both(first, edit)


def titled(name: Name) -> str:
    """``PodGroup default/a``."""
    return f"{name.kind} {name.namespace}/{name.name}"
