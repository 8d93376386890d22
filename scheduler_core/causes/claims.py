"""Causes about claims to devices: their consumers, reservations and allocations."""

from __future__ import annotations

from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.causes.filter_reasons import DeviceAdvice
from scheduler_core.model.names import Name, NamedClaim


class ClaimFull(Record, frozen=True):
    """Claim with as many consumers as it can have; *pod_group* is that of the pod, if it has one."""

    claim: NamedClaim
    pod_group: Name | None


class DevicesAwaited(Record, frozen=True):
    """Claim that gets its devices when the pods that an earlier root evicts are gone."""

    claim: NamedClaim


class PodsLeftOut(Record, frozen=True):
    """Number of pods that are left out of an attempt, and why."""

    pods: int
    reasons: tuple[ClaimFull | DevicesAwaited, ...]


class DevicesExchanged(Record, frozen=True):
    """Pod whose claims get the devices of each other."""

    pod: str


class SharedClaims(Record, frozen=True):
    """Claims whose pods are not bound together."""

    claims: tuple[NamedClaim, ...]


class BoundOtherwise(Record, frozen=True):
    """Placement that kube-scheduler does not bind as decided."""

    faults: tuple[DevicesExchanged | SharedClaims, ...]


class SelectorNotEvaluated(Record, frozen=True):
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


class SelectorsNotEvaluated(Record, frozen=True):
    """Selectors that could not be evaluated for some device, which was left out."""

    unevaluated: tuple[SelectorNotEvaluated, ...]


class BindingConditionsAwaited(Record, frozen=True):
    """Pod that waits for the binding conditions of a device of *node*."""

    node: str


class WaitingPod(NamedTuple):
    """Pod with its node."""

    pod: str
    node: str


class PodsAwaitDevices(Record, frozen=True):
    """Pods that wait for the binding conditions of devices, each with its node."""

    waiting_pods: tuple[WaitingPod, ...]


class ReservationRefused(Record, frozen=True):
    """Claim that the API server does not let kube-scheduler reserve.

    *too_many* is True if it has the most consumers; otherwise it was allocated without the time of the allocation.
    """

    claim: NamedClaim
    too_many: bool


class ClaimsDeallocated(Record, frozen=True):
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
