"""Usage of objects by the names of resources in quotas.

Source: Kubernetes 1.37.1, pkg/quota/v1/evaluator/core; apiserver, pkg/quota/v1/generic.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from expansion.contents import Content, items
from kubeapi import decode, quantity
from kubeapi.decode import section
from kubeapi.decoders import DECODERS
from kubeapi.pod_requests import demand
from kubeapi.pods import Pod
from kubeapi.resource_names import COUNT, LIMITS, OF_DEVICE_CLASS, OF_STORAGE_CLASS, QUOTA_STORAGE, REQUESTS, is_extended, without_section
from workloadbuilder.adapters.shared.known_objects import group_of

PODS = "pods"
CLAIM = "PersistentVolumeClaim"
_CLAIMS = "persistentvolumeclaims"
_DEVICES = "devices"
_ALL_DEVICES = 32
"""Devices that a request for all of a class counts for."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_CACHED = 256
_TERMINAL = frozenset({"Succeeded", "Failed"})
_COUNTED = frozenset({"configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services", _CLAIMS})
"""Resources of the core group that quotas also count by their bare names."""


def usage(objects: Iterable[Content]) -> Counter[str]:
    """Return the usage of *objects*: cpu in millicores, other resources in units."""
    total: Counter[str] = Counter()
    for each in objects:
        match each.get("kind"):
            case "Pod":
                _add_pod(total, each)
            case kind:
                for name in counted_as(str(each.get("apiVersion")), str(kind)):
                    total[name] += 1
                _add_amounts(total, str(kind), each)
    return total


def counted_as(api_version: str, kind: str) -> Iterator[str]:
    """Yield the names by which quotas count the objects of a kind."""
    group, name = group_of(api_version), _resource(kind)
    yield f"{COUNT}{name}.{group}" if group else f"{COUNT}{name}"
    if not group and name in _COUNTED:
        yield name


def _resource(kind: str) -> str:
    """Return the name of the resource of a kind (apimachinery, UnsafeGuessKindToResource)."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _add_amounts(total: Counter[str], kind: str, content: Content) -> None:
    match kind:
        case "PersistentVolumeClaim":
            _add_storage(total, content)
        case "Service":
            _add_ports(total, section(content, "spec"))
        case "ResourceClaim":
            for request in items(section(section(content, "spec"), "devices"), "requests"):
                total += _devices(request)


def storage_class(claim: Content) -> str:
    """Return the name of the class of a claim; empty if it has none."""
    annotations = section(section(claim, "metadata"), "annotations")
    return str(annotations.get("volume.beta.kubernetes.io/storage-class") or section(claim, "spec").get("storageClassName") or "")


def _add_storage(total: Counter[str], claim: Content) -> None:
    wanted = amount("storage", section(section(section(claim, "spec"), "resources"), "requests").get("storage"))
    total[QUOTA_STORAGE] += wanted
    if name := storage_class(claim):
        total[f"{name}{OF_STORAGE_CLASS}{QUOTA_STORAGE}"] += wanted
        total[f"{name}{OF_STORAGE_CLASS}{_CLAIMS}"] += 1


def _add_ports(total: Counter[str], spec: Mapping[str, Any]) -> None:
    ports = items(spec, "ports")
    if spec.get("type") == "LoadBalancer":
        total["services.loadbalancers"] += 1
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [each for each in ports if each.get("nodePort")]
    if spec.get("type") in {"LoadBalancer", "NodePort"}:
        total["services.nodeports"] += len(ports)


def _devices(request: Content) -> Counter[str]:
    """Return the devices of a request by class: of alternatives, for each class the largest number."""
    alternatives = items(request, "firstAvailable") or [dict(section(request, "exactly")) or request]
    most: Counter[str] = Counter()
    for each in alternatives:
        count = each.get("count", 1)
        number = _ALL_DEVICES if each.get("allocationMode") == "All" else count if isinstance(count, int) else 0
        most |= Counter({f"{each.get('deviceClassName')}{OF_DEVICE_CLASS}{_DEVICES}": number})
    return most


def _add_pod(total: Counter[str], pod: Content) -> None:
    total[f"{COUNT}{PODS}"] += 1
    if section(pod, "status").get("phase") in _TERMINAL:
        return
    total[PODS] += 1
    total.update(_amounts(decode.ENCODER.encode({**pod, "metadata": {"name": "pod"}})))


@functools.lru_cache(maxsize=_CACHED)
def _amounts(text: bytes) -> Mapping[str, int]:
    """Return the resources of a pod as JSON: most pods of an object are equal but for their names."""
    pod, total = decode.parse(text), Counter[str]()
    for resource, value in _requests(pod).items():
        if resource in _COMPUTE or resource.startswith("hugepages-"):
            total[resource] += value
        if resource in _COMPUTE or resource.startswith("hugepages-") or is_extended(resource):
            total[f"{REQUESTS}{resource}"] += value
    for resource, value in _limits(pod).items():
        if resource in _COMPUTE:
            total[f"{LIMITS}{resource}"] += value
    return total


def _requests(pod: Content) -> dict[str, int]:
    """Return the effective requests; none if they cannot be read, which the reader of the pod reports."""
    try:
        return dict(demand(DECODERS[Pod].decode(decode.ENCODER.encode(pod))).requests)
    except (ValueError, RecursionError):
        return {}


def _limits(pod: Content) -> dict[str, int]:
    """Return the effective limits: computed as requests are, with the overhead of those resources that have a limit."""
    spec = section(pod, "spec")
    whole = {name: [_limiting(each) for each in items(spec, name)] for name in ("containers", "initContainers")}
    level = section(section(spec, "resources"), "limits")
    limits = _requests({"metadata": {"name": "p"}, "spec": {**whole, **({"resources": {"requests": level}} if level else {})}})
    overhead = section(spec, "overhead")
    return {name: value + (amount(name, overhead[name]) if name in overhead else 0) for name, value in limits.items()}


def _limiting(container: Content) -> Content:
    limits = section(section(container, "resources"), "limits")
    return {"name": "c", "restartPolicy": container.get("restartPolicy"), "resources": {"requests": limits}}


def counted_amounts(amounts: Mapping[str, Any]) -> Counter[str]:
    """Return amounts by resource as numbers."""
    return Counter({resource: amount(resource, value) for resource, value in amounts.items()})


def amount(resource: str, written: Any) -> int:
    """Return an amount in millicores for cpu, else in units; 0 if it is no quantity."""
    try:
        return quantity.milli_value(written) if without_section(resource) == "cpu" else quantity.value(written)
    except (ValueError, TypeError):
        return 0
