"""Wording of rejections by devices: the claims, the devices that they lack, and the reasons that exclude other devices."""

from __future__ import annotations

import dataclasses
import itertools
from decimal import Decimal

from scheduler_core.cel.selector import selector_parts
from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.device_causes import DeviceCause, free_devices
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.diagnosis.selector_phrases import selector_phrases
from scheduler_core.model.device_claims import EXTENDED, DeviceLack, DeviceShortage
from scheduler_core.model.devices import CANNOT_ALLOCATE, UNAVAILABLE
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.wire import NodeSelector, Requirement
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.dynamic_resources import NAME

_VALUES = 3
"""Maximum number of values, taints or selectors in a reason."""
_MOST_NODES = 2048
"""Maximum number of nodes of a domain whose devices are counted together."""


def with_domain(state: PlacementState, request: PlacementRequest, refusals: NodeRefusals, goal: int) -> NodeRefusals:
    """Return *refusals* with the free devices of all nodes, or of those that the group can use, if these are too few for *goal* pods.

    No pod of *request* is assumed.
    """
    causes = refusals.devices.get(CANNOT_ALLOCATE, ())
    if not causes or len(refusals.nodes) > _MOST_NODES or len(request.runs) != 1:
        return refusals
    counted = [each for each in causes if goal > 1 and each.shortage is not None and _counts_for_group(each.shortage)]
    for nodes, cause in itertools.product((refusals.nodes, _usable(state, refusals)) if counted else (), counted):
        short = cause.lack.short[0]
        free = free_devices(state, refusals.pod, short, nodes)
        if 0 <= free < short.needed * goal:
            together = dataclasses.replace(short, together=(free, short.needed * goal, len(nodes)))
            # The sum over all nodes is the whole reason.
            others = [each for each in causes if each is not cause] if len(nodes) < len(refusals.nodes) else []
            found = (DeviceCause(DeviceLack((together,)), cause.nodes), *others)
            return dataclasses.replace(refusals, devices={**refusals.devices, CANNOT_ALLOCATE: found})
    return refusals


def _counts_for_group(short: DeviceShortage) -> bool:
    """Return whether each pod of a group needs devices of its own for the request of *short*, of one class."""
    return not short.shared and not short.last and short.needed > 0


def _usable(state: PlacementState, refusals: NodeRefusals) -> Nodes:
    """Return the nodes that no other reason excludes; without those that other claims exclude, if the pod has several."""
    usable = refusals.usable.copy()
    if sum(need.allocates for need in refusals.pod.shape.devices) > 1:
        for plugin, _, mask in state.profile.filters_by_plugin(refusals.pod.shape, last=False):
            usable &= mask[refusals.nodes] | (plugin != NAME)
    return refusals.nodes[usable]


def device_reasons(refusals: NodeRefusals, reason: str, count: int) -> list[str]:
    """Return *reason*, which excludes *count* nodes, with claims, classes and numbers; empty if it is not about devices."""
    if reason == UNAVAILABLE and (allocated := _allocated(refusals.pod)):
        return [f"{phrases.some_of(count, len(refusals.nodes))} cannot use the devices of {allocated}"]
    return [_cause(refusals, each) for each in refusals.devices.get(reason, ())]


def _cause(refusals: NodeRefusals, cause: DeviceCause) -> str:
    some, lack = phrases.some_of(cause.nodes, len(refusals.nodes)), cause.lack
    if cause.shortage is not None:
        return _short(cause.shortage, cause.nodes, len(refusals.nodes))
    if lack.taken is not None:
        label, nodes = lack.taken
        return f"{some} cannot use the devices of claim {_name(label)}, which other pods take {_where(nodes)}"
    if lack.broken is not None:
        claim, constraint = lack.broken
        values = "different values" if constraint.distinct else "one value"
        return f"the free devices of {some} do not have {values} of {constraint.attribute} for claim {_name(claim)}"
    claims = [claim for claim, need in zip(refusals.pod.device_claims, refusals.pod.shape.devices, strict=False) if need.allocates]
    return f"the free devices of {some} do not satisfy {f'claim {_name(claims[0].label)}' if len(claims) == 1 else 'all claims together'}"


def _short(short: DeviceShortage, count: int, total: int) -> str:
    """Return the shortage of *count* nodes of *total*."""
    claim = "its extended resources" if short.claim.endswith(EXTENDED) else f"claim {_name(short.claim)}"
    wanted = f"of class {short.device_class}{_conditions(short)} for {'the last alternative of ' if short.last else ''}{claim}"
    if short.together is not None:
        free, needed, nodes = short.together
        where = f"{phrases.some_of(nodes, total)} {'has' if nodes == 1 else 'have'} " if nodes < total else ""
        return f"{where}{phrases.counted(free, 'free device') if free else 'no free device'} {wanted}, {needed} needed"
    some_devices = f"at most {phrases.counted(short.free, 'free device')}" if short.free else "no free device"
    needed_devices = "" if short.needed == 1 or not (short.needed or short.free) else f", {short.needed or 'all'} needed"
    return f"{phrases.some_of(count, total)} {'has' if count == 1 else 'have'} {some_devices} {wanted}{needed_devices}"


def _conditions(short: DeviceShortage) -> str:
    """Return the conditions of a request in words: selectors, capacity, counters and taints."""
    selected = selector_phrases(selector_parts(short.selectors))
    left = [f"{_amount(size)} of {name}" for name, size in short.capacity]
    if short.counters:
        left.append("enough shared counters")
    phrase = phrases.listed([*(selected or ()), *([f"{phrases.listed(left, _VALUES)} left"] if left else ())], _VALUES)
    unknown = f" matching the selectors of request {short.request}" if selected is None else ""
    taints = f" without the taint {phrases.listed(short.taints, _VALUES)}" if short.taints else ""
    return f"{unknown}{' and' if unknown and phrase else ''}{f' with {phrase}' if phrase else ''}{taints}"


def _amount(value: Decimal) -> str:
    """Return the shortest text of a quantity: ``40G``, ``16Gi``."""
    units = {"": 1, **{suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}}
    units |= {f"{suffix}i": 1024**power for power, suffix in enumerate("KMGTPE", 1)}
    return min((f"{int(value / unit)}{suffix}" for suffix, unit in units.items() if not value % unit), key=len, default=f"{value:f}")


def _allocated(pod: PodRecord) -> str:
    """Return the allocated claims of *pod* that some nodes cannot use; empty if there are none."""
    found = []
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
        if need.unavailable:
            found.append(f"claim {_name(claim.label)}, whose binding failed")
        elif need.allocated is not None and need.allocated.nodes is not None:
            found.append(f"claim {_name(claim.label)}, which is allocated {_where(need.allocated.nodes)}")
    return phrases.listed(found, _VALUES)


def _where(selector: NodeSelector) -> str:
    """Return the nodes of an allocation: ``on node n1``, ``in rack r1``, or ``for other nodes`` if it is not one simple expression."""
    terms = selector.node_selector_terms or ()
    if len(terms) == 1:
        term = terms[0]
        requirements: list[Requirement] = [*(term.match_fields or ()), *(term.match_expressions or ())]
        if len(requirements) == 1 and requirements[0].operator == "In":
            level = "node" if term.match_fields else phrases.level(requirements[0].key)
            return f"{'on' if level == 'node' else 'in'} {level} {phrases.listed(requirements[0].values or (), _VALUES)}"
    return "for other nodes"


def _name(label: str) -> str:
    return label.rpartition("/")[2]
