"""Interchangeable volumes: rows of ``NodeTable.allocatable`` that count the free volumes of a node.

Claims that can use a common volume, and their volumes, are a pool.  If each volume is on one node, and the volumes that two claims can use
are nested or disjoint, then Hall's theorem gives an exact condition for a node: for each set of volumes, the claims confined to it are at
most as many.  So each set is a row, and a claim requests one in the row of every set that contains its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.delayed_claims import ClaimRequest, class_and_size
from scheduler_core.model.nodes import PODS, Bools, Ints, NodeTable
from scheduler_core.model.storage import ClaimOptions, PooledClaim, Storage

_MOST_SETS = 64
"""Number of sets of volumes in a pool above which they are not counted."""


def count_volumes(table: NodeTable, pods: Sequence[Sequence[ClaimRequest]], known: Storage | None = None) -> None:
    """Add a row to *table* for each set of interchangeable volumes that the claims of *pods* can use.

    Sets that *known* counts keep the names of their rows.
    """
    if (storage := table.storage) is None:
        return
    storage.row_names |= known.row_names if known is not None else {}
    sets = {each: _volumes_of(storage.options(each)) for each in sorted(set(itertools.chain(*pods)), key=repr)}
    # More volumes than a node can need; a larger number would cost the search memory.
    most = np.minimum(table.allocatable[PODS] * max(map(len, pods), default=0), sum(map(len, pods)))
    for pool in _pools({each: volumes for each, volumes in sets.items() if volumes}):
        _count(table, storage, pool, sets, most)


def _volumes_of(options: ClaimOptions) -> frozenset[int]:
    """Return the free volumes that a claim can use."""
    return frozenset(options.everywhere).union(*options.on_node.values())


def _pools(sets: dict[ClaimRequest, frozenset[int]]) -> list[list[ClaimRequest]]:
    """Return the claims that are connected by common volumes."""
    pools: list[tuple[set[int], list[ClaimRequest]]] = []
    for request, volumes in sets.items():
        joined, members = set(volumes), [request]
        separate = []
        for other, others in pools:
            if other.isdisjoint(joined):
                separate.append((other, others))
            else:
                joined |= other
                members = [*others, *members]
        pools = [*separate, (joined, members)]
    return [members for _, members in pools]


def _count(table: NodeTable, storage: Storage, pool: Sequence[ClaimRequest], sets: dict[ClaimRequest, frozenset[int]], most: Ints) -> None:
    distinct = sorted({sets[each] for each in pool}, key=lambda each: (len(each), sorted(each)))
    if not _countable(storage, pool, distinct):
        return
    provisioned = storage.options(pool[0]).provisioned
    smallest = {each: min(one.size or 0 for one in pool if sets[one] == each) for each in distinct}
    names = {each: _name(storage, each, pool[0].storage_class, smallest[each]) for each in distinct}
    numbers = {each: _numbers(storage, each, len(table)) for each in distinct}
    table.count_volumes({names[each]: np.where(provisioned, np.maximum(most, numbers[each]), numbers[each]) for each in distinct})
    sizes = {each: _equal_sizes(storage, each, len(table)) for each in distinct}
    equal = not provisioned.any() and all(each is not None for each in sizes.values()) and _separate([*numbers.values()])
    for request in pool:
        own = sets[request]
        rows = tuple(names[each] for each in distinct if own <= each)
        storage.pooled[request] = PooledClaim(rows, sizes[own] if equal else None)
    for volume in frozenset().union(*distinct):
        storage.contention[volume] = sum(volume in each for each in distinct)


def _separate(numbers: Sequence[Ints]) -> bool:
    """Return whether on each node all claims that find a volume can use the same volumes."""
    most: Ints = np.max(numbers, axis=0)
    return all(((each == most) | (each == 0)).all() for each in numbers)


def _countable(storage: Storage, pool: Sequence[ClaimRequest], distinct: Sequence[frozenset[int]]) -> bool:
    """Return whether the condition for each node is exact."""
    provisioned: Bools = storage.options(pool[0]).provisioned
    return (
        len(distinct) <= _MOST_SETS
        and not any(each.shared for each in pool)
        and all((storage.options(each).provisioned == provisioned).all() for each in pool)
        and all(len(storage.nodes_of(volume) or (0, 0)) <= 1 for each in distinct for volume in each)
        and all(one <= other or one.isdisjoint(other) for one, other in itertools.combinations(distinct, 2))
    )


def _numbers(storage: Storage, volumes: frozenset[int], nodes: int) -> Ints:
    """Return how many of *volumes* each node has."""
    there = [node for volume in volumes for node in storage.nodes_of(volume) or ()]
    return np.bincount(np.array(there, dtype=np.int64), minlength=nodes)


def _equal_sizes(storage: Storage, volumes: frozenset[int], nodes: int) -> Ints | None:
    """Return the size of the volumes on each node, -1 without one; None if a node has volumes of several sizes."""
    sizes: Ints = np.full(nodes, -1, dtype=np.int64)
    for volume in volumes:
        for node in storage.nodes_of(volume) or ():
            size = storage.volumes[volume].offer.size
            if sizes[node] not in (-1, size):
                return None
            sizes[node] = size
    return sizes


def _name(storage: Storage, volumes: frozenset[int], storage_class: str, size: int) -> str:
    """Return the name of the row of *volumes*: their class, and the size of the smallest claim that uses them."""
    key = frozenset(storage.volumes[each].name for each in volumes)
    if (name := storage.row_names.get(key)) is None:
        title = f"volume of {class_and_size(storage_class, size)}"
        used = {*storage.row_names.values()}
        name = next(each for number in itertools.count(1) if (each := f"{title} ({number})" if number > 1 else title) not in used)
        storage.row_names[key] = name
    return name
