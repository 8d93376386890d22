"""Changes that add nodes, each with what every node of its kind runs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from scheduler_core.diagnosis import phrases
from scheduler_core.model.decision import Step
from scheduler_core.whatif.edits.edits import MORE_NODES, Weight
from scheduler_core.whatif.edits.node_templates import Content, companion, fresh
from scheduler_core.whatif.edits.raw_objects import Book, merged

_LARGER = 1000
"""A kind of node that there is not yet is more than any number of those there are."""

_ADDED = "-added-"


@dataclasses.dataclass(frozen=True, slots=True)
class MoreNodes:
    """Fresh nodes like one that is there, in the same domains.

    Attributes:
        count: how many.
        like: the node that they are like.
        where: in words.
        labels: those that *like* has otherwise, so that the fresh ones are in the domains where they are wanted.
        larger: what can be allocated on them, where *like* has too little.
        companions: the pods of DaemonSets on *like*, and its own: each fresh node runs the like of them.

    """

    count: int
    like: str
    where: str = ""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    larger: Mapping[str, str] = dataclasses.field(default_factory=dict)
    companions: tuple[Content, ...] = ()

    @property
    def words(self) -> str:
        """See Edit."""
        where = f" in {self.where}" if self.where else ""
        return f"{phrases.counted(self.count, 'more node')}{where} {self.kind}"

    @property
    def kind(self) -> str:
        """What they are, in words."""
        more = f", but with {phrases.listed([f'{amount} {name}' for name, amount in self.larger.items()])}" if self.larger else ""
        return f"like {self.like}{more}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MORE_NODES, self.count + (_LARGER if self.larger else 0)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        node = book.get("Node", "", self.like)
        if node is None:
            return None
        names = book.free((f"{self.like}{_ADDED}{number}" for number in itertools.count(1)), _ADDED)
        return tuple(step for name in itertools.islice(names, self.count) for step in self._one(node, name))

    def _one(self, node: Content, name: str) -> Iterator[Step]:
        yield Step(apply=fresh(node, name, self.labels, self.larger))
        yield from (Step(apply=companion(pod, name)) for pod in self.companions)


@dataclasses.dataclass(frozen=True, slots=True)
class NodesInDomains:
    """Fresh nodes in several domains."""

    parts: tuple[MoreNodes, ...]

    @property
    def words(self) -> str:
        """See Edit."""
        each = phrases.listed([f"{part.count} in {part.where} {part.kind}" for part in self.parts], 8)
        return f"{phrases.counted(sum(part.count for part in self.parts), 'more node')}: {each}"

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MORE_NODES, sum(part.weight[1] for part in self.parts)

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        found: tuple[Step, ...] = ()
        for part in self.parts:
            if (steps := part.steps(book)) is None:
                return None
            found, book = (*found, *steps), book.with_steps(steps)
        return merged(found)
