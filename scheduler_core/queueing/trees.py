"""The trees of a snapshot's groups with the pods in them, and what the queue makes of one: an Entity.

A tree is a root with all below it (KEP-6012, Group hierarchy).  What has no root is a tree here as well, so that it can be
told what is wrong with it: a group whose parent is not there, and a circle of parents with all that hangs below it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from scheduler_core.model.decision import Name
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.queueing.creation_time import Age, age
from validators.gates import PREEMPTION_POLICY, Gates
from validators.hierarchy.tree import GroupNode, GroupTree
from validators.model.group import Group, PodGroup
from validators.model.objects import namespace_of


@dataclasses.dataclass(slots=True, eq=False)
class Members:
    """The pods of one PodGroup."""

    waiting: list[PodRecord] = dataclasses.field(default_factory=list)
    """Pending ones, in the order in which they are tried: priority descending, age, name."""
    running: list[PodRecord] = dataclasses.field(default_factory=list)
    """Those that have a node, terminating ones included: they still hold their place."""
    leaving: int = 0
    """Pending ones that are being deleted: members still, but nothing is to be placed."""

    @property
    def count(self) -> int:
        """Members in any state."""
        return len(self.waiting) + len(self.running) + self.leaving


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Groups that belong together."""

    top: GroupNode
    """The root; the topmost group there is, where a parent is missing; the first by name of those on a cycle."""
    nodes: tuple[GroupNode, ...]
    """All groups, the top first, parents before children, siblings by creation time, then name."""

    @property
    def cyclic(self) -> bool:
        """Whether it has no root because parents run in a circle."""
        return self.top.on_cycle

    @property
    def name(self) -> Name:
        """The name of the top."""
        return name_of(self.top.group)


class Trees:
    """All trees of *snapshot*; its groups are as the API server holds them, without fields whose feature gate is off.

    Attributes:
        all: trees; each group is in exactly one, of two groups of one kind and name the first counts.
        joined: the groups as the rules look at them.
        alone: pods without a group.
        strays: pods whose PodGroup is not there.

    """

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self.snapshot = snapshot
        groups: dict[Name, Group] = {}
        for group in snapshot.groups:
            groups.setdefault(name_of(group), group)
        self.joined = GroupTree.build(groups.values())
        for node in self.joined.nodes:
            node.children.sort(key=_by_age)
        self.all = tuple(Tree(each[0], tuple(each)) for each in (*_rooted(self.joined), *_circling(self.joined)))
        self._members: dict[Name, Members] = {name: Members() for name in groups if name.kind == "PodGroup"}
        self.alone: list[PodRecord] = []
        self.strays: list[PodRecord] = []
        for pod in snapshot.pods:
            self._sort_in(pod)
        for members in self._members.values():
            members.waiting.sort(key=_as_tried)

    def members(self, node: GroupNode) -> Members:
        """The pods of a group; a composite has none of its own."""
        return self._members.get(name_of(node.group)) or Members()

    def waiting(self, tree: Tree) -> Iterator[PodRecord]:
        """The pending members of all its leaves, leaf by leaf."""
        return (pod for node in tree.nodes for pod in self.members(node).waiting)

    def running(self, tree: Tree) -> Iterator[PodRecord]:
        """The members that have a node."""
        return (pod for node in tree.nodes for pod in self.members(node).running)

    def priority(self, group: Group) -> int:
        """The priority of a group, its class resolved."""
        name = name_of(group)
        return self.snapshot.priorities.get((name.kind, name.namespace, name.name), 0)

    def preempts(self, tree: Tree, gates: Gates) -> bool:
        """Whether it may preempt: the root's word, or with the gate PodGroupPreemptionPolicy off that of every pod (KEP-5710)."""
        if gates.enabled(PREEMPTION_POLICY):
            return allows_preemption(tree.top.group)
        return all(pod.preempts for pod in self.waiting(tree))

    def entity(self, tree: Tree, gates: Gates) -> Entity:
        """What a valid tree is to the queue.  It must have a root and a depth that recursion bears."""
        return self._entity(tree.top, preempts=self.preempts(tree, gates))

    def _entity(self, node: GroupNode, *, preempts: bool) -> Entity:
        group, members, name = node.group, self.members(node), name_of(node.group)
        constraints = group.spec.scheduling_constraints
        return Entity(
            name=name,
            minimum=minimum(group),
            gang=group.spec.scheduling_policy.gang is not None,
            key=constraints.topology[0].key if constraints is not None and constraints.topology else "",
            priority=self.priority(group),
            preempts=preempts,
            created=group.metadata.creation_timestamp or "",
            children=tuple(self._entity(child, preempts=preempts) for child in node.children),
            waiting=tuple(members.waiting),
            running=tuple(members.running),
            desired=self.snapshot.desired.get((name.namespace, name.name), 0) if isinstance(group, PodGroup) else 0,
        )

    def _sort_in(self, pod: PodRecord) -> None:
        if not pod.group:
            self.alone.append(pod)
            return
        members = self._members.get(Name("PodGroup", pod.namespace, pod.group))
        if members is None:
            self.strays.append(pod)
        elif pod.node >= 0:
            members.running.append(pod)
        elif pod.terminating:
            members.leaving += 1
        else:
            members.waiting.append(pod)


def name_of(group: Group) -> Name:
    """The name of a group as decisions have it."""
    return Name(group.kind, namespace_of(group), group.metadata.name)


def minimum(group: Group) -> int:
    """The minCount or minGroupCount; 1 for basic groups, and where less is written, which no API server takes."""
    if isinstance(group, PodGroup):
        gang = group.spec.scheduling_policy.gang
        return max(1, gang.min_count) if gang is not None else 1
    pack = group.spec.scheduling_policy.gang
    return max(1, pack.min_group_count) if pack is not None else 1


def allows_preemption(group: Group) -> bool:
    """Whether the group's preemptionPolicy lets it preempt; absent is PreemptLowerPriority."""
    return group.spec.preemption_policy != "Never"


def pod_entity(pod: PodRecord) -> Entity:
    """A pod without a group is a root of its own."""
    name = Name("Pod", pod.namespace, pod.name)
    return Entity(name, 1, gang=False, key="", priority=pod.priority, preempts=pod.preempts, created=pod.created, waiting=(pod,))


def _by_age(node: GroupNode) -> tuple[Age, str, str]:
    metadata = node.group.metadata
    return age(metadata.creation_timestamp), metadata.name, node.group.kind


def _as_tried(pod: PodRecord) -> tuple[int, Age, str]:
    return -pod.priority, age(pod.created), pod.name


def _rooted(joined: GroupTree) -> Iterator[list[GroupNode]]:
    return (_below([root]) for root in joined.roots)


def _circling(joined: GroupTree) -> Iterator[list[GroupNode]]:
    """Each circle with what hangs below it, the first by name leading."""
    seen: set[int] = set()
    for start in sorted((node for node in joined.nodes if node.on_cycle), key=lambda node: _place(node.group)):
        circle: list[GroupNode] = []
        node: GroupNode | None = start
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            circle.append(node)
            node = node.parent
        if circle:
            yield _below(circle)


def _place(group: Group) -> tuple[str, str]:
    return namespace_of(group), group.metadata.name


def _below(tops: Iterable[GroupNode]) -> list[GroupNode]:
    """*tops*, each followed by what is below it and not one of them: depth first, siblings in their order."""
    ordered: list[GroupNode] = []
    stack = list(tops)[::-1]
    listed = {id(node) for node in stack}
    while stack:
        node = stack.pop()
        ordered.append(node)
        below = [child for child in node.children if id(child) not in listed]
        stack.extend(reversed(below))
    return ordered
