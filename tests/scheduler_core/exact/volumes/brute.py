"""Exhaustive search for a placement of a small cluster with volumes; shares no code with the engine.

With n nodes and p waiting pods there are (n + 1) ** p assignments, each with all ways to give volumes to claims.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from tests.scheduler_core.exact.volumes.small_clusters import BOUND, DRIVER, DYNAMIC, STATIC, Claim, Cluster, Node, Pod, Volume

PROVISIONED = ""
Assignment = Mapping[str, str]
"""Node by pod."""


def possible(cluster: Cluster, *, without: frozenset[str] = frozenset()) -> bool:
    """Return whether the minimum of the root can be placed; pods in *without* do not run any more."""
    waiting = [each for each in cluster.pods if not each.node]
    choices = [["", *(node.name for node in cluster.nodes)]] * len(waiting)
    for chosen in itertools.product(*choices):
        assignment = {pod.name: node for pod, node in zip(waiting, chosen, strict=True) if node}
        if assignment and not problems(cluster, assignment, without=without) and any(True for _ in volumes(cluster, assignment)):
            return True
    return False


def more(cluster: Cluster, assignment: Assignment) -> list[str]:
    """Return more pods that can be placed, as many as possible, while those of *assignment* stay on their nodes."""
    rest = [each.name for each in cluster.pods if not each.node and each.name not in assignment]
    found: list[str] = []
    for chosen in itertools.product(["", *(node.name for node in cluster.nodes)], repeat=len(rest)):
        added = {name: node for name, node in zip(rest, chosen, strict=True) if node}
        whole = {**assignment, **added}
        if len(added) > len(found) and not problems(cluster, whole) and any(True for _ in volumes(cluster, whole)):
            found = [*added]
    return found


def problems(cluster: Cluster, assignment: Assignment, *, without: frozenset[str] = frozenset()) -> list[str]:
    """Return what is wrong with *assignment*, whichever volumes the claims get."""
    where = {each.name: each.node for each in cluster.pods if each.node and each.name not in without} | dict(assignment)
    wrong = _unmet(cluster, assignment)
    for node in cluster.nodes:
        here = [each for each in cluster.pods if where.get(each.name) == node.name]
        new = [each for each in here if each.name in assignment]
        if new and sum(each.cpu for each in here) > node.cpu:
            wrong.append(f"{node.name} has too little cpu")
        if any(_in_conflict(one, other) for one, other in itertools.combinations(here, 2) if one in new or other in new):
            wrong.append(f"pods on {node.name} need one disk")
        if new and not any(
            _attaches(cluster, node, [each for each in here if each not in new], order) for order in itertools.permutations(new)
        ):
            wrong.append(f"{node.name} cannot attach the volumes")
    for claim in cluster.claims:
        users = [each for each in cluster.pods if each.name in where and claim.name in each.claims]
        if claim.single and len(users) > 1 and any(each.name in assignment for each in users):
            wrong.append(f"{claim.name} has {len(users)} users")
    return wrong


def volumes(cluster: Cluster, assignment: Assignment) -> Iterator[dict[str, str]]:
    """Yield all ways to give volumes to the claims of the pods in *assignment*: name of the volume, or PROVISIONED."""
    nodes: dict[str, list[Node]] = {}
    for pod in cluster.pods:
        for name in pod.claims if pod.name in assignment else ():
            nodes.setdefault(name, []).append(next(each for each in cluster.nodes if each.name == assignment[pod.name]))
    claims = [each for each in cluster.claims if each.storage_class != BOUND and each.name in nodes]
    yield from _given(cluster, claims, nodes, {})


def _given(cluster: Cluster, claims: list[Claim], nodes: Mapping[str, list[Node]], given: dict[str, str]) -> Iterator[dict[str, str]]:
    if not claims:
        if _within_capacity(cluster, given, nodes):
            yield given
        return
    claim, rest = claims[0], claims[1:]
    for volume in cluster.volumes:
        if volume.name not in given.values() and _suits(volume, claim) and all(_reaches(node, volume) for node in nodes[claim.name]):
            yield from _given(cluster, rest, nodes, {**given, claim.name: volume.name})
    if claim.storage_class != STATIC and len({node.name for node in nodes[claim.name]}) == 1:
        yield from _given(cluster, rest, nodes, {**given, claim.name: PROVISIONED})


def _within_capacity(cluster: Cluster, given: Mapping[str, str], nodes: Mapping[str, list[Node]]) -> bool:
    used: Counter[str] = Counter()
    for name, volume in given.items():
        claim = cluster.claim(name)
        if volume == PROVISIONED and claim.storage_class == DYNAMIC:
            used[nodes[name][0].rack] += claim.size
    return all(size <= cluster.capacity.get(rack, 0) for rack, size in used.items())


def _suits(volume: Volume, claim: Claim) -> bool:
    return volume.storage_class == claim.storage_class and volume.size >= claim.size and (volume.gold or not claim.gold)


def _reaches(node: Node, volume: Volume) -> bool:
    return not volume.key or volume.value == (node.rack if volume.key == "rack" else node.name)


def _in_conflict(one: Pod, other: Pod) -> bool:
    return bool(one.disk and other.disk) and (one.disk, other.disk) != ("ro", "ro")


def _attaches(cluster: Cluster, node: Node, before: list[Pod], new: tuple[Pod, ...]) -> bool:
    """Return whether each pod in its turn finds enough free attachments; a volume that is attached for no pod counts twice for it."""
    there = list(before)
    for pod in new:
        in_use = {volume for each in there for volume in _attached_volumes(cluster, each)}
        mine = _attached_volumes(cluster, pod) - in_use
        counted = in_use | {(BOUND, name) for name in node.attached}
        for driver, limit in node.limits.items():
            added = sum(each == driver for each, _ in mine)
            if added and added + sum(each == driver for each, _ in counted) > limit:
                return False
        there.append(pod)
    return True


def _attached_volumes(cluster: Cluster, pod: Pod) -> set[tuple[str, str]]:
    drivers = {**DRIVER, BOUND: BOUND}
    claims = [cluster.claim(name) for name in pod.claims]
    return {(drivers[each.storage_class], each.name) for each in claims if each.storage_class in drivers}


def _unmet(cluster: Cluster, assignment: Assignment) -> list[str]:
    placed = {name: [each.name for each in cluster.pods if each.group == name and each.name in assignment] for name in cluster.minimum}
    racks = {each.name: each.rack for each in cluster.nodes}
    if "root" in cluster.minimum:
        placed["root"] = [name for name in cluster.minimum if name != "root" and placed.get(name)]
    wrong = [f"{name} has less than its minimum" for name in placed if placed[name] and len(placed[name]) < cluster.minimum[name]]
    for name in cluster.by_rack:
        pods = [*assignment] if name == "root" else placed[name]
        if len({racks[assignment[each]] for each in pods}) > 1:
            wrong.append(f"{name} is in several racks")
    return wrong
