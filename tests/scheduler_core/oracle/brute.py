"""Constraints of a placement, and exhaustive search for one.

Meant for tiny clusters: with n nodes and p pods there are (n + 1) ** p assignments.  Nominations are no
constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.scheduler_core.oracle.algorithm import queued
from tests.scheduler_core.oracle.cycle import ready, roots
from tests.scheduler_core.oracle.fit import claim_in_use, misfits
from tests.scheduler_core.oracle.model import Cluster, Group, Objects, Pod, read


def violations(objects: Objects, assignments: Mapping[str, str]) -> list[str]:
    """Return the constraints that *assignments* (node by pod, of any roots) violate; empty if all may be bound."""
    cluster = read(objects)
    broken = [reason for key, node in sorted(assignments.items()) for reason in _unusable(key, node, cluster)]
    if broken:
        return broken
    cluster.where.update(assignments)
    for key, node in sorted(assignments.items()):
        others = [pod for pod in cluster.on(node) if pod.key != key]
        broken += [f"{key} on {node}: {reason}" for reason in misfits(cluster.pods[key], cluster.nodes[node], others)]
        broken += [f"{key}: a claim is in use"] if _claim_in_use(cluster.pods[key], cluster) else []
    concerned = {id(group): group for key in sorted(assignments) for group in _above(cluster.pods[key], cluster)}
    return broken + [reason for group in concerned.values() for reason in _unmet(group, cluster)]


def placement(objects: Objects, kind: str, name: str, namespace: str = "default") -> dict[str, str] | None:
    """Return an assignment of at least one pod of one root that violates nothing; None if there is none.

    Members may be omitted as far as the minimums allow.  A root that is not ready has no placement.
    """
    cluster = read(objects)
    root = next(each for each in roots(cluster) if (each.kind, each.namespace, each.name) == (kind, namespace, name))
    if kind == "Pod":
        pods = root.pods
    elif root.group is not None and ready(root, cluster):
        pods = queued(root.group, cluster)
    else:
        return None
    running = dict(cluster.where)
    for _ in _assigned(pods, cluster):
        new = {key: node for key, node in cluster.where.items() if key not in running}
        if new and not any(_unmet(group, cluster) for key in new for group in _above(cluster.pods[key], cluster)):
            return new
    return None


def _assigned(pods: list[Pod], cluster: Cluster) -> Iterator[None]:
    """Try every assignment in ``cluster.where`` that filters and domains allow."""
    if not pods:
        yield
        return
    first, rest = pods[0], pods[1:]
    for name, node in sorted(cluster.nodes.items()):
        if not misfits(first, node, cluster.on(name)) and not _claim_in_use(first, cluster):
            cluster.where[first.key] = name
            if not any(_scattered(group, cluster) for group in _above(first, cluster)):
                yield from _assigned(rest, cluster)
            del cluster.where[first.key]
    yield from _assigned(rest, cluster)


def _unusable(key: str, node: str, cluster: Cluster) -> Iterator[str]:
    pod = cluster.pods.get(key)
    if pod is None:
        yield f"{key} is no pod"
        return
    if key in cluster.where:
        yield f"{key} runs on {cluster.where[key]} already"
    if pod.gated or pod.terminating:
        yield f"{key} is {'gated' if pod.gated else 'terminating'}"
    if node not in cluster.nodes:
        yield f"{key} is on {node}, which is no node"
    group = cluster.group_of(pod)
    if pod.group and (group is None or not cluster.complete(group)):
        yield f"{key} is placed while its groups are not all there"


def _claim_in_use(pod: Pod, cluster: Cluster) -> bool:
    return claim_in_use(pod, [cluster.pods[key] for key in cluster.where])


def _above(pod: Pod, cluster: Cluster) -> list[Group]:
    group = cluster.group_of(pod)
    return [] if group is None else cluster.chain(group)


def _unmet(group: Group, cluster: Cluster) -> list[str]:
    broken = _scattered(group, cluster)
    if not satisfied(group, cluster):
        broken.append(f"{group.kind} {group.name} has pods placed, but not its minimum of {group.minimum}")
    return broken


def satisfied(group: Group, cluster: Cluster) -> bool:
    """Return true if running and assigned pods reach the minimum, counted from the leaves upwards."""
    if group.kind == "PodGroup":
        return len(cluster.running(group)) >= group.minimum
    return sum(satisfied(child, cluster) for child in group.children) >= group.minimum


def _scattered(group: Group, cluster: Cluster) -> list[str]:
    if not group.topology:
        return []
    nodes = [cluster.nodes.get(cluster.where[pod.key]) for pod in cluster.running(group)]
    values = {None if node is None else node.labels.get(group.topology) for node in nodes}
    if len(values) > 1 or None in values:
        return [f"{group.kind} {group.name} is in {sorted(map(str, values))} of {group.topology}, not in one domain"]
    return []
