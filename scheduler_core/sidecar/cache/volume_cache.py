"""Claims, volumes and what they depend on, of a live cluster."""

from __future__ import annotations

from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects
from scheduler_core.cluster.volume_store import VolumeChange, VolumeStore
from scheduler_core.sidecar.cache.field_managers import managers_of_annotation
from scheduler_core.sidecar.client.requests import SELECTED_NODE


class VolumeCache(VolumeStore):
    """Objects about volumes.

    Attributes:
        selected: claims without a volume for which a node is selected, with the field managers of the selection.

    """

    def __init__(self) -> None:
        super().__init__(completes=False)
        self.selected: dict[Name, frozenset[str]] = {}

    def add_or_update(self, raw_object: GatheredObjects, name: Name) -> VolumeChange:
        """Add or replace an object and return the effect."""
        change = super().add_or_update(raw_object, name)
        if raw_object.kind == "PersistentVolumeClaim":
            self.selected.pop(name, None)
            claim = self.objects.claims.get(name)
            if claim is not None and claim.request.selected_node and not claim.volume:
                self.selected[name] = managers_of_annotation(raw_object.text, SELECTED_NODE)
        return change

    def remove(self, kind: str, name: Name) -> VolumeChange:
        """Remove an object and return the effect."""
        if kind == "PersistentVolumeClaim":
            self.selected.pop(name, None)
        return super().remove(kind, name)
