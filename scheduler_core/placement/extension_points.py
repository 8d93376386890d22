"""What others may add to placing: generators of placements, scores of placements, checks of what came of one.

They are the counterparts of kube-scheduler's PlacementGenerate, PlacementScore and PlacementFeasible plugins (KEP-5732, New Plugin
Interfaces; KEP-6012, PlacementFeasible).  They must be pure: same arguments, same answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.pods import PodRecord

Assigned = Sequence[tuple[PodRecord, int]]
"""Pods and the indices of their nodes."""


class PluginFailedError(Exception):
    """A plugin raised an exception; the root that it was called for ends with the status Error."""


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

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> list[Mapping[str, Nodes] | None]:
        """Return what each generator makes of *parent*.

        Raises:
            PluginFailedError: a generator raised an exception.

        """
        return [_call(each, "generate", entity, parent, nodes) for each in self.generators]

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        """Return the sum of the scores of a feasible placement.

        Raises:
            PluginFailedError: a scorer raised an exception.

        """
        return sum(int(_call(each, "score", entity, placement, assigned, nodes)) for each in self.scorers)

    def refusal(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        """Return the reason of the first check that refuses, or nothing.

        Raises:
            PluginFailedError: a check raised an exception.

        """
        return next((reason for each in self.checks if (reason := str(_call(each, "check", entity, assigned, nodes) or ""))), "")


def _call(plugin: object, method: str, *arguments: object) -> Any:
    try:
        return getattr(plugin, method)(*arguments)
    except Exception as error:
        raise PluginFailedError(f"placement plugin {type(plugin).__name__}.{method} failed: {type(error).__name__}: {error}") from error
