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
from scheduler_core.model.nouns import counted, level, listed
from scheduler_core.wording import phrases
from scheduler_core.wording.selector_phrases import selector_phrases

_VALUES = 3
"""Maximum number of values, taints or selectors in a reason."""


def device_words(cause: DeviceRefusal) -> str:
    """Return *cause* in words, with claims, classes and numbers."""
    match cause:
        case InsufficientDevices():
            return _short(cause)
        case DevicesTaken():
            taken = f"claim {_name(cause.claim)}, which other pods take {_where(cause.place)}"
            return f"{phrases.some_of(cause.nodes)} cannot use the devices of {taken}"
        case DeviceConstraintUnmet():
            values = f"{'different values' if cause.constraint.distinct else 'one value'} of {cause.constraint.attribute}"
            return f"the free devices of {phrases.some_of(cause.nodes)} do not have {values} for claim {_name(cause.claim)}"
        case ClaimsUnsatisfied():
            claims = f"claim {_name(cause.claims[0])}" if len(cause.claims) == 1 else "all claims together"
            return f"the free devices of {phrases.some_of(cause.nodes)} do not satisfy {claims}"
        case DevicesElsewhere():
            return f"{phrases.some_of(cause.nodes)} cannot use the devices of {listed([*map(_allocated, cause.claims)], _VALUES)}"
    assert_never(cause)


def _short(cause: InsufficientDevices) -> str:
    """Return the shortage of some nodes, or of all of them together."""
    short, nodes = cause.shortage, cause.nodes
    claim = "its extended resources" if _name(short.claim) == EXTENDED else f"claim {_name(short.claim)}"
    wanted = f"of class {short.device_class}{_conditions(cause)} for {'the last alternative of ' if short.last else ''}{claim}"
    if short.together is not None:
        free, needed, together = short.together
        some = NodeCount(together, nodes.total)
        where = f"{phrases.verb(some, 'has', 'have')} " if together < nodes.total else ""
        return f"{where}{counted(free, 'free device') if free else 'no free device'} {wanted}, {needed} needed"
    some_devices = f"at most {counted(short.free, 'free device')}" if short.free else "no free device"
    needed_devices = "" if short.needed == 1 or not (short.needed or short.free) else f", {short.needed or 'all'} needed"
    return f"{phrases.verb(nodes, 'has', 'have')} {some_devices} {wanted}{needed_devices}"


def _conditions(cause: InsufficientDevices) -> str:
    """Return the conditions of a request in words: selectors, capacity, counters and taints."""
    short, selected = cause.shortage, selector_phrases(cause.selectors)
    left = [f"{_amount(size)} of {name}" for name, size in short.capacity]
    if short.counters:
        left.append("enough shared counters")
    phrase = listed([*(selected or ()), *([f"{listed(left, _VALUES)} left"] if left else ())], _VALUES)
    unknown = f" matching the selectors of request {short.request}" if selected is None else ""
    taints = f" without the taint {listed(short.taints, _VALUES)}" if short.taints else ""
    return f"{unknown}{' and' if unknown and phrase else ''}{f' with {phrase}' if phrase else ''}{taints}"


def _amount(value: Decimal) -> str:
    """Return the shortest text of a quantity: ``40G``, ``16Gi``."""
    units = {"": 1, **{suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}}
    units |= {f"{suffix}i": 1024**power for power, suffix in enumerate("KMGTPE", 1)}
    return min((f"{int(value / unit)}{suffix}" for suffix, unit in units.items() if not value % unit), key=len, default=f"{value:f}")


def _allocated(claim: AllocatedClaim) -> str:
    """Return an allocated claim that some nodes cannot use."""
    return f"claim {_name(claim.claim)}, {'whose binding failed' if claim.failed else f'which is allocated {_where(claim.place)}'}"


def _where(place: NodeLabel | None) -> str:
    """Return the nodes of an allocation: ``on node n1``, ``in rack r1``, or ``for other nodes`` if they are not known."""
    if place is None:
        return "for other nodes"
    noun = level(place.key)
    return f"{'on' if noun == 'node' else 'in'} {noun} {listed(place.values, _VALUES)}"


def _name(label: str) -> str:
    return label.rpartition("/")[2]
