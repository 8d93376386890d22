"""Naive implementation of the stateful plugins, node by node and pod by pod, from the documentation of the API.

A cluster is a list of (pod, index of its node).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeapi.affinity import PodAffinityTerm
from kubeapi.pods import TopologySpreadConstraint
from kubeapi.selectors import LabelSelector, NodeSelectorTerm, Requirement
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord

Cluster = Sequence[tuple[PodRecord, int]]

NAMESPACE_NAME = "kubernetes.io/metadata.name"


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    key, values = requirement.key, requirement.values or ()
    if requirement.operator == "In":
        return key in labels and labels[key] in values
    if requirement.operator == "NotIn":
        return key not in labels or labels[key] not in values
    if requirement.operator == "Exists":
        return key in labels
    if requirement.operator == "DoesNotExist":
        return key not in labels
    if key not in labels or not labels[key].isdigit():
        return False
    return int(labels[key]) > int(values[0]) if requirement.operator == "Gt" else int(labels[key]) < int(values[0])


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    pairs = all(labels.get(key) == value for key, value in (selector.match_labels or {}).items())
    return pairs and all(holds(each, labels) for each in selector.match_expressions or ())


def term_selects(term: PodAffinityTerm, owner: PodRecord, other: PodRecord) -> bool:
    """Return true if *term* of *owner* selects *other*."""
    namespaces = list(term.namespaces or ())
    if not namespaces and term.namespace_selector is None:
        namespaces = [owner.namespace]
    name = {NAMESPACE_NAME: other.namespace}
    if other.namespace not in namespaces and not selects(term.namespace_selector, name):
        return False
    if not selects(term.label_selector, other.labels):
        return False
    same = all(other.labels.get(key) == owner.labels[key] for key in term.match_label_keys or () if key in owner.labels)
    return same and all(other.labels.get(key) != owner.labels[key] for key in term.mismatch_label_keys or () if key in owner.labels)


def required(pod: PodRecord, side: str) -> tuple[PodAffinityTerm, ...]:
    affinity = getattr(pod.shape.affinity, side) if pod.shape.affinity else None
    return (affinity.required_during_scheduling_ignored_during_execution or ()) if affinity else ()


def preferred(pod: PodRecord) -> list[tuple[int, PodAffinityTerm]]:
    results = []
    for sign, side in ((1, "pod_affinity"), (-1, "pod_anti_affinity")):
        affinity = getattr(pod.shape.affinity, side) if pod.shape.affinity else None
        for each in (affinity.preferred_during_scheduling_ignored_during_execution or ()) if affinity else ():
            results.append((sign * each.weight, each.pod_affinity_term))
    return results


def together(nodes: NodeTable, key: str, one: int, other: int) -> bool:
    """Return true if two nodes are in one domain of *key*."""
    return key in nodes.labels[one] and nodes.labels[one][key] == nodes.labels[other].get(key)


def affinity_allows(nodes: NodeTable, cluster: Cluster, pod: PodRecord, node: int) -> bool:
    terms = required(pod, "pod_affinity")
    if not all(term.topology_key in nodes.labels[node] for term in terms):
        return False
    expected = [(other, place) for other, place in cluster if all(term_selects(term, pod, other) for term in terms)]
    if all(any(together(nodes, term.topology_key, node, place) for _, place in expected) for term in terms):
        return True
    anywhere = any(term.topology_key in nodes.labels[place] for term in terms for _, place in expected)
    return not anywhere and all(term_selects(term, pod, pod) for term in terms)


def anti_affinity_allows(nodes: NodeTable, cluster: Cluster, pod: PodRecord, node: int) -> bool:
    return not any(
        term_selects(term, pod, other) and together(nodes, term.topology_key, node, place)
        for term in required(pod, "pod_anti_affinity")
        for other, place in cluster
    )


def anti_affinity_of_others_allows(nodes: NodeTable, cluster: Cluster, pod: PodRecord, node: int) -> bool:
    return not any(
        term_selects(term, other, pod) and together(nodes, term.topology_key, node, place)
        for other, place in cluster
        for term in required(other, "pod_anti_affinity")
    )


def score(nodes: NodeTable, cluster: Cluster, pod: PodRecord, node: int) -> int:
    total = 0
    for other, place in cluster:
        for weight, term in preferred(pod):
            total += weight * (term_selects(term, pod, other) and together(nodes, term.topology_key, node, place))
        for weight, term in [*preferred(other), *((1, each) for each in required(other, "pod_affinity"))]:
            total += weight * (term_selects(term, other, pod) and together(nodes, term.topology_key, node, place))
    return total


def node_term_matches(term: NodeSelectorTerm, nodes: NodeTable, node: int) -> bool:
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    name = {"metadata.name": nodes.names[node]}
    messages = bool(expressions or fields)
    return messages and all(holds(each, nodes.labels[node]) for each in expressions) and all(holds(each, name) for each in fields)


def node_allowed(pod: PodRecord, nodes: NodeTable, node: int) -> bool:
    """Check the pod's nodeSelector and required node affinity."""
    if any(nodes.labels[node].get(key) != value for key, value in pod.shape.node_selector):
        return False
    affinity = pod.shape.affinity.node_affinity if pod.shape.affinity else None
    wanted_value = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return wanted_value is None or any(node_term_matches(term, nodes, node) for term in wanted_value.node_selector_terms or ())


def tolerated(pod: PodRecord, nodes: NodeTable, node: int) -> bool:
    """Check tolerations; those here are for a key with any value and effect."""
    keys = {each.key for each in pod.shape.tolerations}
    return all(taint.effect == "PreferNoSchedule" or taint.key in keys for taint in nodes.taints[node])


def spread_reason(nodes: NodeTable, cluster: Cluster, pod: PodRecord, node: int, among: Sequence[int]) -> str:
    """Return ``lacks``, ``crowded`` or nothing, by the first constraint that the node fails; domains are of the nodes *among*."""
    hard = [each for each in pod.shape.spread if each.when_unsatisfiable == "DoNotSchedule"]
    eligible = [each for each in among if all(constraint.topology_key in nodes.labels[each] for constraint in hard)]
    for constraint in hard:
        if constraint.topology_key not in nodes.labels[node]:
            return "lacks"
        if _crowded(nodes, cluster, pod, node, constraint, eligible):
            return "crowded"
    return ""


def _crowded(
    nodes: NodeTable, cluster: Cluster, pod: PodRecord, node: int, constraint: TopologySpreadConstraint, eligible: Sequence[int]
) -> bool:
    key = constraint.topology_key
    if constraint.node_affinity_policy != "Ignore":
        eligible = [each for each in eligible if node_allowed(pod, nodes, each)]
    if constraint.node_taints_policy == "Honor":
        eligible = [each for each in eligible if tolerated(pod, nodes, each)]
    counts = {nodes.labels[each][key]: 0 for each in eligible}
    for other, place in cluster:
        if place in eligible and not other.terminating and other.namespace == pod.namespace and _counted(constraint, pod, other):
            counts[nodes.labels[place][key]] += 1
    fewest = min(counts.values(), default=0)
    if len(counts) < (constraint.min_domains or 1):
        fewest = 0
    here = counts.get(nodes.labels[node][key], 0)
    return here + _self_counted(constraint, pod) - fewest > constraint.max_skew


def _self_counted(constraint: TopologySpreadConstraint, pod: PodRecord) -> bool:
    """Return the pods counted; an empty selector matches the pod itself, but no other pod."""
    return selects(constraint.label_selector, pod.labels)


def _counted(constraint: TopologySpreadConstraint, pod: PodRecord, other: PodRecord) -> bool:
    keys = [key for key in constraint.match_label_keys or () if key in pod.labels]
    selector = constraint.label_selector
    empty = selector is not None and not selector.match_labels and not selector.match_expressions
    if empty and not keys:
        return False
    return selects(selector, other.labels) and all(other.labels.get(key) == pod.labels[key] for key in keys)
