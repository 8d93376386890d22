"""The fewest cordoned nodes that, uncordoned, help a root."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scheduler_core.causes.changes import UncordonedNodes
from scheduler_core.diagnosis.bisection import least, necessary
from scheduler_core.whatif.edits.edits import Edit, combine
from scheduler_core.whatif.edits.node_edits import uncordoning
from scheduler_core.whatif.edits.raw_objects import after
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity

_MOST_ONE_BY_ONE = 8
"""Maximum number of nodes each of which is left out for a try."""
_TAKEN = 2
"""Maximum number of nodes uncordoned beyond those that the root itself needs, because earlier roots use some of them."""

Arranged = Callable[[Sequence[int], Sequence[int]], Sequence[int]]
"""Order of nodes, which hold these numbers of pods."""


class CordonedNodes:
    """Cordoned nodes that could take pods of a root.

    Attributes:
        capacity: the capacity if all cordoned nodes were uncordoned.

    """

    def __init__(self, capacity: PresentCapacity) -> None:
        """Uncordon all nodes of the cluster of *capacity*."""
        nodes, book = capacity.snapshot.nodes, capacity.book
        self._names = frozenset(nodes.names[node] for node in np.flatnonzero(nodes.unschedulable).tolist())
        steps = uncordoning(sorted(self._names)).steps(book)
        if not steps:
            self._names = frozenset()
        self.capacity = (
            PresentCapacity(after(book.cluster(capacity.snapshot), steps).snapshot(), capacity.subject, book) if steps else capacity
        )

    def fewest(
        self, area: DomainCapacity, pods: int, works: Callable[[Edit], bool], arranged: Arranged = lambda nodes, _: nodes
    ) -> tuple[tuple[str, ...], Iterator[str]] | None:
        """Return the fewest nodes of *area* that work for *pods* more pods, and the others; None if all do not work.

        They are tried by capacity, or as *arranged*.
        """
        ordered, slots = self._ordered(area, arranged)
        if not ordered:
            return None
        likely = int(np.searchsorted(np.cumsum(slots), pods)) + 1
        if not (count := least(likely, len(ordered), lambda number: works(uncordoning(ordered[:number])))):
            return None
        chosen = ordered[:count]
        if count <= _MOST_ONE_BY_ONE:
            chosen = tuple(necessary(chosen, lambda fewer: works(uncordoning(fewer))))
        return chosen, (name for name in ordered if name not in chosen)

    def _ordered(self, area: DomainCapacity, arranged: Arranged) -> tuple[tuple[str, ...], list[int]]:
        """Return the cordoned nodes of *area* with capacity for a pod of the root, in their order, and that capacity."""
        names, subject = self.capacity.snapshot.nodes.names, self.capacity.subject
        slots = self.capacity.slots(subject.shape)
        usable = np.zeros(len(names), dtype=bool)
        for shape in {pod.shape.serial: pod.shape for pod in subject.waiting}.values():
            usable |= self.capacity.slots(shape) > 0
        nodes = [node for node in area.nodes.tolist() if usable[node] and names[node] in self._names]
        nodes.sort(key=lambda node: (-int(slots[node]), names[node]))
        nodes = [*arranged(nodes, slots[nodes].tolist())]
        return tuple(names[node] for node in nodes), [int(slots[node]) for node in nodes]


def keep_uncordoned(finding: Finding, capacity: PresentCapacity, areas: int, first: Edit | None = None) -> None:
    """Try to uncordon nodes in the *areas* domains that have the most capacity then, and keep the fewest nodes that work."""
    cordoned = CordonedNodes(capacity)
    for area in cordoned.capacity.areas(areas):
        missing = max(1, len(finding.subject.waiting) - _open_slots(capacity, area))
        found = cordoned.fewest(area, missing, lambda edit: finding.placed(combine(first, edit)) is not None)
        if found is None:
            continue
        chosen, others = found
        for _ in range(_TAKEN + 1):
            if finding.confirm(combine(first, uncordoning(chosen)), (UncordonedNodes, area.domain, first and first.change)):
                break
            if (another := next(others, None)) is None:
                break
            chosen = (*chosen, another)


def _open_slots(capacity: PresentCapacity, area: DomainCapacity) -> int:
    return int(capacity.slots(capacity.subject.shape)[area.nodes].sum())
