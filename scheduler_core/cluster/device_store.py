"""Claims to devices and their templates, slices, device classes and taint rules.

An object counts as changed only if a field that placement reads has changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from typing import Any

from kubeapi.devices import DeviceClass
from kubeapi.gather import Name
from kubeapi.resource_claims import ResourceClaim, ResourceClaimTemplate
from scheduler_core.cluster.published_slices import PublishedSlices
from scheduler_core.cluster.store import Store, replace_in
from scheduler_core.loading.claim_specs import ClaimSpecs
from scheduler_core.loading.read_devices import (
    extended_owner,
    known_claim,
    read_claim_template,
    read_device_class,
    read_resource_claim,
    read_slice,
    read_taint_rule,
)
from scheduler_core.model.device_claims import DeviceObjects, KnownClaim
from scheduler_core.model.devices import MOST_CONSUMERS, Allocation, ClaimSpec


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


class DeviceStore(Store[DeviceChange]):
    """Claims, templates, slices, classes and taint rules by name.

    Attributes:
        slices: the slices.

    """

    readers = {
        # What others depend on comes first.
        "DeviceClass": read_device_class,
        "DeviceTaintRule": read_taint_rule,
        "ResourceSlice": read_slice,
        "ResourceClaimTemplate": read_claim_template,
        "ResourceClaim": read_resource_claim,
    }

    def __init__(self, known: dict[Name, KnownClaim] | None = None) -> None:
        """Create an empty store, which keeps the claims in *known*."""
        super().__init__()
        self._claims: dict[Name, ResourceClaim] = {}
        self._written_templates: dict[Name, ResourceClaimTemplate] = {}
        self._classes: dict[str, DeviceClass] = {}
        self._known: dict[Name, KnownClaim] = {} if known is None else known
        self._templates: dict[Name, ClaimSpec | str] = {}
        self._allocated: dict[str, Allocation] = {}
        self.slices = PublishedSlices()
        self._extended: dict[Name, set[Name]] = {}
        self._reusable: dict[Name, dict[str, Allocation | None]] = {}
        self._specs = ClaimSpecs(self._classes)
        self._objects = self._with_classes()

    @property
    def objects(self) -> DeviceObjects | None:
        """Return the usable objects; None if there are none.  Valid until the next change."""
        if not (self._known or self.slices or self._classes or self._templates):
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

    def _add_all(self, kind: str, values: Mapping[Name, Any]) -> None:
        if kind == "DeviceClass":
            self._classes.update({name: value for (_, name), value in values.items()})
            self._set_classes(DeviceChange())
        elif kind == "ResourceSlice":
            self.slices.fill({name: value for (_, name), value in values.items()})
        else:
            super()._add_all(kind, values)

    def _set(self, kind: str, name: Name, value: Any) -> DeviceChange:
        change = DeviceChange()
        match kind:
            case "ResourceClaim":
                if replace_in(self._claims, name, value):
                    self._set_claim(name, change)
            case "ResourceClaimTemplate":
                if replace_in(self._written_templates, name, value):
                    self._set_template(name)
            case "ResourceSlice":
                change.frees = self.slices.set_slice(name[1], value)
            case "DeviceTaintRule":
                change.frees = self.slices.set_rule(name[1], value)
            case "DeviceClass":
                if replace_in(self._classes, name[1], value):
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
        change.claims.add(name)
        change.frees = before is not None and before.allocation is not None and (after is None or _frees(before, after))
        self._claim_changed(name, before, after)

    def _claim_changed(self, name: Name, before: KnownClaim | None, after: KnownClaim | None) -> None:  # noqa: ARG002 - for subclasses
        """Record the allocation of a claim that has changed, and what a subclass keeps of it."""
        key = "/".join(name)
        self._allocated.pop(key, None)
        if after is not None and after.allocation is not None:
            self._allocated[key] = after.allocation

    def _set_template(self, name: Name) -> None:
        self._templates.pop(name, None)
        if (written := self._written_templates.get(name)) is not None:
            self._templates[name] = self._specs.spec(f"of template {name[0]}/{name[1]}", written.spec.spec)

    def _set_extended(self, pod: Name, name: Name, *, exists: bool) -> None:
        """Add or remove a claim for extended resources of *pod*."""
        claims = self._extended.setdefault(pod, set())
        (claims.add if exists else claims.discard)(name)
        if not claims:
            del self._extended[pod], self._reusable[pod]
            return
        uids = self._reusable[pod] = {}
        for each in sorted(claims):
            known = self._known[each]
            uids[known.owner_uid] = None if known.owner_uid in uids else self._reused(pod, each, known)

    def _reused(self, pod: Name, name: Name, known: KnownClaim) -> Allocation | None:  # noqa: ARG002 - kube-scheduler deletes such claims
        """Return the allocation of a claim for extended resources of *pod*, if it is used again."""
        return None

    def _set_classes(self, change: DeviceChange) -> None:
        self._specs = ClaimSpecs(self._classes)
        for name in [*self._claims]:
            self._set_claim(name, DeviceChange())
        for name in self._written_templates:
            self._set_template(name)
        resources = self._objects.resources
        self._objects = self._with_classes()
        if self._objects.resources != resources:
            change.resources = self._objects.resources
        change.classes = change.frees = True

    def _with_classes(self) -> DeviceObjects:
        return DeviceObjects(
            claims=self._known,
            templates=self._templates,
            allocated=self._allocated,
            resources=self._specs.resources(),
            extended=self._reusable,
        )


def _frees(before: KnownClaim, after: KnownClaim) -> bool:
    """Return whether a changed claim can have other devices, or has a place for a consumer that it did not have."""
    return after.allocation != before.allocation or len(before.consumers) >= MOST_CONSUMERS > len(after.consumers)
