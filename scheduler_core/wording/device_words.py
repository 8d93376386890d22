"""Wording of rejections by devices: the claims, the devices that they lack, and the reasons that exclude other devices."""

from __future__ import annotations

from decimal import Decimal
from typing import assert_never

from scheduler_core.causes.device_refusals import (
    AllocatedClaim,
    ClaimsUnsatisfied,
    DeviceConstraintUnmet,
    DeviceRefusal,
    DevicesElsewhere,
    DevicesTaken,
    InsufficientDevices,
)
from scheduler_core.causes.node_count import NodeCount, NodeLabel
from scheduler_core.model.device_claims import EXTENDED
from scheduler_core.wording import phrases
from scheduler_core.wording.nouns import counted, level, listed, preposition
from scheduler_core.wording.selector_phrases import selector_phrases
from scheduler_core.wording.titles import taint_text

_VALUES = 3
"""Maximum number of values, taints or selectors in a reason."""


def device_words(cause: DeviceRefusal) -> str:
    """Return *cause* in words, with claims, classes and numbers."""
    match cause:
        case InsufficientDevices():
            return _short(cause)
        case DevicesTaken():
            taken = f"claim {cause.claim.short_name}, which other pods take {_where(cause.place)}"
            return f"{phrases.some_of(cause.nodes)} cannot use the devices of {taken}"
        case DeviceConstraintUnmet():
            values = f"{'different values' if cause.distinct else 'one value'} of {cause.attribute}"
            return f"the free devices of {phrases.some_of(cause.nodes)} do not have {values} for claim {cause.claim.short_name}"
        case ClaimsUnsatisfied():
            claims = f"claim {cause.claims[0].short_name}" if len(cause.claims) == 1 else "all claims together"
            return f"the free devices of {phrases.some_of(cause.nodes)} do not satisfy {claims}"
        case DevicesElsewhere():
            return f"{phrases.some_of(cause.nodes)} cannot use the devices of {listed([*map(_allocated, cause.claims)], _VALUES)}"
    assert_never(cause)


def _short(cause: InsufficientDevices) -> str:
    """Return the shortage of some nodes, or of all of them together."""
    nodes, name = cause.nodes, cause.claim.short_name
    claim = "its extended resources" if name == EXTENDED else f"claim {name}"
    wanted = f"of class {cause.device_class}{_conditions(cause)} for {'the last alternative of ' if cause.last_alternative else ''}{claim}"
    if (together := cause.together) is not None:
        where = f"{phrases.verb(NodeCount(together.nodes, nodes.total), 'has', 'have')} " if together.nodes < nodes.total else ""
        return f"{where}{counted(together.free, 'free device') if together.free else 'no free device'} {wanted}, {together.needed} needed"
    some_devices = f"at most {counted(cause.free, 'free device')}" if cause.free else "no free device"
    needed_devices = "" if cause.needed == 1 or not (cause.needed or cause.free) else f", {cause.needed or 'all'} needed"
    return f"{phrases.verb(nodes, 'has', 'have')} {some_devices} {wanted}{needed_devices}"


def _conditions(cause: InsufficientDevices) -> str:
    """Return the conditions of a request in words: selectors, capacity, counters and taints."""
    selected = selector_phrases(cause.selectors)
    left = [f"{_amount(size)} of {name}" for name, size in cause.capacity]
    if cause.counters_used:
        left.append("enough shared counters")
    phrase = listed([*(selected or ()), *([f"{listed(left, _VALUES)} left"] if left else ())], _VALUES)
    unknown = f" matching the selectors of request {cause.request}" if selected is None else ""
    taints = f" without the taint {listed(sorted(map(taint_text, cause.taints)), _VALUES)}" if cause.taints else ""
    return f"{unknown}{' and' if unknown and phrase else ''}{f' with {phrase}' if phrase else ''}{taints}"


def _amount(value: Decimal) -> str:
    """Return the shortest text of a quantity: ``40G``, ``16Gi``."""
    units = {"": 1, **{suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}}
    units |= {f"{suffix}i": 1024**power for power, suffix in enumerate("KMGTPE", 1)}
    return min((f"{int(value / unit)}{suffix}" for suffix, unit in units.items() if not value % unit), key=len, default=f"{value:f}")


def _allocated(claim: AllocatedClaim) -> str:
    """Return an allocated claim that some nodes cannot use."""
    return f"claim {claim.claim.short_name}, {'whose binding failed' if claim.failed else f'which is allocated {_where(claim.place)}'}"


def _where(place: NodeLabel | None) -> str:
    """Return the nodes of an allocation: ``on node n1``, ``in rack r1``, or ``for other nodes`` if they are not known."""
    if place is None:
        return "for other nodes"
    return f"{preposition(place.key)} {level(place.key)} {listed(place.values, _VALUES)}"
