"""Names of objects, and of domains of nodes."""

from __future__ import annotations

import dataclasses

HOSTNAME = "kubernetes.io/hostname"
"""Label with the host name of a node: the topology key of single nodes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """Identity of an object.  The namespace of a cluster-scoped object is empty."""

    kind: str
    namespace: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """One value of a topology key."""

    key: str
    value: str
