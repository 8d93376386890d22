"""What a preemption comes to."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

import numpy as np

from scheduler_core.model.decision import Status
from scheduler_core.model.pods import PodRecord
from scheduler_core.preemption.units.units import Below, Unit, Units

NEVER = "not eligible due to preemptionPolicy=Never."

OutcomeT_co = TypeVar("OutcomeT_co", covariant=True)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Preemption(Generic[OutcomeT_co]):
    """What came of a preemption."""

    status: Status
    """Success if it found a way, or has found one before; UnschedulableAndUnresolvable where there is nobody to make leave."""
    message: str
    """As kube-scheduler words it."""
    victims: tuple[PodRecord, ...] = ()
    """Who must leave, by key."""
    leaving: tuple[PodRecord, ...] = ()
    """Victims that are on their way already, by key; the number in the message counts them too."""
    units: tuple[Unit, ...] = ()
    """The units of all of these, the more important first."""
    violating: int = 0
    """Pods among them whose eviction breaks a disruption budget."""
    nominations: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Keys of pods of the preemptor, each with the node (its index) that is to be kept for it."""
    outcome: OutcomeT_co | None = None
    """What came of placing the root without all lower units (without exactly the victims, where these are the fewest); None where
    that was not tried."""
    lower: int = 0
    """No plan breaks fewer units; 0 where that was not looked into."""
    proved: bool = False
    """Whether no plan is better in any respect that counts: units, pods, priorities, age."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ChosenUnits:
    """Units that leave.

    Attributes:
        units: the more important first.
        violating: pods among them whose eviction breaks a disruption budget.

    """

    units: tuple[Unit, ...]
    violating: int

    @property
    def count(self) -> int:
        """How many pods they have."""
        return sum(len(unit.pods) for unit in self.units)

    def split(self, leaving: AbstractSet[str]) -> tuple[tuple[PodRecord, ...], tuple[PodRecord, ...]]:
        """Who must be told to leave, and who is leaving already (or among the keys *leaving*); each by key."""
        pods = sorted((pod for unit in self.units for pod in unit.pods), key=lambda pod: pod.key)
        told = [pod.terminating or pod.key in leaving for pod in pods]
        return (
            tuple(pod for pod, already in zip(pods, told, strict=True) if not already),
            tuple(pod for pod, already in zip(pods, told, strict=True) if already),
        )


def by_importance(numbers: Iterable[int], units: Units) -> list[int]:
    """*numbers* of units, the more important first."""
    found = np.fromiter(numbers, dtype=np.int64)
    ordered: list[int] = found[np.argsort(units.positions[found])].tolist()
    return ordered


def awaited(nodes: Collection[int], units: Units, below: Below, leaving: AbstractSet[str]) -> bool:
    """Whether a pod of *below* on one of *nodes* is on its way by preemption, so that an earlier one still goes on."""
    if not nodes:
        return False
    there = below.pods[np.isin(units.nodes[below.pods], list(nodes))]
    return bool(units.preempted[there].any()) or any(units.pods[index].key in leaving for index in there.tolist())
