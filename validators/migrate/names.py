"""Names of the PodGroups that are made: the same for the same reference, and legal."""

from __future__ import annotations

import hashlib
from collections.abc import Container

from validators.model.decode import Json

LONGEST = 253
"""A PodGroup's name is a DNS subdomain."""
_HASH = 8


def group_name(workload: str, group: str, replica_key: str, *, taken: Container[str] = ()) -> str:
    """Workload, group and replica key with dashes between them; a hash of the three is added where that is too long or *taken*."""
    parts = [part for part in (workload, group, replica_key) if part]
    plain = "-".join(parts)
    if len(plain) <= LONGEST and plain not in taken:
        return plain
    # A slash is in none of the parts, so no two references have one text.
    mark = hashlib.sha256(f"{workload}/{group}/{replica_key}".encode()).hexdigest()[:_HASH]
    return f"{plain[: LONGEST - _HASH - 1].rstrip('-.')}-{mark}"


def text(value: Json) -> str:
    """A string; empty for anything else."""
    return value if isinstance(value, str) else ""
