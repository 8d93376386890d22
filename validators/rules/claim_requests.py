"""Requests of a claim have unique names and one type each; constraints and configurations name requests of the claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from validators import content, field
from validators.field import FieldError, FieldPath
from validators.model.devices import DeviceRequest, DeviceSubRequest
from validators.rules import checks
from validators.rules.base import CLAIMS, Context, Example, Rule

_MODES = ("All", "ExactCount")
_ONE_TYPE = "exactly one of `exactly` or `firstAvailable` is required"
_REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at requests, alternatives, constraints and configurations."""
    path, devices = context.device_claim
    yield from _names(path / "requests", devices.requests or ())
    for index, request in enumerate(devices.requests or ()):
        yield from _request(path.join(("requests", index)), request)
    known = devices.names()
    constraints, configurations = devices.constraints or (), devices.config or ()
    for name, listed in (("constraints", [each.requests for each in constraints]), ("config", [each.requests for each in configurations])):
        for index, references in enumerate(listed):
            for number, reference in enumerate(references or ()):
                if reference not in known:
                    yield field.invalid(path.join((name, index, "requests", number)), reference, _REFERENCE)


def _names(path: FieldPath, requests: Sequence[DeviceSubRequest]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        if not request.name:
            yield field.required(path.join((index, "name")))
        elif request.name in seen:
            yield field.duplicate(path / index, request.name, "must be unique among the requests of the list")
        else:
            yield from checks.messages(path.join((index, "name")), request.name, content.label)
        seen.add(request.name)


def _request(path: FieldPath, request: DeviceRequest) -> Iterator[FieldError]:
    alternatives = [*request.alternatives(path)]
    if not alternatives:
        yield field.required(path, _ONE_TYPE)
    elif request.exactly is not None and request.first_available:
        yield field.invalid(path, request.name, f"{_ONE_TYPE}, but multiple fields are set")
    yield from _names(path / "firstAvailable", request.first_available or ())
    for at, each in alternatives:
        if each.allocation_mode and each.allocation_mode not in _MODES:
            yield field.not_supported(at / "allocationMode", each.allocation_mode, _MODES)
        elif each.allocation_mode == "All" and each.count:
            yield field.invalid(at / "count", each.count, "must not be specified when allocationMode is 'All'")
        elif each.count < 0:
            yield field.invalid(at / "count", each.count, "must be greater than zero")


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
