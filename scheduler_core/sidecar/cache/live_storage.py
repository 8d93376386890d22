"""Options of the claims of a live cluster that wait for their first consumer, and rows that count their volumes; updated when needed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.loading.claim_options import report_storage
from scheduler_core.loading.free_volumes import FreeVolumes
from scheduler_core.loading.volume_pools import ClaimDemand, volume_numbers
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.storage import Storage
from scheduler_core.sidecar.cache.volume_cache import VolumeCache

Verdict = tuple[tuple[str, ...], bool, bool]
"""Rows of a claim, whether its volumes depend on those of other pods, and whether free volumes match: all that shapes depend on."""


class ClaimCounts:
    """Claims of pods that wait for their first consumer.

    Attributes:
        changed: True if the demand differs from that of the last call of ``demand``.
        counts_pods: True if the number of pods matters.

    """

    def __init__(self) -> None:
        self._requests: Counter[ClaimRequest] = Counter()
        self._sizes: Counter[int] = Counter()
        self.changed = self.counts_pods = False

    def count(self, requests: Sequence[ClaimRequest], change: int) -> None:
        """Add a pod with *requests*, or (*change* -1) remove it."""
        for each in requests:
            before = self._requests[each]
            self._requests[each] += change
            if not before or not self._requests[each]:
                self.changed |= not each.reserved and not each.selected_node
            if not self._requests[each]:
                del self._requests[each]
        if requests:
            self._sizes[len(requests)] += change
            self.changed |= self.counts_pods

    def demand(self) -> ClaimDemand:
        """Return the claims."""
        self.changed = False
        return ClaimDemand(frozenset(self._requests), self._requests.total(), max(+self._sizes, default=0))


@dataclasses.dataclass(frozen=True, slots=True)
class StorageUpdate:
    """Changes of a storage.

    Attributes:
        numbers: numbers of interchangeable volumes, for ``NodeTable.count_volumes``.
        claims: the claims whose pods have another shape now; None for all, also because the rows are others.

    """

    numbers: Mapping[str, Ints]
    claims: frozenset[ClaimRequest] | None


class LiveStorage:
    """Storage of the node tables of a live cluster.

    Attributes:
        claims: the claims of the pods that are known, updated by the caller.

    """

    def __init__(self, volumes: VolumeCache) -> None:
        self.claims = ClaimCounts()
        self._volumes = volumes
        self._changed: set[str] = set()
        self._classes_changed = False
        self._free: FreeVolumes | None = None
        self._table: NodeTable | None = None
        """The table of ``_free``."""
        self._verdicts: dict[ClaimRequest, Verdict] = {}

    def volumes_changed(self, names: Iterable[str]) -> None:
        """Record that volumes were added, changed or removed, or that their claims were."""
        self._changed.update(names)

    def classes_changed(self) -> None:
        """Record that storage classes, CSI drivers or storage capacities changed."""
        self._classes_changed = True

    def is_stale(self, table: NodeTable) -> bool:
        """Return whether *table* must be updated."""
        return table.storage is None or self._classes_changed or bool(self._changed) or self.claims.changed

    def update(self, table: NodeTable) -> StorageUpdate:
        """Update the storage of *table*; its rows are still to be updated."""
        storage = table.storage
        self._update_volumes(table)
        if anew := storage is None or self._classes_changed or self._free is None:
            self._free = report_storage(table, self._volumes.objects, self._free)
        self._classes_changed, self._table = False, table
        demand = self.claims.demand()
        if table.storage is None or self._free is None:
            raise RuntimeError("internal error: the storage was just reported")
        table.storage.forget(demand.requests)
        numbers = volume_numbers(table, self._free, demand)
        self.claims.counts_pods = any(table.storage.options(each).provisioned.any() for each in table.storage.pooled)
        before, self._verdicts = self._verdicts, {each: _verdict(table.storage, each) for each in demand.requests}
        others = frozenset(each for each, verdict in self._verdicts.items() if before.get(each) != verdict)
        return StorageUpdate(numbers, None if anew or tuple(numbers) != table.volume_names else others)

    def _update_volumes(self, table: NodeTable) -> None:
        """Update the free volumes, or drop them if they must be read again."""
        changed, self._changed = self._changed, set()
        known = self._table
        same = known is table or (known is not None and known.names == table.names and known.labels == table.labels)
        if self._free is not None and not (same and all(map(self._free.update, sorted(changed)))):
            self._free = None


def _verdict(storage: Storage, request: ClaimRequest) -> Verdict:
    return tuple(storage.rows((request,))), storage.one_by_one((request,)), storage.options(request).matches
