"""Data of a page: an answer, its cluster, and what is derived from both."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from muster.html import placed_pods
from muster.html.placed_pods import FinalPlacement
from muster.html.topology_areas import AreaMap
from muster.render.answer import Answer
from muster.render.tree_rows import Kinship
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.plugins.profile import Profile

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """The first items, and the number of others."""

    shown: tuple[T, ...] = ()
    more: int = 0

    @classmethod
    def from_sequence(cls, items: Sequence[T], most: int) -> Listed[T]:
        """Return at most *most* of the items."""
        return cls(tuple(items[:most]), max(0, len(items) - most))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One simulation.

    Attributes:
        answer: the result.
        snapshot: the cluster.
        options: those of the cycle.
        kinship: groups and pods by parent.
        profile: plugins that decide which pods can run on which nodes.
        final: the pods on the nodes after the last cycle.
        area_map: the areas of the topology.
        placed: the last decision on each root that is placed, in the order in which they were made.
        unplaced: the last decision on each other root.
        own: the roots at PATH, which are first in both; empty if all are at PATH.

    """

    answer: Answer
    snapshot: ClusterSnapshot
    options: CycleOptions
    kinship: Kinship
    profile: Profile
    final: FinalPlacement
    area_map: AreaMap
    placed: tuple[Decision, ...]
    unplaced: tuple[Decision, ...]
    own: frozenset[Name]

    @classmethod
    def from_answer(cls, answer: Answer, snapshot: ClusterSnapshot, options: CycleOptions) -> Case:
        """Return the case of *answer*."""
        profile = Profile(snapshot.nodes, options.ignore)
        last = {decision.root: decision for decision in answer.decisions}
        own = frozenset() if answer.path_roots is None or answer.path_roots >= last.keys() else answer.path_roots
        latest = sorted(last.values(), key=lambda decision: decision.root not in own)
        return cls(
            answer=answer,
            snapshot=snapshot,
            options=options,
            kinship=Kinship.from_snapshot(snapshot),
            profile=profile,
            final=placed_pods.locate_pods(snapshot, answer, profile),
            area_map=AreaMap.from_nodes(snapshot.nodes, _wanted(snapshot)),
            placed=tuple(decision for decision in latest if decision.status is Status.SUCCESS),
            unplaced=tuple(decision for decision in latest if decision.status is not Status.SUCCESS),
            own=own,
        )

    def locate(self, domain: Domain, nodes: Sequence[str]) -> int | None:
        """Return the number of the area of a domain on the map, given nodes in it; None if it is not drawn."""
        return self.area_map.find(domain.key, domain.value, nodes)


def _wanted(snapshot: ClusterSnapshot) -> Iterator[str]:
    """Yield the topology keys of all groups."""
    for group in snapshot.groups:
        constraints = group.spec.scheduling_constraints
        yield from (each.key for each in (constraints.topology if constraints is not None else None) or ())
