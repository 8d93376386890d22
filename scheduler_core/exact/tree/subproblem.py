"""What a search is asked for, what it has decided, and what came of that: groups in the cells of a nest."""

from __future__ import annotations

import dataclasses

from scheduler_core.exact.tree.measures import Amounts, Measures
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest

Counts = tuple[tuple[PodShape, int], ...]
"""So many pods of each shape."""
Key = tuple[int, int, tuple[tuple[int, int], ...]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupTask:
    """A group that is to be given a cell.

    Attributes:
        owner: with ``child`` stands for the group: the number of its parent's load.
        child: its position among the children of its parent.
        optional: whether it may be left out.

    """

    request: PlacementRequest
    owner: int
    child: int
    optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupInCell:
    """A group in a cell.

    Attributes:
        counts: the pods of a leaf that are to be placed at least; empty for a composite, whose children are still to be given cells.
        least: what it measures at least.
        pods: how many pods that are.
        wanted: how many pods wait.
        key: of two loads with equal keys each can stand for the other.

    """

    cell: int
    request: PlacementRequest
    counts: Counts
    least: Amounts
    pods: int
    wanted: int
    key: Key


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CellSpot:
    """Where a group goes.

    Attributes:
        counts: of a leaf, as for ``GroupInCell``.
        children: of a composite, in the order of its form's: None where one is left out.

    """

    cell: int
    counts: Counts = ()
    children: Spots = ()


Spots = tuple[CellSpot | None, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Subsolution:
    """What came of loads.

    Attributes:
        pods: how many pods can be placed with it, the optional ones included; an estimate where there are several shapes.
        below: for each load the spots of its children; none for a leaf.

    """

    pods: int
    below: tuple[Spots, ...]


def loaded(request: PlacementRequest, cell: int, counts: Counts, measures: Measures) -> GroupInCell:
    """*request* in *cell*; *counts* as for ``GroupInCell``, or empty where the pods of a leaf are not chosen yet."""
    least = measures.measure_pods(counts) if counts else measures.least(request)
    key = (cell, request.number, tuple([(shape.serial, count) for shape, count in counts]))
    return GroupInCell(cell, request, counts, least, measures.lacking(request), measures.wanted(request), key)
