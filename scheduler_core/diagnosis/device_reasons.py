"""Rejections by devices: the claims, the devices that they lack, and the reasons that exclude other devices."""

from __future__ import annotations

import dataclasses
import itertools

from kubeapi.base_structs import replaced
from kubeapi.selectors import NodeSelector, Requirement
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
from scheduler_core.diagnosis.device_causes import DeviceCause, free_devices
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.device_claims import DeviceLack, DeviceShortage, DevicesTogether
from scheduler_core.model.names import HOSTNAME, NamedClaim
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.base import Refusal
from scheduler_core.plugins.dynamic_resources import DEVICES_LACKING, DEVICES_UNAVAILABLE, NAME

_MOST_NODES = 2048
"""Maximum number of nodes of a domain whose devices are counted together."""


def with_domain(state: PlacementState, request: PlacementRequest, refusals: NodeRefusals, goal: int) -> NodeRefusals:
    """Return *refusals* with the free devices of all nodes, or of those that the group can use, if these are too few for *goal* pods.

    No pod of *request* is assumed.
    """
    causes = refusals.devices.get(DEVICES_LACKING, ())
    if not causes or len(refusals.nodes) > _MOST_NODES or len(request.runs) != 1:
        return refusals
    counted = [each for each in causes if goal > 1 and each.shortage is not None and _counts_for_group(each.shortage)]
    for nodes, cause in itertools.product((refusals.nodes, _usable(state, refusals)) if counted else (), counted):
        short = cause.lack.short[0]
        free = free_devices(state, refusals.pod, short, nodes)
        if 0 <= free < short.needed * goal:
            together = replaced(short, together=DevicesTogether(free, short.needed * goal, len(nodes)))
            # The sum over all nodes is the whole reason.
            others = [each for each in causes if each is not cause] if len(nodes) < len(refusals.nodes) else []
            found = (DeviceCause(DeviceLack((together,)), cause.nodes), *others)
            return dataclasses.replace(refusals, devices={**refusals.devices, DEVICES_LACKING: found})
    return refusals


def _counts_for_group(short: DeviceShortage) -> bool:
    """Return whether each pod of a group needs devices of its own for the request of *short*, of one class."""
    return not short.shared and not short.last and short.needed > 0


def _usable(state: PlacementState, refusals: NodeRefusals) -> Nodes:
    """Return the nodes that no other reason excludes; without those that other claims exclude, if the pod has several."""
    usable = refusals.usable.copy()
    if sum(need.allocates for need in refusals.pod.shape.devices) > 1:
        for refusal, mask in state.profile.filters_by_plugin(refusals.pod.shape, last=False):
            usable &= mask[refusals.nodes] | (refusal.plugin != NAME)
    return refusals.nodes[usable]


def device_reasons(refusals: NodeRefusals, refusal: Refusal, count: int) -> list[DeviceRefusal]:
    """Return why *refusal* excludes *count* nodes, with claims, classes and numbers; empty if it is not about devices."""
    if refusal == DEVICES_UNAVAILABLE and (allocated := _allocated(refusals.pod)):
        return [DevicesElsewhere(allocated, NodeCount(count, len(refusals.nodes)))]
    return [_cause(refusals, each) for each in refusals.devices.get(refusal, ())]


def _cause(refusals: NodeRefusals, cause: DeviceCause) -> DeviceRefusal:
    nodes, lack = NodeCount(cause.nodes, len(refusals.nodes)), cause.lack
    claims = {each.label: each.named for each in refusals.pod.device_claims}
    if (short := cause.shortage) is not None:
        return _insufficient(claims[short.claim], short, nodes)
    if lack.taken is not None:
        label, place = lack.taken
        return DevicesTaken(claims[label], _place(place), nodes)
    if lack.broken is not None:
        label, broken = lack.broken
        return DeviceConstraintUnmet(claims[label], broken.attribute, nodes, broken.distinct, broken.requests)
    needs = zip(refusals.pod.device_claims, refusals.pod.shape.devices, strict=False)
    return ClaimsUnsatisfied(tuple(claim.named for claim, need in needs if need.allocates), nodes)


def _insufficient(claim: NamedClaim, short: DeviceShortage, nodes: NodeCount) -> InsufficientDevices:
    from scheduler_core.cel.selector import selector_parts

    return InsufficientDevices(
        claim,
        short.device_class,
        short.request,
        short.free,
        short.needed or None,
        nodes,
        selectors=selector_parts(short.selectors),
        capacity=short.capacity,
        taints=short.taints,
        last_alternative=short.last,
        shared=short.shared,
        counters_used=short.counters,
        together=short.together,
    )


def _allocated(pod: PodRecord) -> tuple[AllocatedClaim, ...]:
    """Return the allocated claims of *pod* that some nodes cannot use."""
    claims = []
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
        if need.unavailable:
            claims.append(AllocatedClaim(claim.named, None, failed=True))
        elif need.allocated is not None and need.allocated.nodes is not None:
            claims.append(AllocatedClaim(claim.named, _place(need.allocated.nodes)))
    return tuple(claims)


def _place(selector: NodeSelector) -> NodeLabel | None:
    """Return the nodes of an allocation; None if they are not given by one simple expression."""
    terms = selector.node_selector_terms or ()
    if len(terms) != 1:
        return None
    requirements: list[Requirement] = [*(terms[0].match_fields or ()), *(terms[0].match_expressions or ())]
    if len(requirements) != 1 or requirements[0].operator != "In":
        return None
    # The only field is the name of the node.
    return NodeLabel(HOSTNAME if terms[0].match_fields else requirements[0].key, tuple(requirements[0].values or ()))
