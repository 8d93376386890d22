"""Content of a ResourceClaim after it is allocated, reserved or released, as kube-scheduler's DynamicResources plugin writes it.

Source: Kubernetes 1.37.1, bindClaim and structured/internal/incubating (Allocate).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from kubeapi.versions import served_versions
from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.sidecar.writes import AllocateClaim, Ref, ReleaseClaim, WriteOutcome

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Finalizer of a claim that is allocated; the resourceclaim controller removes it."""
_FROM_CLASS, _FROM_CLAIM = "FromClass", "FromClaim"

Json = Any


def claim_outcome(
    write: AllocateClaim | ReleaseClaim, content: Mapping[str, Json], *, terminating: bool
) -> tuple[WriteOutcome, str] | None:
    """Return the outcome of *write*, given the current claim; None if it must still be made."""
    status = content.get("status") or {}
    reserved = {each.get("uid") for each in status.get("reservedFor") or ()}
    allocation = status.get("allocation")
    if isinstance(write, ReleaseClaim):
        released = reserved.isdisjoint(each.uid for each in write.consumers) and (reserved or allocation is None)
        return (WriteOutcome.DONE, "") if released else None
    if allocation is not None and not _has_devices(allocation, write.allocation):
        return WriteOutcome.REFUSED, "it got allocated elsewhere in the meantime"
    if allocation is None and write.only_reserve:
        # Another claim can have its devices by now.
        return WriteOutcome.REFUSED, "it got deallocated elsewhere in the meantime"
    is_reserved = reserved.issuperset(each.uid for each in write.consumers)
    if allocation is not None and is_reserved and not needs_finalizer(write, content):
        return WriteOutcome.DONE, ""
    return (WriteOutcome.REFUSED, "it is being deleted") if terminating else None


def needs_finalizer(write: AllocateClaim | ReleaseClaim, content: Mapping[str, Json]) -> bool:
    """Return whether the finalizer must be added before the claim is allocated or reserved.

    An allocated claim lacks it if the process was killed while it deleted the claim.
    """
    return isinstance(write, AllocateClaim) and FINALIZER not in (content["metadata"].get("finalizers") or ())


def changed_claim(write: AllocateClaim | ReleaseClaim, content: Mapping[str, Json], now: str) -> dict[str, Json]:
    """Return the claim *content* with the status after *write*; *now* is RFC 3339."""
    status = dict(content.get("status") or {})
    reserved = list(status.get("reservedFor") or ())
    if isinstance(write, ReleaseClaim):
        gone = {each.uid for each in write.consumers}
        reserved = [each for each in reserved if each.get("uid") not in gone]
        if not reserved:
            status = {}
    else:
        known = {each.get("uid") for each in reserved}
        reserved += [_consumer(each) for each in write.consumers if each.uid not in known]
        if status.get("allocation") is None:
            # Without the time, kube-scheduler can never reserve the claim.
            status["allocation"] = _allocation_json(write, content, now)
    return {**content, "status": {**status, "reservedFor": reserved}}


def _has_devices(allocation: Json, wanted: Allocation) -> bool:
    results = (allocation.get("devices") or {}).get("results") or ()
    written = tuple(
        GivenDevice(each.get("request", ""), (each.get("driver", ""), each.get("pool", ""), each.get("device", ""))) for each in results
    )
    return wanted.same_devices(Allocation(written))


def _consumer(ref: Ref) -> dict[str, str]:
    resource = served_versions.resource(ref.kind, ref.group or served_versions.hub_of(ref.kind).group)
    named = {"resource": resource.resource, "name": ref.name, "uid": ref.uid}
    return {"apiGroup": resource.group, **named} if resource.group else named


def _allocation_json(write: AllocateClaim, content: Mapping[str, Json], now: str) -> dict[str, Json]:
    requests = ((content.get("spec") or {}).get("devices") or {}).get("requests") or ()
    chosen = {each.request for each in write.allocation.devices}
    selected = list(_selected(requests, chosen))
    by_name = dict(selected)
    seed = f"{content['metadata'].get('uid')} {now}"
    results = [_result(each, by_name.get(each.request, {}), f"{seed} {number}") for number, each in enumerate(write.allocation.devices)]
    devices: dict[str, Json] = {"results": results}
    if configuration := list(_configurations(write, content, selected)):
        devices["config"] = configuration
    allocation: dict[str, Json] = {"devices": devices, "allocationTimestamp": now}
    if write.allocation.nodes is not None:
        allocation["nodeSelector"] = msgspec.to_builtins(write.allocation.nodes)
    return allocation


def _selected(requests: Iterable[Json], chosen: set[str]) -> Iterator[tuple[str, Json]]:
    """Yield each request, or its alternative that was chosen, by the name in the allocation."""
    for request in requests:
        alternatives = request.get("firstAvailable") or ()
        for each in alternatives:
            if (name := f"{request['name']}/{each['name']}") in chosen:
                yield name, each
        if not alternatives:
            # v1beta1 has the fields of an exact request in the request itself.
            yield request["name"], request.get("exactly") or request


def _result(device: GivenDevice, request: Json, seed: str) -> dict[str, Json]:
    driver, pool, name = device.id
    result: dict[str, Json] = {"request": device.request, "driver": driver, "pool": pool, "device": name}
    optional = {
        "adminAccess": device.admin,
        "tolerations": request.get("tolerations"),
        "shareID": _uuid(seed) if device.shared else None,
        "consumedCapacity": {name: _quantity(amount) for name, amount in device.consumed},
        "bindingConditions": list(device.conditions),
        "bindingFailureConditions": list(device.failure_conditions),
    }
    return {**result, **{field: value for field, value in optional.items() if value}}


def _configurations(write: AllocateClaim, content: Mapping[str, Json], selected: list[tuple[str, Json]]) -> Iterator[dict[str, Json]]:
    """Yield the configuration of the device classes, each once, then that of the claim for the chosen requests."""
    classes: dict[str, list[str]] = {}
    for name, request in selected:
        classes.setdefault(request.get("deviceClassName", ""), []).append(name)
    of_class = dict(write.configurations)
    for each, names in classes.items():
        for one in msgspec.json.decode(of_class.get(each, b"[]")):
            yield _configuration(_FROM_CLASS, one, names, selected)
    chosen = {name for full, _ in selected for name in (full, full.partition("/")[0])}
    for one in content["spec"]["devices"].get("config") or ():
        names = one.get("requests") or []
        if not names or chosen.intersection(names):
            yield _configuration(_FROM_CLAIM, one, names, selected)


def _configuration(source: str, written: Json, names: list[str], selected: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return one configuration; names that cover all requests are left out."""
    covers_all = all({full, full.partition("/")[0]}.intersection(names) for full, _ in selected)
    configuration = {key: value for key, value in written.items() if key != "requests"}
    return {"source": source, **configuration, **({"requests": names} if names and not covers_all else {})}


def _uuid(seed: str) -> str:
    """Return a UUID that depends on *seed* only."""
    text = hashlib.sha256(seed.encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:32]}"


def _quantity(amount: Decimal) -> str:
    """Return *amount* as a Kubernetes quantity."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
