"""Claims of assumed pods, and the devices that a pod finds on a node.

Claims that a pod of the same PodGroup has taken in the same cycle are used again.  Until the decision on the root is made, no other pod can
use them (Kubernetes 1.37.1, ``pendingAllocations``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from kubeapi.base_structs import MutableRecord, Record
from scheduler_core.model.device_claims import DeviceClaim, DeviceLack, DeviceObjects, DeviceShortage
from scheduler_core.model.devices import UNAVAILABLE, Allocation
from scheduler_core.model.nodes import Bools, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.devices.chosen_devices import preference
from scheduler_core.plugins.devices.counted_claims import CountedClaims
from scheduler_core.plugins.devices.evicted_users import EvictedUsers, HeldClaim
from scheduler_core.plugins.devices.fresh_claims import FreshClaims, FreshSpecs
from scheduler_core.plugins.devices.missing_devices import MissingDevices, UnservedNode
from scheduler_core.plugins.devices.node_allocations import Failed, NodeAllocations

PodAllocations = tuple[tuple[int, Allocation], ...]
"""Allocations of the claims of a pod, by position."""
_Leaf = tuple[str, str]
"""Namespace and PodGroup."""


class _Pending(MutableRecord, eq=False):
    """Claim that assumed pods have taken.

    Attributes:
        leaf: the PodGroup of these pods; None after the decision, when every pod can use it.
        shared: True if several pods use the claim.
        users: number of these pods.

    """

    allocation: Allocation
    leaf: _Leaf | None
    shared: bool
    users: int = 1


class _Plan(Record, frozen=True, eq=False):
    """Claims of a pod.

    Attributes:
        refusal: the reason that excludes all nodes; empty if there is none.
        fresh: positions of the claims to allocate.
        reused: positions of the claims that earlier pods of the PodGroup have taken, with their allocation.
        given: other claims that are allocated by now.

    """

    refusal: str
    fresh: tuple[int, ...]
    reused: tuple[tuple[int, Allocation], ...]
    given: tuple[tuple[int, Allocation], ...]


class AssumedClaims:
    """Claims of assumed pods.

    If *exact*, as kube-scheduler: claims are not shared between the PodGroups of a root, the devices of new and reused claims of a
    pod can be exchanged, and an error on one node ends the attempt to place a pod.

    Attributes:
        planned: devices that a search has chosen, by key of the claim.
        found: results of the search for devices.
        failed: errors on the nodes that were filtered last.

    """

    def __init__(self, nodes: NodeTable, objects: DeviceObjects, *, exact: bool) -> None:
        self._nodes = nodes
        self._objects = objects
        self._exact = exact
        self.failed: tuple[Failed, ...] = ()
        self.planned: Mapping[str, Allocation] = {}
        self.found = NodeAllocations(nodes, objects, exact=exact)
        self._counted = None if nodes.device_rows is None else CountedClaims(nodes.device_rows, self.found)
        self._fresh_specs = FreshSpecs(nodes)
        self._pending: dict[str, _Pending] = {}
        self._unused: dict[PodShape, _Plan] = {}
        self._unsettled: dict[str, _Pending] = {}
        self._of_pod: dict[str, PodAllocations] = {}
        self._users: dict[str, set[str]] = {}
        self._evicted = EvictedUsers(objects, self.found.usage)

    def reasons(self, pod: PodRecord, nodes: Nodes) -> list[str]:
        """Return for each of *nodes* the reason that excludes it; empty if none does."""
        plan, self.failed = self._plan(pod), ()
        if plan.refusal:
            return [plan.refusal] * len(nodes)
        usable = self._usable(plan, nodes)
        results = self._results(pod, plan, nodes)
        self.failed = tuple(dict.fromkeys(each for each in results if isinstance(each, Failed)))
        reasons = (each.key if isinstance(each, Failed) else each for each in results)
        return [reason if isinstance(reason, str) else "" if able else UNAVAILABLE for reason, able in zip(reasons, usable, strict=True)]

    @property
    def error(self) -> Failed | None:
        """Error that ends the attempt, on the nodes that were filtered last; None if there is none."""
        skips = self._nodes.behavior.skips_incomplete_pools
        return next((each for each in self.failed if not (each.of_pool and skips)), None) if self._exact else None

    def score(self, pod: PodRecord, node: int) -> int:
        """Return the preference of the alternatives that *pod* gets on *node*: more for earlier ones."""
        total = 0
        for position, allocation in self._allocations_on(pod, self._plan(pod), node):
            spec = pod.shape.devices[position].spec
            total += preference(spec, {device.request for device in allocation.devices}) if spec is not None else 0
        return total

    def ways(self, pod: PodRecord, node: int, most: int) -> tuple[list[PodAllocations], bool]:
        """Return the ways to give devices to *pod* on *node*, *most* at most, and whether these are all; the use of kinds differs."""
        plan = self._plan(pod)
        if plan.refusal or not self._usable(plan, np.array([node], dtype=np.int64)).all():
            return [], True
        fresh = self._fresh(pod, plan, node)
        if not fresh.specs:
            return [self._by_position(plan, (), ())], True
        named = frozenset(index for index, position in enumerate(fresh.positions) if pod.shape.devices[position].shared)
        found, finished = self.found.ways(pod.shape.serial, fresh, node, named, most)
        return [self._by_position(plan, fresh.positions, each) for each in found], finished

    def most(self, pod: PodRecord, node: int) -> int | None:
        """Return an upper bound of the pods like *pod* on *node*; None if there is none."""
        return self.found.most(self._fresh(pod, self._plan(pod), node).specs, node)

    def pending(self) -> Hashable:
        """Return the claims of several pods that assumed pods of the root have taken, and the nodes that can use them."""
        return frozenset((key, each.allocation.nodes) for key, each in self._unsettled.items() if each.shared)

    def assume(self, pod: PodRecord, node: int, allocations: PodAllocations | None = None) -> None:
        """Take the devices of *pod* on *node*: *allocations*, if given."""
        plan = self._plan(pod)
        allocations = self._allocations_on(pod, plan, node) if allocations is None else allocations
        self._of_pod[pod.key] = allocations
        given = {position for position, _ in plan.given}
        for position, allocation in allocations:
            key = pod.device_claims[position].key
            if (users := self._users.get(key)) is None:
                self._users[key] = {pod.key}
            else:
                users.add(pod.key)
            if position in given:
                continue
            if (pending := self._pending.get(key)) is not None:
                pending.users += 1
                continue
            self._pending[key] = pending = _Pending(allocation, (pod.namespace, pod.group), bool(pod.shape.devices[position].shared))
            self._unsettled[key] = pending
            self.found.usage.add_allocation(allocation)

    def forget(self, pod: PodRecord) -> None:
        """Undo ``assume``, which must be the last one."""
        for position, _ in reversed(self._of_pod.pop(pod.key, ())):
            key = pod.device_claims[position].key
            self._users[key].discard(pod.key)
            pending = self._pending.get(key)
            if pending is None or pending.leaf is None:
                continue
            pending.users -= 1
            if not pending.users:
                del self._pending[key], self._unsettled[key]
                self.found.usage.remove_allocation(pending.allocation)

    def holds(self, pod: PodRecord) -> bool:
        """Return whether the running *pod* uses an allocated claim."""
        return pod.key in self._of_pod or self._evicted.holds(pod)

    def evict(self, pod: PodRecord) -> None:
        """Free the devices of the claims that the running *pod* uses, if all other users are evicted too."""
        self._evicted.evict(pod, self._taken_in_this_cycle(pod))

    def restore_pod(self, pod: PodRecord) -> None:
        """Undo ``evict``, if it was called for *pod*."""
        self._evicted.restore(pod, self._taken_in_this_cycle(pod))

    def _taken_in_this_cycle(self, pod: PodRecord) -> Iterator[HeldClaim]:
        for position, allocation in self._of_pod.get(pod.key, ()):
            key = pod.device_claims[position].key
            yield HeldClaim(key, allocation, frozenset(self._users.get(key, ())))

    def keep(self, claims: frozenset[str]) -> None:
        """Let *claims*, by key, keep their devices when their users are evicted."""
        self._evicted.kept = claims

    def settle(self) -> None:
        """Treat all claims of assumed pods as allocated: from now on every pod can use them."""
        for each in self._unsettled.values():
            each.leaf = None
        self._unsettled.clear()

    def allocations(self, pod: PodRecord) -> Sequence[tuple[DeviceClaim, Allocation]]:
        """Return the claims of *pod*, which is assumed, that were not allocated at first, with their devices."""
        return [(pod.device_claims[position], allocation) for position, allocation in self._of_pod.get(pod.key, ())]

    def exchanged(self, pod: PodRecord) -> bool:
        """Return whether claims of *pod*, which is assumed, have the devices of other claims."""
        allocations = self._of_pod.get(pod.key, ())
        return any(_is_foreign(pod.device_claims[position].key, allocation, self._pending) for position, allocation in allocations)

    def lacks(self, pod: PodRecord, nodes: Nodes) -> list[DeviceLack]:
        """Return for each of *nodes* why it has no devices for *pod*; empty if a claim excludes all nodes."""
        plan = self._plan(pod)
        return [] if plan.refusal else MissingDevices(self.found).lacks(pod, (self._unserved(pod, plan, node) for node in nodes.tolist()))

    def _unserved(self, pod: PodRecord, plan: _Plan, node: int) -> UnservedNode:
        """Return the claims for which *node* has no devices: those to allocate, and those whose devices it cannot use."""
        elsewhere = tuple(each for each in (*plan.reused, *plan.given) if not self._is_usable(each[1], node))
        positions = sorted((*plan.fresh, *(position for position, _ in elsewhere if position in dict(plan.reused))))
        return UnservedNode(node, self._fresh_specs.on(pod, positions, node), elsewhere)

    def free_devices(self, pod: PodRecord, short: DeviceShortage, nodes: Nodes) -> int:
        """Return the number of devices of *nodes* that are free for the request of *pod* in *short*; -1 if that is no limit for pods."""
        plan = self._plan(pod)
        return MissingDevices(self.found).free_devices(short, ((self._fresh(pod, plan, node).specs, node) for node in nodes.tolist()))

    def allocates(self, pod: PodRecord) -> bool:
        """Return whether devices must be found for *pod*."""
        return bool(self._unused_claims(pod.shape).fresh)

    def _unused_claims(self, shape: PodShape) -> _Plan:
        """Return the claims of a pod of *shape* of which none is allocated or taken by now."""
        if (plan := self._unused.get(shape)) is None:
            fresh = tuple(position for position, need in enumerate(shape.devices) if need.allocates)
            plan = self._unused[shape] = _Plan("", fresh, (), ())
        return plan

    def _plan(self, pod: PodRecord) -> _Plan:
        plan = self._unused.get(pod.shape) or self._unused_claims(pod.shape)
        allocated, pending = self._objects.allocated, self._pending
        for position in plan.fresh:
            key = pod.device_claims[position].key
            if key in allocated or key in pending:
                return self._plan_with_used(pod, plan.fresh)
        return plan

    def _plan_with_used(self, pod: PodRecord, positions: Iterable[int]) -> _Plan:
        """Return the claims of *pod* at *positions*, of which some are allocated or taken by now."""
        fresh: list[int] = []
        reused: list[tuple[int, Allocation]] = []
        given: list[tuple[int, Allocation]] = []
        for position in positions:
            claim = pod.device_claims[position]
            if (allocated := self._objects.allocated.get(claim.key)) is not None:
                given.append((position, allocated))
            elif (pending := self._pending.get(claim.key)) is None:
                fresh.append(position)
            elif pending.leaf is None:
                given.append((position, pending.allocation))
            elif pod.group and (pending.leaf == (pod.namespace, pod.group) or not self._exact):
                reused.append((position, pending.allocation))
            else:
                return _Plan(f"resource claim {claim.label} is in the process of being allocated", (), (), ())
        return _Plan("", tuple(fresh), tuple(reused), tuple(given))

    def _results(self, pod: PodRecord, plan: _Plan, nodes: Nodes) -> Sequence[object]:
        """Return for each of *nodes* the devices of the claims to allocate, the reason why there are none, or an error."""
        if not plan.fresh:
            return [None] * len(nodes)
        if any(pod.shape.devices[position].extended is not None for position in plan.fresh):
            return [self.found.on(pod.shape.serial, self._fresh(pod, plan, node), node) for node in nodes.tolist()]
        return self.found.on_each(pod.shape.serial, self._fresh(pod, plan, -1), nodes.tolist())

    def _fresh(self, pod: PodRecord, plan: _Plan, node: int) -> FreshClaims:
        """Return the claims to allocate on *node*, -1 for any."""
        return self._fresh_specs.on(pod, plan.fresh, node)

    def _is_usable(self, allocation: Allocation, node: int) -> bool:
        return allocation.nodes is None or bool(self.found.matching(allocation.nodes)[node])

    def _usable(self, plan: _Plan, nodes: Nodes) -> Bools:
        """Return the nodes that can use the devices of the other claims; shape of *nodes*."""
        usable: Bools = np.ones(len(nodes), dtype=bool)
        for _, allocation in (*plan.reused, *plan.given):
            if allocation.nodes is not None:
                usable &= self.found.matching(allocation.nodes)[nodes]
        return usable

    def _allocations_on(self, pod: PodRecord, plan: _Plan, node: int) -> PodAllocations:
        """Return the allocations of the claims of *pod* on *node*, by position; none if a claim has no devices."""
        if not plan.fresh:
            return self._by_position(plan, (), ())
        if self.planned:
            planned = [self.planned.get(pod.device_claims[position].key) for position in plan.fresh]
            if known := [each for each in planned if each is not None]:
                return self._by_position(
                    plan, [position for position, each in zip(plan.fresh, planned, strict=True) if each is not None], known
                )
        if self._counted is not None and not pod.shape.picks_devices:
            counted = self._counted.allocations(pod.shape, plan.fresh, node)
            if counted is None:
                return plan.given
            fresh = tuple(zip(plan.fresh, counted, strict=True))
            # The claims of such a pod are its own.
            return tuple(sorted((*fresh, *plan.given), key=lambda each: each[0])) if plan.given else fresh
        claims = self._fresh(pod, plan, node)
        found = self.found.allocations(pod.shape.serial, claims, node)
        return plan.given if found is None else self._by_position(plan, claims.positions, found)

    def _by_position(self, plan: _Plan, taken: Sequence[int], fresh: Sequence[Allocation]) -> PodAllocations:
        """Return the allocations of the claims by position: *fresh* ones of those at *taken*, and those of the other claims."""
        positions = [*taken, *(position for position, _ in plan.reused)]
        # kube-scheduler keeps the results of new claims before those of reused ones, and gives them to the claims in the order of the pod.
        order = sorted(positions) if self._exact else positions
        results = (*fresh, *(allocation for _, allocation in plan.reused))
        return tuple(sorted((*zip(order, results, strict=True), *plan.given), key=lambda each: each[0]))


def _is_foreign(key: str, allocation: Allocation, pending: Mapping[str, _Pending]) -> bool:
    """Return whether *allocation*, which the claim *key* has, is that of another claim."""
    own = pending.get(key)
    return own is not None and own.users > 1 and own.allocation != allocation
