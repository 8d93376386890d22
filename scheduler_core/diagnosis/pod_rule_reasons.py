"""Wording of rejections by other pods: host ports, affinity, anti-affinity and topology spread, with the domains and labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.diagnosis.node_refusals import NodeRefusals
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.selectors import SelectorClause
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.node_ports import PORTS
from scheduler_core.plugins.pod_terms import PodSet, SpreadTerm
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD, PodTopologySpread

REASONS = (PORTS, AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, LACKS_TOPOLOGY, SPREAD)
_OPERATORS = {"In": "in", "NotIn": "notin"}


@dataclasses.dataclass(frozen=True, slots=True)
class PodRuleReasons:
    """Rules about other pods in words, by kube-scheduler's reason.

    Attributes:
        decisive: rules that alone reject every node that the pod can use: no amount of free resources is enough.
        others: rules that reject some nodes that have the resources.

    """

    decisive: Mapping[str, str]
    others: Mapping[str, str]

    @classmethod
    def from_refusals(cls, state: PlacementState, refusals: NodeRefusals) -> PodRuleReasons:
        """Return the rules among *refusals*, which must be those of the present state."""
        rules = {reason: refusals.usable & ~passing for _, reason, passing in refusals.filters if reason in REASONS}
        decisive = [reason for reason, mask in rules.items() if mask.any() and (mask == refusals.usable).all()]
        if ANTI_AFFINITY in decisive:
            # Replicas exclude each other both ways.
            decisive = [reason for reason in decisive if reason != EXISTING_ANTI_AFFINITY]
        texts = {reason: _text(state, refusals, reason, rules[reason]) for reason in decisive}
        others = {reason: _text(state, refusals, reason, mask) for reason, mask in refusals.others.items() if reason in REASONS}
        return cls(dict(filter(_has_text, texts.items())), {} if texts else dict(filter(_has_text, others.items())))


def _has_text(pair: tuple[str, str]) -> bool:
    return bool(pair[1])


def _text(state: PlacementState, refusals: NodeRefusals, reason: str, mask: Bools) -> str:
    """Return *reason*, which rejects the examined nodes of *mask*, in words; empty to leave it as kube-scheduler words it."""
    count, rejected = int(mask.sum()), refusals.nodes[mask]
    some = f"{phrases.some_of(count, len(refusals.nodes))} {'is' if count == 1 else 'are'} excluded by"
    whole = count == len(refusals.nodes)
    if reason == PORTS:
        ports = phrases.listed([f"{port}/{protocol}" for protocol, _, port in refusals.pod.shape.ports])
        return f"{phrases.some_of(count, len(refusals.nodes))} {'has' if count == 1 else 'have'} host port {ports} in use"
    for plugin in state.stateful.plugins:
        if isinstance(plugin, InterPodAffinity) and (
            details := next(_affinity(state, refusals, plugin, reason, rejected, whole=whole), "")
        ):
            return f"{some} {details}"
        if isinstance(plugin, PodTopologySpread) and reason == SPREAD:
            return f"{some} its topology spread: {phrases.listed([_spread(*each) for each in plugin.exceeded(refusals.pod, rejected)])}"
    return ""


def _affinity(
    state: PlacementState, refusals: NodeRefusals, plugin: InterPodAffinity, reason: str, rejected: Nodes, *, whole: bool
) -> Iterator[str]:
    """Yield for each term that rejects one of the nodes *rejected* its selected pods, and the domains."""
    for term, tally in plugin.related(refusals.pod, reason):
        selected, counts = _selector(term.pods), tally.counts_at(rejected)
        without = reason == AFFINITY
        refused = rejected[(counts == 0) if without else (counts > 0)]
        if not len(refused):
            continue
        noun, (where, several) = phrases.level(term.key), _domains(state, term.key, refused)
        if reason == ANTI_AFFINITY:
            yield f"its pod anti-affinity: {where} {'have' if several else 'has'} a pod with {selected}"
        elif reason == EXISTING_ANTI_AFFINITY:
            yield f"the anti-affinity to {selected} of pods {'on' if noun == 'node' else 'in'} {where}"
        elif whole and len(refused) == len(rejected):
            yield f"its pod affinity: no {noun} has a pod with {selected}"
        else:
            yield f"its pod affinity: no pod with {selected} is {'on' if noun == 'node' else 'in'} {where}"


def _domains(state: PlacementState, key: str, nodes: Nodes) -> tuple[str, bool]:
    """Return the domains of *nodes* in words: ``zones za and zb``, and whether they are several; nodes without the label are in none."""
    column = state.nodes.column(key)
    values = sorted({column.values[number] for number in np.unique(column.ids[nodes]).tolist() if number >= 0})
    noun = phrases.level(key)
    several = len(values) > 1
    return f"{noun}{'s' if several else ''} {phrases.listed(values)}" if values else f"a {noun}", several


def _spread(term: SpreadTerm, counts: dict[str, int]) -> str:
    """Return a constraint in words, with the number of pods by domain."""
    ordered = [f"{value} {counts[value]}" for value in sorted(counts)]
    if len(ordered) > phrases.SHOWN:
        ordered = [f"from {min(counts.values())} to {max(counts.values())}"]
    return f"maxSkew {term.skew} by {phrases.level(term.key)}, pods with {_selector(term.pods)}: {', '.join(ordered)}"


def _selector(pods: PodSet) -> str:
    """Return the selected labels as kubectl writes them: ``app=web``, ``tier in (a, b)``."""
    return ",".join(_clauses(pods.clauses or ())) or "any label"


def _clauses(clauses: Iterable[SelectorClause]) -> list[str]:
    texts = []
    for each in clauses:
        values = sorted(each.values)
        if not values:
            texts.append(f"{'!' if each.operator == 'DoesNotExist' else ''}{each.key}")
        elif len(values) == 1:
            texts.append(f"{each.key}{'=' if each.operator == 'In' else '!='}{values[0]}")
        else:
            texts.append(f"{each.key} {_OPERATORS[each.operator]} ({', '.join(values)})")
    return sorted(texts)
