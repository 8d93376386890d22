"""What one domain holds of a leaf, why not more, and without what it would: a clause of a sentence."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.diagnosis import node_refusals, phrases, relaxed_filters
from scheduler_core.diagnosis.domain_capacity import Held, homogeneous, picks
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.diagnosis.resource_shortage import shortages
from scheduler_core.diagnosis.with_pods import assume_pods, rewound
from scheduler_core.model.nodes import Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.topology import Placement
from scheduler_core.model.wire import Taint
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.node_affinity import NODE_AFFINITY
from scheduler_core.plugins.node_ports import PORTS
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE

_REASONS = 3
"""Reasons told of a domain, at most."""
_TAINTS = 2
"""Where there are more of them they share a reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """About one domain: ``rack-4 holds 1 (short of …), or 3 if the taint … were tolerated``.

    Attributes:
        held: the domain, and how many pods it holds.
        why: the reasons; may be empty.
        instead: how many it would hold: ``3``, ``all 4``; empty for a single pod.
        phrase: if what; may be empty.

    """

    held: Held
    why: str
    instead: str = ""
    phrase: str = ""


def clause(greedy: Greedy, request: PlacementRequest, held: Held, goal: int) -> Clause:
    """What *held* is short of to take *goal* waiting pods of a leaf."""
    state, nodes = greedy.state, picks(greedy, request, held)
    if held.pods >= goal:
        # Something else than a lack of nodes: a check of a plugin, or what came before.
        return Clause(held, greedy.attempt(request, held.domain).message)
    failed = np.flatnonzero(nodes < 0)
    pod = request.entity.waiting[int(failed[0]) if len(failed) else -1]
    with rewound(state):
        assume_pods(state, request, nodes)
        found = node_refusals.examine_nodes(state, pod, held.domain.nodes)
    what_if = relaxed_filters.best(state, request, held.domain, found)
    helps = what_if if what_if is not None and what_if.pods > held.pods else None
    short = shortages(found, state.nodes, max(goal - held.pods, 1), _taken(request, nodes))
    why = [*short, *_node_reasons(state, found, helps)][:_REASONS]
    return Clause(held, "; ".join(why), _number(helps.pods, goal), helps.phrase) if helps else Clause(held, "; ".join(why))


def clause_for_more(state: PlacementState, request: PlacementRequest, domain: Placement, left: Sequence[PodRecord]) -> str:
    """What *domain*, as it stands, is short of to take the pods *left* as well."""
    found = node_refusals.examine_nodes(state, left[0], domain.nodes)
    what_if = relaxed_filters.best(state, request, domain, found) if homogeneous(request) else None
    helps = what_if if what_if is not None and what_if.pods else None
    why = [*shortages(found, state.nodes, len(left), {}), *_node_reasons(state, found, helps)][:_REASONS]
    only = Clause(Held(domain, 0), "; ".join(why))
    if helps:
        only = dataclasses.replace(only, instead=_number(min(helps.pods, len(left)), len(left)), phrase=helps.phrase)
    return _alone(only)


def together(clauses: Sequence[Clause], parent: Placement) -> list[str]:
    """As text; neighbours with the same answer in one.  Where *parent* is not divided, it is named already."""
    if len(clauses) == 1 and clauses[0].held.domain is parent:
        return [_alone(clauses[0])]
    told = []
    for (pods, *_), same in itertools.groupby(clauses, key=lambda each: (each.held.pods, each.why, each.instead, each.phrase)):
        alike = list(same)
        one = alike[0]
        reason, otherwise = f" ({one.why})" if one.why else "", f", or {one.instead or 1} if {one.phrase}" if one.phrase else ""
        told.append(f"{phrases.holds_phrase([each.held.domain for each in alike], pods)}{reason}{otherwise}")
    return told


def _alone(only: Clause) -> str:
    """Of a placement that was named before."""
    if only.held.pods:
        reason, otherwise = f" ({only.why})" if only.why else "", f", or for {only.instead} if {only.phrase}" if only.phrase else ""
        return f"only for {only.held.pods}{reason}{otherwise}"
    what_if = f"there would be room{' for ' if only.instead else ''}{only.instead} if {only.phrase}" if only.phrase else ""
    return "; ".join(filter(None, (only.why, what_if))) or ("it does not" if len(only.held.domain) else "there are no nodes")


def _number(pods: int, goal: int) -> str:
    if goal == 1:
        return ""
    return phrases.all_of(goal) if pods == goal else str(pods)


def _taken(request: PlacementRequest, nodes: Nodes) -> dict[int, int]:
    """What the pods that stand on *nodes* request, by row; empty if there are none."""
    taken: dict[int, int] = {}
    start = 0
    for run in request.runs:
        count = int((nodes[start : start + run.count] >= 0).sum())
        start += run.count
        if count:
            for row, amount in run.shape.requests:
                taken[row] = taken.get(row, 0) + count * amount
    return taken


def _node_reasons(state: PlacementState, found: NodeRefusals, helps: relaxed_filters.WhatIf | None) -> list[str]:
    """Other reasons than requests, those of the most nodes first; what *helps* tells already is left out."""
    counts = [(reason, int(mask.sum())) for reason, mask in (*found.static.items(), *found.others.items())]
    counts.sort(key=lambda each: (-each[1], each[0]))
    taints = {
        reason: taint for reason, _ in counts if reason in found.static and (taint := relaxed_filters.taint_of(found, reason, state.nodes))
    }
    told = helps.reason if helps is not None and helps.counted else ""
    if len(taints) <= _TAINTS:
        return [_worded(found, *each, taints) for each in counts if each[0] != told]
    tainted = sum(count for reason, count in counts if reason in taints)
    some = f"{phrases.some_of(tainted, len(found.nodes))} {'has' if tainted == 1 else 'have'}"
    listed = phrases.listed([relaxed_filters.taint_text(taint) for taint in taints.values()], _REASONS)
    others = (_worded(found, *each, taints) for each in counts if each[0] not in taints and each[0] != told)
    return [f"{some} untolerated taints: {listed}", *others]


def _worded(found: NodeRefusals, reason: str, count: int, taints: Mapping[str, Taint]) -> str:
    """*reason* for people: which taint, which selector, which port."""
    some, shape, one = phrases.some_of(count, len(found.nodes)), found.pod.shape, count == 1
    if reason == UNSCHEDULABLE:
        return f"{some} {'is' if one else 'are'} unschedulable"
    if reason == NODE_AFFINITY:
        return f"{some} {'does' if one else 'do'} not match its {relaxed_filters.selection(shape)}"
    if reason == PORTS:
        ports = phrases.listed([f"{port}/{protocol}" for protocol, _, port in shape.ports])
        return f"{some} {'has' if one else 'have'} host port {ports} taken"
    if reason in taints:
        return f"{some} {'has' if one else 'have'} the untolerated taint {relaxed_filters.taint_text(taints[reason])}"
    known = reason.startswith("node(s) ")
    return f"{some} {reason.removeprefix('node(s) ')}" if known else reason
