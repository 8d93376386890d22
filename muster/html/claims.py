"""Demands of the groups of a root on a domain: number of pods, shapes, topology levels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodShape


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A topology constraint of a group: the key, and the nodes of running members, which determine the domain."""

    key: str
    pinned: frozenset[int]


Chain = tuple[Link, ...]
"""The levels around a group, the outermost first."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Pods that must fit in one domain.

    Attributes:
        title: the group's name; ``all of`` and the name for a composite.
        chain: the levels around it, its own last.
        shapes: the different shapes of the pods, by serial.
        required: the shape of each pod that is needed.

    """

    title: str
    chain: Chain
    shapes: tuple[PodShape, ...]
    required: tuple[PodShape, ...]

    @property
    def pods(self) -> int:
        """Return the number of pods that must fit."""
        return len(self.required)

    def amount(self, row: int) -> int:
        """Return the amount of a resource that they request together."""
        return sum(dict(shape.requests).get(row, 0) for shape in self.required)


def claims(root: Entity) -> list[Claim]:
    """Return the claim of the whole root, if it has several groups and a level, and of each leaf that needs pods."""
    result = [_claim(leaf.name.name, chain, required) for leaf, chain in _leaves(root, ()) if (required := _needed(leaf))]
    if len(result) > 1 and root.key:
        result.insert(0, _claim(f"all of {root.name.name}", (_link(root),), _least(root)))
    return result


def _claim(title: str, chain: Chain, required: tuple[PodShape, ...]) -> Claim:
    shapes = {shape.serial: shape for shape in required}
    return Claim(title, chain, tuple(shapes[serial] for serial in sorted(shapes)), required)


def _leaves(entity: Entity, chain: Chain) -> Iterator[tuple[Entity, Chain]]:
    if entity.key and entity.key not in {link.key for link in chain}:
        chain = (*chain, _link(entity))
    if entity.name.kind != "CompositePodGroup":
        yield entity, chain
    for child in entity.children:
        yield from _leaves(child, chain)


def _link(entity: Entity) -> Link:
    return Link(entity.key, frozenset(pod.node for leaf in entity.leaves() for pod in leaf.running))


def _needed(leaf: Entity) -> tuple[PodShape, ...]:
    """Return the shapes of the pods that a leaf must still place; one pod if it has its minimum."""
    count = max(leaf.minimum - len(leaf.running), 1)
    return tuple(pod.shape for pod in leaf.waiting[:count]) if len(leaf.waiting) >= count else ()


def _least(entity: Entity) -> tuple[PodShape, ...]:
    """Return the smallest set of pods with which an entity has its minimum."""
    if entity.name.kind != "CompositePodGroup":
        return _needed(entity)
    # A child that cannot reach its minimum is not counted.
    return tuple(shape for each in sorted(filter(None, map(_least, entity.children)), key=len)[: entity.minimum] for shape in each)
