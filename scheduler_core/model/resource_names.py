"""Names of resources."""

from __future__ import annotations

import functools

from validators import content


@functools.lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """Return whether *name* is an extended resource: one with a domain that a quota can name (core/v1 helper, IsExtendedResourceName)."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not content.label_key(f"requests.{name}")
