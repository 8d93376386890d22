"""Reasons of filters that state more than a text of kube-scheduler or of a plugin."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from kubeapi.device_shares import Share, first_share


class DeviceAdvice(enum.StrEnum):
    """Change that prevents an error about devices."""

    TEST_ATTRIBUTE = "test-attribute"
    """Test in the selector whether the device has the attribute."""
    CORRECT_EXPRESSION = "correct-expression"
    """Correct the expression of the selector."""
    FEWER_DEVICES = "fewer-devices"
    """Request fewer devices in the claim."""
    PUBLISH_POOL = "publish-pool"
    """Let the driver publish the whole pool, or request a number of devices."""
    DROP_CONSTRAINT = "drop-constraint"
    """Drop the constraint, or request a number of devices."""


class UnmodelledField(Record, frozen=True):
    """Fields of the pod that can exclude nodes and are not modelled."""

    fields: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return the text by which the filter is known."""
        return ",".join(self.fields)

    @property
    def share(self) -> Share | None:
        """Return the share of a device that one of the fields requests; None if none does, and the fields can be ignored."""
        return first_share(self.fields)


class DeviceError(Record, frozen=True):
    """Error of kube-scheduler about devices that refuses a node and does not end the attempt, and what to change."""

    error: str
    advice: DeviceAdvice

    @property
    def key(self) -> str:
        """Return the text by which the filter is known."""
        return self.error


class SearchUnfinished(Record, frozen=True):
    """Search for devices that ended after *tried* of them; None if the pod requests too many devices to search for."""

    tried: int | None

    @property
    def key(self) -> str:
        """Return the text by which the filter is known."""
        return "too-many-devices" if self.tried is None else "timed-out"


class RelationsUnmet(Record, frozen=True):
    """Relations of the pod to other pods that do not hold on a node, whichever victims are evicted there."""

    @property
    def key(self) -> str:
        """Return the text by which the filter is known."""
        return "node-relations-unmet"


ReasonValue = UnmodelledField | DeviceError | SearchUnfinished | RelationsUnmet
"""Reasons that are more than the text by which the filter is known, their *key*."""
FilterReason = str | ReasonValue
"""Why a filter refuses nodes; a text is that of kube-scheduler or of a plugin."""
