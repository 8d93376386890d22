"""Interchangeable devices: rows of ``NodeTable.allocatable`` that count the devices of a node.

Devices that all claims treat alike are a kind.  The kinds that a request can use are a set, and requests that have a common kind are a pool.
If each device of a pool is on one node, and the sets are nested or disjoint, then Hall's theorem gives an exact condition for a node: for each
set, the requests confined to it are at most as many as its devices.  So each set is a row, and a request counts in the row of every set that
contains its own.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.model.counted_sets import are_nested, new_name, pools
from scheduler_core.model.device_claims import DeviceNeed, DeviceObjects
from scheduler_core.model.device_rows import CountedClaim, CountedDevices, CountedRequest, DeviceRows
from scheduler_core.model.devices import MOST_DEVICES, Alternative, ClaimSpec, ExtendedSpec, Request
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.plugins.devices.attributes_read import AttributesRead
from scheduler_core.plugins.devices.device_kinds import DeviceKinds
from scheduler_core.plugins.devices.device_usage import DeviceUsage
from scheduler_core.plugins.devices.selection import Selection

_MOST_OF_POD = 256
"""Number of devices of a pod above which they are not counted: the search that names the devices uses a stack frame for each."""
_Set = frozenset[int]
"""Kinds of devices."""
_Spec = ClaimSpec | ExtendedSpec


def count_devices(table: NodeTable, objects: DeviceObjects, pods: Iterable[Sequence[DeviceNeed]]) -> None:
    """Add a row to *table* for each set of interchangeable devices that the claims in *pods*, not allocated yet, can use."""
    needs: dict[DeviceNeed, bool] = {}
    for pod in pods:
        searchable = sum(map(_devices_of, pod)) <= _MOST_OF_POD and not _exchanges(pod)
        for need in pod:
            if need.allocates:
                needs[need] = needs.get(need, True) and searchable
    if needs:
        counting = _Counting(table, objects, needs)
        table.count_devices(counting.rows())
        table.device_reach = counting.reach()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Set of a pool that is counted: names of the rows for one device, its own first, and ``CountedClaim.alike``."""

    rows: tuple[str, ...]
    alike: bool


class _Counting:
    """Rows for *needs* of pods."""

    def __init__(self, table: NodeTable, objects: DeviceObjects, needs: Mapping[DeviceNeed, bool]) -> None:
        """Prepare; the value of each of *needs* is False if it must not be counted."""
        self._table = table
        self._kinds = DeviceKinds(objects.slices, AttributesRead(objects), Selection())
        self._objects = objects
        self._requests: dict[_Spec, tuple[Request, ...]] = {}
        self._sets: dict[Alternative, _Set] = {}
        self._uncounted: set[Alternative] = set()
        self._specs = dict.fromkeys(need.spec for need in needs if need.spec is not None)
        for need, countable in needs.items():
            self._add(need, countable=countable and not need.shared)

    def rows(self) -> DeviceRows:
        """Return the rows."""
        classes: dict[_Set, str] = {}
        for alternative, own in self._sets.items():
            classes[own] = min(alternative.device_class, classes.get(own, alternative.device_class))
        unclear = {own for alternative, own in self._sets.items() if alternative in self._uncounted}
        unclear |= {own for own in classes if any(self._kinds.special(kind) for kind in own)}
        counted: dict[_Set, _Counted] = {}
        numbers: dict[str, Counter[str]] = {}
        names: set[str] = set()
        contended = self._kinds_of_several_users()
        ordered = sorted(classes, key=lambda own: (classes[own], len(own), sorted(own)))
        for pool in pools({own: own for own in ordered}):
            if unclear.intersection(pool) or not are_nested(pool) or any(contended & own for own in pool):
                continue
            of_set = {own: self._kinds.numbers(own) for own in pool}
            alike = _alike([*of_set.values()])
            name_of = {own: new_name(f"device of class {classes[own]}", names) for own in pool}
            numbers |= {name_of[own]: amounts for own, amounts in of_set.items()}
            counted |= {own: _Counted((name_of[own], *(name_of[each] for each in pool if own < each)), alike) for own in pool}
        claims = {spec: found for spec in self._requests if (found := self._claim(spec, counted)) is not None}
        rows_of = {
            kind: tuple(sorted({row for own, each in counted.items() if kind in own for row in each.rows}))
            for own in counted
            for kind in own
        }
        return DeviceRows(claims, numbers, lambda: self._devices(rows_of), tainted=self._kinds.tainted)

    def reach(self) -> dict[ClaimSpec, Bools]:
        """Return the nodes that reach devices for each request of a claim, by specifications that this narrows; shape (nodes,).

        Nodes on which kube-scheduler ends the attempt with an error are not left out.
        """
        found: dict[ClaimSpec, Bools] = {}
        for spec in self._specs if not self._kinds.unusable else ():
            alternatives = [each for request in spec.requests for each in request.alternatives]
            least = sum(min(each.count for each in request.alternatives) for request in spec.requests)
            several = any(each.every for each in alternatives) and len(spec.requests) > 1
            if several or least > MOST_DEVICES or not all(self._kinds.selected(each)[1] for each in alternatives):
                continue
            masks = [
                np.logical_or.reduce([self._kinds.reached(self._kinds.selected(each)[0], self._table) for each in request.alternatives])
                for request in spec.requests
            ]
            mask: Bools = np.logical_and.reduce([np.ones(len(self._table), dtype=bool), *masks])
            if not mask.all():
                found[spec] = mask
        return found

    def _devices(self, rows: Mapping[int, tuple[str, ...]]) -> CountedDevices:
        return {device: (node, rows[kind]) for device, node, kind in self._kinds.local_devices() if kind in rows}

    def _add(self, need: DeviceNeed, *, countable: bool) -> None:
        requests = need.spec.requests if need.spec is not None else _all_requests(need.extended)
        # With admin access a claim takes no device from others.
        alternatives = [each for request in requests for each in request.alternatives if not each.admin]
        certain = [self._is_certain(each) for each in alternatives]
        written = need.spec or need.extended
        if countable and written is not None and _is_countable(need.spec, requests) and self._is_backed(need.extended) and all(certain):
            self._requests[written] = tuple(requests)
        else:
            self._uncounted.update(alternatives)

    def _is_certain(self, alternative: Alternative) -> bool:
        """Record the kinds that *alternative* can use, and return whether they are certain."""
        if alternative not in self._sets:
            self._sets[alternative], certain = self._kinds.selected(alternative)
            if not certain:
                self._uncounted.add(alternative)
        return alternative not in self._uncounted

    def _is_backed(self, extended: ExtendedSpec | None) -> bool:
        """Return whether devices provide the resources of *extended* on all nodes."""
        backed = self._table.backed
        return extended is None or all(name in backed and backed[name].all() for name, _ in extended.requests)

    def _claim(self, spec: _Spec, counted: Mapping[_Set, _Counted]) -> CountedClaim | None:
        found: Counter[str] = Counter()
        requests: list[CountedRequest] = []
        alike = True
        for request in self._requests[spec]:
            (alternative,) = request.alternatives
            own = counted.get(self._sets[alternative])
            if own is None or alternative in self._uncounted:
                return None
            found.update(dict.fromkeys(own.rows, alternative.count))
            requests.append(
                CountedRequest(
                    request.written(alternative), alternative.device_class, alternative.selectors, own.rows[0], alternative.count
                )
            )
            alike &= own.alike
        return CountedClaim(tuple(requests), found, alike)

    def _kinds_of_several_users(self) -> set[int]:
        """Return the kinds with a device that is free only when several pods are gone, or that several claims have."""
        usage = DeviceUsage(self._objects.allocated.values())
        several = {
            each.id
            for (namespace, name), claim in self._objects.claims.items()
            if len(claim.consumers) > 1 and (allocation := self._objects.allocated.get(f"{namespace}/{name}")) is not None
            for each in allocation.devices
        }
        several |= {each.id for allocation in self._objects.allocated.values() for each in allocation.devices if usage.users(each.id) > 1}
        return {kind for device, _, kind in self._kinds.local_devices() if device in several} if several else set()


def _exchanges(pod: Sequence[DeviceNeed]) -> bool:
    """Return whether kube-scheduler 1.37.1 can exchange the devices of claims of *pod*: a claim of several pods precedes one of its own."""
    shared = [bool(each.shared) for each in pod if each.allocates]
    return shared != sorted(shared)


def _devices_of(need: DeviceNeed) -> int:
    """Return the most devices that a claim requests by number."""
    requests = need.spec.requests if need.spec is not None else _all_requests(need.extended)
    return sum(max(each.count for each in request.alternatives) for request in requests)


def _all_requests(extended: ExtendedSpec | None) -> list[Request]:
    found = [] if extended is None else [each for _, of_name in extended.requests for each in of_name]
    return sorted(found, key=lambda each: each.name)


def _is_countable(spec: ClaimSpec | None, requests: Sequence[Request]) -> bool:
    """Return whether numbers of devices are all that a claim demands."""
    alternatives = [each for request in requests for each in request.alternatives]
    if (spec is not None and spec.constraints) or len(alternatives) != len(requests):
        return False
    plain = not any(each.name or each.every or each.admin for each in alternatives)
    return plain and sum(each.count for each in alternatives) <= MOST_DEVICES


def _alike(numbers: Sequence[Mapping[str, int]]) -> bool:
    """Return whether all sets that have devices on a node have the same devices there."""
    most: dict[str, int] = {}
    for each in numbers:
        for node, count in each.items():
            if most.setdefault(node, count) != count:
                return False
    return True
