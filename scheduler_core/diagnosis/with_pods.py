"""Placement state with some pods assumed, or removed, temporarily."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np

from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord, PodShape
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
    cause = state.ledger.fresh()
    if loads:
        state.ledger.assume(tuple(loads), cause)
    if state.stateful.active:
        pods = zip(request.entity.waiting, nodes.tolist(), strict=True)
        state.stateful.assume_all([(pod, node) for pod, node in pods if node >= 0], cause)


def remove_pods(state: PlacementState, pods: Iterable[PodRecord]) -> None:
    """Remove *pods*, which have nodes; to be used inside ``rewound``."""
    removed = [*pods]
    if removed:
        state.ledger.release(loads_of(removed), state.ledger.fresh())
    if state.stateful.active:
        for pod in removed:
            state.stateful.remove(pod, pod.node)


def loads_of(pods: Iterable[PodRecord]) -> tuple[PodLoad, ...]:
    """Return what *pods* use on their nodes."""
    by_shape: dict[int, tuple[PodShape, list[int]]] = {}
    for pod in pods:
        by_shape.setdefault(pod.shape.serial, (pod.shape, []))[1].append(pod.node)
    return tuple(PodLoad(shape, np.array(nodes, dtype=np.int64)) for shape, nodes in by_shape.values())
