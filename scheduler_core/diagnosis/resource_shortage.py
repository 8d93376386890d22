"""Missing resources of a domain, in amounts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.causes.resources import (
    ComparedNodes,
    FragmentedResource,
    FragmentedResources,
    InsufficientOnNodes,
    InsufficientResource,
    NoneFree,
    RequestTooLarge,
    ResourceCause,
)
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.node_affinity import own_node

ShapeCounts = Mapping[PodShape, int]
"""Numbers of pods by their shape."""


def shortages(refusals: NodeRefusals, nodes: NodeTable, others: ShapeCounts, missing: int, held: ShapeCounts) -> list[ResourceCause]:
    """Return why the requests of a pod, and of *missing* others, are not met; empty if no resource is short.

    A resource is short if its sum over the usable nodes is too small; otherwise it is fragmented.

    Args:
        refusals: why one more pod is rejected.
        nodes: all nodes.
        others: other pods without a node, which can use only nodes that this pod can use.
        missing: number of them that are needed too: those with the smallest requests.
        held: pods of the group on the nodes that this pod can use.

    """
    rows = [index for index, short in enumerate(refusals.short) if short.any()]
    rows.sort(key=lambda index: (-int(refusals.short[index].sum()), nodes.resources[refusals.pod.shape.requests[index][0]]))
    causes: list[ResourceCause] = []
    pieces = []
    compared = ComparedNodes.ALL if refusals.usable.all() else ComparedNodes.USABLE
    if own_node(refusals.pod.shape, nodes) >= 0:
        compared = ComparedNodes.OWN
    for index in rows:
        row, requested = refusals.pod.shape.requests[index]
        free = int(np.maximum(refusals.free[index][refusals.usable], 0).sum())
        largest = int(nodes.allocatable[row, refusals.nodes[refusals.usable]].max())
        resource = nodes.resource(row)
        own = _least(held, row, sum(held.values()))
        if row in nodes.volume_rows and not free and not own:
            causes.append(NoneFree(resource))
        elif requested > largest:
            causes.append(RequestTooLarge(resource, requested, largest, compared))
        elif (needed := requested + _least(others, row, missing)) > free:
            causes.append(InsufficientResource(resource, free + own, needed + own, int(refusals.usable.sum())))
        else:
            pieces.append(index)
    return causes or _fragmented(refusals, nodes, pieces, others_fit=bool(held))


def _least(pods: ShapeCounts, row: int, count: int) -> int:
    """Return the least amount of a row that *count* of *pods* request together."""
    amount = 0
    for requested, number in sorted((dict(shape.requests).get(row, 0), number) for shape, number in pods.items()):
        chosen = min(number, count)
        amount, count = amount + chosen * requested, count - chosen
    return amount


def _fragmented(refusals: NodeRefusals, nodes: NodeTable, pieces: list[int], *, others_fit: bool) -> list[ResourceCause]:
    """Return why no node has enough although the sum is sufficient: of one resource, or of several resources together."""
    if not pieces:
        return []
    requests = (refusals.pod.shape.requests[index] for index in pieces)
    amounts = tuple(Amount(nodes.resource(row), requested) for row, requested in requests)
    refused, total = int(refusals.short[pieces].any(axis=0).sum()), int(refusals.usable.sum())
    if refused < total:
        return [InsufficientOnNodes(amounts, NodeCount(refused, total))]
    if len(pieces) > 1:
        return [FragmentedResources(amounts)]
    free: Ints = np.maximum(refusals.free[pieces[0]][refusals.usable], 0)
    return [FragmentedResource(amounts[0].resource, amounts[0].amount, int(free.sum()), int(free.max()), others_fit)]
