"""Devices that are free when all users of their claims are evicted."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator

from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import Allocation
from scheduler_core.model.pods import PodRecord


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HeldClaim:
    """Allocated claim of a running pod, with its key, and all pods that use it (``namespace/name``)."""

    key: str
    allocation: Allocation
    users: frozenset[str]


class EvictedUsers:
    """Evicted pods, whose claims are released in *usage* with their last user.

    A claim that is reserved for anything but pods keeps its devices.

    Attributes:
        kept: keys of claims that keep their devices, because pods without a node are to use them.

    """

    def __init__(self, objects: DeviceObjects, usage: DeviceUsage) -> None:
        self._objects = objects
        self._usage = usage
        self._evicted: set[str] = set()
        self.kept: frozenset[str] = frozenset()

    @functools.cached_property
    def _known(self) -> dict[str, list[HeldClaim]]:
        """Claims by user; few cycles evict pods."""
        known: dict[str, list[HeldClaim]] = {}
        for held in held_claims(self._objects):
            for pod in held.users:
                known.setdefault(pod, []).append(held)
        return known

    def holds(self, pod: PodRecord) -> bool:
        """Return whether the running *pod* uses an allocated claim."""
        return next(self._claims_of(pod), None) is not None

    def evict(self, pod: PodRecord, more: Iterable[HeldClaim] = ()) -> None:
        """Record the eviction of *pod*, which also uses the claims *more*."""
        if pod.key not in self._evicted:
            self._evicted.add(pod.key)
            for held in (*self._claims_of(pod), *more):
                if held.users <= self._evicted and held.key not in self.kept:
                    self._usage.remove_allocation(held.allocation)

    def restore(self, pod: PodRecord, more: Iterable[HeldClaim] = ()) -> None:
        """Undo ``evict``."""
        if pod.key in self._evicted:
            for held in (*self._claims_of(pod), *more):
                if held.users <= self._evicted and held.key not in self.kept:
                    self._usage.add_allocation(held.allocation)
            self._evicted.discard(pod.key)

    def _claims_of(self, pod: PodRecord) -> Iterator[HeldClaim]:
        yield from self._known.get(pod.key, ())
        # There are no objects yet for claims that an earlier cycle has created for pods.
        for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
            allocation = self._objects.allocated.get(claim.key)
            if claim.is_of_pod and need.allocates and allocation is not None:
                yield HeldClaim(claim.key, allocation, frozenset({pod.key}))


def held_claims(objects: DeviceObjects) -> Iterator[HeldClaim]:
    """Yield the allocated claims that are reserved for pods only."""
    for (namespace, name), claim in objects.claims.items():
        key = f"{namespace}/{name}"
        allocation = objects.allocated.get(key)
        if allocation is not None and claim.consumers and all(kind == "pods" for kind, _ in claim.consumers):
            yield HeldClaim(key, allocation, frozenset(f"{namespace}/{pod}" for _, pod in claim.consumers))
