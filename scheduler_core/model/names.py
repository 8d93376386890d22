"""Names of objects, of claims, and of domains of nodes."""

from __future__ import annotations

from kubeapi.base_structs import Record
from kubeapi.names import Name

HOSTNAME = "kubernetes.io/hostname"
"""Label with the host name of a node: the topology key of single nodes."""


class NamedClaim(Record, frozen=True):
    """Claim to devices or to a volume.

    Attributes:
        label: its name in decisions: ``namespace/name``, or that of the entry of a pod or PodGroup whose template creates it.
        object: the claim; None if it does not exist yet.

    """

    label: str
    object: Name | None

    @property
    def short_name(self) -> str:
        """Return its name, or that of the entry, without the namespace."""
        return self.label.rpartition("/")[2]

    @property
    def full_name(self) -> str:
        """Return ``namespace/name``, or its label if it does not exist yet."""
        return self.label if self.object is None else f"{self.object.namespace}/{self.object.name}"


class Domain(Record, frozen=True):
    """One value of a topology key."""

    key: str
    value: str


__all__ = ["HOSTNAME", "Domain", "Name", "NamedClaim"]
