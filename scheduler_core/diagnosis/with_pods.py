"""Placement state with some pods assumed temporarily."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState


@contextlib.contextmanager
def rewound(state: PlacementState) -> Iterator[None]:
    """Undo, at the end of the context, everything that was assumed in it."""
    ledger_mark, stateful_mark = state.ledger.mark(), state.stateful.mark()
    try:
        yield
    finally:
        state.ledger.rewind(ledger_mark)
        state.stateful.rewind(stateful_mark)


def assume_pods(state: PlacementState, request: PlacementRequest, nodes: Nodes) -> None:
    """Assume the pods of a leaf on *nodes*, one entry for each pod, -1 for none; to be used inside ``rewound``."""
    loads, start = [], 0
    for run in request.runs:
        run_nodes = nodes[start : start + run.count]
        start += run.count
        if len(run_nodes := run_nodes[run_nodes >= 0]):
            loads.append(PodLoad(run.shape, run_nodes))
    if loads:
        state.ledger.assume(tuple(loads), state.ledger.fresh())
    for pod, node in zip(request.entity.waiting, nodes.tolist(), strict=True):
        if node >= 0:
            state.stateful.assume(pod, node)
