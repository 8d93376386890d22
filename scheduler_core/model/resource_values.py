"""Resources and amounts of them as values: resources of nodes are named, and volumes are rows of the node table of their own.

Imports no numpy, because causes have resources and are read where numpy is not installed.
"""

from __future__ import annotations

from typing import ClassVar

from kubeapi.base_structs import Record
from kubeapi.resource_names import Bytes
from scheduler_core.model.attach_limits import row_name
from scheduler_core.model.delayed_claims import class_and_size


class AttachableVolumes(Record, frozen=True):
    """Volumes of *driver* that nodes can attach."""

    resource: ClassVar = "attachable-volumes"
    driver: str

    @property
    def row(self) -> str:
        """Return the name of the row that counts them."""
        return row_name(self.driver)


class VolumesOfClass(Record, frozen=True):
    """Free volumes that the same claims can use.

    Attributes:
        size: what the smallest of these claims requests; None if it requests no size.
        pool: number of these volumes among those of their class and size; None for the first.

    """

    resource: ClassVar = "volumes"
    storage_class: str
    size: Bytes | None = None
    pool: int | None = None

    @property
    def claims(self) -> str:
        """Return class and size of the claims, and the number: ``class fast with 10Gi (2)``."""
        return f"{class_and_size(self.storage_class, self.size or 0)}{f' ({self.pool})' if self.pool else ''}"

    @property
    def row(self) -> str:
        """Return the name of the row that counts them; no resource of a node has such a name."""
        return f"volume of {self.claims}"


Resource = str | AttachableVolumes | VolumesOfClass
"""Resource of nodes by its name, or volumes."""


def row_of(resource: Resource) -> str:
    """Return the name of the row that counts *resource*."""
    return resource if isinstance(resource, str) else resource.row
