"""Domains in which a group whose pods depend on others has equal results: one of them is tried for all.

Groups that exclude each other from racks, as those of LeaderWorkerSets and JobSets with exclusive topology, are placed pod by pod, and each
has terms of its own, so that no result is kept for the next group.  But most racks that are left look the same to it.  Two domains are equal
if their nodes, in order, have the same free and used resources, pass the same static filters, and have the same relation to other pods.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Division
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.base import Dependence
from scheduler_core.plugins.profile import ShapeProfile

_RATED = (0, 1)
"""Rows of the resources by which placements are compared: cpu and memory."""


def grouped(request: PlacementRequest, division: Division, rows: Sequence[int], state: PlacementState) -> list[list[int]]:
    """Return the domains *rows* of *division* in groups with equal results of *request*, by their first, each ascending."""
    if len(rows) < 2 or (dependence := _dependence(request, state)) is None:
        return [[row] for row in rows]
    values = _values(request, dependence, state)
    patterns = [division.patterns(key, state.nodes.label_column(key).ids) for key in sorted(dependence.keys)]
    found: dict[tuple[bytes, ...], list[int]] = {}
    for row in rows:
        same = values[:, division.domains[row].nodes].tobytes(), *(each[row] for each in patterns)
        found.setdefault(same, []).append(row)
    return [*found.values()]


def _dependence(request: PlacementRequest, state: PlacementState) -> Dependence | None:
    """Return what decides about *request* in a domain, besides resources and static filters; None if that is not known."""
    if request.memorable or request.pinned or state.plugins or state.ranking is not None:
        return None
    if any(each.key for each in request.entity.walk() if each is not request.entity):
        return None
    if not all(_is_local(profile) for profile in _profiles(request, state)):
        return None
    return state.stateful.depends_on([pod for leaf in request.leaves() for pod in leaf.entity.waiting])


def _profiles(request: PlacementRequest, state: PlacementState) -> list[ShapeProfile]:
    shapes = {run.shape.serial: run.shape for leaf in request.leaves() for run in leaf.runs}
    return [state.profile.compile(shapes[serial]) for serial in sorted(shapes)]


def _is_local(profile: ShapeProfile) -> bool:
    return profile.plain and profile.bonus is None and not profile.one_by_one


def _values(request: PlacementRequest, dependence: Dependence, state: PlacementState) -> Ints:
    """Return numbers by node, shape (numbers, all nodes); nodes with the same numbers are equal for *request*."""
    profiles, ledger = _profiles(request, state), state.ledger
    scored = np.arange(len(state.nodes.allocatable))[state.nodes.scored.rows]
    rows = np.unique(np.concatenate([_RATED, scored, *(profile.rows for profile in profiles)])).astype(np.int64)
    parts = [state.nodes.allocatable[rows], ledger.used[rows], ledger.scored]
    if ledger.holding:
        parts.append(ledger.held[rows])
    single = [profile.mask for profile in profiles if profile.mask is not None] + [*dependence.values.values()]
    return np.vstack([*parts, *single]).astype(np.int64, copy=False)
