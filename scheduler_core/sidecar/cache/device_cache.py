"""Claims to devices, slices, device classes and taint rules of a live cluster, and allocations that are being written.

An object counts as changed only if a field that placement reads has changed.  Templates of claims are not read: a pod waits until its
claims exist.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from kubeapi.devices import DeviceClass, DeviceTaintRuleSpec, ResourceSlice
from scheduler_core.loading.claim_specs import ClaimSpecs
from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import GatheredObjects, Unusable
from scheduler_core.loading.pod_devices import GroupEntries, PodDevices
from scheduler_core.loading.pod_drafts import Draft
from scheduler_core.loading.pod_forms import PodForms
from scheduler_core.loading.read_devices import (
    extended_owner,
    known_claim,
    read_device_class,
    read_resource_claim,
    read_slice,
    read_taint_rule,
)
from scheduler_core.loading.read_objects import attempt
from scheduler_core.model.decoders import ResourceClaim
from scheduler_core.model.device_claims import DeviceObjects, KnownClaim
from scheduler_core.model.devices import MOST_CONSUMERS, Allocation, ClaimSpec, Request
from scheduler_core.sidecar.cache.claimed_devices import ClaimedDevices
from scheduler_core.sidecar.cache.published_slices import PublishedSlices
from scheduler_core.sidecar.client.extended_claim import extended_claim_name

DEVICE_KINDS = ("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule")
"""Kinds of this cache."""
K = TypeVar("K")
V = TypeVar("V")
Value = ResourceClaim | ResourceSlice | DeviceClass | DeviceTaintRuleSpec

_READERS: dict[str, Callable[[GatheredObjects], tuple[Name, Value]]] = {
    "ResourceClaim": read_resource_claim,
    "ResourceSlice": read_slice,
    "DeviceClass": read_device_class,
    "DeviceTaintRule": read_taint_rule,
}
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


@dataclasses.dataclass(slots=True)
class DeviceChange:
    """Effect of a changed object.

    Attributes:
        claims: claims that differ.
        groups: PodGroups for which one of these claims was created.
        pods: pods for whose extended resources one of these claims was created.
        classes: whether the requirements of all pods can differ.
        resources: the extended resources that devices provide, if they changed.
        frees: whether devices can be free that were not, or a claim has a place for a further consumer.
        moved: nodes that may reach other devices, or devices with other attributes; empty for any node.

    """

    claims: set[Name] = dataclasses.field(default_factory=set)
    groups: set[Name] = dataclasses.field(default_factory=set)
    pods: set[Name] = dataclasses.field(default_factory=set)
    classes: bool = False
    resources: Container[str] | None = None
    frees: bool = False
    moved: frozenset[str] = frozenset()


class DeviceCache:
    """Claims, slices, classes and taint rules by name.

    Attributes:
        slices: the slices.
        claimed: devices that claims have.
        specs: number of claims by specification.
        specs_changed: whether the set of specifications, or a class, changed since the reader of this flag has cleared it.
        unusable: the reason for each unusable object, by kind, namespace and name.

    """

    def __init__(self, groups: GroupEntries, shared: Container[str]) -> None:
        """Create an empty cache; *groups* are the entries of the PodGroups, *shared* the keys of claims that several pods use."""
        self._groups, self._shared = groups, shared
        self._claims: dict[Name, ResourceClaim] = {}
        self._classes: dict[str, DeviceClass] = {}
        self._known: dict[Name, KnownClaim] = {}
        self.slices, self.claimed = PublishedSlices(), ClaimedDevices(self._known)
        self._extended: dict[Name, set[Name]] = {}
        self._reusable: dict[Name, dict[str, Allocation | None]] = {}
        self._reservations: Counter[str] = Counter()
        self._specs = ClaimSpecs(self._classes)
        self.specs: Counter[ClaimSpec] = Counter()
        self.specs_changed = False
        self._objects, self._pod_devices = self._with_classes()
        self.unusable: dict[tuple[str, str, str], str] = {}

    @property
    def objects(self) -> DeviceObjects | None:
        """Return the usable objects; None if there are none.  Valid until the next change."""
        if not (self._known or self.slices or self._classes):
            return None
        if self._objects.slices is not self.slices.all():
            self._objects = dataclasses.replace(self._objects, slices=self.slices.all())
        return self._objects

    @property
    def claims(self) -> Mapping[Name, KnownClaim]:
        """Return the usable claims."""
        return self._known

    @property
    def resources(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the device class and its selectors, by extended resource."""
        return self._objects.resources

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

    def resolved(self, draft: Draft, forms: PodForms) -> Draft:
        """Return *draft* with the present requirements of its claims."""
        return self._pod_devices.resolved_pod(draft, forms, self._shared)

    def add_or_update(self, raw_object: GatheredObjects, name: Name) -> DeviceChange:
        """Add or replace an object and return the effect."""
        value = attempt(raw_object, _READERS[raw_object.kind])[1]
        if isinstance(value, Unusable):
            self.unusable[raw_object.kind, *name] = str(value)
            return self._set(raw_object.kind, name, None)
        self.unusable.pop((raw_object.kind, *name), None)
        return self._set(raw_object.kind, name, value)

    def remove(self, kind: str, name: Name) -> DeviceChange:
        """Remove an object and return the effect."""
        self.unusable.pop((kind, *name), None)
        return self._set(kind, name, None)

    def _set(self, kind: str, name: Name, value: Value | None) -> DeviceChange:
        change = DeviceChange()
        match kind:
            case "ResourceClaim":
                if _replace(self._claims, name, value if isinstance(value, ResourceClaim) else None):
                    self._set_claim(name, change)
            case "ResourceSlice":
                change.frees = self.slices.set_slice(name[1], value if isinstance(value, ResourceSlice) else None)
            case "DeviceTaintRule":
                change.frees = self.slices.set_rule(name[1], value if isinstance(value, DeviceTaintRuleSpec) else None)
            case "DeviceClass":
                if _replace(self._classes, name[1], value if isinstance(value, DeviceClass) else None):
                    self._set_classes(change)
        change.moved = frozenset(self.slices.moved)
        self.slices.moved.clear()
        return change

    def _set_claim(self, name: Name, change: DeviceChange) -> None:
        before, written = self._known.pop(name, None), self._claims.get(name)
        after = None
        if written is not None:
            after = self._known[name] = known_claim(written, self._specs.spec("/".join(name), written.spec))
        for each in (before, after):
            if each is None:
                continue
            if each.owner[0] == "PodGroup":
                change.groups.add((name[0], each.owner[1]))
            if (pod := extended_owner(name[0], each)) is not None:
                change.pods.add(pod)
                self._set_extended(pod, name, exists=each is after)
        self._count_specs(before, after)
        self._reservations.update(after.users if after is not None else ())
        for uid in before.users if before is not None else ():
            self._reservations[uid] -= 1
            if not self._reservations[uid]:
                del self._reservations[uid]
        change.claims.add(name)
        change.frees = before is not None and before.allocation is not None and (after is None or _frees(before, after))
        self.claimed.update(name)

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

    def _set_extended(self, pod: Name, name: Name, *, exists: bool) -> None:
        """Add or remove a claim for extended resources of *pod*; one that the sidecar has allocated is used again."""
        claims = self._extended.setdefault(pod, set())
        (claims.add if exists else claims.discard)(name)
        if not claims:
            del self._extended[pod], self._reusable[pod]
            return
        found = self._reusable[pod] = {}
        for each in sorted(claims):
            known = self._known[each]
            ours = known.owner_uid not in found and each[1] == extended_claim_name(pod[1], known.owner_uid) and not known.failed
            found[known.owner_uid] = known.allocation if ours else None

    def _set_classes(self, change: DeviceChange) -> None:
        self._specs = ClaimSpecs(self._classes)
        for name in [*self._claims]:
            self._set_claim(name, DeviceChange())
        resources = self._objects.resources
        self._objects, self._pod_devices = self._with_classes()
        if self._objects.resources != resources:
            change.resources = self._objects.resources
        change.classes = change.frees = True

    def _with_classes(self) -> tuple[DeviceObjects, PodDevices]:
        self.specs_changed = True
        objects = DeviceObjects(
            claims=self._known,
            allocated=self.claimed.allocated,
            usage=self.claimed.usage,
            resources=self._specs.resources(),
            extended=self._reusable,
        )
        return objects, PodDevices(objects, self._groups)


def _frees(before: KnownClaim, after: KnownClaim) -> bool:
    """Return whether a changed claim can have other devices, or has a place for a consumer that it did not have."""
    return after.allocation != before.allocation or len(before.consumers) >= MOST_CONSUMERS > len(after.consumers)


def _replace(values: dict[K, V], name: K, value: V | None) -> bool:
    """Set a value, or remove it (None); return whether it differs."""
    before = values.get(name)
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
    return before != value
