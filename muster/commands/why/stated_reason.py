"""The condition that states why the object is pending: its own, or that of a group above it to which its own only refers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from muster.commands.why.subject import StatusCondition, Subject

_SCHEDULED = frozenset({"PodScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled"})
_REFERENCE = re.compile(r'(parent pod group|ancestor composite pod group) "[^"]+" (is unschedulable|encountered an error)')
"""Whole message of a pod or group that only names the group above it with the reason, since kube-scheduler 1.38."""


@dataclasses.dataclass(frozen=True, slots=True)
class StatedReason:
    """Condition with the reason, and the object that has it."""

    subject: Subject
    condition: StatusCondition


def stated_reason(subjects: Sequence[Subject]) -> StatedReason | None:
    """Return the reason of the first of *subjects*, the others of which are the groups above it; None if no condition states one."""
    for subject in subjects:
        for condition in subject.conditions:
            is_pending = condition.type in _SCHEDULED and condition.status == "False"
            if is_pending and not _REFERENCE.fullmatch(condition.message):
                return StatedReason(subject, condition)
    return None
