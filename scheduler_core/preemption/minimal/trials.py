"""Trials: placements of a root without certain units; results are cached."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Generic, Protocol

import numpy as np

from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.bounds.shortage import GroupDemand
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.required_pods import RequiredPods
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import Units
from scheduler_core.preemption.victims.reprieve import AbsentPods, Proposed, reprieve
from scheduler_core.preemption.victims.workload_aware import ProposalT, ProposalT_co, RootPlacer

_BASE, _UNIT, _POD, _SEARCHED = 100, 100, 100, 4
"""Steps for a trial, for each evicted unit, for each pod that may be tried by itself, and for each step of the search."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RootRequirements:
    """Requirements of the preempting root.

    Attributes:
        state: the placement state.
        domains: possible domains of the root; all nodes as one domain without a topology key.
        demand: least amounts that every plan must place.
        exact: True if ``Prover.is_feasible`` decides the placement.  Then evictions never do harm, and only units in the domain matter.
        required: pods to place inside a domain; None if not exact, or if the minimum can be met in too many ways.

    """

    state: PlacementState
    domains: tuple[Placement, ...]
    demand: GroupDemand
    exact: bool
    required: RequiredPods | None = None


class Prover(RootPlacer[ProposalT_co], Protocol[ProposalT_co]):
    """Places a root, and proves that it can or cannot be placed."""

    @property
    def requirements(self) -> RootRequirements:
        """Return the requirements of the root."""

    @property
    def explored(self) -> int:
        """Return the steps of the search in the last ``place``."""

    def is_feasible(self, placement: Placement) -> tuple[bool | None, int]:
        """Return whether the root fits in *placement* on the present ledger, None if unknown; and the steps of the search."""


class Trials(Generic[ProposalT]):
    """Trials for one root; units of *free* are removed in all of them."""

    def __init__(self, root: Entity, units: Units, free: AbstractSet[int], prover: Prover[ProposalT], effort: Effort) -> None:
        self._root = root
        self._requirements = requirements = prover.requirements
        self._units = units
        self._free = frozenset(free)
        self._prover = prover
        self._effort = effort
        self._ledger: Ledger = requirements.state.ledger
        # The search counts its own steps.  Otherwise pods may be tried one by one.
        waiting = sum(len(leaf.waiting) for leaf in root.leaves())
        self._base = _BASE + len(requirements.state.nodes) + (0 if requirements.exact else _POD * waiting)
        self._cache: dict[tuple[frozenset[int], int], bool | None] = {}

    def fits(self, numbers: AbstractSet[int], placement: Placement) -> bool | None:
        """Return whether the root fits in *placement* without the units *numbers*; None if unknown.

        Raises:
            EffortSpentError: the effort is spent.

        """
        key = (frozenset(numbers), placement.serial)
        if key not in self._cache:
            self._effort.spend(self._base + _UNIT * len(key[0]))
            self._cache[key] = self._try(key[0], placement)
        return self._cache[key]

    def place_without(self, numbers: AbstractSet[int]) -> ProposalT:
        """Return the result of placing the root without the units *numbers*."""
        mark = self._ledger.mark()
        pods = self._remove(numbers)
        try:
            return self._prover.place(self._root)
        finally:
            self._restore(mark, pods)

    def reprieved(self, numbers: AbstractSet[int], proposed: Proposed, budgets: DisruptionBudgets) -> frozenset[int]:
        """Return those of *numbers* that are not reprieved, if *proposed* are placed without all of them."""
        mark = self._ledger.mark()
        free_pods = [pod for number in sorted(self._free) for pod in self._units.unit(number).pods]
        self._prover.move(free_pods, away=True)
        potential = self._units.subset(numbers)
        self._ledger.release((*_loads(free_pods), *potential.loads), self._ledger.fresh())
        absent = AbsentPods(self._units, potential, self._prover)
        try:
            chosen = reprieve(proposed, self._units, potential, budgets, self._ledger, absent)
        finally:
            absent.restore()
            self._prover.move(free_pods, away=False)
            self._ledger.rewind(mark)
        victims = {unit.pods[0].key for unit in chosen.units}
        return frozenset(number for number in numbers if self._units.unit(number).pods[0].key in victims)

    def _try(self, numbers: frozenset[int], placement: Placement) -> bool | None:
        if not self._requirements.exact:
            # A failure of greedy is no proof.
            status = self.place_without(numbers).status
            self._effort.spend(_SEARCHED * self._prover.explored)
            return True if status is Status.SUCCESS else None
        mark = self._ledger.mark()
        pods = self._remove(numbers)
        try:
            feasible, steps = self._prover.is_feasible(placement)
        finally:
            self._restore(mark, pods)
        self._effort.spend(_SEARCHED * steps)
        return feasible

    def _remove(self, numbers: AbstractSet[int]) -> list[PodRecord]:
        pods = [pod for number in sorted(self._free | numbers) for pod in self._units.unit(number).pods]
        self._ledger.release(tuple(_loads(pods)), self._ledger.fresh())
        self._prover.move(pods, away=True)
        return pods

    def _restore(self, mark: int, pods: list[PodRecord]) -> None:
        self._prover.move(pods, away=False)
        self._ledger.rewind(mark)


def _loads(pods: Iterable[PodRecord]) -> Iterable[PodLoad]:
    by_shape: dict[int, tuple[PodShape, list[int]]] = {}
    for pod in pods:
        by_shape.setdefault(pod.shape.serial, (pod.shape, []))[1].append(pod.node)
    for shape, nodes in by_shape.values():
        node_array: Nodes = np.array(nodes, dtype=np.int64)
        yield PodLoad(shape, node_array)
