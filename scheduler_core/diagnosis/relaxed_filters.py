"""Effect of dropping one filter: the leaf is tried again on the same domain without it."""

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
from scheduler_core.plugins.base import NamedFilter
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.node_affinity import NODE_AFFINITY
from scheduler_core.plugins.node_unschedulable import CORDON, UNSCHEDULABLE
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD, PodTopologySpread
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.taint_toleration import HARD, Tolerations, taint_reason

_TRIED = 3
"""Number of filters to drop, one at a time, those that reject the most nodes first."""
_STEPS = 64
"""Maximum number of pods to try again one by one."""
_BETWEEN_PODS = {
    SPREAD: "its topology spread constraints were dropped",
    LACKS_TOPOLOGY: "its topology spread constraints were dropped",
    AFFINITY: "its pod affinity were dropped",
    ANTI_AFFINITY: "its pod anti-affinity were dropped",
    EXISTING_ANTI_AFFINITY: "the anti-affinity of other pods were ignored",
}
Change = Callable[[PodShape], PodShape]


@dataclasses.dataclass(frozen=True, slots=True)
class WhatIf:
    """Effect of dropping one filter.

    Attributes:
        reason: the reason of the filter.
        phrase: the condition, such as ``the taint a=b:NoSchedule on 1 of 4 nodes were tolerated``.
        pods: number of pods that the domain would hold.
        counted: True if the phrase states the number of nodes.

    """

    reason: str
    phrase: str
    pods: int
    counted: bool


def best_relaxation(state: PlacementState, request: PlacementRequest, domain: Placement, refusals: NodeRefusals) -> WhatIf | None:
    """Return the filter without which *domain* would hold the most pods; None if none makes a difference.

    Args:
        state: the state before any pod of the leaf is assumed.
        request: the leaf.
        domain: the domain.
        refusals: why one more pod is rejected.

    """
    if not homogeneous(request) and len(request.entity.waiting) > _STEPS:
        return None
    reasons = sorted({**refusals.static, **_between_pods(refusals)}.items(), key=lambda each: -int(each[1].sum()))
    options = [_without(state, request, domain, refusals, reason) for reason, _ in reasons[:_TRIED]]
    known = [option for option in options if option is not None]
    return max(known, key=lambda option: option.pods, default=None)


def taint_of(refusals: NodeRefusals, reason: str, nodes: NodeTable) -> Taint | None:
    """Return the taint of *reason*; None if the reason is not a taint."""
    shape, node = refusals.pod.shape, int(refusals.nodes[refusals.static[reason].argmax()])
    tolerations = Tolerations(shape.tolerations)
    hard = (taint for taint in nodes.taints[node] if taint.effect in HARD and not tolerations.cover(taint))
    taint = next(hard, None)
    return taint if taint is not None and taint_reason(taint) == reason else None


def taint_text(taint: Taint) -> str:
    """Return the taint as kubectl writes it: ``key=value:effect``."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


def about_fields(shape: PodShape, reason: str) -> bool:
    """Return whether *reason* is an unmodelled field of the shape."""
    return any(reason.startswith(field) for field in shape.unmodelled)


def selection(shape: PodShape) -> str:
    """Return how a shape selects nodes by labels: ``node selector gpu=h100``, ``node affinity``."""
    affinity = shape.affinity.node_affinity if shape.affinity else None
    named = "node affinity" if affinity and affinity.required_during_scheduling_ignored_during_execution else ""
    pairs = phrases.listed([f"{key}={value}" for key, value in shape.node_selector])
    return " and ".join(filter(None, (f"node selector {pairs}" if pairs else "", named)))


def _between_pods(refusals: NodeRefusals) -> dict[str, Bools]:
    return {reason: mask for reason, mask in refusals.others.items() if reason in _BETWEEN_PODS}


def _without(state: PlacementState, request: PlacementRequest, domain: Placement, refusals: NodeRefusals, reason: str) -> WhatIf | None:
    if reason in _BETWEEN_PODS:
        others = (each for each in state.stateful.plugins if not isinstance(each, InterPodAffinity | PodTopologySpread))
        if any(each.touches(refusals.pod) and not each.counted(refusals.pod) for each in others):
            # The count would leave out the volumes or devices that the pods compete for as well.
            return None
        refused = {reason, *(each for each, _ in state.stateful.filter(refusals.pod, refusals.nodes))}
        rules = {_BETWEEN_PODS[each] for each in refused if each in _BETWEEN_PODS}
        phrase = _BETWEEN_PODS[reason] if len(rules) == 1 else "all rules between pods were dropped"
        return WhatIf(reason, phrase, _count(state, _unrelated(request), domain), counted=False)
    change, phrase = _change(refusals, reason, state.nodes)
    spreads = (each for each in state.stateful.plugins if isinstance(each, PodTopologySpread))
    if change is None or any(each.honours(refusals.pod, affinity=reason == NODE_AFFINITY) for each in spreads):
        # More nodes would form domains, or fewer: the count of the pods by domain would be another one.
        return None
    pods = _count(dataclasses.replace(state, profile=_Relaxed(state.profile, change)), request, domain)
    return WhatIf(reason, phrase, pods, counted=not about_fields(refusals.pod.shape, reason))


def _change(refusals: NodeRefusals, reason: str, nodes: NodeTable) -> tuple[Change | None, str]:
    shape, refused, total = refusals.pod.shape, refusals.static[reason], len(refusals.nodes)
    count = int(refused.sum())
    affected = phrases.some_of(count, total)
    if reason == UNSCHEDULABLE:
        return _tolerating(CORDON), f"{affected} {'was' if count == 1 else 'were'} uncordoned"
    if reason == NODE_AFFINITY:
        mismatch = f"{affected} {'does' if count == 1 else 'do'} not match"
        return _unselective, f"its {selection(shape)}, which {mismatch}, were dropped"
    if taint := taint_of(refusals, reason, nodes):
        return _tolerating(taint), f"the taint {taint_text(taint)} on {affected} were tolerated"
    return (_known, "it were ignored") if about_fields(shape, reason) else (None, "")


def _tolerating(taint: Taint) -> Change:
    """Tolerate every effect of that key and value, as the reason does not state the effect."""
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
    """Return *request* without dependencies on other pods, so that its pods are counted run by run."""
    return dataclasses.replace(request, number=0, special=any(registry.one_by_one(run.shape) for run in request.runs))


class _Relaxed(Profile):
    """Profile that changes shapes before it filters; the node data is shared."""

    def __init__(self, known: Profile, change: Change) -> None:
        vars(self).update(vars(known))
        self._compiled = {}
        self._change = change

    def filters_by_plugin(self, shape: PodShape, *, last: bool | None = None) -> list[NamedFilter]:
        return super().filters_by_plugin(self._change(shape), last=last)
