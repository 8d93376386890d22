"""Filters that reject a pod: for each node the first one, in kube-scheduler's order, counted.

The order is that of kube-scheduler's default profile: NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts,
NodeResourcesFit (all resources that are short on a node), PodTopologySpread, InterPodAffinity, NodeDeclaredFeatures.  VolumeBinding and
VolumeZone are before NodePorts, because free resources on nodes that a volume excludes do not count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Filters
from scheduler_core.plugins.noderesources import resource_reason

ELSEWHERE = "node(s) didn't match pod group's topology"
"""Reason for nodes outside the domain that was tried; kube-scheduler omits them from the count."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeRefusals:
    """Reasons why the nodes of a placement reject one more pod.

    Attributes:
        pod: the pod.
        nodes: the examined nodes.
        static: nodes by reason, for filters that are applied before all others; non-empty masks over ``nodes``.
        others: the same for ports, spread, affinity, and static filters that are applied last.
        usable: shape (nodes,): nodes that pass the filters of ``static``.
        compared: shape (nodes,): nodes where the requests were compared with free resources.
        free: shape (requests, nodes): free resources, negative if overcommitted.
        short: shape (requests, nodes): resources that are insufficient, among the nodes compared.
        feasible: number of nodes that would take the pod.
        pre_filter: the reason that excludes all nodes without a look at them; empty if there is none.

    """

    pod: PodRecord
    nodes: Nodes
    static: Mapping[str, Bools]
    others: Mapping[str, Bools]
    usable: Bools
    compared: Bools
    free: Ints
    short: Bools
    feasible: int
    pre_filter: str = ""

    def counts(self, resources: Mapping[int, str]) -> list[tuple[str, int]]:
        """Return reasons with their number of nodes, most first, then by text.  *resources*: the reason for each row."""
        counts = {reason: int(mask.sum()) for reason, mask in (*self.static.items(), *self.others.items())}
        short: dict[str, Bools] = {}
        for (row, _), nodes in zip(self.pod.shape.requests, self.short, strict=True):
            reason = resources[row]
            short[reason] = short[reason] | nodes if reason in short else nodes
        for reason, nodes in short.items():
            if nodes.any():
                counts[reason] = counts.get(reason, 0) + int(nodes.sum())
        return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def examine_nodes(state: PlacementState, pod: PodRecord, nodes: Nodes) -> NodeRefusals:
    """Return why *nodes* reject *pod* in the present state."""
    remaining: Bools = np.ones(len(nodes), dtype=bool)
    related = state.stateful.touches(pod)
    static = _first_rejections([(reason, mask[nodes]) for reason, mask in _static(state, pod, related=related)], remaining)
    usable = remaining.copy()
    others = _first_rejections(ledger_filters(state, pod.shape, nodes), remaining)
    compared = remaining.copy()
    rows = np.array([row for row, _ in pod.shape.requests], dtype=np.int64)
    amounts = np.array([[amount] for _, amount in pod.shape.requests], dtype=np.int64)
    free = free_of(state, rows)[:, nodes]
    short = (free < amounts) & compared
    # VolumeBinding filters after NodeResourcesFit.
    volumes = np.array([row in state.nodes.volume_rows for row in rows.tolist()], dtype=bool)
    if volumes.any():
        short[volumes] &= ~short[~volumes].any(axis=0)
    remaining &= ~short.any(axis=0)
    if related:
        others |= _first_rejections(state.stateful.filter(pod, nodes), remaining)
    others |= _first_rejections([(reason, mask[nodes]) for reason, mask in state.profile.filters(pod.shape, last=True)], remaining)
    pre_filter = state.profile.pre_filter(pod.shape) if pod.shape.volumes else ""
    return NodeRefusals(pod, nodes, static, others, usable, compared, free, short, int(remaining.sum()), pre_filter)


def fit_error_message(state: PlacementState, refusals: NodeRefusals) -> str:
    """Return kube-scheduler's message, counted over all nodes of the cluster."""
    total = len(state.nodes)
    if refusals.pre_filter:
        return f"0/{total} nodes are available: {refusals.pre_filter}."
    reasons = {row: resource_reason(state.nodes, row) for row, _ in refusals.pod.shape.requests}
    counts = refusals.counts(reasons)
    most = 2 * phrases.SHOWN
    shown = [f"{count} {reason}" for reason, count in counts[:most]]
    if len(counts) > most:
        shown.append(f"{sum(count for _, count in counts[most:])} node(s) for {len(counts) - most} more reasons")
    if outside := total - len(refusals.nodes):
        shown.append(f"{outside} {ELSEWHERE}")
    return f"0/{total} nodes are available: {', '.join(shown)}." if shown else f"0/{total} nodes are available."


def free_of(state: PlacementState, rows: Ints) -> Ints:
    """Return the free amounts of the resources *rows*; shape (rows, all nodes)."""
    free: Ints = state.nodes.allocatable[rows] - state.ledger.used[rows]
    return free - state.ledger.held[rows] if state.ledger.holding else free


def ledger_filters(state: PlacementState, shape: PodShape, nodes: Nodes) -> Filters:
    """Return the filters of *shape* on *nodes* that depend on the ledger, except resources."""
    return [each for plugin in registry.LEDGER for each in plugin(state.ledger).filters(shape, nodes)]


def admitted(state: PlacementState, shape: PodShape) -> Bools:
    """Return the nodes that pass ``ledger_filters``; shape (all nodes,)."""
    feasible: Bools = np.ones(len(state.nodes), dtype=bool)
    for _, mask in ledger_filters(state, shape, state.nodes.everything):
        feasible &= mask
    return feasible


def _static(state: PlacementState, pod: PodRecord, *, related: bool) -> list[tuple[str, Bools]]:
    """Return the filters that are applied first; an unmodelled rule about other pods rejects every node."""
    reason = state.profile.refused(state.stateful.unmodelled(pod)) if related else ""
    no_node = [(reason, np.zeros(len(state.nodes), dtype=bool))] if reason else []
    return [*no_node, *state.profile.filters(pod.shape, last=False)]


def _first_rejections(filters: list[tuple[str, Bools]], remaining: Bools) -> dict[str, Bools]:
    """Return, for each filter, the nodes that it is the first to reject; they are removed from *remaining*."""
    rejected: dict[str, Bools] = {}
    for reason, passing in filters:
        newly_rejected = remaining & ~passing
        if newly_rejected.any():
            rejected[reason] = newly_rejected
            remaining &= passing
    return rejected
