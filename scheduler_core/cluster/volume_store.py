"""Claims, volumes, storage classes and capacities, CSI drivers of nodes, and attached volumes.

An object counts as changed only if a field that placement reads has changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kubeapi.gather import Name
from scheduler_core.cluster.store import Store, add_to, discard_from
from scheduler_core.loading.read_volumes import (
    Attachment,
    VolumeClass,
    VolumeDriver,
    attached_volume,
    read_attachment,
    read_capacity,
    read_claim,
    read_class,
    read_driver,
    read_drivers,
    read_volume,
)
from scheduler_core.model.attach_limits import AttachLimits
from scheduler_core.model.delayed_claims import Provisioner, StorageCapacity
from scheduler_core.model.volume_users import VolumeUsers
from scheduler_core.model.volumes import Claim, Volume, VolumeObjects

Value = Claim | Volume | VolumeClass | dict[str, int | None] | VolumeDriver | Attachment | StorageCapacity


@dataclasses.dataclass(slots=True)
class VolumeChange:
    """Effect of a changed object.

    Attributes:
        claims: claims whose requirements or volumes can differ.
        disks: whether inline disks can count differently.
        nodes: nodes whose number of free volumes differs.
        drivers: whether the drivers of these nodes changed.
        frees: whether more volumes can be free there.
        storage: whether claims without a volume can get other volumes from their class.
        volumes: volumes that claims without a volume can or cannot get now.
        offers: whether one of these is free now.

    """

    claims: set[Name] = dataclasses.field(default_factory=set)
    disks: bool = False
    nodes: set[str] = dataclasses.field(default_factory=set)
    drivers: bool = False
    frees: bool = False
    storage: bool = False
    volumes: set[str] = dataclasses.field(default_factory=set)
    offers: bool = False


class VolumeStore(Store[VolumeChange]):
    """Claims, volumes, storage classes, CSINodes, CSIDrivers, VolumeAttachments and CSIStorageCapacities by name.

    Attributes:
        objects: the usable objects.
        attach: the limits of the nodes.
        users: pods that use volumes; updated by the caller.

    """

    readers = {
        # What others depend on comes first: nothing changes with it then.
        "CSIDriver": read_driver,
        "CSINode": read_drivers,
        "StorageClass": read_class,
        "CSIStorageCapacity": read_capacity,
        "PersistentVolume": read_volume,
        "PersistentVolumeClaim": read_claim,
        "VolumeAttachment": read_attachment,
    }

    def __init__(self, *, completes: bool) -> None:
        """Create an empty store; *completes* as in VolumeObjects."""
        super().__init__()
        self._values: dict[tuple[str, Name], Value] = {}
        self._claims: dict[Name, Claim] = {}
        self._volumes: dict[str, Volume] = {}
        self._classes: dict[str, str] = {}
        self._provisioners: dict[str, Provisioner] = {}
        self._capacities: dict[Name, StorageCapacity] = {}
        self._measured: set[str] = set()
        self._reserved: dict[Name, set[str]] = {}
        self._claims_by_volume: dict[str, set[Name]] = {}
        self._attachments_by_volume: dict[str, set[Name]] = {}
        self.attach, self.users = AttachLimits(), VolumeUsers()
        self.objects = VolumeObjects(
            self._claims,
            self._volumes,
            self._classes,
            completes=completes,
            provisioners=self._provisioners,
            capacities=self._capacities,
            measured=self._measured,
            attach=self.attach,
            users=self.users,
            reserved=self._reserved,
        )

    def _add_all(self, kind: str, values: Mapping[Name, Any]) -> None:
        # Of these there are tens of thousands; nothing that depends on them is there yet.
        if kind == "PersistentVolume":
            self._volumes.update({name: volume for (_, name), volume in values.items()})
            for name, volume in self._volumes.items():
                if volume.claim is not None:
                    add_to(self._reserved, volume.claim, name)
        elif kind == "PersistentVolumeClaim":
            self._claims.update(values)
            for claim_name, claim in values.items():
                if claim.volume:
                    add_to(self._claims_by_volume, claim.volume, claim_name)
        else:
            super()._add_all(kind, values)
            return
        self._values.update({(kind, name): value for name, value in values.items()})

    def _set(self, kind: str, name: Name, value: Any) -> VolumeChange:
        change = VolumeChange()
        self._check_limits(change)
        before = self._values.get((kind, name))
        if before == value:
            return change
        if value is None:
            del self._values[kind, name]
        else:
            self._values[kind, name] = value
        self._apply(kind, name, before, value, change)
        return change

    def _apply(self, kind: str, name: Name, before: Value | None, value: Value | None, change: VolumeChange) -> None:
        match kind:
            case "PersistentVolumeClaim":
                self._set_claim(name, value if isinstance(value, Claim) else None, change)
            case "PersistentVolume":
                self._set_volume(name[1], value if isinstance(value, Volume) else None, change)
            case "StorageClass":
                self._set_class(name[1], value if isinstance(value, VolumeClass) else None, change)
            case "CSINode":
                self._set_drivers(name[1], value if isinstance(value, dict) else {}, change)
            case "CSIDriver":
                self._set_driver(name[1], before, value, change)
            case "CSIStorageCapacity":
                self._set_capacity(name, value if isinstance(value, StorageCapacity) else None, change)
            case "VolumeAttachment":
                for each, sign in ((before, -1), (value, 1)):
                    self._set_attachment(name, each if isinstance(each, tuple) else None, sign, change)

    def _check_limits(self, change: VolumeChange) -> None:
        """Forget the limits of the nodes while an object that may have a limit of any driver cannot be used."""
        known = not any(kind in ("CSINode", "CSIDriver") for kind, _, _ in self.unusable)
        if known != (self.objects.attach is not None):
            self.objects = dataclasses.replace(self.objects, attach=self.attach if known else None)
            self._limits_changed(change)

    def _limits_changed(self, change: VolumeChange) -> None:
        """Record that volumes of other drivers count, or that other drivers must be on a node."""
        change.claims |= self._claims.keys()
        change.disks = True

    def _set_claim(self, name: Name, claim: Claim | None, change: VolumeChange) -> None:
        before = self._claims.pop(name, None)
        if before is not None and before.volume:
            discard_from(self._claims_by_volume, before.volume, name)
        if claim is not None:
            self._claims[name] = claim
            if claim.volume:
                add_to(self._claims_by_volume, claim.volume, name)
        change.claims.add(name)
        # A volume that is reserved for a claim is kept until the binding is complete.
        change.volumes |= self._reserved.get(name, set())

    def _set_volume(self, name: str, volume: Volume | None, change: VolumeChange) -> None:
        attachments = [
            each for key in self._attachments_by_volume.get(name, ()) if isinstance(each := self._values["VolumeAttachment", key], tuple)
        ]
        for each in attachments:
            self._attach(each, -1, change)
        before = self._volumes.pop(name, None)
        if before is not None and before.claim is not None:
            discard_from(self._reserved, before.claim, name)
            change.claims.add(before.claim)
        if volume is not None and volume.claim is not None:
            add_to(self._reserved, volume.claim, name)
            change.claims.add(volume.claim)
        if volume is not None:
            self._volumes[name] = volume
        change.volumes.add(name)
        change.offers = volume is not None and volume.claim is None
        for each in attachments:
            self._attach(each, 1, change)
        change.claims |= self._claims_by_volume.get(name, set())

    def _set_class(self, name: str, value: VolumeClass | None, change: VolumeChange) -> None:
        self._classes.pop(name, None)
        self._provisioners.pop(name, None)
        if value is not None:
            self._classes[name], self._provisioners[name] = value.mode, value.provisioner
        change.storage = True
        change.claims |= {claim for claim, each in self._claims.items() if each.storage_class == name and not each.bound}

    def _set_driver(self, name: str, before: Value | None, value: Value | None, change: VolumeChange) -> None:
        old, new = (each if isinstance(each, VolumeDriver) else VolumeDriver(required=False, measured=False) for each in (before, value))
        (self.attach.required.add if new.required else self.attach.required.discard)(name)
        (self._measured.add if new.measured else self._measured.discard)(name)
        change.storage = True
        if old.required != new.required:
            self._limits_changed(change)

    def _set_capacity(self, name: Name, capacity: StorageCapacity | None, change: VolumeChange) -> None:
        self._capacities.pop(name, None)
        if capacity is not None:
            self._capacities[name] = capacity
        change.storage = True

    def _set_drivers(self, node: str, drivers: dict[str, int | None], change: VolumeChange) -> None:
        rows = self.attach.rows()
        self.attach.set_drivers(node, drivers)
        change.nodes.add(node)
        change.drivers = change.frees = True
        if rows != self.attach.rows():
            self._limits_changed(change)

    def _set_attachment(self, name: Name, attachment: Attachment | None, sign: int, change: VolumeChange) -> None:
        if attachment is None:
            return
        volume = attachment[2]
        if sign > 0:
            add_to(self._attachments_by_volume, volume, name)
        else:
            discard_from(self._attachments_by_volume, volume, name)
        self._attach(attachment, sign, change)
        change.claims |= self._claims_by_volume.get(volume, set())

    def _attach(self, attachment: Attachment, sign: int, change: VolumeChange) -> None:
        if (found := attached_volume(attachment, self._volumes)) is not None:
            self.attach.attach(*found, sign)
            change.nodes.add(found[0])
            change.frees |= sign < 0
