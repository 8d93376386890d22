"""Names of created PodGroups: valid, and always the same for the same reference."""

from __future__ import annotations

import hashlib
from collections.abc import Container

from kubeapi.decode import Json

MAX_LENGTH = 253
"""The maximum length of a DNS subdomain, the format of PodGroup names."""
_HASH = 8


def group_name(workload: str, group: str, replica_key: str, *, longest: int = MAX_LENGTH, taken: Container[str] = ()) -> str:
    """Return Workload, group and replica key joined by dashes, with a hash of the three if that has over *longest* bytes or is in *taken*."""
    parts = [part for part in (workload, group, replica_key) if part]
    plain = "-".join(parts)
    if len(plain) <= longest and plain not in taken:
        return plain
    # No part contains a slash: different references have different texts.
    suffix = hashlib.sha256(f"{workload}/{group}/{replica_key}".encode()).hexdigest()[:_HASH]
    return f"{plain[: longest - _HASH - 1].rstrip('-.')}-{suffix}"


def text(value: Json) -> str:
    """Return *value* if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""
