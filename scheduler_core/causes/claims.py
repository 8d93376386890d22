"""Causes about claims to devices: their consumers, reservations and allocations."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from scheduler_core.causes.filter_reasons import DeviceAdvice
from scheduler_core.model.names import Name, NamedClaim


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimFull:
    """Claim with as many consumers as it can have; *pod_group* is that of the pod, if it has one."""

    claim: NamedClaim
    pod_group: Name | None


@dataclasses.dataclass(frozen=True, slots=True)
class DevicesAwaited:
    """Claim that gets its devices when the pods that an earlier root evicts are gone."""

    claim: NamedClaim


@dataclasses.dataclass(frozen=True, slots=True)
class PodsLeftOut:
    """Number of pods that are left out of an attempt, and why."""

    pods: int
    reasons: tuple[ClaimFull | DevicesAwaited, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class DevicesExchanged:
    """Pod whose claims get the devices of each other."""

    pod: str


@dataclasses.dataclass(frozen=True, slots=True)
class SharedClaims:
    """Claims whose pods are not bound together."""

    claims: tuple[NamedClaim, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class BoundOtherwise:
    """Placement that kube-scheduler does not bind as decided."""

    faults: tuple[DevicesExchanged | SharedClaims, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorNotEvaluated:
    """Selector that cannot be evaluated for a device.

    Attributes:
        claim: the claim that has the selector; None if it is that of a class.
        device_class: the class that has the selector; empty if it is that of a claim.
        index: position among the selectors of the request or class.
        device: driver, pool and device; empty if the expression is not valid.
        error: error of the API server about the expression.

    """

    claim: NamedClaim | None
    device_class: str
    index: int
    device: str
    error: str
    advice: DeviceAdvice


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorsNotEvaluated:
    """Selectors that could not be evaluated for some device, which was left out."""

    unevaluated: tuple[SelectorNotEvaluated, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class BindingConditionsAwaited:
    """Pod that waits for the binding conditions of a device of *node*."""

    node: str


class WaitingPod(NamedTuple):
    """Pod with its node."""

    pod: str
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class PodsAwaitDevices:
    """Pods that wait for the binding conditions of devices, each with its node."""

    waiting_pods: tuple[WaitingPod, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ReservationRefused:
    """Claim that the API server does not let kube-scheduler reserve.

    *too_many* is True if it has the most consumers; otherwise it was allocated without the time of the allocation.
    """

    claim: NamedClaim
    too_many: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimsDeallocated:
    """Claims that are allocated, but reserved for nobody: deallocated first, or *afterwards*."""

    claims: tuple[NamedClaim, ...]
    afterwards: bool = False


ClaimCause = (
    ClaimFull
    | DevicesAwaited
    | PodsLeftOut
    | BoundOtherwise
    | SelectorsNotEvaluated
    | BindingConditionsAwaited
    | PodsAwaitDevices
    | ReservationRefused
    | ClaimsDeallocated
)
