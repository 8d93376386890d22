"""Domains that cannot hold the minimum of a group, known before anything is tried there.

``reachable`` asks the static filters.  Bound volumes are the usual reason: a claim whose volume is in one zone excludes all racks of other
zones.  A claim to devices excludes the domains that do not reach its allocated devices, or any devices for it.  The verdict of a static
filter is independent of other pods, so these domains are computed once for a group.  For a group whose results are not
kept, the domains that anti-affinity excludes are known before it is tried too: the pods that it adds can only exclude more.

A leaf of many runs takes long to place: ``LowerBound`` and ``DeviceBound`` compare the free resources and devices with what its minimum
requests at least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Division
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.profile import Profile


def reachable(request: PlacementRequest, members: Nodes, state: PlacementState) -> Bools | None:
    """Return the domains where enough members of *request* pass the static filters on some node; None if that excludes no domain.

    *members* has the shape (domains, widest): nodes of each domain, padded with -1.  The result has the shape (domains,).  A group whose
    pods run already is not for this function: its trial can end in an error, and an error must not be missed.

    If results of *request* are not kept, the domains that anti-affinity to the present pods excludes are excluded too.
    """
    if request.memorable or state.plugins:
        able = _reachable(request, members, lambda leaf: _static_masks(leaf, state.profile))
    else:
        able = _reachable(request, members, lambda leaf: _masks(leaf, state))
    return None if able is None or able.all() else able


_Masks = list[tuple[Bools | None, int]]
"""Nodes that pass, of all nodes (None: all), and the number of pods for which they do."""


def _reachable(request: PlacementRequest, members: Nodes, masks_of: Callable[[PlacementRequest], _Masks]) -> Bools | None:
    if not request.leaf:
        parts = [_reachable(child, members, masks_of) for child in request.children]
        excluding = [part for part in parts if part is not None]
        if not excluding:
            return None
        return np.asarray(np.sum(excluding, axis=0) + len(parts) - len(excluding) >= request.entity.minimum)
    masks = masks_of(request)
    if all(mask is None for mask, _ in masks):
        return None
    there = members >= 0
    pods: Ints = np.zeros(len(members), dtype=np.int64)
    for mask, count in masks:
        pods += count if mask is None else count * (mask[members] & there).any(axis=1)
    return np.asarray(pods >= request.entity.minimum)


def _static_masks(leaf: PlacementRequest, profile: Profile) -> _Masks:
    return [(profile.compile(run.shape).mask, run.count) for run in leaf.runs]


def _masks(leaf: PlacementRequest, state: PlacementState) -> _Masks:
    """Return the masks of static filters, and of those of other plugins that exclude nodes for good."""
    if (allowed := state.stateful.allowed(leaf.entity.waiting)) is None:
        return _static_masks(leaf, state.profile)
    result: _Masks = []
    for shape, mask, count in allowed:
        static = state.profile.compile(shape).mask
        result.append((mask if static is None else static if mask is None else mask & static, count))
    return result


_RUNS = 8
"""Number of runs, or of pods that are placed one by one, from which a bound is cheaper than placing the leaf."""
_SHAPES = 8
"""Number of shapes up to which the pods of each shape are counted too."""


class LowerBound:
    """Smallest amounts that the minimum of a leaf requests."""

    def __init__(self, request: PlacementRequest) -> None:
        self._pods = max(0, request.entity.minimum - len(request.entity.running))
        self._waiting: dict[int, tuple[PodShape, int]] = {}
        for run in request.runs:
            _, count = self._waiting.get(run.shape.serial, (run.shape, 0))
            self._waiting[run.shape.serial] = run.shape, count + run.count
        parts = [(dict(shape.requests), count) for shape, count in self._waiting.values()]
        rows = sorted({row for requests, _ in parts for row in requests})
        least = [sum(sorted(requests.get(row, 0) for requests, count in parts for _ in range(count))[: self._pods]) for row in rows]
        self._rows: Ints = np.array(rows, dtype=np.int64)
        self._least: Ints = np.array(least, dtype=np.int64)[:, None]

    def short(self, division: Division, rows: Ints, state: PlacementState) -> Bools:
        """Return which of the domains *rows* of *division* cannot hold the minimum; shape (rows,)."""
        members = division.members[rows]
        there = members >= 0
        flat = np.where(there, members, 0).ravel()
        free = state.nodes.allocatable.take(flat, axis=1) - state.ledger.used.take(flat, axis=1)
        if state.ledger.holding:
            free -= state.ledger.held.take(flat, axis=1)
        np.maximum(free, 0, out=free)
        sums = np.where(there, free[self._rows].reshape(len(self._rows), *members.shape), 0).sum(axis=2)
        found: Bools = (sums < self._least).any(axis=0)
        return found if len(self._waiting) > _SHAPES else found | self._few(free, flat, there, state)

    def _few(self, free: Ints, flat: Ints, there: Bools, state: PlacementState) -> Bools:
        """Return the domains where too few pods fit, each shape counted by itself."""
        most: Ints = np.zeros(len(there), dtype=np.int64)
        for shape, count in self._waiting.values():
            profile = state.profile.compile(shape)
            slots = (free[profile.rows] // profile.amounts).min(axis=0)
            if profile.mask is not None:
                slots[~profile.mask[flat]] = 0
            most += np.minimum(np.where(there, slots.reshape(there.shape), 0).sum(axis=1), count)
        few: Bools = most < self._pods
        return few


class DeviceBound:
    """Number of pods of a leaf that its free devices allow, for pods that are placed one by one because of their devices."""

    def __init__(self, request: PlacementRequest) -> None:
        self._pods = request.entity.minimum - len(request.entity.running)
        self._waiting = Counter(pod.shape.serial for pod in request.entity.waiting)
        self._examples = {pod.shape.serial: pod for pod in request.entity.waiting}

    @property
    def applies(self) -> bool:
        """Return whether the bound is cheaper than placing the leaf."""
        picks = any(pod.shape.picks_devices for pod in self._examples.values())
        return picks and self._pods >= _RUNS and len(self._waiting) <= _SHAPES

    def short(self, division: Division, rows: Ints, state: PlacementState) -> Bools:
        """Return which of the domains *rows* of *division* have devices for too few pods; shape (rows,)."""
        members = division.members[rows]
        there = members >= 0
        nodes = np.unique(members[there])
        most: Ints = np.zeros(len(rows), dtype=np.int64)
        for serial, count in self._waiting.items():
            bounds = state.stateful.most_pods(self._examples[serial], nodes)
            if bounds is None:
                most += count
            else:
                sums = np.where(there, bounds[np.searchsorted(nodes, np.where(there, members, nodes[0]))], 0).sum(axis=1)
                most += np.minimum(sums, count)
        few: Bools = most < self._pods
        return few


def countable(request: PlacementRequest) -> bool:
    """Return whether ``LowerBound`` applies to *request*: a leaf of many runs whose pods need not be placed one by one."""
    return request.leaf and request.memorable and not request.special and len(request.runs) >= _RUNS
