"""LimitRanger: default requests and limits of containers, and limits of containers and pods.

Source: Kubernetes 1.37.1, plugin/pkg/admission/limitranger, and the defaults of LimitRangeItem in pkg/apis/core/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from validators.model import quantity

Content = dict[str, Any]
Amounts = Mapping[str, Any]
_CONTAINERS = ("initContainers", "containers")
_POD_LEVEL = ("cpu", "memory")
_HUGE = "hugepages-"


def section(content: Any, name: str) -> Mapping[str, Any]:
    """Return a mapping inside another one; empty if it is absent or something else."""
    inner = content.get(name) if isinstance(content, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def items(content: Any, name: str) -> list[Content]:
    """Return the objects of a list; empty if it is absent or something else."""
    listed = content.get(name) if isinstance(content, Mapping) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def set_requests(pod: Content) -> None:
    """Set requests that are absent to the limits, as the API server does before admission."""
    for kind in _CONTAINERS:
        for container in items(section(pod, "spec"), kind):
            limits = section(section(container, "resources"), "limits")
            _merge(container, "requests", limits)


def set_defaults(pod: Content, limit_ranges: Iterable[Content]) -> None:
    """Set the default requests and limits of *limit_ranges*, those of the namespace of *pod*."""
    for limit_range in limit_ranges:
        requests: dict[str, Any] = {}
        limits: dict[str, Any] = {}
        for limit in items(section(limit_range, "spec"), "limits"):
            if limit.get("type") == "Container":
                own_limits = {**_amounts(limit, "max"), **_amounts(limit, "default")}
                limits |= own_limits
                requests |= {**_amounts(limit, "min"), **own_limits, **_amounts(limit, "defaultRequest")}
        for kind in _CONTAINERS:
            for container in items(section(pod, "spec"), kind):
                _merge(container, "limits", limits)
                _merge(container, "requests", requests)


def violations(pod: Content, limit_ranges: Iterable[Content]) -> Iterator[str]:
    """Yield the reasons why *limit_ranges* refuse *pod*, in the words of the API server, with the field of the LimitRange."""
    spec = section(pod, "spec")
    for limit, name in _limits(limit_ranges):
        if limit.get("type") == "Container":
            for container in (*items(spec, "containers"), *items(spec, "initContainers")):
                resources = section(container, "resources")
                yield from _violations(name, limit, section(resources, "requests"), section(resources, "limits"))
        elif limit.get("type") == "Pod":
            yield from _violations(name, limit, _of_pod(spec, "requests"), _of_pod(spec, "limits"))


def claim_violations(claim: Content, limit_ranges: Iterable[Content]) -> Iterator[str]:
    """Yield the reasons why *limit_ranges* refuse a PersistentVolumeClaim, as ``violations``; only its requests are limited."""
    requests = section(section(section(claim, "spec"), "resources"), "requests")
    for limit, name in _limits(limit_ranges):
        if limit.get("type") == "PersistentVolumeClaim":
            limited = {key: section(limit, key) for key in ("min", "max")}
            found = _violations(name, {"type": limit["type"], **limited}, requests, requests)
            yield from (
                each.replace("No limit is specified", "No request is specified").replace(", but limit is", ", but request is")
                for each in found
            )


def _limits(limit_ranges: Iterable[Content]) -> Iterator[tuple[Content, str]]:
    """Yield the items of *limit_ranges*, each with its name in messages."""
    for limit_range in limit_ranges:
        metadata = section(limit_range, "metadata")
        name = f"LimitRange {metadata.get('namespace') or 'default'}/{metadata.get('name')}"
        listed = section(limit_range, "spec").get("limits")
        for index, limit in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(limit, dict):
                yield limit, f"{name}, spec.limits[{index}]"


def _amounts(limit: Content, name: str) -> dict[str, Any]:
    return {resource: amount for resource, amount in section(limit, name).items() if isinstance(amount, str | int | float)}


def _merge(container: Content, name: str, defaults: Amounts) -> None:
    if defaults:
        resources = dict(section(container, "resources"))
        resources[name] = {**defaults, **section(resources, name)}
        container["resources"] = resources


def _violations(name: str, limit: Mapping[str, Any], requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for resource, least in section(limit, "min").items():
        if detail := _below(resource, least, requests, limits):
            yield f"minimum {resource} usage per {kind} is {least}{detail} ({name}.min)"
    for resource, most in section(limit, "max").items():
        if detail := _above(resource, most, requests, limits):
            yield f"maximum {resource} usage per {kind} is {most}{detail} ({name}.max)"
    for resource, ratio in section(limit, "maxLimitRequestRatio").items():
        if detail := _beyond(ratio, _milli(requests.get(resource, 0)), _milli(limits.get(resource, 0))):
            yield f"{resource} max limit to request ratio per {kind} is {ratio}, but {detail} ({name}.maxLimitRequestRatio)"


def _below(resource: str, least: Any, requests: Amounts, limits: Amounts) -> str:
    if resource not in requests:
        return ".  No request is specified"
    if _milli(requests[resource]) < _milli(least):
        return f", but request is {requests[resource]}"
    if resource in limits and _milli(limits[resource]) < _milli(least):
        return f", but limit is {limits[resource]}"
    return ""


def _above(resource: str, most: Any, requests: Amounts, limits: Amounts) -> str:
    if resource not in limits:
        return ".  No limit is specified"
    if _milli(limits[resource]) > _milli(most):
        return f", but limit is {limits[resource]}"
    if resource in requests and _milli(requests[resource]) > _milli(most):
        return f", but request is {requests[resource]}"
    return ""


def _beyond(ratio: Any, request: int, limit: int) -> str:
    if not request:
        return "no request is specified or request is 0"
    if not limit:
        return "no limit is specified or limit is 0"
    return f"provided ratio is {limit / request:f}" if limit * 1000 > _milli(ratio) * request else ""


def _of_pod(spec: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the sum over containers and sidecars, or the largest init container with the sidecars before it; pod-level values override."""
    total: dict[str, int] = {}
    for container in items(spec, "containers"):
        _add(total, section(section(container, "resources"), name))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in items(spec, "initContainers"):
        amounts = section(section(container, "resources"), name)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(starting, sidecars)
        else:
            together = dict(sidecars)
            _add(together, amounts)
            _raise(starting, together)
    _raise(total, starting)
    whole = {resource: _written(amount) for resource, amount in total.items()}
    level = section(section(spec, "resources"), name)
    return whole | {resource: amount for resource, amount in level.items() if resource in _POD_LEVEL or resource.startswith(_HUGE)}


def _add(total: dict[str, int], amounts: Amounts) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + _milli(amount)


def _raise(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for resource, amount in amounts.items():
        total[resource] = max(total.get(resource, 0), amount)


def _milli(amount: Any) -> int:
    """Return an amount in thousandths; 0 if it is no quantity, which the reader of the pod reports."""
    try:
        return quantity.milli_value(amount)
    except (ValueError, TypeError):
        return 0


def _written(milli: int) -> str:
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"
