"""The result of a preemption."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

import numpy as np

from scheduler_core.causes.attempts import PreemptionReason
from scheduler_core.model.devices import Allocation
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Unit, Units

OutcomeT_co = TypeVar("OutcomeT_co", covariant=True)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Preemption(Generic[OutcomeT_co]):
    """Result of a preemption."""

    status: Status
    """Success if victims were selected, now or in an earlier cycle; UnschedulableAndUnresolvable if there are no potential victims."""
    reason: PreemptionReason | None
    """How it ended; None if a root is placed without its potential victims, and has none."""
    victims: tuple[PodRecord, ...] = ()
    """Pods to evict, by key."""
    being_evicted: tuple[PodRecord, ...] = ()
    """Victims whose eviction has begun already, by key; ``VictimsFound`` counts them."""
    units: tuple[Unit, ...] = ()
    """Units of all these pods, the more important first."""
    violating: int = 0
    """Number of these pods whose eviction breaks a disruption budget."""
    nominations: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Nominated node, as an index, of pods of the preemptor, by their keys."""
    outcome: OutcomeT_co | None = None
    """Result of placing the root without all potential victims, or without exactly the victims of a minimal plan; None if it was
    not tried.
    """
    lower: int = 0
    """Lower bound: no plan has fewer units; 0 if unknown."""
    proved: bool = False
    """True if no plan is better in units, pods, priorities or age."""
    overlooks: bool = False
    """True if kube-scheduler 1.37.1 does not see that a pod conflicts with the preemptor."""
    devices: Mapping[str, Allocation] = dataclasses.field(default_factory=dict)
    """Devices that the nominated pods are to have, by key of the claim, if requests do not count them."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ChosenUnits:
    """Units selected as victims.

    Attributes:
        units: the more important first.
        violating: number of their pods whose eviction breaks a disruption budget.

    """

    units: tuple[Unit, ...]
    violating: int

    @property
    def count(self) -> int:
        """Number of pods of the units."""
        return sum(len(unit.pods) for unit in self.units)

    def split(self, being_evicted: AbstractSet[str]) -> tuple[tuple[PodRecord, ...], tuple[PodRecord, ...]]:
        """Return the pods to evict, and those whose eviction has begun: terminating, or among the keys *being_evicted*; each by key."""
        pods = sorted((pod for unit in self.units for pod in unit.pods), key=lambda pod: pod.key)
        begun = [pod.terminating or pod.key in being_evicted for pod in pods]
        return (
            tuple(pod for pod, already in zip(pods, begun, strict=True) if not already),
            tuple(pod for pod, already in zip(pods, begun, strict=True) if already),
        )


def by_importance(numbers: Iterable[int], units: Units) -> list[int]:
    """Return *numbers* of units, the more important first."""
    array = np.fromiter(numbers, dtype=np.int64)
    ordered: list[int] = array[np.argsort(units.positions[array])].tolist()
    return ordered


def preemption_in_progress(nodes: Collection[int], units: Units, potential: PotentialVictims, being_evicted: AbstractSet[str]) -> bool:
    """Return whether a pod of *potential* on one of *nodes* is being evicted by preemption, so that an earlier one is in progress."""
    if not nodes:
        return False
    on_nodes = potential.pods[np.isin(units.nodes[potential.pods], list(nodes))]
    return bool(units.preempted[on_nodes].any()) or any(units.pods[index].key in being_evicted for index in on_nodes.tolist())
