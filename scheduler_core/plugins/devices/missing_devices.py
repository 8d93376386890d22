"""Reasons why a node has no devices for the claims of a pod: too few free devices for a request, or a constraint."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from kubeapi.base_structs import replaced
from kubeapi.nodes import Taint
from scheduler_core.model.device_claims import DeviceLack, DeviceShortage, sorted_taints
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.devices import Allocation, Alternative, AttributeConstraint, ClaimSpec, DeviceId, Request
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.devices.chosen_devices import NamedSpec, Wanted
from scheduler_core.plugins.devices.fresh_claims import FreshClaims
from scheduler_core.plugins.devices.node_allocations import Failed, NodeAllocations
from scheduler_core.plugins.devices.selection import AllocationError
from scheduler_core.plugins.devices.tolerations import untolerated

_EXAMINED = 64
"""Maximum number of different states of nodes for which reasons are found."""
_Demand = tuple[str, tuple[str, ...], object, Hashable, bool]
"""What equal requests have in common."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class UnservedNode:
    """Claims of a pod for which a node may have no devices.

    Attributes:
        claims: those to allocate, and those of *elsewhere* that pods of the group have taken.
        elsewhere: claims that other pods have taken, with devices that the node cannot use, by position.

    """

    node: int
    claims: FreshClaims
    elsewhere: tuple[tuple[int, Allocation], ...]


class MissingDevices:
    """Devices that nodes lack, in the present state of *found*."""

    def __init__(self, found: NodeAllocations) -> None:
        self._found = found

    def lacks(self, pod: PodRecord, nodes: Iterable[UnservedNode]) -> list[DeviceLack]:
        """Return for each of *nodes* why it has no devices for *pod*; empty if no single request or constraint is the reason."""
        known: dict[Hashable, DeviceLack] = {}
        found = []
        for each in nodes:
            at = each.claims.positions, each.claims.resources, self._found.states.state(each.node)
            if at not in known:
                # Many states take long, and a message has few reasons.
                known[at] = self._lack(pod, each) if len(known) < _EXAMINED else DeviceLack()
            found.append(known[at])
        return found

    def free_devices(self, short: DeviceShortage, nodes: Iterable[tuple[Sequence[NamedSpec], int]]) -> int:
        """Return the number of devices of *nodes* that are free for the request of *short*; -1 if that is no limit for pods."""
        devices: set[DeviceId] = set()
        for claims, node in nodes:
            claim = next((candidate for candidate in claims if candidate.name == short.claim), None)
            if claim is None or (free := self._limit(short, claim, node)) is None:
                return -1
            devices |= free
        return len(devices)

    def _limit(self, short: DeviceShortage, claim: NamedSpec, node: int) -> set[DeviceId] | None:
        request = next((each for each in claim.spec.requests if each.name == short.request), None)
        if request is None or len(request.alternatives) != 1 or request.alternatives[0].admin:
            return None
        free, _ = self._free([claim], 0, request, request.alternatives[0], node)
        devices = [device for device in free if not any(_untolerated(request.alternatives[0], device))]
        return None if any(each.content.allow_multiple_allocations for each in devices) else {each.id for each in devices}

    def _lack(self, pod: PodRecord, node: UnservedNode) -> DeviceLack:
        specs = node.claims.specs
        if short := tuple(self._short(specs, node.node)):
            shared = {pod.device_claims[position].label for position in node.claims.positions if pod.shape.devices[position].shared}
            return DeviceLack(tuple(replaced(each, shared=each.claim in shared) for each in short))
        for position, allocation in node.elsewhere:
            if allocation.nodes is not None:
                return DeviceLack(taken=(pod.device_claims[position].label, allocation.nodes))
        return DeviceLack(broken=self._broken_constraint(specs, node.node))

    def _short(self, claims: Sequence[NamedSpec], node: int) -> Iterator[DeviceShortage]:
        """Yield the requests for which all alternatives have too few devices on *node*: that of the last one."""
        needed = Counter(
            _demand(request.alternatives[0])
            for claim in claims
            for request in claim.spec.requests
            for _ in range(request.alternatives[0].count)
            if len(request.alternatives) == 1 and not request.alternatives[0].every
        )
        seen: set[_Demand] = set()
        for number, claim in enumerate(claims):
            for request in claim.spec.requests:
                single = len(request.alternatives) == 1
                if single and (demand := _demand(request.alternatives[0])) in seen:
                    continue
                seen |= {demand} if single else set()
                found = [
                    self._shortage(claims, number, request, wanted, max(needed[_demand(wanted)] if single else 0, wanted.count), node)
                    for wanted in request.alternatives
                ]
                if found[-1] is not None and None not in found:
                    yield found[-1]

    def _shortage(
        self, claims: Sequence[NamedSpec], number: int, request: Request, each: Alternative, needed: int, node: int
    ) -> DeviceShortage | None:
        """Return the shortage of an alternative of the claim *number*; None if *node* has the devices."""
        matching, counters = self._free(claims, number, request, each, node)
        taints = [tuple(_untolerated(each, device)) for device in matching]
        if each.every:
            needed = max(self._all(claims, Wanted(number, request, each), node), 1)
        elif any(device.content.allow_multiple_allocations for device in matching):
            # Equal requests can have shares of one device.
            needed = each.count
        if (free := taints.count(())) >= needed:
            return None
        refusing = sorted_taints(taint for found in taints for taint in found)
        capacity = tuple(sorted(each.capacity.items()))
        return DeviceShortage(
            claims[number].name, each.device_class, free, 0 if each.every else needed, request.name, each.selectors,
            taints=refusing, capacity=capacity, counters=counters, last=len(request.alternatives) > 1,
        )  # fmt: skip

    def _free(
        self, claims: Sequence[NamedSpec], number: int, request: Request, each: Alternative, node: int
    ) -> tuple[list[PoolDevice], bool]:
        """Return the free devices, also those with untolerated taints, and whether shared counters exclude others."""
        return self._found.allocator(claims, node).free(Wanted(number, request, each))

    def _all(self, claims: Sequence[NamedSpec], wanted: Wanted, node: int) -> int:
        """Return the number of devices of a request for all devices."""
        try:
            return len(self._found.allocator(claims, node).every_device(wanted))
        except AllocationError:
            return 0

    def _broken_constraint(self, claims: Sequence[NamedSpec], node: int) -> tuple[str, AttributeConstraint] | None:
        """Return the claim and the constraint without which *node* has devices for *claims*; None if no single constraint is the reason."""
        for at, claim in enumerate(claims):
            for constraint in claim.spec.constraints:
                others = tuple(other for other in claim.spec.constraints if other is not constraint)
                changed = NamedSpec(claim.name, ClaimSpec(claim.spec.requests, others))
                if not isinstance(self._found.search([*claims[:at], changed, *claims[at + 1 :]], node), str | Failed):
                    return claim.name, constraint
        return None


def _demand(each: Alternative) -> _Demand:
    return each.device_class, each.selectors, tuple(each.tolerations), tuple(sorted(each.capacity.items())), each.admin


def _untolerated(alternative: Alternative, device: PoolDevice) -> Iterator[Taint]:
    return untolerated(device.content.taints, alternative.tolerations)
