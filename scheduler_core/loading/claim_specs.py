"""Specifications of claims to devices, with the selectors of their device classes; equal specifications share one object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeapi import decode, quantity
from kubeapi.devices import DeviceClass, DeviceSelector
from kubeapi.resource_claims import DeviceConstraint, DeviceRequest, DeviceSubRequest, ResourceClaimSpec
from kubeapi.resource_names import OF_CLASS
from scheduler_core.model.devices import Alternative, AttributeConstraint, ClaimSpec, Request

_ALL, _EXACT = "All", "ExactCount"


class _UnusableClaim(ValueError):
    """A claim that no pod can use; the message is kube-scheduler's where it has one."""


class ClaimSpecs:
    """Reads specifications; *classes* are the device classes by name."""

    def __init__(self, classes: Mapping[str, DeviceClass]) -> None:
        self._classes = classes
        self._specs: dict[bytes, ClaimSpec] = {}

    def spec(self, claim: str, written: ResourceClaimSpec) -> ClaimSpec | str:
        """Return the specification of *claim* (``namespace/name``), or the reason why no pod can use the claim."""
        key = decode.ENCODER.encode(written)
        if (found := self._specs.get(key)) is not None:
            return found
        try:
            requests = tuple(self._request(claim, each) for each in written.devices.requests or ())
            constraints = tuple(_constraints(claim, written.devices.constraints or ()))
        except ValueError as error:
            return str(error)
        found = self._specs[key] = ClaimSpec(requests, constraints)
        return found

    def resources(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return the device class and its selectors for each extended resource; of several classes the newest, then the first by name."""
        explicit: dict[str, DeviceClass] = {}
        for _, each in sorted(self._classes.items(), key=lambda item: item[0]):
            name = each.spec.extended_resource_name
            if name and (name not in explicit or _is_newer(each, explicit[name])):
                explicit[name] = each
        named = {f"{OF_CLASS}{each.metadata.name}": each for each in self._classes.values()} | explicit
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        for name, each in named.items():
            expressions = (selector.cel.expression if selector.cel is not None else "" for selector in each.spec.selectors or ())
            found[name] = each.metadata.name, tuple(expressions)
        return found

    def _request(self, claim: str, request: DeviceRequest) -> Request:
        if request.first_available:
            each = tuple(self._alternative(claim, f"{request.name}/{sub.name}", sub, sub.name) for sub in request.first_available)
            return Request(request.name, each)
        exact = request if request.exactly is None else request.exactly
        if exact is request and not request.device_class_name:
            raise _UnusableClaim(f"resource claim {claim}, request {request.name}: unknown request type")
        return Request(request.name, (self._alternative(claim, request.name, exact, ""),))

    def _alternative(self, claim: str, name: str, request: DeviceSubRequest, own: str) -> Alternative:
        if (device_class := self._classes.get(request.device_class_name)) is None:
            raise _UnusableClaim(f"request {name}: device class {request.device_class_name} does not exist")
        if request.derived_attributes:
            raise _UnusableClaim(f"claim {claim}, request {name}: cannot handle request with derived attributes, the feature is disabled")
        if request.allocation_mode not in ("", _EXACT, _ALL):
            raise _UnusableClaim(f"claim {claim}, request {name}: unsupported count mode {request.allocation_mode}")
        if request.count < 0:
            raise _UnusableClaim(f"claim {claim}, request {name}: count must be greater than zero, not {request.count}")
        amounts = request.capacity.requests if request.capacity is not None else None
        return Alternative(
            name=own,
            device_class=request.device_class_name,
            class_selectors=tuple(_expressions(f"class {request.device_class_name}", device_class.spec.selectors)),
            selectors=tuple(_expressions(f"claim {claim}, request {name}", request.selectors)),
            every=request.allocation_mode == _ALL,
            # The default of the API server.
            count=request.count or 1,
            admin=bool(request.admin_access),
            tolerations=request.tolerations or (),
            capacity={key: quantity.exact(amount) for key, amount in (amounts or {}).items()},
        )


def _is_newer(one: DeviceClass, other: DeviceClass) -> bool:
    return (one.metadata.creation_timestamp or "") > (other.metadata.creation_timestamp or "")


def _expressions(owner: str, selectors: Iterable[DeviceSelector] | None) -> Iterator[str]:
    for index, selector in enumerate(selectors or ()):
        if selector.cel is None:
            raise _UnusableClaim(f"{owner}, selector #{index}: CEL expression empty (unsupported selector type?)")
        yield selector.cel.expression


def _constraints(claim: str, constraints: Iterable[DeviceConstraint]) -> Iterator[AttributeConstraint]:
    for index, each in enumerate(constraints):
        attribute = each.match_attribute or each.distinct_attribute
        if attribute is None:
            raise _UnusableClaim(f"claim {claim}, constraint #{index}: empty constraint (unsupported constraint type?)")
        yield AttributeConstraint(attribute, each.requests or (), distinct=each.match_attribute is None)
