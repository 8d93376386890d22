"""What a pod takes on a node: its effective requests, as kube-scheduler counts them.

The larger of what runs together (containers and sidecars) and what starts (an init container with the sidecars before it),
then the pod's own requests in place of it, then the overhead (Kubernetes 1.37.1, component-helpers ``resource``, PodRequests;
KEP-753, KEP-2837).  A running pod that is being resized counts with the most of what it asks for, is granted and has
(KEP-1287).  What the API server would have filled in is filled in first, for manifests that never passed one.

Sums are in thousandths, as the API server keeps them, and become whole units at the end.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping

from scheduler_core.model.nodes import BUILT_IN
from scheduler_core.model.wire import Container, ContainerStatus, Pod, PodSpec, PodStatus, Resources
from validators import content
from validators.model import quantity

LARGEST = quantity.LARGEST // 1000
"""No amount counts for more: in thousandths it is what 64 bits hold, and a hundred times it is not too much for them either."""

_Millis = dict[str, int]
_Pick = Callable[[Container, str], _Millis]

# What a container counts for in scores where it requests nothing (Kubernetes 1.37.1, pkg/scheduler/util, pod_resources.go).
_UNREQUESTED: _Millis = {"cpu": 100, "memory": 200 * 1024 * 1024 * 1000}


@dataclasses.dataclass(frozen=True, slots=True)
class PodRequests:
    """What a pod takes: CPU in millicores, all else in units."""

    requests: tuple[tuple[str, int], ...]
    """By name; amounts above 0 only, and ``pods``, which is 1."""
    scored: tuple[int, int]
    """CPU and memory as scores count them."""


def demand(pod: Pod) -> PodRequests:
    """The effective requests of *pod*.

    Raises:
        ValueError: a quantity is negative or unreadable; the text names the field.
    """
    spec, status = pod.spec, pod.status
    own = _own_requests(spec)
    total = _total(spec, status, own, {})
    # Where the pod has requests of its own, only what neither it nor a container requests is made up.
    unrequested = {name: amount for name, amount in _UNREQUESTED.items() if not own or name not in total}
    scored = _total(spec, status, own, unrequested) if unrequested else total
    requests = {name: whole for name, milli in total.items() if name != "pods" and counted(name) and (whole := _whole(name, milli))}
    return PodRequests(
        tuple(sorted((requests | {"pods": 1}).items())), (_whole("cpu", scored.get("cpu", 0)), _whole("memory", scored.get("memory", 0)))
    )


def amounts(written: Mapping[str, quantity.Amount], path: str) -> dict[str, int]:
    """Amounts of the resources that placement counts: CPU in millicores, all else in units.

    Raises:
        ValueError: a quantity is negative or unreadable; the text names the field, which is in *path*.
    """
    return {name: _whole(name, milli) for name, milli in _millis(written, path).items() if counted(name)}


@functools.lru_cache(maxsize=1024)
def counted(name: str) -> bool:
    """Whether a resource counts at all: one of the built-in, or one with a domain; others are passed over."""
    if name in BUILT_IN or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    if "/" not in name or "kubernetes.io/" in name:
        return "/" in name
    # An extended resource is one that a quota can name (core/v1 helper, IsExtendedResourceName).
    return not name.startswith("requests.") and not content.label_key(f"requests.{name}")


def _whole(name: str, milli: int) -> int:
    return min(LARGEST, milli if name == "cpu" else -(-milli // 1000))


def _millis(written: Mapping[str, quantity.Amount] | None, path: str) -> _Millis:
    found = {}
    for name, amount in (written or {}).items():
        try:
            found[name] = quantity.milli_value(amount)
        except ValueError as error:
            message = f"{path}[{name}]: {error}"
            raise ValueError(message) from None
        if found[name] < 0:
            message = f"{path}[{name}] is negative: {amount}"
            raise ValueError(message)
    return found


def _total(spec: PodSpec, status: PodStatus, own: _Millis, unrequested: _Millis) -> _Millis:
    total = _of_containers(spec, status, unrequested)
    if own:
        if status.resources is not None:
            asked = {} if _is_infeasible(status) else own
            has = _millis(status.resources.requests, "status.resources.requests")
            own = _most(asked, has, _millis(status.allocated_resources, "status.allocatedResources"))
        total |= {name: milli for name, milli in own.items() if _is_own(name)}
    _add(total, _millis(spec.overhead, "spec.overhead"))
    return total


def _of_containers(spec: PodSpec, status: PodStatus, unrequested: _Millis) -> _Millis:
    def together(pick: _Pick) -> _Millis:
        return _together(spec, lambda container, path: unrequested | pick(container, path))

    asked = together(_requests)
    statuses = {each.name: each for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ()))}
    infeasible = _is_infeasible(status)
    if not infeasible and status.resources is None and not any(map(_tells_amounts, statuses.values())):
        return asked
    if status.allocated_resources is not None and status.resources is not None and status.resources.requests is not None:
        granted = _millis(status.allocated_resources, "status.allocatedResources")
        has = _millis(status.resources.requests, "status.resources.requests")
    else:
        granted = together(_granted(statuses, infeasible=infeasible))
        has = together(_had(statuses, infeasible=infeasible))
    return _most(has, granted) if infeasible else _most(asked, has, granted)


def _together(spec: PodSpec, pick: _Pick) -> _Millis:
    """What all containers need, by what *pick* says that each does."""
    total: _Millis = {}
    for place, container in enumerate(spec.containers or ()):
        _add(total, pick(container, f"spec.containers[{place}]"))
    sidecars: _Millis = {}
    start: _Millis = {}
    for place, container in enumerate(spec.init_containers or ()):
        needs = pick(container, f"spec.initContainers[{place}]")
        if container.restart_policy == "Always":
            _add(total, needs)
            _add(sidecars, needs)
            start = _most(start, sidecars)
        else:
            _add(needs, sidecars)
            start = _most(start, needs)
    return _most(total, start)


def _requests(container: Container, path: str) -> _Millis:
    """What is requested; where only the limit is written, the limit."""
    return _limits(container, path) | _millis(container.resources.requests, f"{path}.resources.requests")


def _limits(container: Container, path: str) -> _Millis:
    return _millis(container.resources.limits, f"{path}.resources.limits")


def _granted(statuses: Mapping[str, ContainerStatus], *, infeasible: bool) -> _Pick:
    def pick(container: Container, path: str) -> _Millis:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources is not None:
            return _millis(status.allocated_resources, f"status of {container.name}, allocatedResources")
        return {} if infeasible else _requests(container, path)

    return pick


def _had(statuses: Mapping[str, ContainerStatus], *, infeasible: bool) -> _Pick:
    granted = _granted(statuses, infeasible=infeasible)

    def pick(container: Container, path: str) -> _Millis:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests is not None:
            return _millis(status.resources.requests, f"status of {container.name}, resources.requests")
        return granted(container, path)

    return pick


def _own_requests(spec: PodSpec) -> _Millis:
    """The requests of the pod itself with what the API server fills in (KEP-2837; pkg/api/pod, DefaultPodLevelResources)."""
    own = spec.resources or Resources()
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
    """Whether a pod can request this resource as a whole."""
    return name in _UNREQUESTED or name.startswith("hugepages-")


def _tells_amounts(status: ContainerStatus) -> bool:
    return status.allocated_resources is not None or status.resources is not None


def _is_infeasible(status: PodStatus) -> bool:
    pending = next((each for each in status.conditions or () if each.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _add(total: _Millis, more: Mapping[str, int]) -> None:
    for name, milli in more.items():
        total[name] = total.get(name, 0) + milli


def _most(*each: Mapping[str, int]) -> _Millis:
    most: _Millis = {}
    for one in each:
        for name, milli in one.items():
            most[name] = max(most.get(name, 0), milli)
    return most
