"""ResourceQuotas: what is left of each, and what the new pods of its namespace need.

Source: Kubernetes 1.37.1, pkg/quota/v1/evaluator/core/pods.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.commands.simulate.admission.limit_ranges import Content, items, section
from scheduler_core.loading.pod_requests import demand
from scheduler_core.model import wire
from scheduler_core.model.resource_names import is_extended, size
from validators.model import quantity

_REQUESTS, _LIMITS = "requests.", "limits."
_PODS, _COUNT = "pods", "count/pods"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUIRED = ("cpu", "memory")
_TERMINAL = frozenset({"Succeeded", "Failed"})


def shortages(quotas: Iterable[Content], pods: Sequence[Content], replaced: Sequence[Content], running: Sequence[Content]) -> Iterator[str]:
    """Yield a line for each quota, all of one namespace, that leaves too little for *pods*.

    Args:
        quotas: the quotas of the namespace.
        pods: the new pods.
        replaced: pods that the cluster has now, and that the new ones replace.
        running: all other pods of the namespace, for quotas without a status.

    """
    for quota in sorted(quotas, key=_name):
        mine = [each for each in pods if _selects(quota, each)]
        if not mine:
            continue
        metadata, status = section(quota, "metadata"), section(quota, "status")
        name = f"quota {metadata.get('namespace') or 'default'}/{metadata.get('name')}"
        hard = section(status, "hard") or section(section(quota, "spec"), "hard")
        if missing := _unspecified(hard, mine):
            yield f"{name} refuses pods without {missing}"
        used = _counted_amounts(section(status, "used")) if "used" in status else _usage(each for each in running if _selects(quota, each))
        freed = _usage(each for each in replaced if _selects(quota, each)) if "used" in status else Counter()
        needed = _usage(mine)
        for resource in sorted(set(hard) & set(needed)):
            left = max(_amount(resource, hard[resource]) - max(used[resource] - freed[resource], 0), 0)
            if needed[resource] > left:
                base = _base(resource)
                yield f"{name} leaves {size(base, left)} {_resource_in_words(resource)}, {size(base, needed[resource])} needed"


def _name(quota: Content) -> str:
    return str(section(quota, "metadata").get("name"))


def _usage(pods: Iterable[Content]) -> Counter[str]:
    """Return the usage of *pods* by the names of quotas: cpu in millicores, other resources in units."""
    total: Counter[str] = Counter()
    for pod in pods:
        total[_COUNT] += 1
        if section(pod, "status").get("phase") in _TERMINAL:
            continue
        total[_PODS] += 1
        for resource, amount in _requests(pod).items():
            if resource in _COMPUTE or resource.startswith("hugepages-"):
                total[resource] += amount
            if resource in _COMPUTE or resource.startswith("hugepages-") or is_extended(resource):
                total[f"{_REQUESTS}{resource}"] += amount
        for resource, amount in _limits(pod).items():
            if resource in _COMPUTE:
                total[f"{_LIMITS}{resource}"] += amount
    return total


def _requests(pod: Content) -> dict[str, int]:
    """Return the effective requests; none if they cannot be read, which the reader of the pod reports."""
    try:
        return dict(demand(wire.DECODERS[wire.Pod].decode(wire.ENCODER.encode(pod))).requests)
    except (ValueError, RecursionError):
        return {}


def _limits(pod: Content) -> dict[str, int]:
    """Return the effective limits: computed as requests are, with the overhead of those resources that have a limit."""
    spec = section(pod, "spec")
    whole = {name: [_limiting(each) for each in items(spec, name)] for name in ("containers", "initContainers")}
    level = section(section(spec, "resources"), "limits")
    limits = _requests({"metadata": {"name": "p"}, "spec": {**whole, **({"resources": {"requests": level}} if level else {})}})
    overhead = section(spec, "overhead")
    return {name: value + (_amount(name, overhead[name]) if name in overhead else 0) for name, value in limits.items()}


def _limiting(container: Content) -> Content:
    limits = section(section(container, "resources"), "limits")
    return {"name": "c", "restartPolicy": container.get("restartPolicy"), "resources": {"requests": limits}}


def _unspecified(hard: Mapping[str, Any], pods: Iterable[Content]) -> str:
    """Return the requests and limits of cpu and memory that a quota demands of every container and one lacks."""
    missing: set[str] = set()
    for pod in pods:
        spec = section(pod, "spec")
        level = section(spec, "resources")
        if level.get("requests") or level.get("limits"):
            continue
        for container in (*items(spec, "containers"), *items(spec, "initContainers")):
            resources = section(container, "resources")
            for name in _REQUIRED:
                kinds = {f"{_LIMITS}{name}": "limits", f"{_REQUESTS}{name}": "requests", name: "requests"}
                missing |= {each for each, kind in kinds.items() if each in hard and name not in section(resources, kind)}
    return ", ".join(sorted(missing))


def _selects(quota: Content, pod: Content) -> bool:
    """Return whether a pod matches all scopes of a quota."""
    spec = section(quota, "spec")
    listed = spec.get("scopes")
    scopes = [{"scopeName": each, "operator": "Exists"} for each in (listed if isinstance(listed, list) else ())]
    return all(_in_scope(each, section(pod, "spec")) for each in (*scopes, *items(section(spec, "scopeSelector"), "matchExpressions")))


def _in_scope(scope: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    match scope.get("scopeName"):
        case "Terminating":
            return isinstance(spec.get("activeDeadlineSeconds"), int)
        case "NotTerminating":
            return not isinstance(spec.get("activeDeadlineSeconds"), int)
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            return _has_class(scope, str(spec.get("priorityClassName") or ""))
        case _:
            return _crosses_namespaces(spec)


def _has_class(scope: Mapping[str, Any], name: str) -> bool:
    values = scope.get("values")
    named = name in (values if isinstance(values, list) else ())
    match scope.get("operator"):
        case "In":
            return bool(name) and named
        case "NotIn":
            return not (name and named)
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _is_best_effort(spec: Mapping[str, Any]) -> bool:
    holders = [spec, *items(spec, "containers"), *items(spec, "initContainers")]
    amounts = (section(section(each, "resources"), kind) for each in holders for kind in ("requests", "limits"))
    return not any(name in _REQUIRED and _amount(name, value) for each in amounts for name, value in each.items())


def _crosses_namespaces(spec: Mapping[str, Any]) -> bool:
    affinity = section(spec, "affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = items(section(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")
        weighted = items(section(affinity, kind), "preferredDuringSchedulingIgnoredDuringExecution")
        if any(
            each.get("namespaces") or "namespaceSelector" in each
            for each in (*terms, *(section(each, "podAffinityTerm") for each in weighted))
        ):
            return True
    return False


def _counted_amounts(amounts: Mapping[str, Any]) -> Counter[str]:
    return Counter({resource: _amount(resource, value) for resource, value in amounts.items()})


def _amount(resource: str, written: Any) -> int:
    """Return an amount in millicores for cpu, else in units; 0 if it is no quantity."""
    try:
        return quantity.milli_value(written) if _base(resource) == "cpu" else quantity.value(written)
    except (ValueError, TypeError):
        return 0


def _base(resource: str) -> str:
    return resource.removeprefix(_REQUESTS).removeprefix(_LIMITS)


def _resource_in_words(resource: str) -> str:
    base = _base(resource)
    return f"{base} of limits" if resource.startswith(_LIMITS) else _PODS if resource == _COUNT else base
