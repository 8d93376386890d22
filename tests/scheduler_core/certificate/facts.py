"""What the objects of a cluster say of one root: its groups, the shapes of its pods, and what each node has free for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.scheduler_core.exact.cells import most, shapes
from tests.scheduler_core.oracle.algorithm import queued
from tests.scheduler_core.oracle.brute import satisfied
from tests.scheduler_core.oracle.fit import free
from tests.scheduler_core.oracle.model import Group, Objects, read

Nodes = frozenset[str]


class Facts:
    """One root; a measure is a resource by its name, or a shape by its number, of which a node holds so many pods."""

    def __init__(self, objects: Objects, root: dict[str, str], beside: Mapping[str, str]) -> None:
        self.cluster = read(objects)
        self.cluster.where.update(beside)
        self.root = self.lone(root) if root["kind"] == "Pod" else self.cluster.groups[root["kind"], root["namespace"], root["name"]]
        self.groups = {group.name: group for group in self.root.walk()}
        of_leaf = shapes(self.cluster, self.root)
        self.shapes = list({id(each): each for found in of_leaf.values() for each in found}.values())
        self.kind, self.waiting = {}, {}
        for leaf in self.root.leaves():
            kinds = [self.shapes.index(each) for each in of_leaf[leaf.name]]
            self.kind |= dict(zip((pod.key for pod in queued(leaf, self.cluster)), kinds, strict=True))
            self.waiting[leaf.name] = Counter(kinds)
        self.free: dict[str, dict[str | int, int]] = {}
        for name, node in self.cluster.nodes.items():
            there = self.cluster.on(name)
            room = {resource: free(node, there, resource) for each in self.shapes for resource in each.amounts}
            slots = {kind: most(each, node, there) for kind, each in enumerate(self.shapes)}
            self.free[name] = {
                at: max(0, each) for at, each in {**room, "pods": node.allocatable.get("pods", 0) - len(there), **slots}.items()
            }

    def lone(self, root: dict[str, str]) -> Group:
        """A pod without a group, as a group of its own."""
        pod = self.cluster.pods[f"{root['namespace']}/{root['name']}"]
        told = ("PodGroup", root["namespace"], pod.name, False, 1, "", pod.priority, pod.policy, False, "", pod.created)
        return Group(*told, members=[pod])

    def missing(self, group: Group) -> int:
        if group.kind == "PodGroup":
            return group.minimum - len(self.cluster.running(group))
        return group.minimum - sum(satisfied(each, self.cluster) for each in group.children)

    def weight(self, kind: int, measure: Any) -> int:
        return int(kind == measure) if isinstance(measure, int) else self.shapes[kind].amounts.get(measure, 0)

    def least(self, group: Group, measure: Any) -> int:
        parts = [self.least(each, measure) for each in group.children if not satisfied(each, self.cluster)]
        if group.kind == "PodGroup":
            parts = [self.weight(kind, measure) for kind in self.waiting[group.name].elements()]
        return 0 if satisfied(group, self.cluster) else sum(sorted(parts)[: self.missing(group)])

    def room(self, nodes: Nodes, measure: Any) -> int:
        return sum(self.free[node][measure] for node in nodes)

    def within(self, labels: Iterable[tuple[str, str]]) -> Nodes:
        return frozenset(name for name, node in self.cluster.nodes.items() if all(node.labels.get(key) == value for key, value in labels))

    def domains(self, nodes: Nodes, key: str) -> dict[str, Nodes]:
        values = {self.cluster.nodes[node].labels.get(key) for node in nodes} - {None}
        return {str(value): self.within([(key, str(value))]) & nodes for value in values}

    def confined(self, group: Group, place: Nodes) -> dict[str, Nodes]:
        pins = {self.cluster.where[pod.key] for pod in self.cluster.running(group)}
        domains = self.domains(place, group.topology) if group.topology else {"": place}
        return {value: nodes for value, nodes in domains.items() if not group.topology or pins <= self.within([(group.topology, value)])}

    def likes(self, names: Iterable[str]) -> list[str]:
        """What groups are but for their names, in an order of its own."""
        return sorted(self.like(self.groups[name]) for name in names)

    def like(self, group: Group) -> str:
        pods = sorted(self.waiting.get(group.name, {}).items()), sorted(self.cluster.where[pod.key] for pod in self.cluster.running(group))
        return repr((group.kind, group.minimum, group.topology, pods, self.likes(each.name for each in group.children)))

    def nested(self, keys: list[str]) -> bool:
        """Whether of any two keys one divides the domains of the other."""
        labels = [node.labels for node in self.cluster.nodes.values()]
        pairs = [(wide, narrow) for wide in keys for narrow in keys if wide != narrow]
        inside = {(wide, narrow) for wide, narrow in pairs if self.divides(wide, narrow, labels)}
        return all({(wide, narrow), (narrow, wide)} & inside for wide, narrow in pairs)

    @staticmethod
    def divides(wide: str, narrow: str, labels: list[dict[str, str]]) -> bool:
        values = {(each[narrow], each.get(wide)) for each in labels if narrow in each}
        return len(values) == len({inner for inner, _ in values}) and all(outer is not None for _, outer in values)

    def look(self, nodes: Nodes, keys: list[str]) -> str:
        """The room of *nodes*, and how *keys* divide them."""
        room = sorted(str(sorted((str(measure), amount) for measure, amount in self.free[node].items())) for node in nodes)
        return repr(
            (
                room,
                [
                    sorted(self.look(each, keys[:at] + keys[at + 1 :]) for each in self.domains(nodes, key).values())
                    for at, key in enumerate(keys)
                ],
            )
        )
