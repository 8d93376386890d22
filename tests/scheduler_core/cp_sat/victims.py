"""Cost of preempting units, as a number and as objectives of a program."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tests.scheduler_core.cp_sat.program import total
from tests.scheduler_core.oracle.model import Cluster, Group, Objects
from tests.scheduler_core.oracle.preempt import Unit, protects, units

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def candidates(cluster: Cluster, root: Group) -> list[Unit]:
    """Return the units that *root* may preempt."""
    return [unit for unit in units(cluster) if unit.priority < root.priority and root.policy != "Never"]


def cost(leaving: list[Unit], below: list[Unit], budgets: Objects) -> tuple[int, ...]:
    """Return the cost of preempting the units *leaving* of *below*, most significant component first.

    The components: violation of a disruption budget; number of units; number of pods; highest priority, counted from the lowest of
    *below*, which is 1; the sum of the same over the pods; the seconds by which the oldest started before the youngest of *below*,
    plus one, or 0 if none has started.
    """
    level, age = _levels(below), _ages(below)
    breaks = any(sum(protects(each, pod) for unit in leaving for pod in unit.pods) > _allowed(each) for each in budgets)
    return (
        int(breaks),
        len(leaving),
        sum(len(unit.pods) for unit in leaving),
        max((level[unit.pods[0].key] for unit in leaving), default=0),
        sum(level[unit.pods[0].key] * len(unit.pods) for unit in leaving),
        max((age[unit.pods[0].key] for unit in leaving), default=0),
    )


def goals(
    model: cp_model.CpModel, below: list[Unit], leaves: Mapping[str, cp_model.IntVar], budgets: Objects
) -> Iterator[cp_model.LinearExprT]:
    """Return the components of ``cost`` as objectives, to be minimized in order; *leaves* by the key of a unit's first pod."""
    pods = [(leaves[unit.pods[0].key], pod) for unit in below for pod in unit.pods]
    breaks = model.new_bool_var("breaks a budget")
    for each in budgets:
        protected = total(leaving for leaving, pod in pods if protects(each, pod))
        model.add(protected <= _allowed(each)).only_enforce_if(~breaks)
    yield breaks
    yield total(leaves.values())
    yield total(leaving for leaving, _ in pods)
    level, age = _levels(below), _ages(below)
    yield _largest(model, level, leaves)
    yield total(len(unit.pods) * level[unit.pods[0].key] * leaves[unit.pods[0].key] for unit in below)
    yield _largest(model, age, leaves)


def _largest(model: cp_model.CpModel, figures: Mapping[str, int], leaves: Mapping[str, cp_model.IntVar]) -> cp_model.IntVar:
    largest = model.new_int_var(0, max(figures.values(), default=0), "the largest figure")
    for key, figure in figures.items():
        model.add(largest >= figure * leaves[key])
    return largest


def _allowed(budget: dict[str, object]) -> int:
    status = budget.get("status")
    return max(0, status.get("disruptionsAllowed", 0)) if isinstance(status, dict) else 0


def _levels(below: list[Unit]) -> dict[str, int]:
    """Return the priority of each unit by the key of its first pod, counted from the lowest."""
    lowest = min((unit.priority for unit in below), default=0)
    return {unit.pods[0].key: unit.priority - lowest + 1 for unit in below}


def _ages(below: list[Unit]) -> dict[str, int]:
    started = {unit.pods[0].key: min((pod.started for pod in unit.pods if pod.started), default="") for unit in below}
    moments = {key: int(dt.datetime.fromisoformat(text).timestamp()) for key, text in started.items() if text}
    youngest = max(moments.values(), default=0)
    return {key: youngest + 1 - moments[key] if key in moments else 0 for key in started}
