"""Taints of devices and the requests that tolerate them."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.wire_devices import DeviceTaint, DeviceToleration

_EXCLUDING = frozenset({"NoSchedule", "NoExecute"})
"""Effects that keep claims off a device; other effects do not."""


def tolerated(taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration]) -> bool:
    """Return whether a request with *tolerations* can have a device with *taints*."""
    return all(any(_tolerates(each, taint) for each in tolerations) for taint in taints or () if taint.effect in _EXCLUDING)


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)
