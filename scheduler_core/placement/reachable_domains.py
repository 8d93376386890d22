"""Domains that static filters leave to the minimum of a group, known before anything is tried there.

Bound volumes are the usual reason: a claim whose volume is in one zone excludes all racks of other zones.  A claim to
devices excludes the domains that do not reach its allocated devices, or any devices for it.  The verdict of a static filter is
independent of other pods, so the excluded domains of a group are computed once.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.plugins.profile import Profile


def reachable(request: PlacementRequest, members: Nodes, profile: Profile) -> Bools | None:
    """Return the domains where enough members of *request* pass the static filters on some node; None if that excludes no domain.

    *members* has the shape (domains, widest): nodes of each domain, padded with -1.  The result has the shape (domains,).  A group whose
    pods run already is not for this function: its trial can end in an error, and an error must not be missed.
    """
    able = _reachable(request, members, profile)
    return None if able is None or able.all() else able


def _reachable(request: PlacementRequest, members: Nodes, profile: Profile) -> Bools | None:
    if not request.leaf:
        parts = [_reachable(child, members, profile) for child in request.children]
        excluding = [part for part in parts if part is not None]
        if not excluding:
            return None
        return np.asarray(np.sum(excluding, axis=0) + len(parts) - len(excluding) >= request.entity.minimum)
    masks = [(profile.compile(run.shape).mask, run.count) for run in request.runs]
    if all(mask is None for mask, _ in masks):
        return None
    there = members >= 0
    pods: Ints = np.zeros(len(members), dtype=np.int64)
    for mask, count in masks:
        pods += count if mask is None else count * (mask[members] & there).any(axis=1)
    return np.asarray(pods >= request.entity.minimum)
