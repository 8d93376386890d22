"""Rejections by other pods: host ports, affinity, anti-affinity and topology spread, with the domains and labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.other_pods import (
    AffinityConflict,
    AffinityRule,
    DomainPods,
    ExceededSkew,
    HostPort,
    HostPortsInUse,
    OtherPodsCause,
    SpreadExceeded,
    SpreadLabelsMissing,
)
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.base import Refusal
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.node_ports import PORTS, NodePorts
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD, PodTopologySpread
from scheduler_core.plugins.spread_constraints import SpreadTerm

_PORTS = Refusal(NodePorts.name, PORTS)
_LACKS_LABEL = Refusal(PodTopologySpread.name, LACKS_TOPOLOGY)
_SPREAD = Refusal(PodTopologySpread.name, SPREAD)
_AFFINITY = Refusal(InterPodAffinity.name, AFFINITY)
_ANTI_AFFINITY = Refusal(InterPodAffinity.name, ANTI_AFFINITY)
_EXISTING_ANTI_AFFINITY = Refusal(InterPodAffinity.name, EXISTING_ANTI_AFFINITY)
_CONFLICTS = {
    _AFFINITY: AffinityRule.AFFINITY,
    _ANTI_AFFINITY: AffinityRule.ANTI_AFFINITY,
    _EXISTING_ANTI_AFFINITY: AffinityRule.EXISTING_ANTI_AFFINITY,
}
RULES = (_PORTS, *_CONFLICTS, _LACKS_LABEL, _SPREAD)
"""Refusals by host ports and by rules between pods."""


class PodRuleReasons(Record, frozen=True):
    """Causes about other pods, by the refusal.

    Attributes:
        decisive: rules that alone reject every node that the pod can use: no amount of free resources is enough.
        others: rules that reject some nodes that have the resources.

    """

    decisive: Mapping[Refusal, OtherPodsCause]
    others: Mapping[Refusal, OtherPodsCause]

    @classmethod
    def from_refusals(cls, state: PlacementState, refusals: NodeRefusals) -> PodRuleReasons:
        """Return the rules among *refusals*, which must be those of the present state."""
        rules = {refusal: refusals.usable & ~passing for refusal, passing in refusals.filters if refusal in RULES}
        decisive = [refusal for refusal, mask in rules.items() if mask.any() and (mask == refusals.usable).all()]
        if _ANTI_AFFINITY in decisive:
            # Replicas exclude each other both ways.
            decisive = [refusal for refusal in decisive if refusal != _EXISTING_ANTI_AFFINITY]
        if decisive:
            return cls(_causes(state, refusals, {refusal: rules[refusal] for refusal in decisive}), {})
        return cls({}, _causes(state, refusals, {refusal: mask for refusal, mask in refusals.others.items() if refusal in RULES}))


def _causes(state: PlacementState, refusals: NodeRefusals, rules: Mapping[Refusal, Bools]) -> dict[Refusal, OtherPodsCause]:
    causes = ((refusal, _cause(state, refusals, refusal, mask)) for refusal, mask in rules.items())
    return {refusal: cause for refusal, cause in causes if cause is not None}


def _cause(state: PlacementState, refusals: NodeRefusals, refusal: Refusal, mask: Bools) -> OtherPodsCause | None:
    """Return the cause of *refusal*, which rejects the examined nodes of *mask*; None if kube-scheduler's reason says all."""
    nodes, rejected = NodeCount(int(mask.sum()), len(refusals.nodes)), refusals.nodes[mask]
    if refusal == _PORTS:
        return HostPortsInUse(tuple(HostPort(protocol, port) for protocol, _, port in refusals.pod.shape.ports), nodes)
    for plugin in state.stateful.plugins:
        if isinstance(plugin, InterPodAffinity) and refusal in _CONFLICTS:
            return next(_conflicts(state, refusals, plugin, refusal, rejected, nodes), None)
        if isinstance(plugin, PodTopologySpread) and refusal == _LACKS_LABEL:
            return _without_labels(state, [each.spread.key for each in plugin.rules(refusals.pod)], rejected, nodes)
        if isinstance(plugin, PodTopologySpread) and refusal == _SPREAD:
            return SpreadExceeded(tuple(_skew(*each) for each in plugin.exceeded(refusals.pod, rejected)), nodes)
    return None


def _conflicts(
    state: PlacementState, refusals: NodeRefusals, plugin: InterPodAffinity, refusal: Refusal, rejected: Nodes, nodes: NodeCount
) -> Iterator[AffinityConflict]:
    """Yield a conflict for each term that rejects one of the nodes *rejected*, with its selected pods and the domains."""
    for term, tally in plugin.related(refusals.pod, refusal.reason):
        counts = tally.counts_at(rejected)
        refused = rejected[(counts == 0) if refusal == _AFFINITY else (counts > 0)]
        if len(refused):
            everywhere = nodes.count == nodes.total and len(refused) == len(rejected)
            domains, absent = _domains(state, term.key, refused), not state.nodes.column(term.key).values
            yield AffinityConflict(_CONFLICTS[refusal], term.key, tuple(term.pods.clauses or ()), domains, everywhere, nodes, absent)


def _without_labels(state: PlacementState, keys: Iterable[str], rejected: Nodes, nodes: NodeCount) -> SpreadLabelsMissing:
    """Return the labels *keys* that the nodes *rejected* lack; only those that no node has if there are any."""
    missing = [key for key in dict.fromkeys(keys) if (state.nodes.column(key).ids[rejected] < 0).any()]
    absent = tuple(key for key in missing if not state.nodes.column(key).values)
    return SpreadLabelsMissing(absent or tuple(missing), bool(absent), nodes)


def _domains(state: PlacementState, key: str, nodes: Nodes) -> tuple[str, ...]:
    """Return the domains of *nodes*, sorted; nodes without the label are in none."""
    column = state.nodes.column(key)
    return tuple(sorted({column.values[number] for number in np.unique(column.ids[nodes]).tolist() if number >= 0}))


def _skew(term: SpreadTerm, counts: Mapping[str, int]) -> ExceededSkew:
    return ExceededSkew(term.skew, term.key, tuple(term.pods.clauses or ()), tuple(itertools.starmap(DomainPods, sorted(counts.items()))))
