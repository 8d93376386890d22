"""Existing volumes of the children of a tree, as kube-scheduler 1.37.1 holds them.

It reserves the pods of a child a second time before it places the next children, and the second time it does not hold their volumes.  So
the next children can take the same volumes.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.pods import PodRecord, only_rows
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.state import PlacementState


def free_volumes(state: PlacementState, outcome: PlacementOutcome, pods: Iterable[PodRecord]) -> None:
    """Free the existing volumes of *pods*, which *outcome* places and which are assumed already."""
    rows = state.nodes.volume_rows
    loads = [PodLoad(volumes, load.nodes) for load in outcome.loads if (volumes := only_rows(load.shape, rows)) is not None]
    if loads:
        state.ledger.release(tuple(loads), outcome.cause)
    if state.stateful.active:
        for pod in pods:
            state.stateful.free_volumes(pod)
