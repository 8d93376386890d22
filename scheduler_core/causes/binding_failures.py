"""Why the volumes or devices of pods are not bound before the pods, and what this waits for; of a live cluster only."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from scheduler_core.model.names import Name


class WriteFailed(Record, frozen=True):
    """Claim, volume or pod that could not be written; *error* is the reply of the API server, or stands in for one."""

    target: Name
    error: str


class PodOrNodeGone(Record, frozen=True):
    """Pod that no longer exists, or whose *node* does not."""

    pod: Name
    node: str


class ClaimGone(Record, frozen=True):
    """Claim that no longer exists."""

    claim: Name


class VolumeOutOfReach(Record, frozen=True):
    """Volume to which *claim* is bound, and that *node* cannot use."""

    claim: Name
    volume: str
    node: str


class VolumeNotCreated(Record, frozen=True):
    """Claim for which its provisioner created no volume for *node*."""

    claim: Name
    node: str


class ReservationLost(Record, frozen=True):
    """Claim that is no longer reserved for *pod*."""

    claim: Name
    pod: Name


class OtherDevices(Record, frozen=True):
    """Claim with other devices than those that were chosen."""

    claim: Name


class DeviceAllocatedTwice(Record, frozen=True):
    """Device of *claim*, by driver, pool and name, that *other* has too."""

    claim: Name
    device: str
    other: Name


class DevicesNotBound(Record, frozen=True):
    """Claim whose devices could not be bound to *node*."""

    claim: Name
    node: str


class TimedOut(Record, frozen=True):
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


class PreBindFailed(Record, frozen=True):
    """Step that failed, and why."""

    step: PreBindStep
    because: WriteFailed | PodOrNodeGone | VolumeFailure | DeviceFailure | TimedOut


class PreBindAwaited(Record, frozen=True):
    """Claims that pods wait for: to *volumes* that are not bound, and to *devices* that are not ready."""

    volumes: tuple[Name, ...]
    devices: tuple[Name, ...]
