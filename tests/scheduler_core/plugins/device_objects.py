"""Builders of devices and claims as manifests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from tests.scheduler_core.builders import Json, leaf, pod

API = "resource.k8s.io/v1"
DRIVER, CLASS = "gpu.example", "gpu"
_number = itertools.count()


def device_class(name: str = CLASS, **spec: Any) -> Json:
    """Return a DeviceClass, which selects all devices."""
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def device_slice(
    on: str | None, *devices: Json | str, pool: str = "", name: str = "", generation: int = 1, count: int = 1, **spec: Any
) -> Json:
    """Return a ResourceSlice of *devices* (a text is the name of a plain device) on the node *on*; pool and slice have its name."""
    written = [{"name": each} if isinstance(each, str) else each for each in devices]
    reach = {"nodeName": on} if on else {}
    pool_of = {"name": pool or on or "all", "generation": generation, "resourceSliceCount": count}
    body = {"driver": DRIVER, "pool": pool_of, "devices": written, **reach, **spec}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": name or f"s-{on or pool}"}, "spec": body}


def device(name: str, /, attributes: Mapping[str, Any] | None = None, **more: Any) -> Json:
    """Return a device; the values of *attributes* are texts, numbers or booleans."""
    if attributes:
        kinds = {bool: "bool", int: "int", str: "string"}
        more["attributes"] = {key: {kinds[type(value)]: value} for key, value in attributes.items()}
    return {"name": name, **more}


def request(name: str = "gpu", device_class: str = CLASS, **more: Any) -> Json:
    """Return an exact request."""
    return {"name": name, "exactly": {"deviceClassName": device_class, **more}}


def claim_spec(*requests: Json, constraints: Iterable[Json] = ()) -> Json:
    """Return the specification of a claim; without *requests* it requests one device."""
    return {"devices": {"requests": list(requests) or [request()], **({"constraints": [*constraints]} if constraints else {})}}


def template(name: str = "one", *requests: Json, constraints: Iterable[Json] = ()) -> Json:
    """Return a ResourceClaimTemplate."""
    metadata = {"name": name, "namespace": "default"}
    spec = {"spec": claim_spec(*requests, constraints=constraints)}
    return {"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def resource_claim(name: str, *requests: Json, devices: Iterable[str] = (), users: Iterable[str] = (), **more: Any) -> Json:
    """Return a ResourceClaim, allocated to *devices* (``request=pool/device``) and reserved for the pods *users*.

    *more* are fields of metadata, ``nodes`` the node selector of the allocation, and ``results`` fields of all its devices.
    """
    nodes, fields = more.pop("nodes", None), more.pop("results", {})
    status: Json = {}
    if results := [_result(each, fields) for each in devices]:
        selector = {"nodeSelector": nodes} if nodes else {}
        status["allocation"] = {"devices": {"results": results}, "allocationTimestamp": "2026-08-01T00:00:00Z", **selector}
        status["reservedFor"] = [{"resource": "pods", "name": user, "uid": user} for user in users]
    metadata = {"name": name, "namespace": "default", **more}
    return {"apiVersion": API, "kind": "ResourceClaim", "metadata": metadata, "spec": claim_spec(*requests), "status": status}


def _result(text: str, fields: Json) -> Json:
    name, _, given = text.partition("=")
    pool, _, own = given.partition("/")
    return {"request": name, "driver": DRIVER, "pool": pool, "device": own, **fields}


def only_on(*names: str) -> Json:
    """Return a node selector for the nodes *names*."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [*names]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def wanting(name: str = "p", *entries: str, group: str = "", **more: Any) -> Json:
    """Return a pod with *entries*: ``entry=claim``, or ``entry:template``; without them it has the claim ``g`` of the template ``one``."""
    claims = []
    for each in entries or ("g:one",):
        entry, colon, of_template = each.partition(":")
        if colon:
            claims.append({"name": entry, "resourceClaimTemplateName": of_template})
        else:
            claims.append({"name": each.partition("=")[0], "resourceClaimName": each.partition("=")[2]})
    written = pod(name, group, resourceClaims=claims, **more)
    minutes, seconds = divmod(next(_number), 60)
    hours, minutes = divmod(minutes, 60)
    written["metadata"] |= {"uid": name, "creationTimestamp": f"2026-08-01T{hours:02}:{minutes:02}:{seconds:02}Z"}
    return written


def wanting_gang(size: int, *entries: str, key: str = "rack", **more: Any) -> list[Json]:
    """Return the group g of *size* pods p0, p1, ... in one domain of *key*, each with *entries*; *more* are fields of the group."""
    return [leaf("g", size, key, **more), *(wanting(f"p{number}", *entries, group="g") for number in range(size))]
