"""Names of resources, and amounts of them in their units."""

from __future__ import annotations

import functools
from typing import Annotated

from kubeapi import content

Quantity = Annotated[int, "quantity"]
"""Amount of the resource of the same value, or a number of devices: millicores, bytes or a count."""
Bytes = Annotated[int, "bytes"]
BUILT_IN = ("cpu", "memory", "ephemeral-storage", "pods")
"""Resources of every node, in the order of the rows of resource arrays."""
OF_CLASS = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that each device class has."""
OF_STORAGE_CLASS, OF_DEVICE_CLASS = ".storageclass.storage.k8s.io/", ".deviceclass.resource.k8s.io/"
"""Text after the name of a class in the name of a resource in a ResourceQuota."""
REQUESTS, LIMITS, COUNT = "requests.", "limits.", "count/"
"""Prefixes of the names of resources in a ResourceQuota."""
QUOTA_STORAGE = "requests.storage"

_STORAGE = ("memory", "ephemeral-storage")
_UNITS = (("Ei", 2**60), ("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_MOST_UNITS = 10_000
"""Number of units from which an amount is hard to read."""


@functools.lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """Return whether *name* is an extended resource: one with a domain that a quota can name (core/v1 helper, IsExtendedResourceName)."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not content.label_key(f"requests.{name}")


def without_section(quota_resource: str) -> str:
    """Return the name of a resource in a ResourceQuota without ``requests.`` or ``limits.``."""
    return quota_resource.removeprefix(REQUESTS).removeprefix(LIMITS)


def unit_of_quota(quota_resource: str) -> str:
    """Return the resource in whose units a ResourceQuota counts *quota_resource*."""
    return "memory" if quota_resource.endswith(QUOTA_STORAGE) else without_section(quota_resource)


def is_storage(resource: str) -> bool:
    """Return whether amounts of *resource* are bytes."""
    return resource in _STORAGE or resource.startswith("hugepages-")


def size(resource: str, value: int) -> str:
    """Return *value* (cpu in millicores, storage in bytes) in cores, or in binary units such as Gi; other resources unchanged."""
    if resource == "cpu":
        return _decimal(value, 1000, 3)
    if is_storage(resource):
        for unit, factor in _UNITS:
            if value >= factor:
                return f"{_decimal(value, factor, 2)}{unit}"
    return str(value)


def exact_size(resource: str, value: int) -> str:
    """Return *value* (cpu in millicores, storage in bytes) as a quantity of Kubernetes, without rounding."""
    if resource == "cpu":
        return f"{value}m" if value % 1000 else str(value // 1000)
    if is_storage(resource):
        return next((f"{value // factor}{unit}" for unit, factor in _UNITS if value and value % factor == 0), str(value))
    return str(value)


def at_least(resource: str, value: int) -> str:
    """Return a quantity of at least *value* (cpu in millicores): of storage a whole number of units, rounded up to four digits."""
    if resource == "cpu":
        return f"{value}m" if value % 1000 else str(value // 1000)
    if resource not in _STORAGE:
        return str(value)
    whole = (f"{value // factor}{unit}" for unit, factor in _UNITS if value % factor == 0 and value // factor < _MOST_UNITS)
    more = (f"{-(-value // factor)}{unit}" for unit, factor in reversed(_UNITS) if -(-value // factor) < _MOST_UNITS)
    return next(whole, None) or next(more, str(value))


def _decimal(value: int, unit: int, places: int) -> str:
    """Truncate instead of rounding, so that an amount below a round number is not shown as that number."""
    whole, rest = divmod(value, unit)
    fraction = f"{rest * 10**places // unit:0{places}d}".rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)
