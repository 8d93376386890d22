"""The root to help, as in its snapshot."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Container

from kubeapi.workloads import TopologyConstraint, Workload
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.queueing.trees import Trees, minimum, name_of
from validators.hierarchy.tree import GroupNode
from validators.model.objects import namespace_of
from validators.model.templates import Templates


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SubjectGroup:
    """One group of the root."""

    name: Name
    key: str
    minimum: int
    gang: bool
    children: tuple[Name, ...]
    waiting: tuple[PodRecord, ...]
    members: int
    """Number of pods in any state."""
    parent: str
    template: tuple[str, str]
    """Workload and template of the group, with which it changes; empty if that Workload or template does not exist."""
    fixed: bool = False
    """Whether no field sets its minimum."""

    @property
    def symmetry_key(self) -> object:
        """Return a key that is equal for equal siblings; groups with children or running pods are equal to none."""
        if self.children or self.members > len(self.waiting):
            return self.name
        return self.parent, self.key, self.minimum, self.gang, tuple(pod.shape.serial for pod in self.waiting), self._nominated

    @property
    def _nominated(self) -> tuple[int, ...]:
        return tuple(pod.nominated for pod in self.waiting)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """The root to help.

    Attributes:
        groups: of its tree, parents first; none for a pod without a group.
        waiting: its pods without a node.
        own: keys of all its pods.
        priority: its resolved priority.
        confined: topology keys of the groups of the cluster whose running members must stay in their domain, by namespace and name.
        units: the root of each group, by namespace and name of the PodGroup.

    """

    root: Name
    groups: tuple[SubjectGroup, ...]
    waiting: tuple[PodRecord, ...]
    own: frozenset[str]
    priority: int
    confined: dict[tuple[str, str], tuple[str, ...]]
    units: dict[tuple[str, str], Name]

    @classmethod
    def from_snapshot(cls, snapshot: ClusterSnapshot, root: Name) -> Subject | None:
        """Return the root as in *snapshot*; None if there is no such root with pending pods."""
        trees = Trees(snapshot)
        confined, units = _relations(trees)
        if root.kind == "Pod":
            pod = next((each for each in trees.alone if (each.namespace, each.name) == (root.namespace, root.name)), None)
            return None if pod is None else cls(root, (), (pod,), frozenset({pod.key}), pod.priority, confined, units)
        tree = next((each for each in trees.all if each.name == root), None)
        if tree is None or not any(trees.waiting(tree)):
            return None
        groups = tuple(_group(node, trees) for node in tree.nodes)
        waiting = tuple(trees.waiting(tree))
        own = frozenset(pod.key for pod in (*waiting, *trees.running(tree)))
        return cls(root, groups, waiting, own, trees.priority(tree.top.group), confined, units)

    def with_fixed(self, names: Container[Name]) -> Subject:
        """Return the root with groups *names* whose minimums no field sets."""
        return dataclasses.replace(self, groups=tuple(dataclasses.replace(each, fixed=each.name in names) for each in self.groups))

    @property
    def unlike(self) -> tuple[SubjectGroup, ...]:
        """Return its groups, leaves first; of equal siblings only the first."""
        first = {group.symmetry_key: group for group in reversed(self.groups)}
        return tuple(group for group in reversed(self.groups) if first[group.symmetry_key] is group)

    def mates(self, name: Name) -> frozenset[Name]:
        """Return the groups that change with the group *name*, including itself: one template, one spec."""
        own = next((group.template for group in self.groups if group.name == name), ("", ""))
        return frozenset({name} | {each.name for each in self.groups if any(own) and each.template == own and each.name.kind == name.kind})

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the topology keys of its groups, from the root down, each once."""
        return tuple(dict.fromkeys(group.key for group in self.groups if group.key))

    @property
    def shape(self) -> PodShape:
        """Return the most frequent shape of its pending pods; of equally frequent ones the first."""
        counts = Counter(pod.shape for pod in self.waiting)
        return min(counts, key=lambda shape: (-counts[shape], shape.serial))


def _group(node: GroupNode, trees: Trees) -> SubjectGroup:
    spec, members, topology = node.group.spec, trees.members(node), _topology(node)
    return SubjectGroup(
        name_of(node.group),
        topology[0].key if topology else "",
        minimum(node.group),
        spec.scheduling_policy.gang is not None,
        tuple(name_of(child.group) for child in node.children),
        tuple(members.waiting),
        members.count,
        spec.parent_composite_pod_group_name or "",
        _template(node, trees.snapshot),
    )


def _template(node: GroupNode, snapshot: ClusterSnapshot) -> tuple[str, str]:
    reference = node.group.spec.workload_ref
    workload = reference and snapshot.known.get("Workload", namespace_of(node.group), reference.workload_name)
    if reference is None or not isinstance(workload, Workload) or reference.template_name not in Templates(workload, None).names:
        return "", ""
    return reference.workload_name, reference.template_name


def _relations(trees: Trees) -> tuple[dict[tuple[str, str], tuple[str, ...]], dict[tuple[str, str], Name]]:
    confined, units = {}, {}
    for tree in trees.all:
        keys = tuple(dict.fromkeys(each.key for node in tree.nodes for each in _topology(node)))
        for node in tree.nodes:
            key = (tree.name.namespace, node.group.metadata.name)
            if node.group.kind == "PodGroup":
                units[key] = tree.name
                if keys:
                    confined[key] = keys
    return confined, units


def _topology(node: GroupNode) -> tuple[TopologyConstraint, ...]:
    constraints = node.group.spec.scheduling_constraints
    return tuple((constraints and constraints.topology) or ())
