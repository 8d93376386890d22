"""Clause of a message about one domain: how many pods of a leaf it holds, why not more, and which change would help."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.diagnosis import node_refusals, phrases, relaxed_filters
from scheduler_core.diagnosis.device_reasons import device_reasons, with_domain
from scheduler_core.diagnosis.domain_capacity import Held, homogeneous, nodes_of_pods
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.diagnosis.pod_rule_reasons import REASONS, PodRuleReasons
from scheduler_core.diagnosis.resource_shortage import shortages
from scheduler_core.diagnosis.volume_reasons import volume_reason
from scheduler_core.diagnosis.with_pods import assume_pods, rewound
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.topology import Placement
from scheduler_core.model.wire import Taint
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.node_affinity import NODE_AFFINITY, own_node
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE

_REASONS = 3
"""Maximum number of reasons for a domain."""
_TAINTS = 2
"""More taints than this share one reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """Statement about one domain: ``rack-4 can hold 1 (short of …), or 3 if the taint … were tolerated``.

    Attributes:
        held: the domain, and how many pods it holds.
        why: the reasons; may be empty.
        instead: number of pods it would hold after a change: ``3``, ``all 4``; empty for a single pod.
        phrase: that change; may be empty.

    """

    held: Held
    why: str
    instead: str = ""
    phrase: str = ""


def clause(greedy: Greedy, request: PlacementRequest, held: Held, goal: int) -> Clause:
    """Return why *held* cannot take *goal* pending pods of a leaf."""
    state, nodes = greedy.state, nodes_of_pods(greedy, request, held)
    if held.pods >= goal:
        # The cause is not a lack of nodes, but a plugin or an earlier failure.
        return Clause(held, greedy.attempt(request, held.domain).message)
    failed = np.flatnonzero(nodes < 0)
    pod = request.entity.waiting[int(failed[0]) if len(failed) else -1]
    with rewound(state):
        assume_pods(state, request, nodes)
        own = own_node(pod.shape, state.nodes)
        refusals = node_refusals.examine_nodes(state, pod, held.domain.nodes if own < 0 else np.intersect1d(held.domain.nodes, own))
        rules = PodRuleReasons.from_refusals(state, refusals)
    refusals = with_domain(state, request, refusals, goal)
    what_if = relaxed_filters.best_relaxation(state, request, held.domain, refusals)
    helps = what_if if what_if is not None and what_if.pods > held.pods else None
    missing = shortages(refusals, state.nodes, max(goal - held.pods, 1), _taken(request, nodes))
    why = _reasons(state, refusals, missing, helps, rules)
    return Clause(held, "; ".join(why), _number(helps.pods, goal), helps.phrase) if helps else Clause(held, "; ".join(why))


def clause_for_more(state: PlacementState, request: PlacementRequest, domain: Placement, left: Sequence[PodRecord]) -> str:
    """Return why *domain* in its present state cannot take the pods *left* as well."""
    refusals = node_refusals.examine_nodes(state, left[0], domain.nodes)
    what_if = relaxed_filters.best_relaxation(state, request, domain, refusals) if homogeneous(request) else None
    helps = what_if if what_if is not None and what_if.pods else None
    rules = PodRuleReasons.from_refusals(state, refusals)
    why = _reasons(state, refusals, shortages(refusals, state.nodes, len(left), {}), helps, rules)
    only = Clause(Held(domain, 0), "; ".join(why))
    if helps:
        only = dataclasses.replace(only, instead=_number(min(helps.pods, len(left)), len(left)), phrase=helps.phrase)
    return _alone(only)


def merged(clauses: Sequence[Clause], parent: Placement) -> list[str]:
    """Return the clauses as text; adjacent equal ones are merged.

    For a *parent* that is not divided and holds no pod, only the reasons are returned.
    """
    if len(clauses) == 1 and clauses[0].held.domain is parent and not clauses[0].held.pods:
        return [_alone(clauses[0])]
    texts = []
    for (pods, *_), equal in itertools.groupby(clauses, key=lambda each: (each.held.pods, each.why, each.instead, each.phrase)):
        equal_clauses = list(equal)
        first = equal_clauses[0]
        reason, alternative = f" ({first.why})" if first.why else "", f", or {first.instead or 1} if {first.phrase}" if first.phrase else ""
        ordered = " in the order of the queue" if pods and first.held.in_order else ""
        texts.append(f"{phrases.holds_phrase([each.held.domain for each in equal_clauses], pods)}{ordered}{reason}{alternative}")
    return texts


def _alone(only: Clause) -> str:
    """Return the clause of a placement that holds no pod, and that the message has named already."""
    what_if = f"{only.instead or 'it'} would fit if {only.phrase}" if only.phrase else ""
    return "; ".join(filter(None, (only.why, what_if))) or ("no reason is known" if len(only.held.domain) else "there are no nodes")


def _number(pods: int, goal: int) -> str:
    if goal == 1:
        return ""
    return phrases.all_of(goal) if pods == goal else str(pods)


def _taken(request: PlacementRequest, nodes: Nodes) -> dict[int, int]:
    """Return the requests of the pods placed on *nodes*, by row; empty if there are none."""
    requested: dict[int, int] = {}
    start = 0
    for run in request.runs:
        count = int((nodes[start : start + run.count] >= 0).sum())
        start += run.count
        if count:
            for row, amount in run.shape.requests:
                requested[row] = requested.get(row, 0) + count * amount
    return requested


def _reasons(
    state: PlacementState, refusals: NodeRefusals, missing: list[str], helps: relaxed_filters.WhatIf | None, rules: PodRuleReasons
) -> list[str]:
    """Return rules about other pods that reject all nodes, then *missing* resources, then the other reasons."""
    return [*rules.decisive.values(), *missing, *_node_reasons(state, refusals, helps, rules)][:_REASONS]


def _node_reasons(state: PlacementState, refusals: NodeRefusals, helps: relaxed_filters.WhatIf | None, rules: PodRuleReasons) -> list[str]:
    """Return reasons other than requests, by number of nodes, without decisive *rules* and the one that *helps* states already."""
    hidden = REASONS if rules.decisive else ()
    masks = {reason: mask for reason, mask in (*refusals.static.items(), *refusals.others.items()) if reason not in hidden}
    counts = [(reason, int(mask.sum())) for reason, mask in masks.items()]
    counts.sort(key=lambda each: (-each[1], each[0]))
    taints = {
        reason: taint
        for reason, _ in counts
        if reason in refusals.static and (taint := relaxed_filters.taint_of(refusals, reason, state.nodes))
    }
    stated = helps.reason if helps is not None and helps.counted else ""
    if len(taints) <= _TAINTS:
        return [text for each in counts if each[0] != stated for text in _worded(state.nodes, refusals, rules, *each, taints)]
    tainted = sum(count for reason, count in counts if reason in taints)
    some = f"{phrases.some_of(tainted, len(refusals.nodes))} {'has' if tainted == 1 else 'have'}"
    listed = phrases.listed([relaxed_filters.taint_text(taint) for taint in taints.values()], _REASONS)
    others = (
        text
        for each in counts
        if each[0] not in taints and each[0] != stated
        for text in _worded(state.nodes, refusals, rules, *each, taints)
    )
    return [f"{some} untolerated taints: {listed}", *others]


def _worded(
    nodes: NodeTable, refusals: NodeRefusals, rules: PodRuleReasons, reason: str, count: int, taints: Mapping[str, Taint]
) -> list[str]:
    """Return *reason* in words: by rules about other pods or by devices, else by the node."""
    rule = rules.others.get(reason)
    return [rule] if rule else device_reasons(refusals, reason, count) or [_by_node(nodes, refusals, reason, count, taints)]


def _by_node(nodes: NodeTable, refusals: NodeRefusals, reason: str, count: int, taints: Mapping[str, Taint]) -> str:
    """Return *reason* with details: the taint, the selector, the port."""
    some, shape, single = phrases.some_of(count, len(refusals.nodes)), refusals.pod.shape, count == 1
    if reason == UNSCHEDULABLE:
        return f"{some} {'is' if single else 'are'} cordoned"
    if reason == NODE_AFFINITY:
        return f"{some} {'does' if single else 'do'} not match its {relaxed_filters.selection(shape)}"
    if reason in taints:
        return f"{some} {'has' if single else 'have'} the untolerated taint {relaxed_filters.taint_text(taints[reason])}"
    if by_object := volume_reason(refusals, reason, count, nodes):
        return by_object
    known = reason.startswith("node(s) ")
    return f"{some} {reason.removeprefix('node(s) ')}" if known else reason
