"""Order of plans as one integer weight for each unit: units, then pods, then the sum of priorities."""

from __future__ import annotations

from collections.abc import Collection

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.plans.plan_cost import PlanCost

_LARGEST = 2**60
_PARTS = 2**10
"""Factor between the weight of a unit and all later criteria, so that a partial unit can be recognized."""


class CostWeights:
    """Weights of units; the better of two plans has the smaller sum.

    Attributes:
        weights: by unit.
        exact: True if priorities are not rounded.

    """

    def __init__(self, cost: PlanCost, candidates: Ints) -> None:
        """Compute the weights of *candidates*, all units that a plan can have."""
        pods, totals = cost.pods[candidates], cost.priority_sums(candidates)
        most_pods, most = int(pods.sum()), int(totals.sum())
        scale = 1
        while _PARTS * (most // scale + 1) * (most_pods + 1) * (len(candidates) + 1) >= _LARGEST and scale < _LARGEST:
            scale *= 2
        self.exact = scale == 1
        self._pod = most // scale + 1
        self._rest = self._pod * (most_pods + 1)
        self._unit = _PARTS * self._rest
        weights: Ints = self._unit + pods * self._pod + totals // scale
        self.weights: dict[int, int] = dict(zip(candidates.tolist(), weights.tolist(), strict=True))

    def total(self, units: Collection[int]) -> int:
        """Return the weight of *units*."""
        return sum(self.weights[unit] for unit in units)

    def least_total(self, units: Collection[int], count: int) -> int:
        """Return the least weight of *count* of *units*."""
        return sum(sorted(self.weights[unit] for unit in units)[:count])

    def round_up(self, weight: int) -> int:
        """Return the least weight of whole units that is not below *weight*."""
        units, rest = divmod(weight, self._unit)
        return weight if rest < self._rest else (units + 1) * (self._unit + self._pod)

    def least_units(self, weight: int) -> int:
        """Return the least number of units of a plan that weighs *weight* or more."""
        units, rest = divmod(weight, self._unit)
        return units + (rest >= self._rest)

    def above_units(self, units: int) -> int:
        """Return a weight above all plans of *units* units and below all larger plans."""
        return units * self._unit + self._rest

    def above_plan(self, units: Collection[int], pods: int) -> int:
        """Return a weight above all plans with at most the number of *units* and at most *pods* pods."""
        return len(units) * self._unit + (pods + 1) * self._pod
