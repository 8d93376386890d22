"""Quantities and requests of pods."""

from __future__ import annotations

import functools
import math
import re
from fractions import Fraction
from typing import Any

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter: Fraction(1024**power) for power, letter in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}
UNREQUESTED = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024 * 1024)}
"""Return the requests by which scores count the pod: every container has CPU and memory."""

Amounts = dict[str, Fraction]


@functools.cache
def quantity(text: str | float) -> Fraction:
    """Parse a quantity exactly."""
    match = re.fullmatch(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([a-zA-Z]*))", str(text))
    if match is None:
        raise ValueError(f"{text!r} is no quantity")
    number, exponent, suffix = match.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else SUFFIXES[suffix or ""])


def whole(amounts: Amounts) -> dict[str, int]:
    """Return millicores of CPU and whole units of all other resources, rounded up."""
    return {name: math.ceil(amount * 1000 if name == "cpu" else amount) for name, amount in amounts.items()}


def allocatable(node: dict[str, Any]) -> dict[str, int]:
    return whole({name: quantity(text) for name, text in ((node.get("status") or {}).get("allocatable") or {}).items()})


def requests(spec: dict[str, Any]) -> dict[str, int]:
    """Return the resources that the pod takes of a node."""
    return whole(_of_pod(spec, {}))


def scored(spec: dict[str, Any]) -> dict[str, int]:
    """Return the requests by which scores count the pod: every container has CPU and memory."""
    return whole(_of_pod(spec, UNREQUESTED))


def _of_pod(spec: dict[str, Any], defaults: Amounts) -> Amounts:
    running: Amounts = {}
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("containers") or []:
        running = _plus(running, _of_container(container, defaults))
    for container in spec.get("initContainers") or []:
        own = _of_container(container, defaults)
        if container.get("restartPolicy") == "Always":
            running, sidecars = _plus(running, own), _plus(sidecars, own)
            starting = _most(starting, sidecars)
        else:
            # It runs beside the sidecars that were started before it.
            starting = _most(starting, _plus(own, sidecars))
    total = _most(running, starting)
    for name, text in ((spec.get("resources") or {}).get("requests") or {}).items():
        if name in {"cpu", "memory"} or name.startswith("hugepages-"):
            total[name] = quantity(text)
    return _plus(total, {name: quantity(text) for name, text in (spec.get("overhead") or {}).items()})


def _of_container(container: dict[str, Any], defaults: Amounts) -> Amounts:
    resources = container.get("resources") or {}
    # The API server fills in a request that is left out where there is a limit.
    written = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {**defaults, **{name: quantity(text) for name, text in written.items()}}


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, Fraction(0)) + other.get(name, Fraction(0)) for name in {*one, *other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Fraction(0)), other.get(name, Fraction(0))) for name in {*one, *other}}
