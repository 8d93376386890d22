"""Validation of new pods by the API server, as far as it decides what a scheduler has to place: containers and resources.

Source: Kubernetes 1.37.1, pkg/apis/core/validation, ValidateResourceRequirements and validatePodResourceConsistency.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Mapping
from typing import Any

from muster.commands.simulate.admission.limit_ranges import Content, items, section
from scheduler_core.model.resource_names import is_extended
from validators import content
from validators.model import quantity

_HUGE = "hugepages-"
_COMPUTE = frozenset({"cpu", "memory"})
_STANDARD = _COMPUTE | {"ephemeral-storage"}


def errors(pod: Content) -> Iterator[str]:
    """Yield the reasons why the API server refuses *pod* after its defaults are set, in its words."""
    metadata, spec = section(pod, "metadata"), section(pod, "spec")
    name = metadata.get("name")
    if isinstance(name, str) and name and (messages := content.subdomain(name)):
        yield f'metadata.name: Invalid value: "{name}": {messages[0]}'
    if not items(spec, "containers"):
        yield "spec.containers: Required value"
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(items(spec, kind)):
            yield from _of_resources(section(container, "resources"), f"spec.{kind}[{index}].resources")
    if level := section(spec, "resources"):
        yield from _of_resources(level, "spec.resources")


def _of_resources(resources: Mapping[str, Any], at: str) -> Iterator[str]:
    limits, requests = section(resources, "limits"), section(resources, "requests")
    for kind, amounts in (("limits", limits), ("requests", requests)):
        yield from (f"{at}.{kind}[{name}]: Invalid value: {why}" for name, written in amounts.items() if (why := _wrong(name, written)))
    for name, request in requests.items():
        overcommits = "/" not in name or "kubernetes.io/" in name
        if name not in limits:
            if not overcommits or name.startswith(_HUGE):
                yield f"{at}.limits: Required value: Limit must be set for non overcommitable resources"
            continue
        difference = _exact(request) - _exact(limits[name])
        if difference and (not overcommits or name.startswith(_HUGE)):
            yield f'{at}.requests: Invalid value: "{request}": must be equal to {name} limit of {limits[name]}'
        elif difference > 0:
            yield f'{at}.requests: Invalid value: "{request}": must be less than or equal to {name} limit of {limits[name]}'
    if any(name.startswith(_HUGE) for name in (*limits, *requests)) and not _COMPUTE.intersection((*limits, *requests)):
        yield f"{at}: Forbidden: HugePages require cpu or memory"


def _wrong(name: str, written: Any) -> str:
    """Return the error of a resource name or its amount; empty if it is valid, or not a quantity (the reader of the pod reports that)."""
    if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE):
        return f'"{name}": must be a standard resource for containers, or have a domain, such as nvidia.com/gpu'
    amount = _exact(written)
    if amount < 0:
        return f'"{written}": must be greater than or equal to 0'
    if is_extended(name) and amount % 1:
        return f'"{written}": must be an integer'
    return ""


def _exact(written: Any) -> decimal.Decimal:
    try:
        return quantity.exact(written)
    except (ValueError, TypeError):
        return decimal.Decimal(0)
