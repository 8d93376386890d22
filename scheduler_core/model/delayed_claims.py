"""Claims that wait for their first consumer, and what they can get: free volumes, storage classes, storage capacity."""

from __future__ import annotations

from decimal import Decimal

from kubeapi.base_structs import Record
from kubeapi.selectors import NodeSelector, Requirement
from scheduler_core.model.migrated_volumes import MIGRATED_DRIVERS, driver_of_provisioner

NO_PROVISIONER = "kubernetes.io/no-provisioner"
"""Provisioner of classes whose volumes are created in advance."""
FILESYSTEM = "Filesystem"
"""Default volume mode."""
_WHOLE = Decimal(0)
_UNITS = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
Expressions = tuple[Requirement, ...]
"""Expressions of a label selector that must all match."""


class ClaimRequest(Record, frozen=True):
    """Specification of a claim that is not bound; equal claims have equal requests.

    Attributes:
        storage_class: name of its class.
        size: requested bytes, rounded up; None if it requests no storage.
        mode: volume mode.
        attributes: name of its VolumeAttributesClass; empty if none.
        access_modes: sorted.
        selector: selects volumes by their labels; None for all volumes.
        selected_node: node for which a volume is being provisioned; empty if none.
        reserved: volume that is reserved for this claim; empty if none.
        shared: namespace and name of the claim if several pods use it; empty if one pod does.
        rounding: how much more ``size`` is than the quantity that is requested.

    """

    storage_class: str
    size: int | None = None
    mode: str = FILESYSTEM
    attributes: str = ""
    access_modes: tuple[str, ...] = ()
    selector: Expressions | None = None
    selected_node: str = ""
    reserved: str = ""
    shared: str = ""
    rounding: Decimal = _WHOLE


class VolumeOffer(Record, frozen=True):
    """Specification of a PersistentVolume that claims are compared with; equal volumes have equal offers.

    Attributes:
        storage_class: name of its class.
        size: bytes.
        mode: volume mode.
        attributes: name of its VolumeAttributesClass; empty if none.
        access_modes: sorted.
        labels: sorted.
        available: whether it is free, or its phase is not known.
        deleting: whether it is being deleted.

    """

    storage_class: str = ""
    size: int = 0
    mode: str = FILESYSTEM
    attributes: str = ""
    access_modes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    available: bool = True
    deleting: bool = False

    def suits(self, request: ClaimRequest) -> bool:
        """Return whether size, mode and attributes suit *request*: enough for a volume that is reserved for the claim."""
        same = self.mode == request.mode and self.attributes == request.attributes and self.storage_class == request.storage_class
        return same and not self.deleting and self.size >= (request.size or 0)

    def serves(self, request: ClaimRequest) -> bool:
        """Return whether a volume that is reserved for no claim can serve *request*; its selector is not compared."""
        return self.available and self.suits(request) and set(request.access_modes) <= set(self.access_modes)


class Provisioner(Record, frozen=True):
    """Provisioning of volumes by a storage class.

    Attributes:
        name: the provisioner; empty if the class names none.
        topologies: terms about node labels, of which one must match; empty for all nodes.

    """

    name: str = ""
    topologies: tuple[Expressions, ...] = ()

    @property
    def provisions(self) -> bool:
        """Return whether it provisions volumes."""
        return self.name not in ("", NO_PROVISIONER)

    @property
    def migrates(self) -> bool:
        """Return whether a CSI driver with another name is responsible for it."""
        return self.name in MIGRATED_DRIVERS

    @property
    def driver(self) -> str:
        """Return the driver whose volumes on a node are counted; empty if there is none."""
        return driver_of_provisioner(self.name)


class StorageCapacity(Record, frozen=True):
    """A CSIStorageCapacity.

    Attributes:
        storage_class: name of its class.
        nodes: selects nodes by their labels; None for no node.
        capacity: available bytes; None if not known.
        largest: bytes of the largest volume; None if not known.
        rounding: how much more ``limit`` is than the quantity that is published.

    """

    storage_class: str
    nodes: Expressions | None
    capacity: int | None
    largest: int | None
    rounding: Decimal = _WHOLE

    @property
    def limit(self) -> int:
        """Return the size of the largest volume that can be provisioned, in bytes; -1 if it is not known."""
        limit = self.capacity if self.largest is None else self.largest
        return -1 if limit is None else limit

    def suffices(self, request: ClaimRequest, *, exact: bool) -> bool:
        """Return whether a volume for *request*, which has a size, can be provisioned; quantities are compared in whole bytes unless *exact*."""
        size, limit = request.size or 0, self.limit
        return size - request.rounding <= limit - self.rounding if exact and limit >= 0 else size <= limit


class FreeVolume(Record, frozen=True):
    """A PersistentVolume that is bound to no claim; *affinity* is its required node affinity."""

    name: str
    offer: VolumeOffer
    affinity: NodeSelector | None


def written(size: int) -> str:
    """Return *size* in bytes as a quantity, without loss."""
    return next((f"{size // factor}{unit}" for unit, factor in _UNITS if size and not size % factor), str(size))


def class_and_size(storage_class: str, size: int) -> str:
    """Return ``class local with 5Gi``; ``class local`` for claims that request no size (0 bytes)."""
    return f"class {storage_class} with {written(size)}" if size else f"class {storage_class}"
