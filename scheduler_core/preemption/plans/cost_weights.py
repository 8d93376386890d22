"""The order of plans as one number: units, then pods, then the sum of their priorities."""

from __future__ import annotations

from collections.abc import Collection

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.plans.plan_cost import PlanCost

_MOST = 2**60
_PARTS = 2**10
"""A unit weighs so many times more than all that comes after it: by that part of a unit is told from what comes after."""


class CostWeights:
    """What units weigh: those of a better plan weigh less together.

    Attributes:
        of: by unit.
        whole: whether priorities are in it to the last digit.

    """

    def __init__(self, worth: PlanCost, able: Ints) -> None:
        """*able*: the units that there are."""
        pods, totals = worth.pods[able], worth.totals(able)
        most_pods, most = int(pods.sum()), int(totals.sum())
        scale = 1
        while _PARTS * (most // scale + 1) * (most_pods + 1) * (len(able) + 1) >= _MOST and scale < _MOST:
            scale *= 2
        self.whole = scale == 1
        self._pod = most // scale + 1
        self._rest = self._pod * (most_pods + 1)
        self._unit = _PARTS * self._rest
        weights: Ints = self._unit + pods * self._pod + totals // scale
        self.of: dict[int, int] = dict(zip(able.tolist(), weights.tolist(), strict=True))

    def together(self, units: Collection[int]) -> int:
        """What *units* weigh."""
        return sum(self.of[unit] for unit in units)

    def least_of(self, units: Collection[int], count: int) -> int:
        """What *count* of *units* weigh at least."""
        return sum(sorted(self.of[unit] for unit in units)[:count])

    def at_least(self, weight: int) -> int:
        """What whole units weigh at least that weigh *weight* or more."""
        units, rest = divmod(weight, self._unit)
        return weight if rest < self._rest else (units + 1) * (self._unit + self._pod)

    def units(self, weight: int) -> int:
        """How many units there are at least that weigh *weight* or more."""
        units, rest = divmod(weight, self._unit)
        return units + (rest >= self._rest)

    def below(self, units: int) -> int:
        """More than any plan of so many units weighs, and less than any of more."""
        return units * self._unit + self._rest

    def beyond(self, units: Collection[int], pods: int) -> int:
        """More than any plan weighs that has no more units than *units*, and no more than so many pods."""
        return len(units) * self._unit + (pods + 1) * self._pod
