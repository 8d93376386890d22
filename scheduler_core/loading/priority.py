"""Priorities from classes, as the API server's Priority plugin works them out (Kubernetes 1.37.1; KEP-6012, Spec)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from validators.model.cluster import SYSTEM_CLASSES, PriorityClass

NEVER = "Never"
"""The preemption policy that lets not preempt."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rank:
    """A priority, whether it lets preempt, and whether the class that was named for it is there."""

    value: int
    preempts: bool
    known: bool = True


class Priorities:
    """The classes of a cluster; the system's exist in every one.  Of several global defaults the lowest counts."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        listed = sorted(classes, key=lambda each: (each.value, each.metadata.name))
        self._named = SYSTEM_CLASSES | {each.metadata.name: each for each in listed}
        self._default = next((each for each in listed if each.global_default), None)

    def rank(self, value: int | None, class_name: str, policy: str | None) -> Rank:
        """What a spec's ``priority``, ``priorityClassName`` and ``preemptionPolicy`` come to.

        What is written counts; what is not comes from the class, or from the global default where none is named.
        """
        found = self._named.get(class_name) if class_name else None if value is not None else self._default
        policy = policy or (found.preemption_policy if found else None)
        if value is None:
            return Rank(found.value if found else 0, policy != NEVER, found is not None or not class_name)
        return Rank(value, policy != NEVER)
