"""Minor versions of Kubernetes 1, and what changed in them.

Sources: KEP-4671, KEP-5732 and KEP-6012; Kubernetes 1.35 to 1.37.1.
"""

from __future__ import annotations

OLDEST, TODAY, NEWEST = 35, 37, 38
"""The oldest, default and newest version that can be mirrored."""

LAST_WITH_WORKLOAD_REF = 35
"""The last version whose pods have ``spec.workloadRef``; later ones have ``spec.schedulingGroup``."""
FIRST_WITH_MUTABLE_COMPOSITES = 38
"""The first version in which ``minGroupCount`` of a CompositePodGroup may change."""


def name(minor: int) -> str:
    """Return a version in the form that users write: ``1.37``."""
    return f"1.{minor}"


def names(first: int = OLDEST, last: int = NEWEST) -> dict[str, int]:
    """Return the minor versions from *first* to *last* by name."""
    return {name(minor): minor for minor in range(first, last + 1)}
