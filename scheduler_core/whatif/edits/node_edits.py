"""Changes that uncordon nodes, or add nodes, each with its DaemonSet and static pods."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.base_structs import Record, record_field
from kubeapi.resource_names import at_least
from scheduler_core.causes.changes import AddedNodes, AddedNodesByDomain, UncordonedNodes
from scheduler_core.causes.node_count import Amount
from scheduler_core.model.decision import Step
from scheduler_core.model.names import Domain
from scheduler_core.whatif.edits.edited_objects import successive
from scheduler_core.whatif.edits.edits import MORE_NODES, UNCORDONED, Rewritten, Weight
from scheduler_core.whatif.edits.node_templates import Content, companion, csi_drivers, fresh, uncordoned
from scheduler_core.whatif.edits.raw_objects import Book, merged

LARGER = 1_000_000
"""Extent of a new kind of node: larger than any number of existing kinds."""

_ADDED = "-added-"


def uncordoning(names: Sequence[str]) -> Rewritten:
    """Return the edit after which cordoned nodes accept new pods again."""

    def rewrite(book: Book) -> list[Content] | None:
        nodes = [node for name in names if (node := book.get("Node", "", name)) is not None]
        return [uncordoned(node) for node in nodes] if len(nodes) == len(names) else None

    return Rewritten(UncordonedNodes(tuple(sorted(names))), rewrite, (UNCORDONED, len(names)))


class MoreNodes(Record, frozen=True):
    """New nodes like an existing one, in the same domains.

    Attributes:
        count: number of nodes.
        like: the existing node.
        domains: their domains, one of each key; none for nodes anywhere.
        labels: labels that differ from *like*, so that the new nodes are in the required domains.
        larger: allocatable amounts (cpu in millicores, storage in bytes) that *like* has too little of.
        companions: DaemonSet and static pods on *like*; each new node runs copies of them.

    """

    count: int
    like: str
    domains: tuple[Domain, ...] = ()
    labels: Mapping[str, str] = record_field(default_factory=dict)
    larger: Mapping[str, int] = record_field(default_factory=dict)
    companions: tuple[Content, ...] = ()

    @property
    def change(self) -> AddedNodes:
        """See Edit."""
        larger = tuple(Amount(resource, value) for resource, value in self.larger.items())
        return AddedNodes(self.count, self.domains, self.like, larger)

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MORE_NODES, self.count + (LARGER if self.larger else 0)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""
        node = book.get("Node", "", self.like)
        if node is None:
            return ()
        names = book.free((f"{self.like}{_ADDED}{number}" for number in itertools.count(1)), _ADDED)
        drivers = book.get("CSINode", "", self.like)
        return tuple(step for name in itertools.islice(names, self.count) for step in self._node_steps(node, drivers, name))

    def _node_steps(self, node: Content, drivers: Content | None, name: str) -> Iterator[Step]:
        larger = {resource: at_least(resource, value) for resource, value in self.larger.items()}
        yield Step(apply=fresh(node, name, self.labels, larger))
        if drivers is not None:
            yield Step(apply=csi_drivers(drivers, name))
        yield from (Step(apply=companion(pod, name)) for pod in self.companions)


class NodesInDomains(Record, frozen=True):
    """New nodes in several domains."""

    parts: tuple[MoreNodes, ...]

    @property
    def change(self) -> AddedNodesByDomain:
        """See Edit."""
        return AddedNodesByDomain(tuple(part.change for part in self.parts))

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MORE_NODES, sum(part.weight[1] for part in self.parts)

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""
        return merged(successive(book, (part.steps for part in self.parts)))
