"""What a domain is short of, in amounts."""

from __future__ import annotations

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.nodes import Ints, NodeTable

_SHOWN = 3


def shortages(found: NodeRefusals, nodes: NodeTable, missing: int, held: dict[int, int]) -> list[str]:
    """Why the requests of *missing* more pods are not met; empty where nothing is short.

    A resource is short where its sum over the usable nodes is; otherwise there is enough of it, in pieces that are too small.

    Args:
        found: what keeps one more pod away.
        nodes: all nodes.
        missing: pods like it that are still needed, at least 1.
        held: what the pods that the domain holds take, by row.

    """
    rows = [index for index, short in enumerate(found.short) if short.any()]
    rows.sort(key=lambda index: (-int(found.short[index].sum()), nodes.resources[found.pod.shape.requests[index][0]]))
    told, pieces = [], []
    whose = "" if found.usable.all() else "that it may use "
    for index in rows:
        row, wanted = found.pod.shape.requests[index]
        free = int(np.maximum(found.free[index][found.usable], 0).sum())
        largest = int(nodes.allocatable[row, found.nodes[found.usable]].max())
        name = nodes.resources[row]
        if wanted > largest:
            told.append(f"a pod asks for {phrases.amount(name, wanted)}, more than any node {whose}has ({phrases.size(name, largest)})")
        elif (lacking := missing * wanted - free) > 0:
            own = held.get(row, 0)
            sums = f"{phrases.size(name, free + own)} free, {phrases.size(name, missing * wanted + own)} needed"
            told.append(f"short of {phrases.amount(name, lacking)}: {sums}")
        else:
            pieces.append(index)
    return told[:_SHOWN] or _fragmented(found, nodes, pieces, more=bool(held))


def _fragmented(found: NodeRefusals, nodes: NodeTable, pieces: list[int], *, more: bool) -> list[str]:
    """Enough in sum, too little on each node: of one resource, or of several that no node has together."""
    if not pieces:
        return []
    each = [(nodes.resources[row], wanted) for row, wanted in (found.pod.shape.requests[index] for index in pieces)]
    refused = found.short[pieces].any(axis=0)
    total = int(found.asked.sum())
    if int(refused.sum()) < total:
        count = int(refused.sum())
        return [
            f"{phrases.some_of(count, total)} {'has' if count == 1 else 'have'} less than {phrases.listed([phrases.amount(*one) for one in each], _SHOWN)} free"
        ]
    if len(pieces) > 1:
        return [f"fragmented: no node has {phrases.listed([phrases.amount(*one) for one in each], _SHOWN)} free together"]
    name, wanted = each[0]
    free: Ints = np.maximum(found.free[pieces[0]][found.asked], 0)
    sums = f"{phrases.amount(name, int(free.sum()))} {'more ' if more else ''}{'is' if free.sum() == 1 else 'are'} free"
    return [f"fragmented: {sums}, but no node has {phrases.size(name, wanted)} (at most {phrases.size(name, int(free.max()))})"]
