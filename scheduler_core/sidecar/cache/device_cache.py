"""Claims to devices and what they depend on, of a live cluster, with allocations that are being written.

Templates of claims are not read: a pod waits until its claims exist.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Container, Iterable, Iterator

import msgspec

from kubeapi.gather import Name
from scheduler_core.cluster.device_store import DeviceStore
from scheduler_core.cluster.releasable_claims import ReleasableClaims
from scheduler_core.loading.parsed_pod_specs import ParsedPodSpecs
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.loading.pod_devices import GroupEntries, PodDevices
from scheduler_core.model.device_claims import DeviceObjects, KnownClaim
from scheduler_core.model.devices import Allocation, ClaimSpec, Request
from scheduler_core.sidecar.cache.claimed_devices import ClaimedDevices
from scheduler_core.sidecar.client.extended_claim import extended_claim_name

DEVICE_KINDS = ("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule")
"""Kinds of this cache."""
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


class DeviceCache(DeviceStore):
    """Objects about devices.

    Attributes:
        claimed: devices that claims have.
        releasable: claims that can be deallocated when their users are evicted.
        specs: number of claims by specification.
        specs_changed: whether the set of specifications, or a class, changed since the reader of this flag has cleared it.

    """

    def __init__(self, groups: GroupEntries, shared: Container[str], *, qualifies: bool = False) -> None:
        """Create an empty cache; *groups* are the entries of the PodGroups, *shared* the keys of claims that several pods use.

        If it *qualifies*, names of capacities without a domain have that of the driver.
        """
        self._groups, self._shared = groups, shared
        self._reservations: Counter[str] = Counter()
        self.specs: Counter[ClaimSpec] = Counter()
        self.specs_changed = True
        known: dict[Name, KnownClaim] = {}
        self.claimed, self.releasable = ClaimedDevices(known, qualifies=qualifies), ReleasableClaims(known)
        super().__init__(known)

    def configurations(self, requests: Iterable[Request]) -> Iterator[tuple[str, bytes]]:
        """Yield the name of each device class of *requests* that has a configuration, and the configuration as JSON."""
        for name in sorted({each.device_class for request in requests for each in request.alternatives}):
            if (found := self._classes.get(name)) is not None and found.spec.config:
                yield name, _ENCODE(found.spec.config)

    def claims_of_extended(self, pod: Name, uid: str) -> Iterable[Name]:
        """Return the claims that were created for the extended resources of *pod*, not of an earlier pod of this name."""
        return sorted(each for each in self._extended.get(pod, ()) if self._known[each].owner_uid == uid)

    def has_reservations(self, uid: str) -> bool:
        """Return whether a claim is reserved for the pod or PodGroup *uid*, which may be gone."""
        return self._reservations[uid] > 0

    def resolved(self, parsed_pod: ParsedPod, forms: ParsedPodSpecs) -> ParsedPod:
        """Return *parsed_pod* with the present requirements of its claims."""
        return self._pod_devices.resolved_pod(parsed_pod, forms, self._shared)

    def _claim_changed(self, name: Name, before: KnownClaim | None, after: KnownClaim | None) -> None:
        self.claimed.update(name)
        self._count_specs(before, after)
        self._reservations.update(after.users if after is not None else ())
        for uid in before.users if before is not None else ():
            self._reservations[uid] -= 1
            if not self._reservations[uid]:
                del self._reservations[uid]
        self.releasable.claim_changed(name)

    def _count_specs(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        """Count the specifications of a claim that has changed."""
        if after is not None and isinstance(after.spec, ClaimSpec):
            self.specs_changed |= after.spec not in self.specs
            self.specs[after.spec] += 1
        if before is not None and isinstance(before.spec, ClaimSpec):
            self.specs[before.spec] -= 1
            if not self.specs[before.spec]:
                del self.specs[before.spec]
                self.specs_changed = True

    def _reused(self, pod: Name, name: Name, known: KnownClaim) -> Allocation | None:
        """Return the allocation of a claim that the sidecar has allocated."""
        return known.allocation if name[1] == extended_claim_name(pod[1], known.owner_uid) and not known.failed else None

    def _with_classes(self) -> DeviceObjects:
        objects = dataclasses.replace(super()._with_classes(), allocated=self.claimed.allocated, usage=self.claimed.usage)
        self.specs_changed = True
        self._pod_devices = PodDevices(objects, self._groups)
        return objects
