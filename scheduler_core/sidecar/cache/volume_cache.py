"""PersistentVolumeClaims, PersistentVolumes and StorageClasses of a live cluster.

An object counts as changed only if a field that placement reads has changed.
"""

from __future__ import annotations

from scheduler_core.loading.gather import GatheredObjects, Name, Unusable
from scheduler_core.loading.read_objects import attempt
from scheduler_core.loading.read_volumes import read_claim, read_class, read_volume
from scheduler_core.model.volumes import Claim, Volume, VolumeObjects


class VolumeCache:
    """Claims, volumes and storage classes by name.

    Attributes:
        objects: the usable objects.
        unusable: the reason for each unusable object, by kind, namespace and name.

    """

    def __init__(self) -> None:
        self._claims: dict[Name, Claim] = {}
        self._volumes: dict[str, Volume] = {}
        self._classes: dict[str, str] = {}
        self._claims_by_volume: dict[str, set[Name]] = {}
        self.objects = VolumeObjects(self._claims, self._volumes, self._classes, completes=False, limited=None, delays=False)
        self.unusable: dict[tuple[str, str, str], str] = {}

    def add_or_update(self, raw_object: GatheredObjects, name: Name) -> set[Name]:
        """Add or replace an object and return the names of the claims that the change concerns."""
        key = (raw_object.kind, *name)
        value: Claim | Volume | str | Unusable
        match raw_object.kind:
            case "PersistentVolumeClaim":
                value = attempt(raw_object, read_claim)[1]
            case "PersistentVolume":
                value = attempt(raw_object, read_volume)[1]
            case _:
                value = attempt(raw_object, read_class)[1]
        if isinstance(value, Unusable):
            changed = self.remove(raw_object.kind, name)
            self.unusable[key] = str(value)
            return changed
        self.unusable.pop(key, None)
        return self._set(raw_object.kind, name, value)

    def remove(self, kind: str, name: Name) -> set[Name]:
        """Remove an object and return the names of the claims that the change concerns."""
        self.unusable.pop((kind, *name), None)
        return self._set(kind, name, None)

    def _set(self, kind: str, name: Name, value: Claim | Volume | str | None) -> set[Name]:
        """Set an object, or remove it (None), and return the names of the claims that the change concerns; empty if nothing changed."""
        if kind == "PersistentVolumeClaim":
            return self._set_claim(name, value if isinstance(value, Claim) else None)
        if kind == "PersistentVolume":
            if self._volumes.get(name[1]) == value:
                return set()
            if isinstance(value, Volume):
                self._volumes[name[1]] = value
            else:
                del self._volumes[name[1]]
            return set(self._claims_by_volume.get(name[1], ()))
        if self._classes.get(name[1]) == value:
            return set()
        if isinstance(value, str):
            self._classes[name[1]] = value
        else:
            del self._classes[name[1]]
        return {claim for claim, each in self._claims.items() if each.storage_class == name[1] and not each.bound}

    def _set_claim(self, name: Name, claim: Claim | None) -> set[Name]:
        before = self._claims.pop(name, None)
        if before is not None and before.volume:
            claims = self._claims_by_volume[before.volume]
            claims.discard(name)
            if not claims:
                del self._claims_by_volume[before.volume]
        if claim is not None:
            self._claims[name] = claim
            if claim.volume:
                self._claims_by_volume.setdefault(claim.volume, set()).add(name)
        return set() if before == claim else {name}
