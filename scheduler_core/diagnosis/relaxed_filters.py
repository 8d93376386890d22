"""What if one filter were not there: the leaf tried again on the same domain without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.domain_capacity import homogeneous, slots
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.model.wire import Taint, Toleration
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Filters
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY
from scheduler_core.plugins.node_affinity import NODE_AFFINITY
from scheduler_core.plugins.node_unschedulable import CORDON, UNSCHEDULABLE
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.taint_toleration import HARD, taint_reason, tolerates

_TRIED = 3
"""Filters that are taken away, one at a time, those that refuse the most nodes first."""
_STEPS = 64
"""Pods that are tried one by one are not tried again where there are more."""
_BETWEEN_PODS = {
    SPREAD: "its topology spread constraints were dropped",
    LACKS_TOPOLOGY: "its topology spread constraints were dropped",
    AFFINITY: "its pod affinity were dropped",
    ANTI_AFFINITY: "its pod anti-affinity were dropped",
    EXISTING_ANTI_AFFINITY: "the anti-affinity of other pods did not count",
}
Change = Callable[[PodShape], PodShape]


@dataclasses.dataclass(frozen=True, slots=True)
class WhatIf:
    """One filter less.

    Attributes:
        reason: the filter's.
        phrase: the condition, as ``the taint a=b:NoSchedule on 1 of 4 nodes were tolerated``.
        pods: how many pods the domain would hold.
        counted: whether the phrase says how many nodes it is about.

    """

    reason: str
    phrase: str
    pods: int
    counted: bool


def best(state: PlacementState, request: PlacementRequest, domain: Placement, found: NodeRefusals) -> WhatIf | None:
    """The one filter without which *domain* would hold the most pods; None where none makes a difference.

    Args:
        state: as it is before any pod of the leaf stands on it.
        request: the leaf.
        domain: where.
        found: what keeps one more pod away.

    """
    if not homogeneous(request) and len(request.entity.waiting) > _STEPS:
        return None
    reasons = sorted({**found.static, **_between_pods(found)}.items(), key=lambda each: -int(each[1].sum()))
    options = [_without(state, request, domain, found, reason) for reason, _ in reasons[:_TRIED]]
    known = [option for option in options if option is not None]
    return max(known, key=lambda option: option.pods, default=None)


def taint_of(found: NodeRefusals, reason: str, nodes: NodeTable) -> Taint | None:
    """The taint that *reason* is about; None if it is about none."""
    shape, node = found.pod.shape, int(found.nodes[found.static[reason].argmax()])
    hard = (taint for taint in nodes.taints[node] if taint.effect in HARD and not tolerates(shape.tolerations, taint))
    taint = next(hard, None)
    return taint if taint is not None and taint_reason(taint) == reason else None


def taint_text(taint: Taint) -> str:
    """As kubectl writes it: ``key=value:effect``."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


def about_fields(shape: PodShape, reason: str) -> bool:
    """Whether *reason* is that fields of the shape are not modelled."""
    return any(reason.startswith(field) for field in shape.unmodelled)


def selection(shape: PodShape) -> str:
    """What of a shape chooses nodes by their labels: ``node selector gpu=h100``, ``node affinity``."""
    affinity = shape.affinity.node_affinity if shape.affinity else None
    named = "node affinity" if affinity and affinity.required_during_scheduling_ignored_during_execution else ""
    pairs = phrases.listed([f"{key}={value}" for key, value in shape.node_selector])
    return " and ".join(filter(None, (f"node selector {pairs}" if pairs else "", named)))


def _between_pods(found: NodeRefusals) -> dict[str, Bools]:
    return {reason: mask for reason, mask in found.others.items() if reason in _BETWEEN_PODS}


def _without(state: PlacementState, request: PlacementRequest, domain: Placement, found: NodeRefusals, reason: str) -> WhatIf | None:
    if reason in _BETWEEN_PODS:
        rules = {_BETWEEN_PODS[rule] for rule, _ in state.stateful.filter(found.pod, found.nodes)} | {_BETWEEN_PODS[reason]}
        phrase = _BETWEEN_PODS[reason] if len(rules) == 1 else "all rules between pods were dropped"
        return WhatIf(reason, phrase, _count(state, _unrelated(request), domain), counted=False)
    change, phrase = _change(found, reason, state.nodes)
    if change is None:
        return None
    pods = _count(dataclasses.replace(state, profile=_Relaxed(state.profile, change)), request, domain)
    return WhatIf(reason, phrase, pods, counted=not about_fields(found.pod.shape, reason))


def _change(found: NodeRefusals, reason: str, nodes: NodeTable) -> tuple[Change | None, str]:
    shape, refused, total = found.pod.shape, found.static[reason], len(found.nodes)
    count = int(refused.sum())
    some = phrases.some_of(count, total)
    if reason == UNSCHEDULABLE:
        return _tolerating(CORDON), f"{some} {'was' if count == 1 else 'were'} uncordoned"
    if reason == NODE_AFFINITY:
        unlike = f"{some} {'does' if count == 1 else 'do'} not match"
        return _unselective, f"its {selection(shape)}, which {unlike}, were dropped"
    if taint := taint_of(found, reason, nodes):
        return _tolerating(taint), f"the taint {taint_text(taint)} on {some} were tolerated"
    return (_known, "that were passed over") if about_fields(shape, reason) else (None, "")


def _tolerating(taint: Taint) -> Change:
    """Every effect of that key and value, since the reason does not tell them apart."""
    more = Toleration(key=taint.key, operator="Equal" if taint.value else "Exists", value=taint.value)
    return lambda shape: dataclasses.replace(shape, tolerations=(*shape.tolerations, more))


def _unselective(shape: PodShape) -> PodShape:
    return dataclasses.replace(shape, node_selector=(), affinity=None)


def _known(shape: PodShape) -> PodShape:
    return dataclasses.replace(shape, unmodelled=())


def _count(state: PlacementState, request: PlacementRequest, domain: Placement) -> int:
    if homogeneous(request):
        run = request.runs[0]
        return min(int(slots(state, run)[domain.nodes].sum()), run.count)
    nodes = try_leaf(request, domain, state).nodes
    return 0 if nodes is None else int((nodes >= 0).sum())


def _unrelated(request: PlacementRequest) -> PlacementRequest:
    """As if no other pod mattered to its pods: then they are counted run by run."""
    return dataclasses.replace(request, number=0, special=any(registry.one_by_one(run.shape) for run in request.runs))


class _Relaxed(Profile):
    """Fits of shapes changed before they are looked at; the nodes are known already."""

    def __init__(self, known: Profile, change: Change) -> None:
        vars(self).update(vars(known))
        self._compiled = {}
        self._change = change

    def filters(self, shape: PodShape) -> Filters:
        return super().filters(self._change(shape))
