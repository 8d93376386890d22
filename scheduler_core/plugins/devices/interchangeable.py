"""Interchangeable devices: rows of ``NodeTable.allocatable`` that count the devices of a node.

Devices that all claims treat alike are a kind.  The kinds that a request can use are a set, and requests that have a common kind are a pool.
If each device of a pool is on one node, and the sets are nested or disjoint, then Hall's theorem gives an exact condition for a node: for each
set, the requests confined to it are at most as many as its devices.  So each set is a row, and a request counts in the row of every set that
contains its own.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.model.counted_sets import are_nested, new_name, pools
from scheduler_core.model.device_claims import DeviceNeed, DeviceObjects
from scheduler_core.model.device_rows import CountedClaim, CountedRequest, DeviceRows
from scheduler_core.model.devices import MOST_DEVICES, Alternative, ClaimSpec, DeviceId, ExtendedSpec, Request
from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.plugins.devices.attributes_read import AttributesRead
from scheduler_core.plugins.devices.device_kinds import DeviceKinds

_MOST_OF_POD = 256
"""Number of devices of a pod above which they are not counted: the search that names the devices uses a stack frame for each."""
_Set = frozenset[int]
"""Kinds of devices."""
_Spec = ClaimSpec | ExtendedSpec
Wish = tuple[_Spec, bool]
"""Specification of a claim to allocate, and whether it can be counted."""


def count_devices(
    table: NodeTable, objects: DeviceObjects, pods: Iterable[Sequence[DeviceNeed]], reused: Container[str] = frozenset()
) -> None:
    """Add a row to *table* for each set of interchangeable devices that the claims in *pods*, not allocated yet, can use.

    *reused* are the keys of allocated claims that more pods can use than they are reserved for.
    """
    wishes = {wish for pod in pods for wish in wishes_of(pod)}
    if not wishes:
        return
    kinds = DeviceKinds.of_slices(objects.slices, AttributesRead.of_objects(objects))
    contended = frozenset(found[1] for each in _contended(objects, reused) if (found := kinds.local(each)) is not None)

    def amounts(own: _Set) -> Ints:
        found: Ints = np.zeros(len(table), dtype=np.int64)
        for node, number in kinds.numbers(own).items():
            if node in table.index:
                found[table.index[node]] = number
        return found

    counting = Counting(table, kinds, wishes, contended, amounts)
    sets = counting.sets()
    table.count_devices(counting.rows(sets), {each.rows[0]: each.amounts for each in sets.values()})
    table.device_reach = narrowing(counting.reach({}))


def wishes_of(pod: Sequence[DeviceNeed]) -> list[Wish]:
    """Return the claims of *pod* to allocate."""
    searchable = sum(map(_devices_of, pod)) <= _MOST_OF_POD and not _exchanges(pod)
    return [
        (written, searchable and not need.shared)
        for need in pod
        if need.allocates and (written := need.extended if need.spec is None else need.spec) is not None
    ]


def narrowing(reach: Mapping[ClaimSpec, Bools]) -> dict[ClaimSpec, Bools]:
    """Return those of *reach* that leave out nodes."""
    return {spec: mask for spec, mask in reach.items() if not mask.all()}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CountedSet:
    """Set of a pool that is counted.

    Attributes:
        rows: names of the rows for one device, its own first.
        alike: see ``CountedClaim``.
        amounts: number of its devices by node, shape (nodes,).

    """

    rows: tuple[str, ...]
    alike: bool
    amounts: Ints


class Counting:
    """Rows for claims of pods."""

    def __init__(
        self, table: NodeTable, kinds: DeviceKinds, wishes: Iterable[Wish], contended: frozenset[int], amounts: Callable[[_Set], Ints]
    ) -> None:
        """Prepare.

        Args:
            table: the nodes.
            kinds: the devices.
            wishes: the claims.
            contended: kinds with a device that is free only when several pods are gone, or that several claims have, or have shares of.
            amounts: returns the number of devices of some kinds by node, shape (nodes,).

        """
        self._table, self._kinds, self._contended, self._amounts = table, kinds, contended, amounts
        self._requests: dict[_Spec, tuple[Request, ...]] = {}
        self._sets: dict[Alternative, _Set] = {}
        self._uncounted: set[Alternative] = set()
        self._specs: dict[ClaimSpec, None] = {}
        for written, countable in wishes:
            self._add(written, countable=countable)

    def sets(self) -> dict[_Set, CountedSet]:
        """Return the sets that are counted."""
        classes: dict[_Set, str] = {}
        for alternative, own in self._sets.items():
            classes[own] = min(alternative.device_class, classes.get(own, alternative.device_class))
        unclear = {own for alternative, own in self._sets.items() if alternative in self._uncounted}
        unclear |= {own for own in classes if any(self._kinds.special(kind) for kind in own)}
        counted: dict[_Set, CountedSet] = {}
        names: set[str] = set()
        for pool in pools({own: own for own in self._in_order(classes)}):
            if unclear.intersection(pool) or not are_nested(pool) or not all(map(self._contended.isdisjoint, pool)):
                continue
            amounts = {own: self._amounts(own) for own in pool}
            alike = _alike([*amounts.values()])
            name_of = {own: new_name(f"device of class {classes[own]}", names) for own in pool}
            for own in pool:
                rows = name_of[own], *(name_of[larger] for larger in pool if own < larger)
                counted[own] = CountedSet(rows, alike, amounts[own])
        return counted

    def rows(self, counted: Mapping[_Set, CountedSet]) -> DeviceRows:
        """Return the rows for the sets *counted*."""
        claims = {spec: found for spec in self._requests if (found := self._claim(spec, counted)) is not None}
        rows_of: dict[int, set[str]] = {}
        for own, counted_set in counted.items():
            for kind in own:
                rows_of.setdefault(kind, set()).update(counted_set.rows)
        devices = _Devices(self._kinds, {kind: tuple(sorted(rows)) for kind, rows in rows_of.items()})

        def numbers() -> dict[str, Mapping[str, int]]:
            return {each.rows[0]: self._kinds.numbers(own) for own, each in counted.items()}

        return DeviceRows(claims, (each.rows[0] for each in counted.values()), numbers, devices, tainted=self._kinds.tainted)

    def _in_order(self, classes: Mapping[_Set, str]) -> list[_Set]:
        """Return the sets by class, size and position of their kinds."""
        sizes = {own: (each, len(own)) for own, each in classes.items()}
        if len({*sizes.values()}) == len(sizes):
            return sorted(sizes, key=lambda own: sizes[own])
        position = self._kinds.order()
        return sorted(sizes, key=lambda own: (sizes[own], sorted(position[kind] for kind in own)))

    def reach(self, known: Mapping[ClaimSpec, Bools]) -> dict[ClaimSpec, Bools]:
        """Return the nodes that reach devices for each request of a claim, by specification; shape (nodes,).

        Nodes on which kube-scheduler ends the attempt with an error are not left out.  *known* are results for the same devices and nodes.
        """
        return {spec: known[spec] if spec in known else self._reach(spec) for spec in self._specs}

    def _reach(self, spec: ClaimSpec) -> Bools:
        mask: Bools = np.ones(len(self._table), dtype=bool)
        alternatives = [wanted for request in spec.requests for wanted in request.alternatives]
        least = sum(min(wanted.count for wanted in request.alternatives) for request in spec.requests)
        several = any(each.every for each in alternatives) and len(spec.requests) > 1
        certain = all(self._kinds.selected(each)[1] for each in alternatives)
        if self._kinds.unusable or several or least > MOST_DEVICES or not certain:
            return mask
        for request in spec.requests:
            kinds = (self._kinds.selected(wanted)[0] for wanted in request.alternatives)
            mask &= np.logical_or.reduce([self._kinds.reached(selected, self._table) for selected in kinds])
        return mask

    def _add(self, written: _Spec, *, countable: bool) -> None:
        spec, extended = (written, None) if isinstance(written, ClaimSpec) else (None, written)
        if spec is not None:
            self._specs[spec] = None
        requests = spec.requests if spec is not None else _all_requests(extended)
        # With admin access a claim takes no device from others.
        alternatives = [wanted for request in requests for wanted in request.alternatives if not wanted.admin]
        certain = [self._is_certain(each) for each in alternatives]
        if countable and _is_countable(spec, requests) and self._is_backed(extended) and all(certain):
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

    def _claim(self, spec: _Spec, counted: Mapping[_Set, CountedSet]) -> CountedClaim | None:
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


class _Devices:
    """The counted devices; *rows* are those of their kinds."""

    def __init__(self, kinds: DeviceKinds, rows: Mapping[int, tuple[str, ...]]) -> None:
        self._kinds, self._rows = kinds, rows

    def get(self, device: DeviceId) -> tuple[str, tuple[str, ...]] | None:
        """See ``CountedDevices``."""
        if (found := self._kinds.local(device)) is None or (rows := self._rows.get(found[1])) is None:
            return None
        return found[0], rows

    def items(self) -> Iterator[tuple[DeviceId, tuple[str, tuple[str, ...]]]]:
        """See ``CountedDevices``."""
        for device in self._kinds.all_devices():
            if (found := self.get(device)) is not None:
                yield device, found


def _contended(objects: DeviceObjects, reused: Container[str]) -> Iterator[DeviceId]:
    """Yield the devices that are free only when several pods are gone, or that several claims have, or have shares of."""
    usage = objects.new_usage()
    for (namespace, name), claim in objects.claims.items():
        key = f"{namespace}/{name}"
        if (len(claim.consumers) > 1 or key in reused) and (allocation := objects.allocated.get(key)) is not None:
            yield from (device.id for device in allocation.devices)
    for allocation in objects.allocated.values():
        yield from (device.id for device in allocation.devices if usage.users(device.id) > 1 or usage.is_shared(device.id))


def _exchanges(pod: Sequence[DeviceNeed]) -> bool:
    """Return whether kube-scheduler 1.37.1 can exchange the devices of claims of *pod*: a claim of several pods precedes one of its own."""
    shared = [bool(each.shared) for each in pod if each.allocates]
    return shared != sorted(shared)


def _devices_of(need: DeviceNeed) -> int:
    """Return the most devices that a claim requests by number."""
    requests = need.spec.requests if need.spec is not None else _all_requests(need.extended)
    return sum(max(wanted.count for wanted in request.alternatives) for request in requests)


def _all_requests(extended: ExtendedSpec | None) -> list[Request]:
    found = [] if extended is None else [request for _, of_name in extended.requests for request in of_name]
    return sorted(found, key=lambda each: each.name)


def _is_countable(spec: ClaimSpec | None, requests: Sequence[Request]) -> bool:
    """Return whether numbers of devices are all that a claim demands."""
    alternatives = [wanted for request in requests for wanted in request.alternatives]
    if (spec is not None and spec.constraints) or len(alternatives) != len(requests):
        return False
    plain = not any(each.name or each.every or each.admin for each in alternatives)
    return plain and sum(each.count for each in alternatives) <= MOST_DEVICES


def _alike(amounts: Sequence[Ints]) -> bool:
    """Return whether all sets that have devices on a node have the same devices there."""
    most: Ints = np.max(amounts, axis=0)
    return all(bool(((each == most) | (each == 0)).all()) for each in amounts)
