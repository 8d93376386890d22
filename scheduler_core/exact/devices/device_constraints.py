"""Devices that the pods of a root compete for, if requests do not count them.

Such claims have constraints between their devices, alternatives, or all devices of a node; or their devices are reached from several nodes,
share counters, or have several users; or several pods use the claim.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from kubeapi.meta import replaced
from scheduler_core.exact.step_budget import StepsSpentError
from scheduler_core.model.device_claims import DeviceClaim
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.dynamic_resources import device_allocation

if TYPE_CHECKING:
    from scheduler_core.plugins.devices.assumed_claims import AssumedClaims, PodAllocations

_MOST_COUNTED, _MOST_STATES = 16, 64
"""Number of pods of a node, and of states of its devices, up to which it is examined how many pods have devices there together."""
_MOST_WAYS = 64
"""Number of ways to give devices to a pod on a node above which a search without a result proves nothing."""


class DeviceConstraints:
    """Constraints on *pods*, one for each shape, in the present state; it is restored after each search."""

    def __init__(self, claims: AssumedClaims, pods: Iterable[PodRecord], nodes: int) -> None:
        self._claims = claims
        # Results by shape are kept between searches, which number the variants of shapes anew.
        self._pods = {
            pod.shape.serial: replaced(pod, shape=pod.shape.variant_of or pod.shape) for pod in pods if not pod.shape.counts_devices
        }
        self._size = nodes
        self._copies: dict[tuple[int, int], PodRecord] = {}

    def node_classes(self) -> Ints:
        """Return equal numbers for nodes that can be exchanged without any change to devices; shape (nodes,)."""
        numbers: dict[Hashable, int] = {}
        keys = ((self.reach(node), self.use(node)) for node in range(self._size))
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def couples(self, shape: PodShape) -> bool:
        """Return whether the devices of a pod of *shape* depend on those of other pods."""
        return shape.serial in self._pods

    def pod(self, shape: PodShape, number: int) -> PodRecord:
        """Return a pod of *shape* with claims of its own, the same for equal *number*."""
        at = shape.serial, number
        if (copy := self._copies.get(at)) is None:
            pod = self._pods[shape.serial]
            claims = (
                claim if need.shared or not need.allocates else DeviceClaim(f"{claim.key}#{number}", claim.label)
                for claim, need in zip(pod.device_claims, pod.shape.devices, strict=True)
            )
            copy = self._copies[at] = replaced(pod, key=f"{pod.key}#{number}", device_claims=tuple(claims))
        return copy

    def most(self, shape: PodShape) -> Ints | None:
        """Return an upper bound of the pods of *shape* on each node by itself, shape (nodes,); None if there is none."""
        if not self.couples(shape) or any(need.shared for need in shape.devices):
            return None
        bounds: Ints = np.full(self._size, np.iinfo(np.int64).max, dtype=np.int64)
        known: dict[Hashable, int | None] = {}
        for node in range(self._size):
            key = self.reach(node), self.use(node)
            if key not in known:
                known[key] = self._most_on(shape, node, key)
            if (most := known[key]) is not None:
                bounds[node] = most
        return bounds

    def _most_on(self, shape: PodShape, node: int, state: Hashable) -> int | None:
        """Return the number of pods of *shape* that *node* in this *state* has devices for; an upper bound if that is hard to find."""
        bound = self._claims.most(self._pods[shape.serial], node)
        if bound is None or not 0 < bound <= _MOST_COUNTED or any(need.extended is not None for need in shape.devices):
            return bound
        known, at = self._claims.found.fitting, (self._pods[shape.serial].shape.serial, state)
        if at not in known:
            try:
                known[at] = self._fitting(shape, node, bound, set())
            except StepsSpentError:
                known[at] = bound
        return known[at]

    def _fitting(self, shape: PodShape, node: int, bound: int, seen: set[Hashable], placed: int = 0) -> int:
        """Return how many pods of *shape* fit on *node* together, of which *placed* have devices there; at least *bound* if so many do.

        Raises:
            StepsSpentError: too many states would be examined.

        """
        pod, best = self.pod(shape, placed), placed
        ways, finished = self.ways(pod, node)
        if not finished or len(seen) > _MOST_STATES:
            raise StepsSpentError
        for allocations in ways if placed < bound else ():
            self.assume(pod, node, allocations)
            try:
                state = placed, self.use(node)
                if state not in seen:
                    seen.add(state)
                    best = max(best, self._fitting(shape, node, bound, seen, placed + 1))
            finally:
                self.forget(pod)
            if best >= bound:
                break
        return best

    def ways(self, pod: PodRecord, node: int) -> tuple[list[PodAllocations], bool]:
        """Return the ways to give devices to *pod* on *node*, and whether these are all."""
        return self._claims.ways(pod, node, _MOST_WAYS)

    @property
    def devices_tried(self) -> int:
        """Return the number of devices that ``ways`` has tried so far."""
        return self._claims.found.tried

    def assume(self, pod: PodRecord, node: int, allocations: PodAllocations) -> None:
        """Give devices to *pod*."""
        self._claims.assume(pod, node, allocations)

    def forget(self, pod: PodRecord) -> None:
        """Undo the last ``assume``, which was that of *pod*."""
        self._claims.forget(pod)

    def reach(self, node: int) -> Hashable:
        """Return a key that is equal for nodes whose own devices are exchangeable and that reach the same shared devices."""
        return self._claims.found.states.reach(node)

    def use(self, node: int) -> Hashable:
        """Return the present use of the devices that *node* reaches: equal for exchangeable uses of the same devices."""
        return self._claims.found.states.use(node)

    def pending(self) -> Hashable:
        """Return the claims that placed pods have taken, and the nodes that can use them."""
        return self._claims.pending()


def device_constraints(state: PlacementState, pods: Iterable[PodRecord]) -> DeviceConstraints | None:
    """Return the constraints on *pods*, one for each shape; None if requests count all their devices."""
    pods = [*pods]
    if all(pod.shape.counts_devices for pod in pods):
        return None
    claims = claims_of(state)
    return None if claims is None else DeviceConstraints(claims, pods, len(state.nodes))


def claims_of(state: PlacementState) -> AssumedClaims | None:
    """Return the claims to devices; None if no pod has any."""
    allocation = device_allocation(state.stateful.plugins)
    return None if allocation is None else allocation.claims
