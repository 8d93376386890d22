"""Requests and limits of containers and pods.

Source: Kubernetes 1.37.1, pkg/apis/core/validation, ValidateContainerResourceRequirements and validatePodResources.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from typing import Any

from validators import content, field
from validators.built_in.parts import Content, section
from validators.field import FieldError, FieldPath, Key
from validators.model import quantity

HUGE = "hugepages-"
_COMPUTE = frozenset({"cpu", "memory"})
_STANDARD = _COMPUTE | {"ephemeral-storage"}
_OWN_DOMAIN = "kubernetes.io/"


def resources(given: Content, at: FieldPath, *, of_pod: bool = False) -> Iterator[FieldError]:
    """Yield the errors of the requests and limits of a container, or those at the level of a pod.

    Requests that are absent are the limits, as the API server sets them.
    """
    limits, requests = section(given, "limits"), section(given, "requests")
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, written in amounts.items():
            yield from _amount(name, written, at / kind / Key(name), of_pod=of_pod)
    for name, request in requests.items():
        overcommits = _is_own(name) and not name.startswith(HUGE)
        if name not in limits:
            if not overcommits:
                yield field.required(at / "limits", "Limit must be set for non overcommitable resources")
            continue
        difference = _exact(request) - _exact(limits[name])
        if difference and not overcommits:
            yield field.invalid(at / "requests", str(request), f"must be equal to {name} limit of {limits[name]}")
        elif difference > 0:
            yield field.invalid(at / "requests", str(request), f"must be less than or equal to {name} limit of {limits[name]}")
    if any(name.startswith(HUGE) for name in (*limits, *requests)) and not _COMPUTE.intersection((*limits, *requests)):
        yield field.forbidden(at, "HugePages require cpu or memory")


def is_extended(name: str) -> bool:
    """Return whether a resource is an extended one, such as ``nvidia.com/gpu``: it has integral amounts."""
    return "/" in name and not _is_own(name)


def _is_own(name: str) -> bool:
    return "/" not in name or _OWN_DOMAIN in name


def _amount(name: str, written: Any, at: FieldPath, *, of_pod: bool) -> Iterator[FieldError]:
    """Yield the errors of the name of a resource, and of its amount."""
    if "/" not in name and name not in _STANDARD and not name.startswith(HUGE):
        yield field.invalid(at, name, "must be a standard resource for containers, or have a domain, such as nvidia.com/gpu")
        return
    if messages := content.label_key(name):
        yield field.invalid(at, name, messages[0])
        return
    if of_pod and name not in _COMPUTE and not name.startswith(HUGE):
        yield field.not_supported(at, name, ("cpu", "memory", "hugepages-"))
        return
    amount = _exact(written)
    if amount < 0:
        yield field.invalid(at, str(written), "must be greater than or equal to 0")
    if is_extended(name) and amount % 1:
        yield field.invalid(at, str(written), "must be an integer")


def _exact(written: Any) -> decimal.Decimal:
    try:
        return quantity.exact(written)
    except (ValueError, TypeError):
        return decimal.Decimal(0)
