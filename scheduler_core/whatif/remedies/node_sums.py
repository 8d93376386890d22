"""Why more nodes are added than the sum of requests says, which is the number that a person expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from scheduler_core.causes.changes import MoreThanSums, Waste
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.whatif.edits.pod_edits import rules_about_pods
from scheduler_core.whatif.remedies.node_kinds import NodeKind
from scheduler_core.whatif.remedies.spread_nodes import SpreadNodes
from scheduler_core.whatif.trial.present_capacity import PresentCapacity


def more_than_sums(count: int, nodes: NodeKind | SpreadNodes, capacity: PresentCapacity, pods: Sequence[PodRecord]) -> MoreThanSums | None:
    """Return why *pods*, which have no node, need *count* more *nodes*; None if the sums say so too, or nothing simple is the reason.

    Claims of volumes and devices have no sums.
    """
    kind = nodes.kinds[0] if isinstance(nodes, SpreadNodes) else nodes
    shapes = [*{pod.shape.serial: pod.shape for pod in pods}.values()]
    if kind.larger or any(shape.volumes or shape.devices for shape in shapes):
        return None
    area = _area(kind if nodes is kind else None, capacity)
    by_sums = _by_sums(kind, capacity, _usable(area, capacity, shapes), pods)
    if by_sums is None or by_sums >= count:
        return None
    if len(shapes) == 1:
        left, empty = len(pods) - int(capacity.slots(shapes[0])[area].sum()), _empty(kind, capacity)
        if -(-left // kind.slots) == count:
            undivided = max(-(-left * amount // empty[row]) for row, amount in shapes[0].requests)
            waste = Waste.REST if undivided < count else Waste.PIECES
            # That what is free is in pieces is the cause itself.
            return MoreThanSums(by_sums, waste, kind.slots) if by_sums or waste is Waste.REST else None
    rules = tuple(sorted(frozenset().union(*map(rules_about_pods, shapes))))
    if rules or len(shapes) == 1:
        return MoreThanSums(by_sums, None, kind.slots, rules) if rules else None
    if not _can_be_packed(count - 1, kind, capacity, area, pods):
        return MoreThanSums(by_sums, Waste.SIZES, kind.slots)
    return None if capacity.subject.groups else MoreThanSums(by_sums, Waste.ONE_BY_ONE, kind.slots)


def _area(kind: NodeKind | None, capacity: PresentCapacity) -> Nodes:
    """Return the nodes in the domains of *kind*; all without one."""
    found = capacity.snapshot.nodes.everything
    for domain in kind.domains if kind is not None else ():
        column = capacity.snapshot.nodes.column(domain.key)
        found = found[column.ids[found] == column.values.index(domain.value)]
    return found


def _usable(area: Nodes, capacity: PresentCapacity, shapes: Sequence[PodShape]) -> Nodes:
    """Return those of *area* that the static filters of one of *shapes* allow."""
    masks = [capacity.compiled(shape).mask for shape in shapes]
    given = [mask for mask in masks if mask is not None]
    return area if len(given) < len(masks) else area[np.any(given, axis=0)[area]]


def _empty(kind: NodeKind, capacity: PresentCapacity) -> list[int]:
    """Return what a new node has free, by row."""
    node = capacity.snapshot.nodes.index[kind.like]
    result: list[int] = (capacity.snapshot.nodes.allocatable[:, node] - capacity.companions(node)[1]).tolist()
    return result


def _by_sums(kind: NodeKind, capacity: PresentCapacity, usable: Nodes, pods: Sequence[PodRecord]) -> int | None:
    """Return how many nodes have what all *pods* request beyond what is free on *usable*; None if a node has nothing of a resource."""
    requested, empty = Counter[int](), _empty(kind, capacity)
    for pod in pods:
        requested.update(dict(pod.shape.requests))
    missing = {row: amount - int(np.maximum(capacity.free[row, usable], 0).sum()) for row, amount in requested.items()}
    short = {row: amount for row, amount in missing.items() if amount > 0}
    return max((-(-amount // empty[row]) for row, amount in short.items()), default=0) if all(empty[row] > 0 for row in short) else None


def _can_be_packed(count: int, kind: NodeKind, capacity: PresentCapacity, area: Nodes, pods: Sequence[PodRecord]) -> bool:
    """Return whether *pods* fit on *area* and *count* more nodes, the largest first, each on the first node with capacity."""
    number, shapes = Counter(pod.shape.serial for pod in pods), {pod.shape.serial: pod.shape for pod in pods}
    empty = _empty(kind, capacity)
    free: Ints = np.concatenate([capacity.free[:, area], np.tile(np.array(empty, dtype=np.int64)[:, None], count)], axis=1)
    sizes = {serial: max(amount / max(1, empty[row]) for row, amount in shape.requests) for serial, shape in shapes.items()}
    for serial in sorted(shapes, key=lambda each: (-sizes[each], each)):
        rows, amounts = map(list, zip(*shapes[serial].requests, strict=True))
        slots = np.maximum((free[rows] // np.array(amounts)[:, None]).min(axis=0), 0)
        if (mask := capacity.compiled(shapes[serial]).mask) is not None:
            slots[: len(area)] *= mask[area]
        before = np.cumsum(slots) - slots
        taken = np.clip(number[serial] - before, 0, slots)
        if taken.sum() < number[serial]:
            return False
        free[rows] -= taken * np.array(amounts)[:, None]
    return True
