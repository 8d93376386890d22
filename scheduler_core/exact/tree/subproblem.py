"""Subproblems of the nested search: groups to assign, groups in cells, and solutions."""

from __future__ import annotations

import dataclasses

from scheduler_core.exact.tree.measures import Amounts, Measures
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest

Counts = tuple[tuple[PodShape, int], ...]
"""Number of pods by shape."""
Key = tuple[int, int, tuple[tuple[int, int], ...]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupTask:
    """A group that needs a cell.

    Attributes:
        owner: index of its parent's load.
        child: index among the children of its parent.
        optional: True if the group can be left out.

    """

    request: PlacementRequest
    owner: int
    child: int
    optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupInCell:
    """A group in a cell, called a load.

    Attributes:
        counts: planned pods of a leaf; empty for a composite, whose children have no cells yet.
        least: least amounts of the group, by measure.
        pods: least number of pods.
        waiting: number of waiting pods.
        key: equal for loads that can be exchanged.

    """

    cell: int
    request: PlacementRequest
    counts: Counts
    least: Amounts
    pods: int
    waiting: int
    key: Key


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CellAssignment:
    """Cell of a group and of its descendants in a solution.

    Attributes:
        counts: planned pods of a leaf.
        children: for a composite in the order of the request's children, None for a child that is left out.

    """

    cell: int
    counts: Counts = ()
    children: CellAssignments = ()


CellAssignments = tuple[CellAssignment | None, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Subsolution:
    """Solution of loads.

    Attributes:
        pods: number of pods that fit, optional ones included; an estimate for several shapes.
        below: for each load the solutions of its children; empty for a leaf.

    """

    pods: int
    below: tuple[CellAssignments, ...]


def loaded(request: PlacementRequest, cell: int, counts: Counts, measures: Measures) -> GroupInCell:
    """Return *request* in *cell*; without *counts* the pods of a leaf are not selected yet."""
    least = measures.measure_pods(counts) if counts else measures.least(request)
    key = (cell, request.number, tuple([(shape.serial, count) for shape, count in counts]))
    return GroupInCell(cell, request, counts, least, measures.lacking(request), measures.waiting(request), key)
