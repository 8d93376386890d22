"""Wording of messages: amounts with units, counts with nouns, domains by name."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.model.attach_limits import driver_of
from scheduler_core.model.nouns import SHOWN, counted, level, listed
from scheduler_core.model.resource_names import size
from scheduler_core.model.topology import Placement

__all__ = ["LONGEST", "SHOWN", "all_of", "amount", "counted", "holds_phrase", "level", "listed", "place", "places", "some_of"]

LONGEST = 1000
"""Maximum length of a message in characters."""


def amount(resource: str, value: int) -> str:
    """Return a size with its resource: ``1.5 cpu``, ``16Gi memory``, ``8 nvidia.com/gpu``, ``3 pod slots``."""
    name = ("pod slot" if value == 1 else "pod slots") if resource == "pods" else resource
    if value == 1 and driver_of(resource):
        name = name.replace("volumes", "volume", 1)
    if value != 1 and name.startswith("volume of class "):
        name = name.replace("volume", "volumes", 1)
    return f"{size(resource, value)} {name}"


def some_of(count: int, total: int) -> str:
    """Return a number of nodes of a domain: ``1 of 4 nodes``, ``all 4 nodes``, ``both nodes``, ``its only node``."""
    if count < total:
        return f"{count} of {total} nodes"
    return "its only node" if total == 1 else f"{all_of(total)} nodes"


def all_of(total: int) -> str:
    """Return ``both``, or ``all 3``."""
    return "both" if total == 2 else f"all {total}"


def place(placement: Placement) -> str:
    """Return the name of a domain: ``rack r1``, ``rack-1`` (whose value contains the noun), ``the cluster``."""
    if placement.value and not placement.key:
        return placement.value
    if not placement.value:
        return f"the {level(placement.key)} without a name" if placement.key else "the cluster"
    noun = level(placement.key)
    return placement.value if placement.value.startswith(noun) else f"{noun} {placement.value}"


def places(several: Sequence[Placement]) -> str:
    """Return the names of several domains: ``rack r1``, ``racks r1 and r2``, ``rack-1 and rack-2``."""
    noun = level(several[0].key)
    if len(several) == 1 or not noun or any(each.value.startswith(noun) or not each.value for each in several):
        return listed([place(each) for each in several])
    return f"{noun}s {listed([each.value for each in several])}"


def holds_phrase(several: Sequence[Placement], count: int) -> str:
    """Return how many pods domains can hold, such as ``racks r1 and r2 can hold 2 each`` or ``rack r3 can hold none``."""
    each = " each" if count and len(several) > 1 else ""
    return f"{places(several)} can hold {count or 'none'}{each}"
