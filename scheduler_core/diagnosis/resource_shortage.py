"""Missing resources of a domain, in amounts."""

from __future__ import annotations

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model import resource_names
from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.plugins.node_affinity import own_node

_SHOWN = 3


def shortages(refusals: NodeRefusals, nodes: NodeTable, missing: int, held: dict[int, int]) -> list[str]:
    """Return why the requests of *missing* more pods are not met; empty if no resource is short.

    A resource is short if its sum over the usable nodes is too small; otherwise it is fragmented.

    Args:
        refusals: why one more pod is rejected.
        nodes: all nodes.
        missing: number of pods like it that are still needed, at least 1.
        held: requests of the pods that the domain holds, by row.

    """
    rows = [index for index, short in enumerate(refusals.short) if short.any()]
    rows.sort(key=lambda index: (-int(refusals.short[index].sum()), nodes.resources[refusals.pod.shape.requests[index][0]]))
    reasons, pieces = [], []
    of_daemon = own_node(refusals.pod.shape, nodes) >= 0
    whose = "its node" if of_daemon else f"any node{'' if refusals.usable.all() else ' that it can use'}"
    for index in rows:
        row, requested = refusals.pod.shape.requests[index]
        free = int(np.maximum(refusals.free[index][refusals.usable], 0).sum())
        largest = int(nodes.allocatable[row, refusals.nodes[refusals.usable]].max())
        name = nodes.resources[row]
        if row in nodes.volume_rows and not free and row not in held:
            reasons.append(f"no {name} is free")
        elif requested > largest:
            reasons.append(
                f"a pod requests {phrases.amount(name, requested)}, more than {whose} has ({resource_names.size(name, largest)})"
            )
        elif (lack := missing * requested - free) > 0:
            own = held.get(row, 0)
            sums = f"{resource_names.size(name, free + own)} free, {resource_names.size(name, missing * requested + own)} needed"
            reasons.append(f"short of {phrases.amount(name, lack)}: {sums}")
        else:
            pieces.append(index)
    return reasons[:_SHOWN] or _fragmented(refusals, nodes, pieces, more=bool(held))


def _fragmented(refusals: NodeRefusals, nodes: NodeTable, pieces: list[int], *, more: bool) -> list[str]:
    """Return why no node has enough although the sum is sufficient: of one resource, or of several resources together."""
    if not pieces:
        return []
    each = [(nodes.resources[row], requested) for row, requested in (refusals.pod.shape.requests[index] for index in pieces)]
    refused = refusals.short[pieces].any(axis=0)
    total = int(refusals.usable.sum())
    if int(refused.sum()) < total:
        count = int(refused.sum())
        return [
            f"{phrases.some_of(count, total)} {'has' if count == 1 else 'have'} less than {phrases.listed([phrases.amount(*one) for one in each], _SHOWN)} free"
        ]
    if len(pieces) > 1:
        return [f"fragmented: no node has {phrases.listed([phrases.amount(*one) for one in each], _SHOWN)} free together"]
    name, requested = each[0]
    free: Ints = np.maximum(refusals.free[pieces[0]][refusals.usable], 0)
    sums = f"{phrases.amount(name, int(free.sum()))} {'more ' if more else ''}{'is' if free.sum() == 1 else 'are'} free"
    return [
        f"fragmented: {sums}, but no node has {resource_names.size(name, requested)} (at most {resource_names.size(name, int(free.max()))})"
    ]
