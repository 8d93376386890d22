"""Taints of devices and the requests that tolerate them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from kubeapi.devices import DeviceTaint
from kubeapi.nodes import Taint
from kubeapi.resource_claims import DeviceToleration
from scheduler_core.plugins.taint_toleration import HARD, Tolerations

_OPERATORS = frozenset({"", "Equal", "Exists"})
"""Operators of devices; a toleration with another one tolerates nothing."""
_CACHED = 256


def tolerated(taints: Iterable[DeviceTaint] | None, tolerations: tuple[DeviceToleration, ...]) -> bool:
    """Return whether a request with *tolerations* can have a device with *taints*."""
    return not any(_excluding(taints, tolerations))


def untolerated(taints: Iterable[DeviceTaint] | None, tolerations: tuple[DeviceToleration, ...]) -> Iterator[Taint]:
    """Yield the *taints* that exclude a request with *tolerations*."""
    for taint in _excluding(taints, tolerations):
        yield Taint(taint.key, taint.effect, taint.value)


def _excluding(taints: Iterable[DeviceTaint] | None, tolerations: tuple[DeviceToleration, ...]) -> Iterator[DeviceTaint]:
    if taints:
        compiled = _compiled(tolerations)
        yield from (taint for taint in taints if taint.effect in HARD and not compiled.cover(taint))


@functools.lru_cache(maxsize=_CACHED)
def _compiled(tolerations: tuple[DeviceToleration, ...]) -> Tolerations:
    return Tolerations(each for each in tolerations if each.operator in _OPERATORS)
