"""Selection among feasible placements (KEP-5732, Placement Scoring and Selection).

NodeResourcesFit (tightest fit, over the resources of its scoring strategy whatever its type) and PodGroupPodsCount (most pods), in
integer arithmetic.  Ties go to the first domain by value; kube-scheduler picks one at random.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.nodes import Bools, Ints, Nodes, ScoredRows
from scheduler_core.model.pods import PodShape
from scheduler_core.model.scheduler_profile import CPU_AND_MEMORY, DEFAULT_PROFILE
from scheduler_core.model.topology import sums_over

_EVERY_POD = ("cpu", "memory", "ephemeral-storage")
"""Resources that count for pods that do not request them."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlacementScore:
    """Scoring of the placements of a group.

    Attributes:
        fit: weight of the use of the placement.
        count: weight of the number of pods.
        weights: shape (resources, 1): weight of each resource of ``NodeTable.scored``; None for cpu and memory alike.
        requested: shape (resources, 1): True for a resource that counts only if the proposed pods request it.

    """

    fit: int = 1
    count: int = 1
    weights: Ints | None = None
    requested: Bools | None = None

    @classmethod
    def of_group(cls, entity: Entity, scored: ScoredRows) -> PlacementScore:
        """Return the scores of the profile that schedules *entity*."""
        profile = entity.profile
        if profile is DEFAULT_PROFILE and len(scored.position) == len(CPU_AND_MEMORY):
            return _DEFAULT
        fit, count = profile.placement_weight("NodeResourcesFit"), profile.placement_weight("PodGroupPodsCount")
        weights: Ints = np.zeros((len(scored.position), 1), dtype=np.int64)
        for name, weight in profile.strategy.resources:
            if name in scored.position:
                weights[scored.position[name]] += weight
        return cls(fit, count, weights, np.array([[name not in _EVERY_POD] for name in scored.position], dtype=bool))

    def tightness(self, capacity: Ints, taken: Ints, proposed: Ints) -> Ints:
        """Return the use of each placement in percent; *proposed* is the part of *taken* that is not running yet."""
        if self.weights is None or self.requested is None:
            return tightness(capacity, taken)
        return tightness(np.where(self.requested & (proposed <= 0), 0, capacity), taken, self.weights)

    def tightness_at(self, nodes: Nodes, proposed: Ints, ledger: Ledger) -> int:
        """Return the use of one placement in percent, with the amounts *proposed* on its *nodes*."""
        return int(self.tightness_of_each([nodes], proposed, ledger)[0])

    def tightness_of_each(self, placements: Sequence[Nodes], proposed: Ints, ledger: Ledger) -> Ints:
        """Return the same for each of *placements*, shape (placements,); each is given as its nodes."""
        table = ledger.topology.nodes
        allocatable = table.allocatable[table.scored.rows]
        capacity = sums_over(allocatable, placements)
        taken = ledger.scored_sums(placements) + proposed[:, None]
        return self.tightness(capacity, taken, proposed[:, None])

    def choose(self, feasible: Ints, tight: Ints, counts: Ints, holds: Bools | None = None) -> int:
        """Return the best of the *feasible* placements; see the function of this name."""
        return choose(feasible, tight, counts, holds, fit=self.fit, count=self.count)


_DEFAULT = PlacementScore()


def amounts_of_pod(shape: PodShape, scored: ScoredRows) -> Ints:
    """Return what the score of a placement counts for one pod of the resources that scores count; shape (resources,)."""
    if isinstance(scored.rows, slice):
        return np.array(shape.rated, dtype=np.int64)
    amounts = dict(shape.charges)
    return np.array((*shape.rated, *(amounts.get(row, 0) for row in scored.rows[2:].tolist())), dtype=np.int64)


def proposed_amounts(loads: Iterable[PodLoad], scored: ScoredRows) -> Ints:
    """Return the sum of ``amounts_of_pod`` over the pods of *loads*; shape (resources,)."""
    total: Ints = np.zeros(len(scored.position), dtype=np.int64)
    for load in loads:
        total += len(load.nodes) * amounts_of_pod(load.shape, scored)
    return total


def tightness(capacity: Ints, taken: Ints, weights: Ints | None = None) -> Ints:
    """Return the use of each placement in percent.

    Args:
        capacity: shape (resources, placements): allocatable amounts.
        taken: shape (resources, placements): running and proposed pods, as scores count them.
        weights: shape (resources, 1): weight of each resource; 1 by default.

    Returns:
        Shape (placements,).

    """
    counted: Ints | Bools = capacity > 0
    each = np.where(counted, 100 * np.minimum(taken, capacity) // np.maximum(capacity, 1), 0)
    if weights is not None:
        each, counted = weights * each, weights * counted
    total = counted.sum(axis=0)
    return np.where(total > 0, each.sum(axis=0) // np.maximum(total, 1), 0)


def tightness_of(capacity: tuple[int, int], taken: tuple[int, int]) -> int:
    """Return the use of one placement in percent."""
    each = [100 * min(used, size) // size for size, used in zip(capacity, taken, strict=True) if size > 0]
    return sum(each) // len(each) if each else 0


def choose(feasible: Ints, tight: Ints, counts: Ints, holds: Bools | None = None, *, fit: int = 1, count: int = 1) -> int:
    """Return the best of the *feasible* placements (indices, ascending); -1 if all pod counts are 0, an error in kube-scheduler.

    Args:
        feasible: indices into the other arrays, not empty.
        tight: ``tightness`` of each placement.
        counts: pods of the group on each placement, running and proposed.
        holds: placements where desiredCount fits as well; these are preferred.
        fit: weight of ``tight``.
        count: weight of ``counts``; with 0 they may all be 0.

    """
    if holds is not None and holds[feasible].any():
        feasible = feasible[holds[feasible]]
    if len(feasible) == 1:
        return int(feasible[0])
    several = counts[feasible]
    most = int(several.max())
    if most == 0 and count:
        return -1
    total = (
        tight[feasible] + several * 100 // most if fit == count == 1 else fit * tight[feasible] + count * (several * 100 // max(most, 1))
    )
    return int(feasible[total.argmax()])
