"""Taints of devices and the requests that tolerate them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler_core.model.wire_devices import DeviceTaint, DeviceToleration

_EXCLUDING = frozenset({"NoSchedule", "NoExecute"})
"""Effects that keep claims off a device; other effects do not."""


def tolerated(taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration]) -> bool:
    """Return whether a request with *tolerations* can have a device with *taints*."""
    return not any(_excluding(taints, tolerations))


def untolerated(taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration]) -> Iterator[str]:
    """Yield the *taints* that exclude a request with *tolerations*, as ``key=value:effect``."""
    for taint in _excluding(taints, tolerations):
        yield f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _excluding(taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration]) -> Iterator[DeviceTaint]:
    return (taint for taint in taints or () if taint.effect in _EXCLUDING and not any(_tolerates(each, taint) for each in tolerations))


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)
