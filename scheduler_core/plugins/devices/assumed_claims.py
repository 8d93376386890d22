"""Claims of assumed pods, and the devices that a pod finds on a node.

Claims that a pod of the same PodGroup has taken in the same cycle are used again.  Until the decision on the root is made, no other pod can
use them (Kubernetes 1.37.1, ``pendingAllocations``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.model import selectors
from scheduler_core.model.device_claims import DeviceClaim, DeviceObjects, DeviceShortage
from scheduler_core.model.devices import MOST_ALTERNATIVES, UNAVAILABLE, Allocation, AttributeConstraint, ClaimSpec, ExtendedSpec
from scheduler_core.model.nodes import Bools, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.devices.chosen_devices import NamedSpec
from scheduler_core.plugins.devices.node_allocations import Failed, FreshClaims, NodeAllocations

_Leaf = tuple[str, str]
"""Namespace and PodGroup."""


@dataclasses.dataclass(slots=True, eq=False)
class _Pending:
    """Claim that assumed pods have taken.

    Attributes:
        leaf: the PodGroup of these pods; None after the decision, when every pod can use it.
        users: number of these pods.

    """

    allocation: Allocation
    leaf: _Leaf | None
    users: int = 1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Plan:
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

    If *exact*, as kube-scheduler 1.37.1: claims are not shared between the PodGroups of a root, and the devices of new and reused claims
    of a pod can be exchanged.

    Attributes:
        error: the first error on the nodes that were filtered last; empty if there was none.

    """

    def __init__(self, nodes: NodeTable, objects: DeviceObjects, *, exact: bool) -> None:
        self._nodes = nodes
        self._objects = objects
        self._exact = exact
        self.error = ""
        self._found = NodeAllocations(nodes, objects)
        self._extended: dict[tuple[ExtendedSpec, tuple[str, ...]], ClaimSpec | None] = {}
        self._pending: dict[str, _Pending] = {}
        self._of_pod: dict[str, tuple[tuple[int, Allocation], ...]] = {}

    def reasons(self, pod: PodRecord, nodes: Nodes) -> list[str]:
        """Return for each of *nodes* the reason that excludes it; empty if none does."""
        plan, self.error = self._plan(pod), ""
        if plan.refusal:
            return [plan.refusal] * len(nodes)
        usable = self._usable(plan, nodes)
        results = self._results(pod, plan, nodes)
        self.error = next((str(each) for each in results if isinstance(each, Failed)), "")
        return [
            str(result) if isinstance(result, str | Failed) else "" if able else UNAVAILABLE
            for result, able in zip(results, usable, strict=True)
        ]

    def score(self, pod: PodRecord, node: int) -> int:
        """Return the preference of the alternatives that *pod* gets on *node*: more for earlier ones."""
        total = 0
        for position, allocation in self._dealt(pod, node):
            spec = pod.shape.devices[position].spec
            total += _preference(spec, {each.request for each in allocation.devices}) if spec is not None else 0
        return total

    def assume(self, pod: PodRecord, node: int) -> None:
        """Take the devices of *pod* on *node*."""
        plan, dealt = self._plan(pod), self._dealt(pod, node)
        self._of_pod[pod.key] = dealt
        given = {position for position, _ in plan.given}
        for position, allocation in dealt:
            if position in given:
                continue
            key = pod.device_claims[position].key
            if (pending := self._pending.get(key)) is not None:
                pending.users += 1
                continue
            self._pending[key] = _Pending(allocation, (pod.namespace, pod.group))
            self._found.usage.add_allocation(allocation)

    def forget(self, pod: PodRecord) -> None:
        """Undo ``assume``, which must be the last one."""
        for position, _ in reversed(self._of_pod.pop(pod.key, ())):
            key = pod.device_claims[position].key
            pending = self._pending.get(key)
            if pending is None or pending.leaf is None:
                continue
            pending.users -= 1
            if not pending.users:
                del self._pending[key]
                self._found.usage.remove_allocation(pending.allocation)

    def settle(self) -> None:
        """Treat all claims of assumed pods as allocated: from now on every pod can use them."""
        for each in self._pending.values():
            each.leaf = None

    def allocations(self, pod: PodRecord) -> Sequence[tuple[DeviceClaim, Allocation]]:
        """Return the claims of *pod*, which is assumed, that were not allocated at first, with their devices."""
        return [(pod.device_claims[position], allocation) for position, allocation in self._of_pod.get(pod.key, ())]

    def exchanged(self, pod: PodRecord) -> bool:
        """Return whether claims of *pod*, which is assumed, have the devices of other claims."""
        dealt = self._of_pod.get(pod.key, ())
        return any(_is_foreign(pod.device_claims[position].key, allocation, self._pending) for position, allocation in dealt)

    def shortage(self, pod: PodRecord, nodes: Nodes) -> DeviceShortage | None:
        """Return the first request for which all *nodes* have too few free devices; None if there is none."""
        plan = self._plan(pod)
        if plan.refusal or not len(nodes):
            return None
        for position in plan.fresh:
            label = pod.device_claims[position].label
            if (found := self._found.shortage(label, self._specs(pod, plan, position, nodes), nodes.tolist())) is not None:
                return dataclasses.replace(found, shared=bool(pod.shape.devices[position].shared))
        return None

    def free_devices(self, pod: PodRecord, short: DeviceShortage, nodes: Nodes) -> int:
        """Return the number of devices of *nodes* that are free for the request of *pod* in *short*; -1 if its claim is taken by now."""
        plan = self._plan(pod)
        for position in plan.fresh:
            if pod.device_claims[position].label == short.claim:
                return len(self._found.free_devices(short, self._specs(pod, plan, position, nodes), nodes.tolist()))
        return -1

    def broken_constraint(self, pod: PodRecord, node: int) -> tuple[str, AttributeConstraint] | None:
        """Return the claim of *pod* and its only constraint because of which *node* has no devices; None if there is not one reason."""
        plan = self._plan(pod)
        return None if plan.refusal else self._found.broken_constraint(self._fresh(pod, plan, node).specs, node)

    def _specs(self, pod: PodRecord, plan: _Plan, position: int, nodes: Nodes) -> list[NamedSpec | None]:
        """Return the specification of the claim of *pod* at *position* on each of *nodes*; None where it needs no devices."""
        fresh = [self._fresh(pod, plan, node) for node in nodes.tolist()]
        return [dict(zip(each.positions, each.specs, strict=True)).get(position) for each in fresh]

    def _plan(self, pod: PodRecord) -> _Plan:
        fresh: list[int] = []
        reused: list[tuple[int, Allocation]] = []
        given: list[tuple[int, Allocation]] = []
        for position, (claim, need) in enumerate(zip(pod.device_claims, pod.shape.devices, strict=True)):
            if not need.allocates:
                continue
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
            return [self._found.on(pod.shape.serial, self._fresh(pod, plan, node), node) for node in nodes.tolist()]
        claims = self._fresh(pod, plan, -1)
        return [self._found.on(pod.shape.serial, claims, node) for node in nodes.tolist()]

    def _fresh(self, pod: PodRecord, plan: _Plan, node: int) -> FreshClaims:
        """Return the claims to allocate on *node*, -1 for any; devices provide only those extended resources that the node lacks."""
        specs: list[NamedSpec] = []
        positions: list[int] = []
        resources = tuple(name for name, mask in self._nodes.backed.items() if mask[node]) if node >= 0 else ()
        for position in plan.fresh:
            need = pod.shape.devices[position]
            spec = need.spec if need.extended is None else self._extended_spec(need.extended, resources)
            if spec is not None:
                specs.append(NamedSpec(pod.device_claims[position].label, spec))
                positions.append(position)
        return FreshClaims(tuple(positions), resources, specs)

    def _extended_spec(self, extended: ExtendedSpec, resources: tuple[str, ...]) -> ClaimSpec | None:
        at = extended, resources
        if at not in self._extended:
            self._extended[at] = extended.spec(resources)
        return self._extended[at]

    def _usable(self, plan: _Plan, nodes: Nodes) -> Bools:
        """Return the nodes that can use the devices of the other claims; shape of *nodes*."""
        usable: Bools = np.ones(len(nodes), dtype=bool)
        for _, allocation in (*plan.reused, *plan.given):
            if allocation.nodes is not None:
                usable &= selectors.node_mask(allocation.nodes, self._nodes)[nodes]
        return usable

    def _dealt(self, pod: PodRecord, node: int) -> tuple[tuple[int, Allocation], ...]:
        """Return the allocations of the claims of *pod* on *node*, by position; none if a claim has no devices."""
        plan = self._plan(pod)
        fresh: Sequence[Allocation] = ()
        taken: tuple[int, ...] = ()
        if plan.fresh:
            claims = self._fresh(pod, plan, node)
            found = self._found.allocations(pod.shape.serial, claims, node)
            if found is None:
                return plan.given
            fresh, taken = found, claims.positions
        positions = [*taken, *(position for position, _ in plan.reused)]
        # kube-scheduler keeps the results of new claims before those of reused ones, and deals them out in the order of the pod.
        order = sorted(positions) if self._exact else positions
        results = (*fresh, *(allocation for _, allocation in plan.reused))
        return tuple(sorted((*zip(order, results, strict=True), *plan.given), key=lambda each: each[0]))


def _preference(spec: ClaimSpec, requests: set[str]) -> int:
    return sum(_preferences(spec, requests))


def _preferences(spec: ClaimSpec, requests: set[str]) -> Iterator[int]:
    for request in spec.requests:
        for index, each in enumerate(request.alternatives):
            if each.name and request.written(each) in requests:
                yield MOST_ALTERNATIVES - index


def _is_foreign(key: str, allocation: Allocation, pending: Mapping[str, _Pending]) -> bool:
    """Return whether *allocation*, dealt to the claim *key*, is that of another claim."""
    own = pending.get(key)
    return own is not None and own.users > 1 and own.allocation != allocation
