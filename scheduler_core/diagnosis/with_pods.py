"""The site as it is once some pods stand on it, for as long as one looks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState


@contextlib.contextmanager
def rewound(state: PlacementState) -> Iterator[None]:
    """Whatever is assumed inside is undone at the end."""
    taken, told = state.ledger.mark(), state.stateful.mark()
    try:
        yield
    finally:
        state.ledger.rewind(taken)
        state.stateful.rewind(told)


def assume_pods(state: PlacementState, request: PlacementRequest, nodes: Nodes) -> None:
    """Put the pods of a leaf on *nodes*, one entry a pod, -1 for none; to be used inside ``rewound``."""
    loads, start = [], 0
    for run in request.runs:
        found = nodes[start : start + run.count]
        start += run.count
        if len(found := found[found >= 0]):
            loads.append(PodLoad(run.shape, found))
    if loads:
        state.ledger.assume(tuple(loads), state.ledger.fresh())
    for pod, node in zip(request.entity.waiting, nodes.tolist(), strict=True):
        if node >= 0:
            state.stateful.assume(pod, node)
