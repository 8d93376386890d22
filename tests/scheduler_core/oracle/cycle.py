"""Queue, and one cycle for each root in it."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.scheduler_core.oracle.algorithm import (
    ERROR,
    SUCCESS,
    UNSCHEDULABLE,
    WAIT,
    Result,
    Results,
    Simulation,
    complete,
    proposed,
)
from tests.scheduler_core.oracle.model import Cluster, Group, Objects, Pod, join, read
from tests.scheduler_core.oracle.preempt import preempt

HIGHEST_CLIMB = 4
"""Largest number of composites between a PodGroup and the root of a pod."""
TITLE = "pod group is unschedulable"


@dataclasses.dataclass
class Root:
    """Entry of the queue: a group, or a pod without one; *group* is also None if the pods' PodGroup does not exist."""

    kind: str
    namespace: str
    name: str
    priority: int
    created: str
    pods: list[Pod]
    group: Group | None = None

    def order(self) -> tuple[Any, ...]:
        return (-self.priority, self.created, self.namespace, self.name, self.kind)

    def names(self) -> list[str]:
        """Return the names by which it may be given in an order."""
        return [self.name, f"{self.namespace}/{self.name}", f"{self.kind}/{self.namespace}/{self.name}"]


def run(objects: Objects, order: list[str] | None = None, *, evict: bool = False, failed_leaves: bool = True) -> list[dict[str, Any]]:
    """Return a decision for each root with pending pods; with *evict* victims are deleted and a second cycle follows.

    With *failed_leaves* False, unlike 1.37.1, no pod is preempted for pods of a failed leaf, and these are not nominated.
    """
    cluster = read(objects)
    cluster.failed_leaves = failed_leaves
    decisions = one_cycle(cluster, order or [])
    victims = {key for decision in decisions for key in decision["victims"]}
    if evict and victims:
        for key in victims:
            del cluster.pods[key], cluster.where[key]
        join(cluster)
        decisions += one_cycle(cluster, order or [])
    return decisions


def one_cycle(cluster: Cluster, order: list[str]) -> list[dict[str, Any]]:
    """Run one cycle.  Roots named in *order* come first; capacity taken by one root stays taken."""
    queue = sorted(roots(cluster), key=Root.order)
    queue.sort(key=lambda root: min((order.index(name) for name in root.names() if name in order), default=len(order)))
    return [decide(root, cluster) for root in queue]


def roots(cluster: Cluster) -> list[Root]:
    """Return the roots of all pending pods, without roots whose pods are all being deleted."""
    result: dict[tuple[str, str, str], Root] = {}
    for pod in sorted(cluster.pods.values(), key=lambda each: each.key):
        if pod.key in cluster.where:
            continue
        group = cluster.group_of(pod)
        if not pod.group:
            root = Root("Pod", pod.namespace, pod.name, pod.priority, pod.created, [])
        elif group is None:
            root = Root("PodGroup", pod.namespace, pod.group, pod.priority, "", [])
        else:
            top = cluster.chain(group)[-1] if cluster.complete(group) else group
            root = Root(top.kind, top.namespace, top.name, top.priority, top.created, [], top)
        result.setdefault((root.kind, root.namespace, root.name), root).pods.append(pod)
    return [root for root in result.values() if not all(pod.terminating for pod in root.pods)]


def decide(root: Root, cluster: Cluster) -> dict[str, Any]:
    """Run one attempt; the cluster keeps its assignments and nominations."""
    if root.kind == "Pod":
        return _lone_pod(root, cluster)
    if root.group is None or not ready(root, cluster):
        return _answer(root, {}, Result(WAIT))
    return _attempt(root, root.group, cluster)


def _attempt(root: Root, tree: Group, cluster: Cluster) -> dict[str, Any]:
    if problem := invalid(root, cluster):
        return _failed(root, tree, complete(tree, {tree.name: Result(ERROR, problem)}), cluster)
    messages = complete(tree, Simulation(cluster).root(tree))
    outcome = messages[tree.name]
    if outcome.status == ERROR:
        return _failed(root, tree, messages, cluster)
    if outcome.status == SUCCESS:
        assignments = proposed(tree, messages)
        cluster.where.update(assignments)
        for key in assignments:
            cluster.nominated.pop(key, None)
        return _answer(root, messages, outcome, assignments=assignments)
    return _preempting(root, tree, messages, cluster)


def _preempting(root: Root, tree: Group, told: Results, cluster: Cluster) -> dict[str, Any]:
    outcome = preempt(tree, cluster)
    if outcome.status == ERROR:
        return _failed(root, tree, {name: Result(ERROR, outcome.message) for name in told}, cluster)
    for each in told.values():
        cause = ", ".join(part for part in (TITLE, each.message) if part)
        each.message = f"{cause}, pod group preemption: {outcome.message}"
    if outcome.status != SUCCESS:
        # What an earlier preemption promised is void.
        for pod in tree.pods():
            cluster.nominated.pop(pod.key, None)
    cluster.nominated.update(outcome.nominations)
    for key in outcome.victims:
        # They leave in their own time: their nodes are theirs for the rest of this cycle.
        cluster.pods[key].terminating = cluster.pods[key].preempted = True
    return _answer(root, told, told[tree.name], victims=outcome.victims, nominations=outcome.nominations)


def _failed(root: Root, tree: Group, told: Results, cluster: Cluster) -> dict[str, Any]:
    for pod in tree.pods():
        cluster.nominated.pop(pod.key, None)
    return _answer(root, told, told[tree.name])


def _lone_pod(root: Root, cluster: Cluster) -> dict[str, Any]:
    """Place a pod without a group: filters and scores over all nodes.  Unlike upstream it preempts no pod."""
    pod = root.pods[0]
    if pod.gated:
        return _answer(root, {}, Result(WAIT))
    node = Simulation(cluster).choose(pod, list(cluster.nodes.values()))
    if node is None:
        return _answer(root, {}, Result(UNSCHEDULABLE))
    cluster.where[pod.key] = node
    cluster.nominated.pop(pod.key, None)
    return _answer(root, {}, Result(SUCCESS), assignments={pod.key: node})


def ready(root: Root, cluster: Cluster) -> bool:
    """Check PreEnqueue: all ancestors exist, enough members exist, no pending pod is gated."""
    tree = root.group
    if tree is None or not cluster.complete(tree) or any(pod.gated for pod in root.pods):
        return False
    homes = [group for group in tree.leaves() if any(pod in group.members for pod in root.pods)]
    if any(len(cluster.chain(home)) - 1 > HIGHEST_CLIMB for home in homes):
        return False
    return quorum(tree)


def quorum(group: Group) -> bool:
    """Return the members that count for the quorum: all states."""
    if group.kind == "PodGroup":
        return len(group.members) >= group.minimum
    return sum(quorum(child) for child in group.children) >= group.minimum


def invalid(root: Root, cluster: Cluster) -> str:
    """Return the first error of the pods of a tree, including running ones."""
    tree = root.group
    assert tree is not None
    scheduler = root.pods[0].scheduler
    for pod in root.pods + cluster.running(tree):
        if pod.scheduler != scheduler:
            return f"all pods in a single pod group should have the same .spec.schedulerName set, got: {pod.scheduler} and {scheduler}"
        if pod.priority != tree.priority:
            own = f"got {pod.priority} and {tree.priority}"
            return f"all pods in a single pod group should have the same priority as the pod group's priority, {own}"
        if pod.policy != tree.policy:
            return f"all pods should have the same preemption policy as the pod group's, got {pod.policy} and {tree.policy}"
    return ""


def _answer(
    root: Root,
    told: Results,
    outcome: Result,
    *,
    assignments: dict[str, str] | None = None,
    victims: list[str] | None = None,
    nominations: dict[str, str] | None = None,
) -> dict[str, Any]:
    groups = root.group.walk() if root.group else []
    return {
        "root": {"kind": root.kind, "namespace": root.namespace, "name": root.name},
        "status": outcome.status,
        "message": outcome.message,
        "assignments": assignments or {},
        "victims": victims or [],
        "nominations": nominations or {},
        "groups": {group.name: told[group.name].status if told else WAIT for group in groups},
        "messages": {group.name: told[group.name].message if told else "" for group in groups},
        "domains": {
            group.name: {"key": group.topology, "value": told[group.name].domain}
            for group in groups
            if told and group.topology and told[group.name].status == SUCCESS
        },
    }
