"""Types of the conditions of groups, and the conditions that they have (KEP-4671 and KEP-6012, Status)."""

from __future__ import annotations

from collections.abc import Iterable

from kubeapi.groups import INITIALLY_SCHEDULED, Group
from scheduler_core.model.decision import GroupCondition
from scheduler_core.model.names import Name
from validators.model.objects import namespace_of

DISRUPTION_TARGET = "DisruptionTarget"
WAITING = "Waiting"
"""Reason of a group that is not attempted until its members, parents or gates change."""


class Conditions:
    """Conditions of groups before a cycle."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._current: dict[Name, GroupCondition] = {}
        for group in groups:
            for each in group.status.conditions or ():
                if each.type == INITIALLY_SCHEDULED[group.kind]:
                    name = Name(group.kind, namespace_of(group), group.metadata.name)
                    self._current.setdefault(name, GroupCondition(each.type, each.status, each.reason, each.message))

    def present(self, group: Name) -> GroupCondition | None:
        """Return the condition of *group* before the cycle; None without one."""
        return self._current.get(group)
