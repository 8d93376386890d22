"""Names of objects, and of domains of nodes."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """Identity of a group, or of a pod that is a root."""

    kind: str
    namespace: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """One value of a topology key."""

    key: str
    value: str
