"""LimitRanger: default requests and limits of containers, and limits of containers and pods.

Source: Kubernetes 1.37.1, plugin/pkg/admission/limitranger, and the defaults of LimitRangeItem in pkg/apis/core/v1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from expansion.admission.amounts import AmountError, Amounts, amount_errors, list_errors, object_error, readable, unreadable
from expansion.contents import Content, items, part
from kubeapi import quantity
from kubeapi.decode import section
from kubeapi.problem import Problem

_CONTAINERS = ("initContainers", "containers")
_CLAIM = "PersistentVolumeClaim"
_TYPES = ("Container", "Pod", _CLAIM)
_SECTIONS = ("min", "max", "maxLimitRequestRatio")
_POD_LEVEL = ("cpu", "memory")
_HUGE = "hugepages-"


def set_requests(pod: Content) -> None:
    """Set requests that are absent to the limits, as the API server does before admission."""
    for kind in _CONTAINERS:
        for container in items(section(pod, "spec"), kind):
            limits = section(section(container, "resources"), "limits")
            _merge(container, "requests", limits)


def unusable(limit_ranges: Iterable[Content]) -> Iterator[Problem]:
    """Yield the LimitRanges with limits or amounts that cannot be read; what these limit is not judged."""
    for each in limit_ranges:
        yield from unreadable("LimitRange", each, _errors(each))


def _errors(limit_range: Content) -> Iterator[AmountError]:
    spec = limit_range.get("spec")
    yield from object_error(spec, "spec")
    limits = part(spec, "limits")
    yield from list_errors(limits, "spec.limits")
    for index, limit in enumerate(limits if isinstance(limits, list) else ()):
        for name in (*_SECTIONS, "default", "defaultRequest"):
            yield from amount_errors(part(limit, name), f"spec.limits[{index}].{name}")


class _Bound(NamedTuple):
    """Limit of one resource.

    Attributes:
        limit: position of its item among those of the namespace.
        place: position of the resource in the section.
        name: the item in messages.
        value: as it is written.
        milli: in thousandths.

    """

    limit: int
    place: int
    name: str
    value: Any
    milli: int


class LimitRanges:
    """LimitRanges of one namespace, by resource: with many of them, an object takes no longer unless they refuse it."""

    def __init__(self, limit_ranges: Sequence[Content] = ()) -> None:
        self._requests: dict[str, Any] = {}
        self._limits: dict[str, Any] = {}
        # The first default counts.
        for each in reversed(limit_ranges):
            limits, requests = _defaults(each)
            self._limits |= limits
            self._requests |= requests
        self._bounds: dict[str, defaultdict[tuple[int, str], list[_Bound]]] = {each: defaultdict(list) for each in _TYPES}
        for index, (limit, name) in enumerate(_items(limit_ranges)):
            self._add(index, limit, name)
        for bounds in self._bounds.values():
            for (section_index, _), listed in bounds.items():
                # The strictest first.
                listed.sort(key=lambda each: each.milli, reverse=_SECTIONS[section_index] == "min")

    def _add(self, index: int, limit: Content, name: str) -> None:
        kind = limit.get("type")
        for section_index, key in enumerate(_SECTIONS[:2] if kind == _CLAIM else _SECTIONS if kind in _TYPES else ()):
            for place, (resource, value) in enumerate(readable(limit, key).items()):
                self._bounds[str(kind)][section_index, resource].append(_Bound(index, place, f"{name}.{key}", value, _milli(value)))

    def set_defaults(self, pod: Content) -> None:
        """Set the default requests and limits in a *pod* of the namespace."""
        for kind in _CONTAINERS:
            for container in items(section(pod, "spec"), kind):
                _merge(container, "limits", self._limits)
                _merge(container, "requests", self._requests)

    def violations(self, pod: Content) -> Iterator[str]:
        """Yield the reasons why *pod* is refused, in the words of the API server, with the field of the LimitRange."""
        spec = section(pod, "spec")
        users: list[tuple[str, Amounts, Amounts | None]] = []
        if self._bounds["Container"]:
            containers = (section(each, "resources") for each in (*items(spec, "containers"), *items(spec, "initContainers")))
            users += [("Container", section(each, "requests"), section(each, "limits")) for each in containers]
        if self._bounds["Pod"]:
            users.append(("Pod", _of_pod(spec, "requests"), _of_pod(spec, "limits")))
        return self._violations(users)

    def claim_violations(self, claim: Content) -> Iterator[str]:
        """Yield the reasons why a PersistentVolumeClaim is refused, as ``violations``; only its requests are limited."""
        requests = section(section(section(claim, "spec"), "resources"), "requests")
        return self._violations([(_CLAIM, requests, None)])

    def _violations(self, users: Iterable[tuple[str, Amounts, Amounts | None]]) -> Iterator[str]:
        """Yield the violations of *users*, each with its type, requests and limits (None: it has none), in the order of the limits."""
        found = []
        for number, (kind, requests, limits) in enumerate(users):
            for (section_index, resource), bounds in self._bounds[kind].items():
                words, examine = _EXAMINED[section_index]
                for each in bounds:
                    detail = examine(resource, each.milli, requests, limits)
                    if not detail:
                        # The next bounds are less strict.
                        break
                    text = f"{words.format(resource=resource, kind=kind)} is {each.value}{detail} ({each.name})"
                    found.append(((each.limit, number, section_index, each.place), text))
        return (text for _, text in sorted(found))


def _items(limit_ranges: Iterable[Content]) -> Iterator[tuple[Content, str]]:
    """Yield the items of *limit_ranges*, each with its name in messages."""
    for limit_range in limit_ranges:
        metadata = section(limit_range, "metadata")
        name = f"LimitRange {metadata.get('namespace') or 'default'}/{metadata.get('name')}"
        listed = section(limit_range, "spec").get("limits")
        for index, limit in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(limit, dict):
                yield limit, f"{name}, spec.limits[{index}]"


def _defaults(limit_range: Content) -> tuple[Amounts, Amounts]:
    """Return the default limits and requests of containers."""
    limits: dict[str, Any] = {}
    requests: dict[str, Any] = {}
    for limit in items(section(limit_range, "spec"), "limits"):
        if limit.get("type") == "Container":
            own_limits = {**readable(limit, "max"), **readable(limit, "default")}
            limits |= own_limits
            requests |= {**readable(limit, "min"), **own_limits, **readable(limit, "defaultRequest")}
    return limits, requests


def _merge(container: Content, name: str, defaults: Amounts) -> None:
    if defaults:
        resources = dict(section(container, "resources"))
        resources[name] = {**defaults, **section(resources, name)}
        container["resources"] = resources


def _below(resource: str, least: int, requests: Amounts, limits: Amounts | None) -> str:
    if resource not in requests:
        return ".  No request is specified"
    if _milli(requests[resource]) < least:
        return f", but request is {requests[resource]}"
    if limits and resource in limits and _milli(limits[resource]) < least:
        return f", but limit is {limits[resource]}"
    return ""


def _above(resource: str, most: int, requests: Amounts, limits: Amounts | None) -> str:
    noun, amounts = ("request", requests) if limits is None else ("limit", limits)
    if resource not in amounts:
        return f".  No {noun} is specified"
    if _milli(amounts[resource]) > most:
        return f", but {noun} is {amounts[resource]}"
    if resource in requests and _milli(requests[resource]) > most:
        return f", but request is {requests[resource]}"
    return ""


def _beyond(resource: str, ratio: int, requests: Amounts, limits: Amounts | None) -> str:
    request, limit = _milli(requests.get(resource, 0)), _milli((limits or {}).get(resource, 0))
    if not request:
        return ", but no request is specified or request is 0"
    if not limit:
        return ", but no limit is specified or limit is 0"
    return f", but provided ratio is {limit / request:f}" if limit * 1000 > ratio * request else ""


_EXAMINED: Sequence[tuple[str, Callable[[str, int, Amounts, Amounts | None], str]]] = (
    ("minimum {resource} usage per {kind}", _below),
    ("maximum {resource} usage per {kind}", _above),
    ("{resource} max limit to request ratio per {kind}", _beyond),
)
"""Words and test of each section of a limit."""


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
