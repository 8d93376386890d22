"""Requests of a claim have unique names, one type and a class each; constraints and configurations name requests of the claim."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.resource_claims import MAX_ALTERNATIVES, MAX_IN_CLAIM
from validators import field
from validators.field import FieldError
from validators.model.views import DeviceRequest, DeviceSubRequest
from validators.rules import checks
from validators.rules.base import CLAIMS, Context, Example, Rule

_MODES = ("All", "ExactCount")
_ONE_TYPE = "exactly one of `exactly` or `firstAvailable` is required"
_REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_label = functools.partial(content.label, unit="characters")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at requests, alternatives, and the references of constraints and configurations."""
    path, devices = context.device_claim
    requests = devices.requests or ()
    if len(requests) > MAX_IN_CLAIM:
        yield field.too_many(path / "requests", len(requests), MAX_IN_CLAIM)
    else:
        yield from _names(path / "requests", requests)
        for index, request in enumerate(requests):
            yield from _request(path.join(("requests", index)), request)
    known = devices.names()
    constraints, configurations = devices.constraints or (), devices.config or ()
    for name, listed in (("constraints", [each.requests for each in constraints]), ("config", [each.requests for each in configurations])):
        if len(listed) > MAX_IN_CLAIM:
            yield field.too_many(path / name, len(listed), MAX_IN_CLAIM)
            continue
        for index, references in enumerate(listed):
            yield from _references(path.join((name, index, "requests")), references or (), known)


def _names(path: FieldPath, requests: Sequence[DeviceSubRequest]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        yield from checks.messages(path.join((index, "name")), request.name, _label)
        if request.name in seen:
            yield field.duplicate(path / index, request.name, "must be unique among the requests of the list")
        seen.add(request.name)


def _request(path: FieldPath, request: DeviceRequest) -> Iterator[FieldError]:
    alternatives = request.first_available or ()
    if request.exactly is not None and alternatives:
        yield field.invalid(path, None, f"{_ONE_TYPE}, but multiple fields are set")
        return
    if len(alternatives) > MAX_ALTERNATIVES:
        yield field.too_many(path / "firstAvailable", len(alternatives), MAX_ALTERNATIVES)
        return
    yield from _names(path / "firstAvailable", alternatives)
    found = [*request.alternatives(path)]
    for at, each in found:
        yield from _content(at, each, "bytes" if alternatives else "characters")
    if not found:
        yield field.required(path, _ONE_TYPE)


def _content(path: FieldPath, request: DeviceSubRequest, unit: str) -> Iterator[FieldError]:
    """Yield errors of an exact request or an alternative; *unit* is that in which the API server states the length of a class."""
    if not request.device_class_name:
        yield field.required(path / "deviceClassName")
    else:
        yield from checks.messages(path / "deviceClassName", request.device_class_name, functools.partial(content.subdomain, unit=unit))
    if request.allocation_mode and request.allocation_mode not in _MODES:
        yield field.not_supported(path / "allocationMode", request.allocation_mode, _MODES)
    elif request.allocation_mode == "All" and request.count:
        yield field.invalid(path / "count", request.count, "must not be specified when allocationMode is 'All'")
    elif request.count < 0:
        yield field.invalid(path / "count", request.count, "must be greater than zero")


def _references(path: FieldPath, references: Sequence[str], known: frozenset[str]) -> Iterator[FieldError]:
    if len(references) > MAX_IN_CLAIM:
        yield field.too_many(path, len(references), MAX_IN_CLAIM)
        return
    for number, reference in enumerate(references):
        segments = reference.split("/")
        for segment in dict.fromkeys(segments) if len(segments) < 3 else ():
            yield from checks.messages(path / number, segment, _label)
        if reference not in known:
            yield field.invalid(path / number, reference, _REFERENCE)
        if reference in references[:number]:
            yield field.duplicate(path / number, reference)


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus-of-one-node}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com, count: 2}}
    - {name: nic, exactly: {deviceClassName: nic.example.com}}
    constraints:
    - {requests: [gpu, nic], matchAttribute: example.com/numa}
"""

RULE = Rule(
    id="claim-requests",
    kinds=CLAIMS,
    why="Constraints, configurations and containers refer to a request by its name; the API server refuses other claims.",
    source="Kubernetes 1.37.1, validation of ResourceClaim",
    check=check,
    good=(Example(_CLAIM),),
    bad=(
        Example(_CLAIM.replace("[gpu, nic]", "[gpus, nic]"), at=("spec.devices.constraints[0].requests[0]",)),
        Example(_CLAIM.replace("name: nic,", "name: gpu,").replace("[gpu, nic]", "[gpu]"), at=("spec.devices.requests[1]",)),
        Example(_CLAIM.replace("count: 2", "count: 2, allocationMode: All"), at=("spec.devices.requests[0].exactly.count",)),
        Example(
            _CLAIM.replace("{name: nic, exactly: {deviceClassName: nic.example.com}}", "{name: nic}"), at=("spec.devices.requests[1]",)
        ),
    ),
)
