"""Effective requests of a pod, as kube-scheduler counts them.

The base is the larger of what runs together (containers and sidecars) and what starts (an init container with the sidecars
before it).  Pod-level requests replace it; overhead is added (Kubernetes 1.37.1, component-helpers ``resource``, PodRequests;
KEP-753, KEP-2837).  For a running pod in a resize, the largest of requested, allocated and actual resources counts
(KEP-1287).  API server defaults are applied first, for manifests that were never sent to a server.

Sums are in thousandths, as in the API server, and are rounded up to whole units (CPU: millicores) at the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from kubeapi import quantity
from kubeapi.base_structs import Record
from kubeapi.pods import Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements
from kubeapi.resource_names import BUILT_IN, is_extended

LARGEST = quantity.LARGEST // 1000
"""Upper limit of a request, so that thousandths of it, and a hundred times the amount, fit in 64 bits.  No node has so much: a larger request
fits nowhere."""

_Millis = dict[str, int]
_Pick = Callable[[Container, str], _Millis]

# Amounts that scores count for a container without requests (Kubernetes 1.37.1, pkg/scheduler/util, pod_resources.go).
_UNREQUESTED: _Millis = {"cpu": 100, "memory": 200 * 1024 * 1024 * 1000}


class PodRequests(Record, frozen=True):
    """Requests of a pod: CPU in millicores, all else in units."""

    requests: tuple[tuple[str, int], ...]
    """Sorted by name; amounts above 0 only, and ``pods``, which is 1."""
    scored: tuple[int, int]
    """CPU and memory as scores count them."""
    containers_scored: tuple[int, int] | None = None
    """The same without pod-level requests; None if there are none."""


def demand(pod: Pod) -> PodRequests:
    """Return the effective requests of *pod*.

    Raises:
        ValueError: a quantity is negative or unreadable; the text names the field.

    """
    spec, status = pod.spec, pod.status
    own = _own_requests(spec)
    total = _total(spec, status, own, {})
    # With pod-level requests, the default applies only to resources that neither the pod nor a container requests.
    unrequested = {name: amount for name, amount in _UNREQUESTED.items() if not own or name not in total}
    scored = _total(spec, status, own, unrequested) if unrequested else total
    requests = {name: whole for name, milli in total.items() if name != "pods" and counted(name) and (whole := _whole(name, milli))}
    return PodRequests(
        tuple(sorted((requests | {"pods": 1}).items())),
        _cpu_and_memory(scored),
        _cpu_and_memory(_total(spec, status, {}, _UNREQUESTED)) if own else None,
    )


def amounts(written: Mapping[str, quantity.Amount], path: str) -> Mapping[str, int]:
    """Return the amounts of the resources that placement counts: CPU in millicores, all else in units.  Equal ones share the result.

    Raises:
        ValueError: a quantity is negative or unreadable, or is counted otherwise by some version of Kubernetes; the text names the field,
            which is in *path*.

    """
    return _amounts(tuple(written.items()), path)


@functools.lru_cache(maxsize=1024)
def _amounts(items: tuple[tuple[str, quantity.Amount], ...], path: str) -> Mapping[str, int]:
    # Most nodes of a cluster have the same amounts.
    written, result = dict(items), {}
    for name, milli in _millis(written, path).items():
        if not counted(name):
            continue
        if milli >= quantity.LARGEST and not quantity.fits(written[name], 3 if name == "cpu" else 0):
            message = f"{path}[{name}] is too large: 64 bits do not hold it, and kube-scheduler 1.37 counts another amount"
            raise ValueError(message)
        result[name] = min(LARGEST - 1, _whole(name, milli))
    return result


@functools.lru_cache(maxsize=1024)
def counted(name: str) -> bool:
    """Return whether placement counts a resource: a built-in one, or one with a domain."""
    if name in BUILT_IN or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return is_extended(name) or "kubernetes.io/" in name


def _cpu_and_memory(millis: _Millis) -> tuple[int, int]:
    return _whole("cpu", millis.get("cpu", 0)), _whole("memory", millis.get("memory", 0))


def _whole(name: str, milli: int) -> int:
    return min(LARGEST, milli if name == "cpu" else -(-milli // 1000))


def _millis(written: Mapping[str, quantity.Amount] | None, path: str) -> _Millis:
    millis = {}
    for name, amount in (written or {}).items():
        try:
            millis[name] = quantity.milli_value(amount)
        except ValueError as error:
            message = f"{path}[{name}]: {error}"
            raise ValueError(message) from None
        if millis[name] < 0:
            message = f"{path}[{name}] is negative: {amount}"
            raise ValueError(message)
    return millis


def _total(spec: PodSpec, status: PodStatus, own: _Millis, unrequested: _Millis) -> _Millis:
    total = _container_total(spec, status, unrequested)
    if own:
        if status.resources is not None:
            requested = {} if _is_infeasible(status) else own
            actual = _millis(status.resources.requests, "status.resources.requests")
            own = _maximum(requested, actual, _millis(status.allocated_resources, "status.allocatedResources"))
        total |= {name: milli for name, milli in own.items() if _is_own(name)}
    _add(total, _millis(spec.overhead, "spec.overhead"))
    return total


def _container_total(spec: PodSpec, status: PodStatus, unrequested: _Millis) -> _Millis:
    def together(pick: _Pick) -> _Millis:
        return _together(spec, lambda container, path: unrequested | pick(container, path))

    requested = together(_requests)
    statuses = {each.name: each for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ()))}
    infeasible = _is_infeasible(status)
    if not infeasible and status.resources is None and not any(map(_reports_amounts, statuses.values())):
        return requested
    if status.allocated_resources is not None and status.resources is not None and status.resources.requests is not None:
        allocated = _millis(status.allocated_resources, "status.allocatedResources")
        actual = _millis(status.resources.requests, "status.resources.requests")
    else:
        allocated = together(_allocated(statuses, infeasible=infeasible))
        actual = together(_actual(statuses, infeasible=infeasible))
    return _maximum(actual, allocated) if infeasible else _maximum(requested, actual, allocated)


def _together(spec: PodSpec, pick: _Pick) -> _Millis:
    """Return what all containers need, if *pick* returns the need of each."""
    total: _Millis = {}
    for index, container in enumerate(spec.containers or ()):
        _add(total, pick(container, f"spec.containers[{index}]"))
    sidecars: _Millis = {}
    start: _Millis = {}
    for index, container in enumerate(spec.init_containers or ()):
        needs = pick(container, f"spec.initContainers[{index}]")
        if container.restart_policy == "Always":
            _add(total, needs)
            _add(sidecars, needs)
            start = _maximum(start, sidecars)
        else:
            _add(needs, sidecars)
            start = _maximum(start, needs)
    return _maximum(total, start)


def _requests(container: Container, path: str) -> _Millis:
    """Return the requests; a limit without a request counts as the request."""
    return _limits(container, path) | _millis(container.resources.requests, f"{path}.resources.requests")


def _limits(container: Container, path: str) -> _Millis:
    return _millis(container.resources.limits, f"{path}.resources.limits")


def _allocated(statuses: Mapping[str, ContainerStatus], *, infeasible: bool) -> _Pick:
    def pick(container: Container, path: str) -> _Millis:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources is not None:
            return _millis(status.allocated_resources, f"status of {container.name}, allocatedResources")
        return {} if infeasible else _requests(container, path)

    return pick


def _actual(statuses: Mapping[str, ContainerStatus], *, infeasible: bool) -> _Pick:
    allocated = _allocated(statuses, infeasible=infeasible)

    def pick(container: Container, path: str) -> _Millis:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests is not None:
            return _millis(status.resources.requests, f"status of {container.name}, resources.requests")
        return allocated(container, path)

    return pick


def _own_requests(spec: PodSpec) -> _Millis:
    """Return pod-level requests with API server defaults (KEP-2837; pkg/api/pod, DefaultPodLevelResources)."""
    own = spec.resources or ResourceRequirements()
    if not own.requests and not own.limits:
        return {}
    requests = _millis(own.requests, "spec.resources.requests")
    limits = _millis(own.limits, "spec.resources.limits")
    of_containers = _together(spec, _requests)
    pages = {name: milli for name, milli in _together(spec, _limits).items() if name.startswith("hugepages-") and name not in requests}
    shared = {name: milli for name, milli in of_containers.items() if name in _UNREQUESTED}
    filled = pages | limits | shared | requests
    return {name: milli for name, milli in filled.items() if _is_own(name)}


def _is_own(name: str) -> bool:
    """Return whether a resource can be requested at pod level."""
    return name in _UNREQUESTED or name.startswith("hugepages-")


def _reports_amounts(status: ContainerStatus) -> bool:
    return status.allocated_resources is not None or status.resources is not None


def _is_infeasible(status: PodStatus) -> bool:
    pending = next((each for each in status.conditions or () if each.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _add(total: _Millis, more: Mapping[str, int]) -> None:
    for name, milli in more.items():
        total[name] = total.get(name, 0) + milli


def _maximum(*each: Mapping[str, int]) -> _Millis:
    maximum: _Millis = {}
    for one in each:
        for name, milli in one.items():
            maximum[name] = max(maximum.get(name, 0), milli)
    return maximum
