"""Requests and limits of containers and pods.

Source: Kubernetes 1.37.1, pkg/apis/core/validation, ValidateContainerResourceRequirements and validatePodResources.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from typing import Any

from kubeapi import content, quantity
from kubeapi.decode import section
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.built_in.shared_checks import Content, items
from validators.field import FieldError

HUGE = "hugepages-"
_COMPUTE = frozenset({"cpu", "memory"})
_STANDARD = _COMPUTE | {"ephemeral-storage"}
_OWN_DOMAIN = "kubernetes.io/"
_NOTHING = decimal.Decimal(0)
Amounts = dict[str, decimal.Decimal]


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
        difference = exact(request) - exact(limits[name])
        if difference and not overcommits:
            yield field.invalid(at / "requests", str(request), f"must be equal to {name} limit of {limits[name]}")
        elif difference > 0:
            yield field.invalid(at / "requests", str(request), f"must be less than or equal to {name} limit of {limits[name]}")
    if any(name.startswith(HUGE) for name in (*limits, *requests)) and not _COMPUTE.intersection((*limits, *requests)):
        yield field.forbidden(at, "HugePages require cpu or memory")


def of_pod(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the requests and limits at the level of a pod: they are at least those of its containers."""
    given, path = section(spec, "resources"), at / "resources"
    yield from resources(given, path, of_pod=True)
    if given.get("claims") is not None:
        yield field.forbidden(path / "claims", "claims may not be set for Resources at pod-level")
    limits, requests = section(given, "limits"), section(given, "requests")
    for name, total in _aggregate(spec, at).items():
        if name in requests and total > exact(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            yield field.invalid(path / "requests" / Key(name), str(requests[name]), detail)
        elif name in limits and name not in requests and total > exact(limits[name]):
            yield field.invalid(path / "requests", str(total), f"must be less than or equal to {name} limit of {limits[name]}")
    for container, each in items(spec, "containers", at):
        for name, limit in section(each, "resources", "limits").items():
            if name in limits and exact(limit) > exact(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                yield field.invalid(container.join(("resources", "limits")) / Key(name), str(limit), detail)


def _aggregate(spec: Content, at: FieldPath) -> Amounts:
    """Return the requests of all containers: their sum with that of sidecars, or more if init containers need more."""
    total, sidecars, first = Amounts(), Amounts(), Amounts()
    for _, each in items(spec, "containers", at):
        total = _plus(total, _requests(each))
    for _, each in items(spec, "initContainers", at):
        alone = _requests(each)
        if each.get("restartPolicy") == "Always":
            sidecars, alone = _plus(sidecars, alone), Amounts()
        first = {name: max(amount, first.get(name, amount)) for name, amount in {**first, **_plus(sidecars, alone)}.items()}
    total = _plus(total, sidecars)
    return {name: max(total.get(name, _NOTHING), first.get(name, _NOTHING)) for name in {**total, **first}}


def _plus(some: Amounts, more: Amounts) -> Amounts:
    return {name: some.get(name, _NOTHING) + more.get(name, _NOTHING) for name in {**some, **more}}


def _requests(container: Content) -> Amounts:
    given = section(container, "resources")
    amounts = {**section(given, "limits"), **section(given, "requests")}
    return {name: exact(amount) for name, amount in amounts.items()}


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
    amount = exact(written)
    if amount < 0:
        yield field.invalid(at, str(written), "must be greater than or equal to 0")
    if name.startswith(HUGE) and not _divides(name.removeprefix(HUGE), amount):
        yield field.invalid(at, str(written), f"{written} is not positive integer multiple of {name}")
    if name.startswith("requests."):
        yield field.invalid(at, name, "doesn't follow extended resource name standard")
    if is_extended(name) and not _is_whole(amount):
        yield field.invalid(at, str(written), "must be an integer")


def _divides(page: str, amount: decimal.Decimal) -> bool:
    """Return whether an amount is a number of pages of a size such as 2Mi."""
    size = exact(page)
    return size > 0 and _is_whole(size) and int(amount.to_integral_value(decimal.ROUND_UP)) % int(size) == 0


def _is_whole(amount: decimal.Decimal) -> bool:
    return amount == amount.to_integral_value()


def is_quantity(written: Any) -> bool:
    """Return whether an amount can be read."""
    try:
        quantity.exact(written)
    except (ValueError, TypeError):
        return False
    return True


def exact(written: Any) -> decimal.Decimal:
    """Return an amount; 0 if it is no quantity, which its type excludes."""
    try:
        return quantity.exact(written)
    except (ValueError, TypeError):
        return _NOTHING
