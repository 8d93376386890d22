"""Interchangeable volumes: rows of ``NodeTable.allocatable`` that count the free volumes of a node.

Claims that can use a common volume, and their volumes, are a pool.  If each volume is on one node, and the volumes that two claims can use
are nested or disjoint, then Hall's theorem gives an exact condition for a node: for each set of volumes, the claims confined to it are at
most as many.  So each set is a row, and a claim requests one in the row of every set that contains its own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.loading.free_volumes import FreeVolumes
from scheduler_core.model.counted_sets import are_nested, pools
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import PODS, Bools, Ints, NodeTable
from scheduler_core.model.resource_values import VolumesOfClass
from scheduler_core.model.storage import PooledClaim, Storage

_Set = frozenset[int]
"""Volumes, as the keys of their groups."""


class ClaimDemand(Record, frozen=True):
    """Claims of pods that wait for their first consumer.

    Attributes:
        requests: their specifications.
        total: their number.
        largest: maximum number of claims of one pod.

    """

    requests: Collection[ClaimRequest]
    total: int
    largest: int

    @classmethod
    def of_pods(cls, pods: Iterable[Sequence[ClaimRequest]]) -> ClaimDemand:
        """Return the claims of *pods*, each given by its claims."""
        pods = list(pods)
        return cls(set(itertools.chain(*pods)), sum(map(len, pods)), max(map(len, pods), default=0))


def volume_numbers(table: NodeTable, free: FreeVolumes, demand: ClaimDemand, known: Storage | None = None) -> dict[str, Ints]:
    """Return the number of volumes in each set of interchangeable volumes of *free* that claims of *demand* can use.

    They are arrays of shape (nodes,), by the name of their row, for ``NodeTable.count_volumes``.  *free* are the volumes of the storage of
    *table*, in which the counted claims are recorded.  Sets that *known* counts keep the names of their rows.
    """
    numbers: dict[str, Ints] = {}
    if (storage := table.storage) is None:
        return numbers
    storage.pooled, storage.rows_of_key = {}, {}
    storage.resources = dict(known.resources) if known is not None else {}
    free.register([each for each in demand.requests if not each.reserved and not each.selected_node])
    sets = {each: _volumes_of(storage, free, each) for each in sorted(demand.requests, key=repr)}
    # More volumes than a node can need; a larger number would cost the search memory.
    most = np.minimum(table.allocatable[PODS] * demand.largest, demand.total)
    for pool in pools({each: volumes for each, volumes in sets.items() if volumes}):
        numbers |= _count(storage, free, pool, sets, most)
    return numbers


def _volumes_of(storage: Storage, free: FreeVolumes, request: ClaimRequest) -> _Set:
    """Return the free volumes that a claim can use."""
    return free.groups(request) if storage.options(request).matches else frozenset()


def _count(
    storage: Storage, free: FreeVolumes, pool: Sequence[ClaimRequest], sets: Mapping[ClaimRequest, _Set], most: Ints
) -> dict[str, Ints]:
    """Count the volumes of *pool*, and return their numbers by the name of the row, each of shape (nodes,)."""
    distinct = _by_number({sets[each] for each in pool}, free)
    if not _countable(storage, free, pool, distinct):
        return {}
    provisioned = storage.options(pool[0]).provisioned
    names = {each: _name(storage, [one for one in pool if sets[one] == each]) for each in distinct}
    numbers = {each: np.sum([free.figures(key).count for key in each], axis=0) for each in distinct}
    sizes = {each: _equal_sizes(free, each) for each in distinct}
    equal = not provisioned.any() and all(each is not None for each in sizes.values()) and _separate([*numbers.values()])
    for request in pool:
        own = sets[request]
        rows = tuple(names[each] for each in distinct if own <= each)
        storage.pooled[request] = PooledClaim(rows, sizes[own] if equal else None)
    for key in frozenset().union(*distinct):
        storage.rows_of_key[key] = tuple(names[each] for each in distinct if key in each)
    return {names[each]: np.where(provisioned, np.maximum(most, numbers[each]), numbers[each]) for each in distinct}


def _by_number(sets: Iterable[_Set], free: FreeVolumes) -> list[_Set]:
    """Return *sets* by their number of volumes, then by their first volume."""
    numbers = {each: sum(map(free.total, each)) for each in sets}
    unequal = len({*numbers.values()}) == len(numbers)
    return sorted(numbers, key=lambda each: (numbers[each], 0 if unequal else min(map(free.first, each))))


def _separate(numbers: Sequence[Ints]) -> bool:
    """Return whether on each node all claims that find a volume can use the same volumes."""
    most: Ints = np.max(numbers, axis=0)
    return all(((each == most) | (each == 0)).all() for each in numbers)


def _countable(storage: Storage, free: FreeVolumes, pool: Sequence[ClaimRequest], distinct: Sequence[_Set]) -> bool:
    """Return whether the condition for each node is exact."""
    provisioned: Bools = storage.options(pool[0]).provisioned
    return (
        are_nested(distinct)
        and not any(each.shared for each in pool)
        and all((storage.options(each).provisioned == provisioned).all() for each in pool)
        and all(map(free.each_on_one_node, frozenset().union(*distinct)))
    )


def _equal_sizes(free: FreeVolumes, volumes: _Set) -> Ints | None:
    """Return the size of the volumes on each node, -1 without one; None if a node has volumes of several sizes."""
    figures = [free.figures(key) for key in volumes]
    smallest = functools.reduce(np.minimum, (each.smallest for each in figures))
    largest: Ints = functools.reduce(np.maximum, (each.largest for each in figures))
    return None if ((largest >= 0) & (smallest != largest)).any() else largest.copy()


def _name(storage: Storage, requests: Sequence[ClaimRequest]) -> str:
    """Return the name of the row of volumes that exactly *requests* can use: their class, and the size of the smallest claim."""
    key = frozenset(requests)
    if (volumes := storage.resources.get(key)) is None:
        size, used = min(each.size or 0 for each in requests), {*storage.resources.values()}
        numbered = (VolumesOfClass(requests[0].storage_class, size or None, pool) for pool in itertools.chain((None,), itertools.count(2)))
        volumes = storage.resources[key] = next(each for each in numbered if each not in used)
    return volumes.row
