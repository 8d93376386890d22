"""Interchangeable devices, counted by node in rows of ``NodeTable.allocatable``: which claims and devices the rows count."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from kubeapi.base_structs import Record
from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.devices import Allocation, ClaimSpec, DeviceId, ExtendedSpec


class CountedDevices(Protocol):
    """The counted devices."""

    def get(self, device: DeviceId, /) -> tuple[str, tuple[str, ...]] | None:
        """Return the name of the node of a counted device, and the names of the rows that count it; None for any other device."""

    def items(self) -> Iterator[tuple[DeviceId, tuple[str, tuple[str, ...]]]]:
        """Yield each counted device with its node and rows, in no particular order."""


class CountedRequest(Record, frozen=True):
    """Request for *count* devices of a class with *selectors* of its own, which *row* counts; *name* as in an allocation."""

    name: str
    device_class: str
    selectors: tuple[str, ...]
    row: str
    count: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CountedClaim:
    """Claim whose devices are counted by node.

    Attributes:
        requests: its requests, in the order in which they are allocated.
        rows: names of the rows, with the number of devices that it requests in each.
        alike: True if on each node all claims that compete for its devices can have the same devices.

    """

    requests: tuple[CountedRequest, ...]
    rows: Mapping[str, int]
    alike: bool


class DeviceRows:
    """Rows that count interchangeable devices.

    Attributes:
        claims: the counted claims, by specification.
        names: names of the rows.
        devices: the counted devices.
        tainted: True if devices have taints.

    """

    def __init__(
        self,
        claims: Mapping[ClaimSpec | ExtendedSpec, CountedClaim],
        names: Iterable[str],
        numbers: Callable[[], Mapping[str, Mapping[str, int]]],
        devices: CountedDevices,
        *,
        tainted: bool,
    ) -> None:
        """*numbers* returns the numbers of devices as the attribute ``numbers`` has them; it is called when they are read first."""
        self.claims = claims
        self.names = tuple(names)
        self.devices = devices
        self.tainted = tainted
        self._numbers = numbers

    @functools.cached_property
    def numbers(self) -> Mapping[str, Mapping[str, int]]:
        """Number of devices by row and node; nodes without any are left out."""
        return self._numbers()

    def requests(self, needs: Iterable[DeviceNeed]) -> Counter[str]:
        """Return the number of devices that a pod with *needs* requests, by row."""
        found: Counter[str] = Counter()
        for need in needs:
            if (counted := self._claim(need)) is not None:
                found.update(counted.rows)
        return found

    def claim(self, need: DeviceNeed) -> CountedClaim:
        """Return the claim with *need*, which is counted.

        Raises:
            ValueError: it is not counted.

        """
        if (counted := self._claim(need)) is None:
            raise ValueError(f"{need.field}: the devices of the claim are not counted")
        return counted

    def counts(self, needs: Iterable[DeviceNeed]) -> bool:
        """Return whether ``requests`` says all that the claims to allocate demand."""
        return all(self._claim(need) is not None for need in needs if need.allocates)

    def one_by_one(self, needs: Iterable[DeviceNeed]) -> bool:
        """Return whether the devices of a pod with *needs* depend on which devices other pods have."""
        return any((counted := self._claim(need)) is None or not counted.alike for need in needs if need.allocates)

    def in_use(self, allocations: Iterable[Allocation]) -> Counter[tuple[str, str]]:
        """Return the number of devices of *allocations* by row and node; a share does not take a counted device, as in kube-scheduler."""
        given = {each.id for allocation in allocations for each in allocation.devices if not each.admin and not each.shared}
        found: Counter[tuple[str, str]] = Counter()
        for device in given if given and self.claims else ():
            if (counted := self.devices.get(device)) is not None:
                node, rows = counted
                found.update((row, node) for row in rows)
        return found

    def beyond_requests(self, claims: Iterable[tuple[DeviceNeed, Allocation]]) -> Counter[tuple[str, str]]:
        """Return how many devices of a row and node *claims* have although they do not request that row, but could use other devices."""
        found: Counter[tuple[str, str]] = Counter()
        for need, allocation in claims:
            if (counted := self._claim(need)) is not None:
                found.update({at: number - counted.rows.get(at[0], 0) for at, number in self.in_use([allocation]).items()})
        return +found

    def _claim(self, need: DeviceNeed) -> CountedClaim | None:
        if need.shared:
            return None
        written = need.spec or need.extended
        return self.claims.get(written) if written is not None else None
