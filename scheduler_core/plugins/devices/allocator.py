"""Devices for the claims of a pod on one node: the first solution of a depth-first search, in the order of kube-scheduler 1.37.1.

Claims are tried in the order of the pod, requests in the order of the claim, devices in the order of the pools.  The search tries other
devices for the claims of one pod, but never gives other devices to pods that already have theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Sequence

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.filter_reasons import DeviceAdvice, SearchUnfinished
from scheduler_core.model.device_pools import DevicePools, NodePool, PoolDevice
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import CANNOT_ALLOCATE, INVALID_POOLS, MOST_DEVICES, Alternative
from scheduler_core.plugins.devices.chosen_devices import Choice, ChosenDevices, NamedSpec, Wanted
from scheduler_core.plugins.devices.selection import AllocationError, Selection, SelectionError

Solution = tuple[tuple[Choice, ...], ...]
"""Choices for each claim."""
_START = (0, 0)
_MOST_TRIED = 1_000_000
"""Maximum number of devices that a search tries: the number of combinations can be exponential, and kube-scheduler stops after 10 s."""


class _TooManyDevices(Exception):
    """A claim would have more devices than allowed."""


class UnfinishedSearchError(AllocationError):
    """A search ended before all devices were tried."""


class Allocator:
    """Search for the claims of one pod on one node.

    With *kinds*, only the first device of each kind is tried for a device of a request.  A device does not match a request for a number of
    devices that kube-scheduler cannot evaluate for it; without *kinds* this is an error.  A selector that cannot be compiled, or not be
    evaluated for a device of a request for all devices, is always an error.

    Attributes:
        tried: number of devices that were tried.

    """

    def __init__(
        self,
        claims: Sequence[NamedSpec],
        pools: DevicePools,
        node: int,
        usage: DeviceUsage,
        selection: Selection,
        kinds: Callable[[PoolDevice], Hashable] | None = None,
        behavior: SchedulerBehavior = KUBERNETES_1_37,
    ) -> None:
        self._claims = claims
        self._kinds = kinds
        self._pools = pools
        self._node = node
        self._selection = selection
        self._views = pools.on(node)
        self._chosen = ChosenDevices(claims, usage, behavior)
        self._every: dict[tuple[int, Alternative], list[tuple[NodePool, PoolDevice]]] = {}
        self.tried = 0
        self._solutions: dict[Hashable, Solution] | None = None
        self._most = 0

    def solutions(self, named: Container[int], most: int) -> list[Solution]:
        """Return at most *most* solutions; of solutions that use equally many devices of each kind, only one is returned.

        For the claims with the indices *named*, solutions with different devices are different.

        Raises:
            AllocationError: kube-scheduler would end the attempt with an error, or the search did not finish.

        """
        self._solutions, self._named, self._most = {}, named, most
        self.allocate()
        return [*self._solutions.values()]

    def _record(self) -> bool:
        """Record a solution, and return whether no other is needed."""
        if self._solutions is None:
            return True
        used: Counter[Hashable] = Counter()
        for claim, choices in enumerate(self._chosen.of_claim):
            for choice in choices:
                kind = self._kinds(choice.device) if self._kinds is not None and claim not in self._named else choice.device.id
                used[claim if claim in self._named else -1, kind, choice.admin, choice.consumed] += 1
        self._solutions.setdefault(frozenset(used.items()), tuple(map(tuple, self._chosen.of_claim)))
        return len(self._solutions) >= self._most

    def allocate(self) -> Solution | str:
        """Return the devices of the claims, or kube-scheduler's reason why the node has none.

        Raises:
            AllocationError: the attempt ends with an error.

        """
        for number in range(len(self._claims)):
            self._check(number)
        try:
            found = self._request(0, 0)
        except _TooManyDevices:
            found = False
        except RecursionError:
            raise UnfinishedSearchError(SearchUnfinished(None)) from None
        if found:
            return tuple(map(tuple, self._chosen.of_claim))
        return INVALID_POOLS if any(pool.invalid for pool in self._views) else CANNOT_ALLOCATE

    def free(self, wanted: Wanted) -> tuple[list[PoolDevice], bool]:
        """Return the free devices that match *wanted*, also those with untolerated taints; none if a selector cannot be evaluated.

        The second value is whether other devices match, but the shared counters that are left do not suffice for them.
        """
        try:
            matching = [(pool, device) for pool in self._views for device in pool.devices if self._is_candidate(wanted, device)]
        except AllocationError:
            return [], False
        free = [device for pool, device in matching if self._chosen.has_counters(pool, device)]
        return free, len(free) < len(matching)

    def most(self, wanted: Wanted, count: int) -> int | None:
        """Return how many times *count* free devices can be given to *wanted*; None if devices can have several users."""
        if wanted.alternative.admin:
            return None
        able = [
            device
            for pool in self._views
            for device in pool.devices
            if self._is_able(wanted, device) and self._chosen.has_counters(pool, device)
        ]
        return None if any(each.content.allow_multiple_allocations for each in able) else len(able) // count

    def _is_able(self, wanted: Wanted, device: PoolDevice) -> bool:
        try:
            return self._is_candidate(wanted, device) and self._chosen.tolerates(wanted, device)
        except AllocationError:
            return False

    def _check(self, claim: int) -> None:
        """Find the devices of requests for all devices, and check that a claim does not need too many devices."""
        named, least = self._claims[claim], 0
        for request in named.spec.requests:
            counts = []
            for wanted in request.alternatives:
                if self._kinds is not None:
                    self._selection.check(wanted, claim)
                if wanted.every:
                    self._every[claim, wanted] = self.every_device(Wanted(claim, request, wanted))
                counts.append(len(self._every[claim, wanted]) if wanted.every else wanted.count)
            if (needed := min(counts)) > MOST_DEVICES - least:
                message = f"adding {needed} devices exceeds the claim limit of {MOST_DEVICES}, with {least} already accounted for"
                raise AllocationError(f", request {request.name}: {message}", claim, DeviceAdvice.FEWER_DEVICES)
            least += needed

    def every_device(self, wanted: Wanted) -> list[tuple[NodePool, PoolDevice]]:
        """Return the devices of a request for all devices.

        Raises:
            AllocationError: kube-scheduler would end the attempt with an error.

        """
        try:
            return list(self._all_devices(wanted))
        except SelectionError:
            raise
        except AllocationError:
            if self._kinds is None:
                raise
            return []

    def _all_devices(self, wanted: Wanted) -> Iterator[tuple[NodePool, PoolDevice]]:
        for pool in self._views:
            if not pool.usable:
                state, name = "being updated" if pool.incomplete else "invalid", "/".join(pool.name)
                own = wanted.alternative.name or wanted.request.name
                message = f"asks for all devices, but resource pool {name} is currently {state}"
                raise AllocationError(f", request {own}: {message}", wanted.claim, DeviceAdvice.PUBLISH_POOL, of_pool=True)
            for device in pool.devices:
                if self._is_one_of_all(wanted, device) and self._chosen.fits(wanted, device, unused=True):
                    yield pool, device

    def _is_one_of_all(self, wanted: Wanted, device: PoolDevice) -> bool:
        reached = self._pools.reaches(device, self._node)
        if self._kinds is not None and not reached:
            # kube-scheduler also evaluates devices of other nodes.
            return False
        return self._selection.evaluated(wanted.alternative, wanted.claim, device) and reached

    def _request(self, claim: int, request: int) -> bool:
        """Allocate from this request on, and return whether a solution is found."""
        if claim == len(self._claims):
            return self._record()
        requests = self._claims[claim].spec.requests
        if request == len(requests):
            try:
                return self._request(claim + 1, 0)
            except _TooManyDevices:
                return False
        wanted = [Wanted(claim, requests[request], each) for each in requests[request].alternatives]
        if len(wanted) == 1 and not wanted[0].alternative.name:
            return self._devices(wanted[0], request, 0, _START)
        exceeded = 0
        for each in wanted:
            try:
                if self._devices(each, request, 0, _START):
                    return True
            except _TooManyDevices:
                exceeded += 1
        if exceeded == len(wanted):
            raise _TooManyDevices
        return False

    def _devices(self, wanted: Wanted, request: int, number: int, start: tuple[int, int]) -> bool:
        """Choose the device *number* of a request and all that follow; *start* is the first pool and device to try."""
        every = self._every.get((wanted.claim, wanted.alternative))
        if every is not None and not every:
            return False
        count = wanted.alternative.count if every is None else len(every)
        if number >= count:
            return self._request(wanted.claim, request + 1)
        if count - number > MOST_DEVICES - len(self._chosen.of_claim[wanted.claim]):
            raise _TooManyDevices
        if every is not None:
            self._count_tried()
            return self._try(wanted, request, number, *every[number], _START, must=self._kinds is None)
        kinds: set[Hashable] = set()
        for at, pool in enumerate(self._views[start[0] :], start[0]):
            first = start[1] if at == start[0] else 0
            for position, device in enumerate(pool.devices[first:], first):
                self._count_tried()
                if self._kinds is not None and not self._chosen.is_chosen(device):
                    if (kind := self._kinds(device)) in kinds:
                        continue
                    kinds.add(kind)
                if self._is_candidate(wanted, device) and self._try(wanted, request, number, pool, device, (at, position + 1), must=False):
                    return True
        return False

    def _count_tried(self) -> None:
        """Count a device that is tried.

        Raises:
            AllocationError: too many were tried.

        """
        self.tried += 1
        if self.tried > _MOST_TRIED:
            raise UnfinishedSearchError(SearchUnfinished(_MOST_TRIED))

    def _is_candidate(self, wanted: Wanted, device: PoolDevice) -> bool:
        chosen = self._chosen
        try:
            return not chosen.is_blocked(wanted, device) and self._is_selectable(wanted, device) and chosen.fits(wanted, device)
        except AllocationError:
            if self._kinds is None:
                raise
            return False

    def _is_selectable(self, wanted: Wanted, device: PoolDevice) -> bool:
        return self._selection.selects(wanted.alternative, wanted.claim, device) and self._pools.reaches(device, self._node)

    def _try(
        self, wanted: Wanted, request: int, number: int, pool: NodePool, device: PoolDevice, following: tuple[int, int], *, must: bool
    ) -> bool:
        """Choose *device*, and continue with the next; if that finds no solution, give it back."""
        try:
            undo = self._chosen.choose_device(wanted, pool, device, must=must)
        except AllocationError:
            if self._kinds is None:
                raise
            return False
        if undo is None:
            return False
        done = False
        try:
            done = self._devices(wanted, request, number + 1, following)
        finally:
            if not done:
                undo()
        return done
