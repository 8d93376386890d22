"""Conflicting constraints in words."""

from __future__ import annotations

from typing import assert_never

from scheduler_core.causes import constraints
from scheduler_core.causes.constraints import Constraint
from scheduler_core.wording.changes import relaxation_parts
from scheduler_core.wording.nouns import level, preposition
from scheduler_core.wording.titles import Shown, titled


def constraint_text(constraint: Constraint, shown: Shown = titled) -> str:  # noqa: PLR0911 - one case for each constraint
    """Return a constraint in words, such as ``PodGroup default/a needs 4 pods``."""
    match constraint:
        case constraints.NeedsMembers(group, minimum):
            return f"{shown(group)} needs {minimum} {'pods' if group.kind == 'PodGroup' else 'groups'}"
        case constraints.InOneDomain(group, key):
            return f"{shown(group)} must be {preposition(key)} one {level(key)} ({key})"
        case constraints.TakesCapacity(group):
            return f"{shown(group)} also takes capacity"
        case constraints.EarlierRoot(root):
            return f"{shown(root)}, placed before it, takes capacity"
        case constraints.EarlierRoots(count):
            return f"{count} roots placed before it take capacity"
        case constraints.NominatedPodsKeepCapacity():
            return "pods with a nominated node keep their capacity"
        case constraints.RunningPodsKeepNodes():
            return "running pods keep their nodes"
        case constraints.NotRelaxed(relaxation):
            subject, (_, verb) = relaxation_parts(relaxation, shown)
            return f"{subject} {verb}"
    assert_never(constraint)
