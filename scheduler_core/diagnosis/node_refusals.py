"""Why a pod finds no node: for each node the first filter that keeps it away, in upstream's order, counted.

The order is that of kube-scheduler's default profile: NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts,
NodeResourcesFit (all resources that are short on a node), PodTopologySpread, InterPodAffinity.
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
"""Of nodes outside the domain that the pod's group was tried in; kube-scheduler leaves them out of the count."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeRefusals:
    """What keeps one more pod off the nodes of a placement as it stands.

    Attributes:
        pod: the pod.
        nodes: the nodes looked at.
        static: nodes by the reason that does not depend on what runs there; masks over ``nodes``, none of them empty.
        others: the same for what other pods are the cause of: ports, spread, affinity.
        usable: shape (nodes,): where no static reason stands against the pod.
        asked: shape (nodes,): where its requests were compared with what is free.
        free: shape (requests, nodes): what is free, below 0 where more is taken than there is.
        short: shape (requests, nodes): where it is too little, among those asked.
        able: nodes that would take the pod.

    """

    pod: PodRecord
    nodes: Nodes
    static: Mapping[str, Bools]
    others: Mapping[str, Bools]
    usable: Bools
    asked: Bools
    free: Ints
    short: Bools
    able: int

    def counts(self, resources: Mapping[int, str]) -> list[tuple[str, int]]:
        """Reason and number of nodes, most first, of equal ones by text.  *resources*: the reason for each row."""
        found = {reason: int(mask.sum()) for reason, mask in (*self.static.items(), *self.others.items())}
        for (row, _), short in zip(self.pod.shape.requests, self.short, strict=True):
            if short.any():
                found[resources[row]] = int(short.sum())
        return sorted(found.items(), key=lambda each: (-each[1], each[0]))


def examine_nodes(state: PlacementState, pod: PodRecord, nodes: Nodes) -> NodeRefusals:
    """What keeps *pod* off *nodes* now."""
    still: Bools = np.ones(len(nodes), dtype=bool)
    related = state.stateful.touches(pod)
    static = _sift([(reason, mask[nodes]) for reason, mask in _static(state, pod, related=related)], still)
    usable = still.copy()
    others = _sift(ledger_filters(state, pod.shape, nodes), still)
    asked = still.copy()
    rows = np.array([row for row, _ in pod.shape.requests], dtype=np.int64)
    amounts = np.array([[amount] for _, amount in pod.shape.requests], dtype=np.int64)
    free = free_of(state, rows)[:, nodes]
    short = (free < amounts) & asked
    still &= ~short.any(axis=0)
    if related:
        others |= _sift(state.stateful.filter(pod, nodes), still)
    return NodeRefusals(pod, nodes, static, others, usable, asked, free, short, int(still.sum()))


def fit_error_message(state: PlacementState, found: NodeRefusals) -> str:
    """In kube-scheduler's words, counted over all nodes of the cluster."""
    total = len(state.nodes)
    reasons = {row: resource_reason(state.nodes, row) for row, _ in found.pod.shape.requests}
    counts = found.counts(reasons)
    most = 2 * phrases.SHOWN
    shown = [f"{count} {reason}" for reason, count in counts[:most]]
    if len(counts) > most:
        shown.append(f"{sum(count for _, count in counts[most:])} node(s) for {len(counts) - most} more reasons")
    if outside := total - len(found.nodes):
        shown.append(f"{outside} {ELSEWHERE}")
    return f"0/{total} nodes are available: {', '.join(shown)}." if shown else f"0/{total} nodes are available."


def free_of(state: PlacementState, rows: Ints) -> Ints:
    """What is free of the resources *rows*, shape (rows, all nodes)."""
    free: Ints = state.nodes.allocatable[rows] - state.ledger.used[rows]
    return free - state.ledger.held[rows] if state.ledger.holding else free


def ledger_filters(state: PlacementState, shape: PodShape, nodes: Nodes) -> Filters:
    """What of the ledger beside resources keeps *shape* off *nodes*."""
    return [each for plugin in registry.LEDGER for each in plugin(state.ledger).filters(shape, nodes)]


def admitted(state: PlacementState, shape: PodShape) -> Bools:
    """Shape (all nodes,): where ``ledger_filters`` lets *shape* run."""
    able: Bools = np.ones(len(state.nodes), dtype=bool)
    for _, mask in ledger_filters(state, shape, state.nodes.everything):
        able &= mask
    return able


def _static(state: PlacementState, pod: PodRecord, *, related: bool) -> list[tuple[str, Bools]]:
    """The filters that do not depend on what runs; a rule about other pods that is not modelled refuses every node."""
    refused = state.profile.refused(state.stateful.unmodelled(pod)) if related else ""
    nowhere = [(refused, np.zeros(len(state.nodes), dtype=bool))] if refused else []
    return [*nowhere, *state.profile.filters(pod.shape)]


def _sift(filters: list[tuple[str, Bools]], still: Bools) -> dict[str, Bools]:
    """The nodes that each filter is the first to refuse; they are struck out of *still*."""
    found: dict[str, Bools] = {}
    for reason, passing in filters:
        refused = still & ~passing
        if refused.any():
            found[reason] = refused
            still &= passing
    return found
