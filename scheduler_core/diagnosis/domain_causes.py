"""Causes in one domain: how many pods of a leaf it holds, why not more, and which filter keeps them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.causes.domains import AttemptFailed, DomainCause, DroppedFilter, NodeCause
from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import NodesRefused, PodRefused
from scheduler_core.causes.resources import ResourceCause
from scheduler_core.diagnosis import node_refusals, relaxed_filters
from scheduler_core.diagnosis.device_reasons import device_reasons, with_domain
from scheduler_core.diagnosis.domain_capacity import Held, homogeneous, nodes_of_pods
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.diagnosis.pod_rule_reasons import RULES, PodRuleReasons
from scheduler_core.diagnosis.resource_shortage import ShapeCounts, shortages
from scheduler_core.diagnosis.volume_reasons import volume_cause
from scheduler_core.diagnosis.with_pods import assume_pods, rewound
from scheduler_core.model.names import Domain
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.model.volume_users import NO_NAMED_VOLUMES
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Refusal
from scheduler_core.plugins.node_affinity import own_node

_KEPT_NODES = 500_000
"""Maximum number of nodes of all domains with a cause that is kept: a refusal takes some 50 bytes for each of its nodes."""


def domain_of(placement: Placement) -> Domain:
    """Return the domain of a placement; that of the whole cluster has neither key nor value."""
    return Domain(placement.key, placement.value)


class DomainCauses:
    """Causes in the domains of one cycle; those of equal requests are found once while the pods of a domain are the same."""

    def __init__(self, greedy: Greedy) -> None:
        self.greedy = greedy
        self._known: dict[tuple[int, int, int, tuple[int, ...]], tuple[DomainCause, NodeRefusals | None]] = {}
        self._nodes = 0

    def find(self, request: PlacementRequest, held: Held, goal: int) -> tuple[DomainCause, NodeRefusals | None]:
        """Return why *held* cannot take *goal* pending pods of a leaf, and the refusals of its nodes if one pod is refused there."""
        ledger, domain = self.greedy.state.ledger, held.domain
        if not homogeneous(request) or _have_claims(request.entity.waiting):
            return _cause_in_domain(self.greedy, request, held, goal)
        ledger.grow()
        at = (request.number, domain.serial, int(ledger.versions[domain.serial]), request.versions)
        if (found := self._known.get(at)) is None:
            self._nodes += len(domain)
            if self._nodes > _KEPT_NODES:
                self._known.clear()
                self._nodes = len(domain)
            found = self._known[at] = _cause_in_domain(self.greedy, request, held, goal)
        return found


def _have_claims(pods: Iterable[PodRecord]) -> bool:
    """Return whether causes name claims of *pods*: equal pods have others."""
    return any(pod.device_claims or pod.bound_claims or pod.named_volumes is not NO_NAMED_VOLUMES for pod in pods)


def _cause_in_domain(greedy: Greedy, request: PlacementRequest, held: Held, goal: int) -> tuple[DomainCause, NodeRefusals | None]:
    state, nodes, domain = greedy.state, nodes_of_pods(greedy, request, held), held.domain
    if held.pods >= goal:
        # The cause is not a lack of nodes, but a plugin or an earlier failure.
        reason = greedy.attempt(request, domain).reason
        failed = (AttemptFailed(reason),) if reason is not None else ()
        return DomainCause(domain_of(domain), len(domain), held.pods, goal, causes=failed, in_order=held.in_order), None
    without = np.flatnonzero(nodes < 0)
    pod = request.entity.waiting[int(without[0]) if len(without) else -1]
    with rewound(state):
        assume_pods(state, request, nodes)
        own = own_node(pod.shape, state.nodes)
        refusals = node_refusals.examine_nodes(state, pod, domain.nodes if own < 0 else np.intersect1d(domain.nodes, own))
        rules = PodRuleReasons.from_refusals(state, refusals)
    examined = refusals if own < 0 else None
    refusals = with_domain(state, request, refusals, goal)
    relaxation = relaxed_filters.best_relaxation(state, request, domain, refusals)
    if relaxation is not None and relaxation.pods <= held.pods:
        relaxation = None
    placed, left = _by_shape(request.runs, nodes)
    missing = _shortages(state, refusals, left, max(goal - held.pods, 1), placed)
    cause = DomainCause(
        domain_of(domain),
        len(domain),
        held.pods,
        goal,
        (*rules.decisive.values(), *missing),
        tuple(_by_nodes(state, refusals, rules)),
        relaxation,
        held.in_order,
    )
    return cause, examined


def cause_for_more(state: PlacementState, request: PlacementRequest, domain: Placement, left: Sequence[PodRecord]) -> DomainCause:
    """Return why *domain* in its present state cannot take the pods *left* as well."""
    refusals = node_refusals.examine_nodes(state, left[0], domain.nodes)
    relaxation = relaxed_filters.best_relaxation(state, request, domain, refusals) if homogeneous(request) else None
    rules = PodRuleReasons.from_refusals(state, refusals)
    decisive = (*rules.decisive.values(), *_shortages(state, refusals, Counter(pod.shape for pod in left), len(left), {}))
    causes = tuple(_by_nodes(state, refusals, rules))
    helps = None
    if relaxation is not None and relaxation.pods:
        helps = DroppedFilter(relaxation.dropped, min(relaxation.pods, len(left)))
    return DomainCause(domain_of(domain), len(domain), 0, len(left), decisive, causes, helps)


def _by_shape(runs: Sequence[Run], nodes: Nodes) -> tuple[dict[PodShape, Nodes], ShapeCounts]:
    """Return the nodes of the pods by shape, and the numbers of pods without a node; *nodes* has one entry for each pod, -1 for none."""
    placed: dict[PodShape, list[Nodes]] = {}
    left = Counter[PodShape]()
    start = 0
    for run in runs:
        shape, part = run.shape, nodes[start : start + run.count]
        start += run.count
        used = part[part >= 0]
        if len(used) < len(part):
            left[shape] += len(part) - len(used)
        if len(used):
            placed.setdefault(shape, []).append(used)
    return {shape: np.concatenate(parts) for shape, parts in placed.items()}, left


def _shortages(
    state: PlacementState, refusals: NodeRefusals, left: ShapeCounts, missing: int, placed: Mapping[PodShape, Nodes]
) -> list[ResourceCause]:
    """Return why *missing* of the pods *left* have no node; of the others, those that can use other nodes do not compete for these."""
    usable = refusals.nodes[refusals.usable]
    others = {shape: count for shape, count in left.items() if _confined(state, shape, refusals.nodes, usable)}
    # The refused pod itself is one of them.
    others[refusals.pod.shape] = left[refusals.pod.shape] - 1
    elsewhere = sum(left.values()) - 1 - sum(others.values())
    is_usable: Bools = np.zeros(len(state.nodes), dtype=bool)
    is_usable[usable] = True
    held = {shape: int(is_usable[used].sum()) for shape, used in placed.items()}
    return shortages(refusals, state.nodes, others, max(missing - 1 - elsewhere, 0), held)


def _confined(state: PlacementState, shape: PodShape, nodes: Nodes, usable: Nodes) -> bool:
    """Return whether pods of *shape* can use only the *usable* ones of *nodes*."""
    mask = state.profile.compile(shape).mask
    if mask is None and len(usable) == len(nodes):
        return True
    return set((nodes if mask is None else nodes[mask[nodes]]).tolist()) <= set(usable.tolist())


def _by_nodes(state: PlacementState, refusals: NodeRefusals, rules: PodRuleReasons) -> Iterator[NodeCause]:
    """Yield the causes other than requests and decisive *rules*, that of the most nodes first, then by reason and plugin."""
    hidden = RULES if rules.decisive else ()
    masks = {refusal: mask for refusal, mask in (*refusals.static.items(), *refusals.others.items()) if refusal not in hidden}
    counts = list[tuple[Refusal, int, NodeCause | None]]()
    for refusal, mask in masks.items():
        states = relaxed_filters.state_causes(refusals, refusal, state.nodes) if refusal in refusals.static else ()
        counts += [(refusal, each.nodes.count, each) for each in states] or [(refusal, int(mask.sum()), None)]
    for refusal, count, cause in sorted(counts, key=lambda each: (-each[1], each[0].reason, each[0].plugin)):
        if cause is not None:
            yield cause
        elif rule := rules.others.get(refusal):
            yield rule
        else:
            yield from device_reasons(refusals, refusal, count) or (_by_node(state, refusals, refusal, count),)


def _by_node(state: PlacementState, refusals: NodeRefusals, refusal: Refusal, count: int) -> NodeCause:
    """Return the cause of *refusal*, which is not a state of nodes, with details such as the claim."""
    if by_object := volume_cause(refusals, refusal, count, state.nodes):
        return by_object
    own = registry.is_of_kube_scheduler(refusal.plugin)
    if refusal == refusals.pre_filter and own:
        return PodRefused(refusal.reason)
    value = refusals.values.get(refusal, refusal.reason)
    if isinstance(value, UnmodelledField):
        return value
    return NodesRefused(value, NodeCount(count, len(refusals.nodes)), "" if own else refusal.plugin)
