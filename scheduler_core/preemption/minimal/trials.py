"""Whether a root fits once certain units have left: asked of the engine, and remembered."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Generic, Protocol

import numpy as np

from scheduler_core.model.decision import Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.bounds.shortage import GroupDemand
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.required_pods import RequiredPods
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.units import Units
from scheduler_core.preemption.victims.reprieve import AbsentPods, Proposed, reprieve
from scheduler_core.preemption.victims.workload_aware import ProposalT, ProposalT_co, RootPlacer

_BASE, _UNIT, _POD, _SEARCHED = 100, 100, 100, 4
"""Steps that a trial takes: any, for each unit that leaves, for each pod that may be tried by itself, for each step of the search."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a root asks for.

    Attributes:
        state: where it is to be placed.
        domains: where all of it may go, one of them; all nodes where it has no constraint.
        demand: what any plan must place.
        exact: whether ``Prover.possible`` decides it, and a unit that leaves can never do harm.  Then only units in the domain matter.
        wanted: the root, to be had in a domain as a whole; None where it is not exact, or there are too many ways to meet its minimum.

    """

    state: PlacementState
    domains: tuple[Placement, ...]
    demand: GroupDemand
    exact: bool
    wanted: RequiredPods | None = None


class Prover(RootPlacer[ProposalT_co], Protocol[ProposalT_co]):
    """What places a root, and proves that it can or cannot be placed."""

    question: Question
    """What the root asks for."""

    def possible(self, placement: Placement) -> tuple[bool | None, int]:
        """Whether the root of the question fits in *placement* as the ledger stands; None if that is not known.  And the steps."""


class Trials(Generic[ProposalT]):
    """Trials for one root; units of *free* are gone in all of them."""

    def __init__(self, root: Entity, units: Units, free: AbstractSet[int], prover: Prover[ProposalT], effort: Effort) -> None:
        self._root = root
        self._question = question = prover.question
        self._units = units
        self._free = frozenset(free)
        self._prover = prover
        self._effort = effort
        self._ledger: Ledger = question.state.ledger
        # The search counts its own steps; else pods may have to be tried one by one.
        waiting = sum(len(leaf.waiting) for leaf in root.leaves())
        self._base = _BASE + len(question.state.nodes) + (0 if question.exact else _POD * waiting)
        self._known: dict[tuple[frozenset[int], int], bool | None] = {}

    def fits(self, numbers: AbstractSet[int], placement: Placement) -> bool | None:
        """Whether the root fits in *placement* once *numbers* have left; None where that is not known.

        Raises:
            EffortSpentError: the effort is spent.

        """
        at = (frozenset(numbers), placement.serial)
        if at not in self._known:
            self._effort.spend(self._base + _UNIT * len(at[0]))
            self._known[at] = self._try(at[0], placement)
        return self._known[at]

    def placed(self, numbers: AbstractSet[int]) -> ProposalT:
        """What comes of placing the root once *numbers* have left."""
        mark = self._ledger.mark()
        pods = self._away(numbers)
        try:
            return self._prover.place(self._root)
        finally:
            self._back(mark, pods)

    def reprieved(self, numbers: AbstractSet[int], proposed: Proposed, budgets: DisruptionBudgets) -> frozenset[int]:
        """Those of *numbers* that are in the way of *proposed*, placed once all of them have left."""
        mark = self._ledger.mark()
        away = [pod for number in sorted(self._free) for pod in self._units.unit(number).pods]
        self._prover.move(away, away=True)
        some = self._units.some(numbers)
        self._ledger.release((*_loads(away), *some.loads), self._ledger.fresh())
        absent = AbsentPods(self._units, some, self._prover)
        try:
            chosen = reprieve(proposed, self._units, some, budgets, self._ledger, absent)
        finally:
            absent.end()
            self._prover.move(away, away=False)
            self._ledger.rewind(mark)
        stay = {unit.pods[0].key for unit in chosen.units}
        return frozenset(number for number in numbers if self._units.unit(number).pods[0].key in stay)

    def _try(self, numbers: frozenset[int], placement: Placement) -> bool | None:
        if not self._question.exact:
            # That it was not placed refutes nothing.
            return True if self.placed(numbers).status is Status.SUCCESS else None
        mark = self._ledger.mark()
        pods = self._away(numbers)
        try:
            known, steps = self._prover.possible(placement)
        finally:
            self._back(mark, pods)
        self._effort.spend(_SEARCHED * steps)
        return known

    def _away(self, numbers: AbstractSet[int]) -> list[PodRecord]:
        pods = [pod for number in sorted(self._free | numbers) for pod in self._units.unit(number).pods]
        self._ledger.release(tuple(_loads(pods)), self._ledger.fresh())
        self._prover.move(pods, away=True)
        return pods

    def _back(self, mark: int, pods: list[PodRecord]) -> None:
        self._prover.move(pods, away=False)
        self._ledger.rewind(mark)


def _loads(pods: Iterable[PodRecord]) -> Iterable[PodLoad]:
    by_shape: dict[int, tuple[PodShape, list[int]]] = {}
    for pod in pods:
        by_shape.setdefault(pod.shape.serial, (pod.shape, []))[1].append(pod.node)
    for shape, nodes in by_shape.values():
        found: Nodes = np.array(nodes, dtype=np.int64)
        yield PodLoad(shape, found)
