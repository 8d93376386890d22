"""Scores of nodes and placements.  Integers, divided as Go divides them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.scheduler_core.oracle.fit import preferred, tolerated
from tests.scheduler_core.oracle.model import Node, Pod

RESOURCES = ("cpu", "memory")
TAINTS, AFFINITY = 3, 2
"""Weights of the scores; LeastAllocated and BalancedAllocation have 1."""


def divide(dividend: int, divisor: int) -> int:
    """Divide, rounded towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def node_scores(pod: Pod, feasible: dict[str, tuple[Node, list[Pod]]], cluster: Sequence[Node] = ()) -> dict[str, int]:
    """Return the total score of each feasible node, given with the pods on it; *cluster*: all nodes."""
    avoided = {name: untolerated(pod, node) for name, (node, _) in feasible.items()}
    liked = {name: preferred(pod, node) for name, (node, _) in feasible.items()}
    most_avoided, most_liked = max(avoided.values()), max(liked.values())
    totals = {}
    for name, (node, others) in feasible.items():
        by_taints = 100 - divide(100 * avoided[name], most_avoided) if most_avoided else 100
        by_affinity = divide(100 * liked[name], most_liked) if most_liked else 0
        totals[name] = local_images(pod, node, cluster)
        totals[name] += least_allocated(pod, node, others) + balanced(pod, node, others) + TAINTS * by_taints + AFFINITY * by_affinity
    return totals


def untolerated(pod: Pod, node: Node) -> int:
    """Return the number of PreferNoSchedule taints that the pod does not tolerate."""
    soft = [taint for taint in node.taints if taint.get("effect") == "PreferNoSchedule"]
    return sum(not tolerated(taint, pod, ("PreferNoSchedule",)) for taint in soft)


def local_images(pod: Pod, node: Node, cluster: Sequence[Node]) -> int:
    """Return the score of the pod's images on the node."""
    containers = [*(pod.spec.get("initContainers") or []), *pod.spec["containers"]]
    names = [each.get("image", "") for each in containers]
    names += [each["image"]["reference"] for each in pod.spec.get("volumes") or [] if "image" in each]
    total = 0
    for name in names:
        whole = name if ":" in name.split("/")[-1] else name + ":latest"
        if whole in node.images:
            having = [other for other in sorted(cluster, key=lambda each: each.name) if whole in other.images]
            total += int(having[0].images[whole] * (len(having) / len(cluster)))
    least, most = 23 * 2**20, 1000 * 2**20 * len(names)
    return divide(100 * (max(least, min(most, total)) - least), most - least)


def least_allocated(pod: Pod, node: Node, others: list[Pod]) -> int:
    """Return the mean of the free fractions with the pod on the node, in percent."""
    scores = []
    for resource in RESOURCES:
        capacity = node.allocatable.get(resource, 0)
        used = sum(each.scored[resource] for each in [*others, pod])
        if capacity > 0:
            scores.append(0 if used > capacity else divide((capacity - used) * 100, capacity))
    return divide(sum(scores), len(scores)) if scores else 0


def balanced(pod: Pod, node: Node, others: list[Pod]) -> int:
    """Return the gain in balance with the pod on the node: 50 to 100 if it requests any of the resources, else 0."""
    if not any(pod.requests.get(resource, 0) for resource in RESOURCES):
        return 0
    return 50 + divide(50 + evenness(node, [*others, pod]) - evenness(node, others), 2)


def evenness(node: Node, pods: list[Pod]) -> int:
    fractions = []
    for resource in RESOURCES:
        free_capacity = node.allocatable.get(resource, 0)
        if free_capacity > 0:
            in_use = sum(pod.requests.get(resource, 0) for pod in pods)
            fractions.append(min(1.0, float(in_use) / float(free_capacity)))
    deviation = abs(fractions[0] - fractions[1]) / 2 if len(fractions) == 2 else 0.0
    return int((1 - deviation) * 100)


def tightness(nodes: list[Node], pods: list[Pod]) -> int:
    """Return NodeResourcesFit of a placement: utilization of its nodes with all *pods*, running and proposed."""
    scores = []
    for resource in RESOURCES:
        capacity = sum(node.allocatable.get(resource, 0) for node in nodes)
        used = sum(pod.scored[resource] for pod in pods)
        if capacity > 0:
            scores.append(divide(100 * min(used, capacity), capacity))
    return divide(sum(scores), len(scores)) if scores else 0


def placement_scores(candidates: dict[str, tuple[list[Node], list[Pod], int]]) -> dict[str, int]:
    """Return the total score of each placement: its nodes, all pods on them, and the number of the group's pods."""
    most = max(count for _, _, count in candidates.values())
    return {name: tightness(nodes, pods) + divide(100 * count, most) for name, (nodes, pods, count) in candidates.items()}
