"""Why the volumes or devices of pods are not bound before the pods, and what this waits for; of a live cluster only."""

from __future__ import annotations

import dataclasses
import enum

from scheduler_core.model.names import Name


@dataclasses.dataclass(frozen=True, slots=True)
class WriteFailed:
    """Claim, volume or pod that could not be written; *error* is the reply of the API server, or stands in for one."""

    target: Name
    error: str


@dataclasses.dataclass(frozen=True, slots=True)
class PodOrNodeGone:
    """Pod that no longer exists, or whose *node* does not."""

    pod: Name
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimGone:
    """Claim that no longer exists."""

    claim: Name


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeOutOfReach:
    """Volume to which *claim* is bound, and that *node* cannot use."""

    claim: Name
    volume: str
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeNotCreated:
    """Claim for which its provisioner created no volume for *node*."""

    claim: Name
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class ReservationLost:
    """Claim that is no longer reserved for *pod*."""

    claim: Name
    pod: Name


@dataclasses.dataclass(frozen=True, slots=True)
class OtherDevices:
    """Claim with other devices than those that were chosen."""

    claim: Name


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceAllocatedTwice:
    """Device of *claim*, by driver, pool and name, that *other* has too."""

    claim: Name
    device: str
    other: Name


@dataclasses.dataclass(frozen=True, slots=True)
class DevicesNotBound:
    """Claim whose devices could not be bound to *node*."""

    claim: Name
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class TimedOut:
    """Claims that are not bound, or whose devices are not ready, within *seconds*."""

    claims: tuple[Name, ...]
    seconds: float


VolumeFailure = ClaimGone | VolumeOutOfReach | VolumeNotCreated
DeviceFailure = ClaimGone | ReservationLost | OtherDevices | DeviceAllocatedTwice | DevicesNotBound


class PreBindStep(enum.StrEnum):
    """Step before pods are bound."""

    VOLUMES = "volumes"
    """Volumes are bound."""
    DEVICES = "devices"
    """Devices are allocated."""


@dataclasses.dataclass(frozen=True, slots=True)
class PreBindFailed:
    """Step that failed, and why."""

    step: PreBindStep
    because: WriteFailed | PodOrNodeGone | VolumeFailure | DeviceFailure | TimedOut


@dataclasses.dataclass(frozen=True, slots=True)
class PreBindAwaited:
    """Claims that pods wait for: to *volumes* that are not bound, and to *devices* that are not ready."""

    volumes: tuple[Name, ...]
    devices: tuple[Name, ...]
