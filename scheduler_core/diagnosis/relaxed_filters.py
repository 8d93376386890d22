"""Effect of dropping one filter: the leaf is tried again on the same domain without it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import assert_never

from kubeapi.nodes import Taint
from kubeapi.pods import Toleration
from scheduler_core.causes.domains import DroppedFilter, PodRule, Relaxable
from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import Cordoned, FurtherTaint, NodeAffinityMismatch, UntoleratedTaint
from scheduler_core.diagnosis.domain_capacity import homogeneous, slots
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import NamedFilter, Refusal
from scheduler_core.plugins.claim_allocation import requests_count
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.node_affinity import NODE_AFFINITY, NodeAffinity, required_affinity, unmet_requirements
from scheduler_core.plugins.node_unschedulable import CORDON, UNSCHEDULABLE, NodeUnschedulable
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD, PodTopologySpread
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.taint_toleration import HARD, TaintToleration, Tolerations
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields

_TRIED = 3
"""Number of filters to drop, one at a time, those that reject the most nodes first."""
_STEPS = 64
"""Maximum number of pods to try again one by one."""
_CORDONED = Refusal(NodeUnschedulable.name, UNSCHEDULABLE)
_NOT_SELECTED = Refusal(NodeAffinity.name, NODE_AFFINITY)
_BETWEEN_PODS = {
    Refusal(PodTopologySpread.name, SPREAD): PodRule.SPREAD,
    Refusal(PodTopologySpread.name, LACKS_TOPOLOGY): PodRule.SPREAD,
    Refusal(InterPodAffinity.name, AFFINITY): PodRule.AFFINITY,
    Refusal(InterPodAffinity.name, ANTI_AFFINITY): PodRule.ANTI_AFFINITY,
    Refusal(InterPodAffinity.name, EXISTING_ANTI_AFFINITY): PodRule.EXISTING_ANTI_AFFINITY,
}
Change = Callable[[PodShape], PodShape]
NodeState = Cordoned | NodeAffinityMismatch | UntoleratedTaint


def best_relaxation(state: PlacementState, request: PlacementRequest, domain: Placement, refusals: NodeRefusals) -> DroppedFilter | None:
    """Return the filter without which *domain* would hold the most pods; None if none makes a difference.

    Args:
        state: the state before any pod of the leaf is assumed.
        request: the leaf.
        domain: the domain.
        refusals: why one more pod is rejected.

    """
    if not homogeneous(request) and len(request.entity.waiting) > _STEPS:
        return None
    filters = sorted(_filters(state, refusals), key=lambda each: -each[1])
    options = [_without(state, request, domain, refusals, dropped) for dropped, _ in filters[:_TRIED] if dropped is not None]
    known = [option for option in options if option is not None]
    return max(known, key=lambda option: option.pods, default=None)


def state_causes(refusals: NodeRefusals, refusal: Refusal, nodes: NodeTable) -> tuple[NodeState, ...]:
    """Return the causes of a static *refusal* that is about the state of nodes; empty for others."""
    refused = refusals.static[refusal]
    return node_states(refusals.pod.shape, refusal, refusals.nodes[refused], len(refusals.nodes), nodes)


def node_states(shape: PodShape, refusal: Refusal, refused: Nodes, total: int, nodes: NodeTable) -> tuple[NodeState, ...]:
    """Return the states of the nodes *refused* (of *total*, at least one) to *shape* that *refusal* is about; empty for others.

    kube-scheduler's reason for a taint does not state the effect: each effect is a cause of its own, that of the most nodes first.
    """
    count = NodeCount(len(refused), total)
    if refusal == _NOT_SELECTED:
        required = required_affinity(shape)
        terms = (required and required.node_selector_terms) or ()
        return (NodeAffinityMismatch(count, tuple(shape.node_selector), required is not None, terms, unmet_requirements(shape, nodes)),)
    if refusal != _CORDONED and refusal.plugin != TaintToleration.name:
        return ()
    sets = _untolerated(shape, refused, nodes)
    if refusal == _CORDONED:
        return (Cordoned(count, _further(sets, CORDON, total)),)
    first: dict[Taint, dict[tuple[Taint, ...], int]] = {}
    for taints, number in sets.items():
        first.setdefault(taints[0], {})[taints] = number
    causes = (UntoleratedTaint(taint, NodeCount(sum(same.values()), total), _further(same, taint, total)) for taint, same in first.items())
    return tuple(sorted(causes, key=lambda each: (-each.nodes.count, each.taint.effect)))


def _untolerated(shape: PodShape, refused: Nodes, nodes: NodeTable) -> Counter[tuple[Taint, ...]]:
    """Return the taints of the nodes *refused* that *shape* does not tolerate, with the number of nodes that have them."""
    tolerations = Tolerations(shape.tolerations)
    sets = Counter[tuple[Taint, ...]]()
    for taints, number in Counter(nodes.taints[node] for node in refused.tolist()).items():
        sets[tuple(taint for taint in taints if taint.effect in HARD and not tolerations.cover(taint))] += number
    return sets


def _further(sets: Mapping[tuple[Taint, ...], int], stated: Taint, total: int) -> tuple[FurtherTaint, ...]:
    """Return the taints in *sets* other than *stated*, with their number of nodes (of *total*), that of the most nodes first."""
    counts = Counter[Taint]()
    for taints, number in sets.items():
        counts.update(dict.fromkeys((taint for taint in taints if taint != stated), number))
    return tuple(FurtherTaint(taint, NodeCount(number, total)) for taint, number in counts.most_common())


def _filters(state: PlacementState, refusals: NodeRefusals) -> Iterator[tuple[Relaxable | None, int]]:
    """Yield what can be dropped, with the number of nodes that it rejects; None for filters that cannot."""
    unmodelled = state.profile.refused(refusals.pod.shape.unmodelled)
    for refusal, mask in refusals.static.items():
        if causes := state_causes(refusals, refusal, state.nodes):
            yield from ((each, each.nodes.count) for each in causes)
        else:
            ignorable = unmodelled is not None and unmodelled.share is None and refusal == (UnmodelledFields.name, unmodelled.key)
            yield unmodelled if ignorable else None, int(mask.sum())
    for refusal, mask in refusals.others.items():
        if refusal in _BETWEEN_PODS:
            yield _BETWEEN_PODS[refusal], int(mask.sum())


def _without(
    state: PlacementState, request: PlacementRequest, domain: Placement, refusals: NodeRefusals, dropped: Relaxable
) -> DroppedFilter | None:
    if isinstance(dropped, PodRule):
        others = (each for each in state.stateful.plugins if not isinstance(each, InterPodAffinity | PodTopologySpread))
        if any(each.touches(refusals.pod) and not requests_count(each, refusals.pod) for each in others):
            # The count would leave out the volumes or devices that the pods compete for as well.
            return None
        refused = (refusal for refusal, _ in state.stateful.filters_by_plugin(refusals.pod, refusals.nodes))
        rules = {dropped, *(_BETWEEN_PODS[each] for each in refused if each in _BETWEEN_PODS)}
        return DroppedFilter(dropped if len(rules) == 1 else PodRule.ALL, _count(state, _unrelated(request), domain))
    spreads = (each for each in state.stateful.plugins if isinstance(each, PodTopologySpread))
    if any(each.honours(refusals.pod, affinity=isinstance(dropped, NodeAffinityMismatch)) for each in spreads):
        # More nodes would form domains, or fewer: the count of the pods by domain would be another one.
        return None
    return DroppedFilter(dropped, _count(dataclasses.replace(state, profile=_Relaxed(state.profile, _change(dropped))), request, domain))


def _change(dropped: NodeState | UnmodelledField) -> Change:
    """Return the change of a shape that drops a filter."""
    match dropped:
        case Cordoned():
            return _tolerating(CORDON)
        case NodeAffinityMismatch():
            return _unselective
        case UntoleratedTaint():
            return _tolerating(dropped.taint)
        case UnmodelledField():
            return _modelled
    assert_never(dropped)


def _tolerating(taint: Taint) -> Change:
    more = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    return lambda shape: dataclasses.replace(shape, tolerations=(*shape.tolerations, more))


def _unselective(shape: PodShape) -> PodShape:
    return dataclasses.replace(shape, node_selector=(), affinity=None)


def _modelled(shape: PodShape) -> PodShape:
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
