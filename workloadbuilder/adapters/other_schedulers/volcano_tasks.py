"""Minimums of the tasks of a group of Volcano, as minimums of a group for each task.

Volcano 1.15 (``job_info.go``) requires the minimum of each task and ``minMember`` pods in all.  If ``minMember`` is less than the sum of the
tasks' minimums, only ``minMember`` counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

OTHERS = "other-pods"
"""Name of the group of the pods without such a task."""


@dataclasses.dataclass(frozen=True, slots=True)
class TaskMinimums:
    """Minimum of each task, and of the *others*, which is 0 if there are none; *free*: further pods that no single group must have."""

    tasks: Mapping[str, int]
    others: int
    free: int = 0


def task_minimums(minimums: Mapping[str, int], counts: Mapping[str, int], others: int, required: int) -> TaskMinimums:
    """Return the minimums of groups for tasks with *minimums*, of which there are *counts* pods, and for *others*, of *required* in all.

    *required* is at least the sum of *minimums*.
    """
    extra = required - sum(minimums.values())
    own = 1 if others else 0
    surplus = {name: max(counts.get(name, 0) - minimum, 0) for name, minimum in minimums.items()}
    spare = sum(surplus.values()) + others
    if not extra or not (others or any(counts.values())):
        return TaskMinimums(minimums, own, extra)
    if extra >= spare:
        everything = {name: minimum + surplus[name] for name, minimum in minimums.items()}
        # Pods that do not exist are awaited as others.
        return TaskMinimums(everything, others + extra - spare)
    sources = [name for name, more in surplus.items() if more]
    if not sources:
        return TaskMinimums(minimums, max(own, extra))
    if len(sources) == 1 and not others:
        return TaskMinimums({**minimums, sources[0]: minimums[sources[0]] + extra}, 0)
    return TaskMinimums(minimums, own, extra)
