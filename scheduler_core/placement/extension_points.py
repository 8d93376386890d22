"""What others may add to placing: generators of placements, scores of placements, checks of what came of one.

They are the counterparts of kube-scheduler's PlacementGenerate, PlacementScore and PlacementFeasible plugins (KEP-5732, New Plugin
Interfaces; KEP-6012, PlacementFeasible).  They must be pure: same arguments, same answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.pods import PodRecord

Assigned = Sequence[tuple[PodRecord, int]]
"""Pods and the indices of their nodes."""


class PlacementGenerator(Protocol):
    """Divides the nodes that a group may use into placements."""

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        """Placements by name, each a part of *parent* (ascending indices); None to leave *parent* as it is."""


class PlacementScorer(Protocol):
    """Says how good a feasible placement is."""

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        """0 to 100, added to the scores of the other scorers."""


class FeasibilityCheck(Protocol):
    """Has a say in whether a group's minimum is met."""

    def check(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        """Why not; empty where there is nothing against it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plugins:
    """Those in use, besides what is built in."""

    generators: tuple[PlacementGenerator, ...] = ()
    scorers: tuple[PlacementScorer, ...] = ()
    checks: tuple[FeasibilityCheck, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.generators or self.scorers or self.checks)
