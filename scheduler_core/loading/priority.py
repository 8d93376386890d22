"""Resolution of priority classes, as in the API server's Priority plugin (Kubernetes 1.37.1; KEP-6012, Spec)."""

from __future__ import annotations

from collections.abc import Iterable

from kubeapi.base_structs import Record
from kubeapi.priority import SYSTEM_CLASSES, PriorityClass

NEVER = "Never"
"""The preemption policy that forbids preemption."""


class Rank(Record, frozen=True):
    """A priority, whether preemption is allowed, and whether the priority class exists."""

    value: int
    preempts: bool
    known: bool = True


class Priorities:
    """Priority classes of a cluster, including the system classes.  Of several global defaults the lowest is used."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        listed = sorted(classes, key=lambda each: (each.value, each.metadata.name))
        self._named = SYSTEM_CLASSES | {each.metadata.name: each for each in listed}
        self._default = next((each for each in listed if each.global_default), None)

    def rank(self, value: int | None, class_name: str, policy: str | None) -> Rank:
        """Return the result of a spec's ``priority``, ``priorityClassName`` and ``preemptionPolicy``.

        Missing values come from the named class, or from the global default if no class is named.
        """
        priority_class = self._named.get(class_name) if class_name else None if value is not None else self._default
        policy = policy or (priority_class.preemption_policy if priority_class else None)
        if value is None:
            return Rank(priority_class.value if priority_class else 0, policy != NEVER, priority_class is not None or not class_name)
        return Rank(value, policy != NEVER)
