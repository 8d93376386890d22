"""Wording of rejections by devices: the claims, the devices that they lack, and the reasons that exclude other devices."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals, free_devices
from scheduler_core.model.device_claims import DeviceShortage
from scheduler_core.model.devices import CANNOT_ALLOCATE, UNAVAILABLE
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.wire import NodeSelector, Requirement
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_VALUES = 3
"""Maximum number of values, taints or selectors in a reason."""
_MOST_NODES = 2048
"""Maximum number of nodes of a domain whose devices are counted together."""
_QUOTES = "\"'"
_MEMBER = re.compile(
    r"""device\.(?:attributes|capacity)\[(?:"[^"]*"|'[^']*')\]\.(?P<name>\w+)\s*"""
    r"""(?:\.compareTo\((?:quantity|semver)\((?P<amount>"[^"]*"|'[^']*')\)\)\s*(?P<sign>==|!=|>=|<=|>|<)\s*0"""
    r"""|(?P<operator>==|!=|>=|<=|>|<)\s*(?P<value>"[^"]*"|'[^']*'|-?\d+|true|false))"""
)
"""Comparison of one attribute or capacity with a literal."""


def with_domain(state: PlacementState, request: PlacementRequest, refusals: NodeRefusals, goal: int) -> NodeRefusals:
    """Return *refusals* with the free devices of all its nodes, if these are too few for *goal* pods; no pod of *request* is assumed."""
    short = refusals.shortage
    if short is None or not short.needed or len(refusals.nodes) > _MOST_NODES or len(request.runs) != 1:
        return refusals
    needed = short.needed * (1 if short.shared else goal)
    free = free_devices(state, refusals.pod, short, refusals.nodes)
    if not 0 <= free < needed or needed == short.needed:
        return refusals
    return dataclasses.replace(refusals, shortage=dataclasses.replace(short, together=(free, needed)))


def device_reason(refusals: NodeRefusals, reason: str, count: int) -> str:
    """Return *reason*, which excludes *count* nodes, with claim, class and number; empty if it is not about devices."""
    some = phrases.some_of(count, len(refusals.nodes))
    if reason == UNAVAILABLE:
        return f"{some} cannot use the devices of {_allocated(refusals.pod)}"
    if reason != CANNOT_ALLOCATE:
        return ""
    if (short := refusals.shortage) is None:
        return _unsatisfied(refusals, some)
    wanted = f"of class {short.device_class}{matching(short)}{_tainted(short)} for claim {_name(short.claim)}"
    if short.together is not None:
        free, needed = short.together
        return f"{phrases.counted(free, 'free device') if free else 'no free device'} {wanted}, {needed} needed"
    some_devices = f"at most {phrases.counted(short.free, 'free device')}" if short.free else "no free device"
    needed_devices = f", {short.needed} needed" if short.needed > 1 else ""
    return f"{some} {'has' if count == 1 else 'have'} {some_devices} {wanted}{needed_devices}"


def matching(short: DeviceShortage) -> str:
    """Return the selectors of a request in words: `` with memory >= 80Gi``; empty if it has none."""
    words = selectors_in_words(short.selectors)
    return f" matching the selectors of request {short.request}" if words is None else words


def selectors_in_words(selectors: Iterable[str]) -> str | None:
    """Return *selectors* as a phrase: `` with memory >= 80Gi``; empty without any, None if one is not a comparison with a literal."""
    found: list[str] = []
    for part in (part for expression in selectors for part in expression.split("&&")):
        if (match := _MEMBER.fullmatch(part.strip())) is None:
            return None
        sign, value = match["sign"] or match["operator"], match["amount"] or match["value"]
        found.append(f"{match['name']} {sign} {value.strip(_QUOTES)}")
    return f" with {phrases.listed(found, _VALUES)}" if found else ""


def _unsatisfied(refusals: NodeRefusals, some: str) -> str:
    """Return why the free devices of *some* nodes do not satisfy claims for each of which there are enough."""
    if refusals.broken is None:
        return f"the free devices of {some} do not satisfy all claims together"
    claim, constraint = refusals.broken
    values = "different values" if constraint.distinct else "one value"
    return f"the free devices of {some} do not have {values} of {constraint.attribute} for claim {_name(claim)}"


def _allocated(pod: PodRecord) -> str:
    """Return the allocated claims of *pod* that some nodes cannot use."""
    found = []
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
        if need.unavailable:
            found.append(f"claim {_name(claim.label)}, whose binding failed")
        elif need.allocated is not None and need.allocated.nodes is not None:
            found.append(f"claim {_name(claim.label)}, which is allocated {_where(need.allocated.nodes)}")
    return phrases.listed(found, _VALUES) if found else "a claim that another pod has taken"


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


def _tainted(short: DeviceShortage) -> str:
    return f" without the taint {phrases.listed(short.taints, _VALUES)}" if short.taints else ""


def _name(label: str) -> str:
    return label.rpartition("/")[2]
