"""Trees of a snapshot's groups with their pods, and the entity of each tree.

A tree is a root with everything below it (KEP-6012, Group hierarchy).  Groups without a root form trees too, so that the error
can be reported: a group whose parent is missing, and a cycle of parents with everything below it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from kubeapi.groups import Group, PodGroup
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.queueing.creation_time import Age, age
from validators.gates import PREEMPTION_POLICY, Gates
from validators.hierarchy.tree import GroupNode, GroupTree
from validators.model.objects import namespace_of


@dataclasses.dataclass(slots=True, eq=False)
class Members:
    """Pods of one PodGroup."""

    waiting: list[PodRecord] = dataclasses.field(default_factory=list)
    """Pending pods in the order in which they are tried: priority descending, age, name."""
    running: list[PodRecord] = dataclasses.field(default_factory=list)
    """Pods that have a node, including terminating ones, which still use their resources."""
    leaving: int = 0
    """Number of pending pods that are being deleted: members, but not to be placed."""

    @property
    def count(self) -> int:
        """Return the number of members in any state."""
        return len(self.waiting) + len(self.running) + self.leaving


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Groups connected by parent references."""

    top: GroupNode
    """The root; the topmost group if a parent is missing; the first group by name on a cycle."""
    nodes: tuple[GroupNode, ...]
    """All groups, the top first, parents before children, siblings by creation time, then name."""

    @property
    def cyclic(self) -> bool:
        """Return whether the tree has no root because its parents form a cycle."""
        return self.top.on_cycle

    @property
    def name(self) -> Name:
        """Return the name of the top group."""
        return name_of(self.top.group)


class Trees:
    """All trees of *snapshot*, from which fields with disabled feature gates are already removed.

    Attributes:
        all: trees; each group is in exactly one; of two groups of one kind and name the first is used.
        joined: the groups as the rules see them.
        grouped: the pods of each PodGroup.
        alone: pods without a group.
        strays: pods whose PodGroup does not exist.

    """

    def __init__(self, snapshot: ClusterSnapshot, before: Trees | None = None) -> None:
        """Form the trees; the pods of groups are those of *before*, an earlier snapshot, if it has the same pods and PodGroups."""
        self.snapshot = snapshot
        groups: dict[Name, Group] = {}
        for group in snapshot.groups:
            groups.setdefault(name_of(group), group)
        self.joined = GroupTree.build(groups.values())
        for node in self.joined.nodes:
            node.children.sort(key=_by_age)
        self.all = tuple(Tree(each[0], tuple(each)) for each in (*_rooted_trees(self.joined), *_cycles(self.joined)))
        self.grouped: dict[Name, Members] = {name: Members() for name in groups if name.kind == "PodGroup"}
        self.alone: list[PodRecord] = []
        self.strays: list[PodRecord] = []
        if before is not None and before.snapshot.pods is snapshot.pods and before.grouped.keys() == self.grouped.keys():
            self.grouped, self.alone, self.strays = before.grouped, before.alone, before.strays
            return
        for pod in snapshot.pods:
            self._add_pod(pod)
        for members in self.grouped.values():
            members.waiting.sort(key=_scheduling_order)

    def members(self, node: GroupNode) -> Members:
        """Return the pods of a group; a composite has none."""
        return self.grouped.get(name_of(node.group)) or Members()

    def waiting(self, tree: Tree) -> Iterator[PodRecord]:
        """Return the pending members of all leaves, leaf by leaf."""
        return (pod for node in tree.nodes for pod in self.members(node).waiting)

    def running(self, tree: Tree) -> Iterator[PodRecord]:
        """Return the members that have a node."""
        return (pod for node in tree.nodes for pod in self.members(node).running)

    def priority(self, group: Group) -> int:
        """Return the priority of a group, with its priority class resolved."""
        name = name_of(group)
        return self.snapshot.priorities.get((name.kind, name.namespace, name.name), 0)

    def preempts(self, tree: Tree, gates: Gates) -> bool:
        """Return whether the tree can preempt: its root, or every pod with the gate PodGroupPreemptionPolicy off (KEP-5710).

        A kube-scheduler without this gate looks at the pods if the root has no policy.
        """
        of_root = gates.enabled(PREEMPTION_POLICY) if self.snapshot.behavior.reads_policy_gate else tree.top.group.spec.preemption_policy
        return allows_preemption(tree.top.group) if of_root else all(pod.preempts for pod in self.waiting(tree))

    def entity(self, tree: Tree, gates: Gates) -> Entity:
        """Return the entity of a valid tree, which has a root and a limited depth."""
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

    def _add_pod(self, pod: PodRecord) -> None:
        if not pod.group:
            self.alone.append(pod)
            return
        members = self.grouped.get(Name("PodGroup", pod.namespace, pod.group))
        if members is None:
            self.strays.append(pod)
        elif pod.node >= 0:
            members.running.append(pod)
        elif pod.terminating:
            members.leaving += 1
        else:
            members.waiting.append(pod)


def name_of(group: Group) -> Name:
    """Return the name of a group as in decisions."""
    return Name(group.kind, namespace_of(group), group.metadata.name)


def minimum(group: Group) -> int:
    """Return minCount or minGroupCount; 1 for basic groups, and for values below 1, which the API server rejects."""
    if isinstance(group, PodGroup):
        gang = group.spec.scheduling_policy.gang
        return max(1, gang.min_count) if gang is not None else 1
    pack = group.spec.scheduling_policy.gang
    return max(1, pack.min_group_count) if pack is not None else 1


def allows_preemption(group: Group) -> bool:
    """Return whether the group's preemptionPolicy allows preemption; the default is PreemptLowerPriority."""
    return group.spec.preemption_policy != "Never"


def policy_word(*, allows: bool) -> str:
    """Return the preemptionPolicy that *allows* preemption, or not."""
    return "PreemptLowerPriority" if allows else "Never"


def pod_entity(pod: PodRecord) -> Entity:
    """Return the entity of a pod without a group."""
    name = Name("Pod", pod.namespace, pod.name)
    return Entity(name, 1, gang=False, key="", priority=pod.priority, preempts=pod.preempts, created=pod.created, waiting=(pod,))


def _by_age(node: GroupNode) -> tuple[Age, str, str]:
    metadata = node.group.metadata
    return age(metadata.creation_timestamp), metadata.name, node.group.kind


def _scheduling_order(pod: PodRecord) -> tuple[int, Age, str]:
    return -pod.priority, age(pod.created), pod.name


def _rooted_trees(joined: GroupTree) -> Iterator[list[GroupNode]]:
    return (_below([root]) for root in joined.roots)


def _cycles(joined: GroupTree) -> Iterator[list[GroupNode]]:
    """Return each cycle with everything below it, the first group by name leading."""
    seen: set[int] = set()
    for start in sorted((node for node in joined.nodes if node.on_cycle), key=lambda node: _place(node.group)):
        cycle: list[GroupNode] = []
        node: GroupNode | None = start
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            cycle.append(node)
            node = node.parent
        if cycle:
            yield _below(cycle)


def _place(group: Group) -> tuple[str, str]:
    return namespace_of(group), group.metadata.name


def _below(tops: Iterable[GroupNode]) -> list[GroupNode]:
    """Return *tops*, each followed by the groups below it that are not in *tops*: depth first, siblings in order."""
    ordered: list[GroupNode] = []
    stack = list(tops)[::-1]
    listed = {id(node) for node in stack}
    while stack:
        node = stack.pop()
        ordered.append(node)
        below = [child for child in node.children if id(child) not in listed]
        stack.extend(reversed(below))
    return ordered
