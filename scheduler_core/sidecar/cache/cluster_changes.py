"""Cluster changes since the last call that can help an unschedulable root."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping

from kubeapi.base_structs import replaced
from kubeapi.gather import Name
from scheduler_core.cluster.group_store import GROUPS
from scheduler_core.loading.parsed_pods import NOTHING_ATTACHED
from scheduler_core.model.names import Name as Root
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.sidecar.cache.group_cache import GroupCache, LiveGroup
from scheduler_core.sidecar.cache.node_usage import NodeUsage
from scheduler_core.sidecar.cache.pod_cache import LivePod

Before = tuple[object, Root | None]
"""Object with a name before a change (None: there was none), and the root of its tree."""


@dataclasses.dataclass(slots=True)
class ClusterChanges:
    """Accumulated changes.

    Attributes:
        roots: roots with a group or pod that was added, changed or removed.
        freed_nodes: nodes with more free capacity than before.
        nodes: nodes that were added, changed or removed.
        pods_moved: whether a pod was added to or removed from a node, or changed its labels there.
        budgets: whether a disruption budget changed.
        storage: whether there can be more volumes that claims without a volume can get.
        devices: whether devices were added, changed or freed.
        namespaces: whether the labels of a namespace changed that a namespace selector reads.
        priorities_changed: whether a priority class changed.
        units: whether a group with running pods changed, so that its preemption units can differ.
        kinds: kinds that were listed, or could not be listed, and that pods wait for.
        selected: claims whose selected node may not be needed any more.
        missing_groups: PodGroups that no longer exist, or that pods name although they do not exist.

    """

    roots: set[Root] = dataclasses.field(default_factory=set)
    freed_nodes: set[str] = dataclasses.field(default_factory=set)
    nodes: set[str] = dataclasses.field(default_factory=set)
    pods_moved: bool = False
    budgets: bool = False
    storage: bool = False
    devices: bool = False
    namespaces: bool = False
    priorities_changed: bool = False
    units: bool = False
    kinds: set[str] = dataclasses.field(default_factory=set)
    selected: set[Name] = dataclasses.field(default_factory=set)
    missing_groups: set[Name] = dataclasses.field(default_factory=set)

    @property
    def events(self) -> frozenset[ClusterEvent]:
        """Return the changes as the cluster events that plugins register for."""
        happened = {
            ClusterEvent.NODE: self.nodes,
            ClusterEvent.ROOM: self.freed_nodes,
            ClusterEvent.POD: self.pods_moved,
            ClusterEvent.DEVICE: self.devices,
            ClusterEvent.NAMESPACE: self.namespaces,
        }
        return frozenset(event for event, change in happened.items() if change)

    def __bool__(self) -> bool:
        happened = (
            self.pods_moved or self.budgets or self.storage or self.devices or self.namespaces or self.priorities_changed or self.units
        )
        return happened or bool(self.roots or self.freed_nodes or self.nodes or self.kinds or self.selected or self.missing_groups)


class ChangeReporter:
    """Collects the relevant effects of each change.

    Attributes:
        changes: changes since the last ``pop_changes``.
        change_count: number of relevant changes since the start.
        budgets: number of changes of disruption budgets since the start.
        selected: claims without a volume for which a node is selected, with the field managers of the selection.

    """

    def __init__(self, node_usage: NodeUsage, group_cache: GroupCache, selected: Mapping[Name, Container[str]]) -> None:
        self.changes = ClusterChanges()
        self.selected = selected
        self.change_count = self.budgets = 0
        self._node_usage = node_usage
        self._group_cache = group_cache
        self._added_nodes: set[str] = set()
        self._removed_nodes: set[str] = set()

    def pop_changes(self) -> ClusterChanges:
        """Return the changes since the last call."""
        changes, self.changes = self.changes, ClusterChanges()
        if self._added_nodes or self._removed_nodes:
            changes.roots.update(self._roots_on(self._added_nodes, self._removed_nodes))
            self._added_nodes, self._removed_nodes = set(), set()
        return changes

    def node(self, name: str, *, added: bool = False, removed: bool = False) -> None:
        """Record that a node changed, was *added* or was *removed*."""
        self.change_count += 1
        self.changes.nodes.add(name)
        if added:
            self._added_nodes.add(name)
        if removed:
            self._removed_nodes.add(name)

    def attached_volumes(self, node: str, *, helps: bool) -> None:
        """Record that the number of volumes that a node can attach has changed; it *helps* if it can be larger."""
        self.change_count += 1
        if helps:
            self.changes.nodes.add(node)

    def storage(self, *, helps: bool) -> None:
        """Record that the volumes changed that claims without a volume can get; it *helps* if there can be more."""
        self.change_count += 1
        self.changes.storage |= helps

    def kind(self, kind: str) -> None:
        """Record that all objects of a kind that pods wait for were listed, or could not be listed."""
        self.change_count += 1
        self.changes.kinds.add(kind)

    def claims(self, names: Iterable[Name]) -> None:
        """Record that claims changed, or that a pod that used them is gone."""
        self.changes.selected.update(name for name in names if name in self.selected)

    def devices(self) -> None:
        """Record that devices were added, changed or freed."""
        self.change_count += 1
        self.changes.devices = True

    def namespaces(self) -> None:
        """Record that the labels of a namespace changed that a namespace selector reads."""
        self.change_count += 1
        self.changes.namespaces = True

    def before_change(self, kind: str, name: Name) -> Before:
        """Return the state before a change, to be passed to ``group``."""
        group_cache = self._group_cache
        if kind in GROUPS:
            return group_cache.live.get((kind, *name)), group_cache.root_of((kind, *name))
        return group_cache.objects[kind].get(name), None

    def group(self, kind: str, name: Name, before: Before) -> None:
        """Record a change of a group, Workload, priority class or disruption budget."""
        after = self.before_change(kind, name)
        old, new = before[0], after[0]
        if kind in GROUPS:
            self._group(kind, name, before, after)
        elif old == new:
            return
        elif kind == "Workload":
            self.changes.roots.update(
                root for key in self._group_cache.groups_of_workload(name) if (root := self._group_cache.root_of(key)) is not None
            )
        elif kind == "PriorityClass":
            self._node_usage.invalidate_records()
            self.changes.priorities_changed = True
        else:
            self.changes.budgets = True
            self.budgets += 1
        self.change_count += 1

    def pod(self, before: LivePod | None, after: LivePod | None, old_node: str) -> None:
        """Record a change of a pod; *old_node* is the node on which it was counted before."""
        new_node = self._node_usage.node_of(after) if after is not None else ""
        differs = _differs(before, after, confirms=old_node == new_node)
        pod_moved = old_node != new_node or (bool(new_node) and differs)
        if old_node and (old_node != new_node or _form(before) is not _form(after)):
            self.changes.freed_nodes.add(old_node)
        nominated = before.nominated if before is not None and not old_node else ""
        if before is not None and nominated and nominated != new_node and (after is None or after.nominated != nominated):
            self.nomination_ended(before, nominated)
        self.changes.pods_moved |= pod_moved
        if differs:
            self.change_count += 1
            for pod, where in ((before, old_node), (after, new_node)):
                # A single pod with a node needs no attempt; its deletion is reported so that the queue can remove it.
                if pod is None or (where and after is not None and not pod.parsed_pod.group):
                    continue
                if (root := self.root(pod)) is not None:
                    self.changes.roots.add(root)
                elif pod is after and pod.parsed_pod.group and not where:
                    self.changes.missing_groups.add((pod.name[0], pod.parsed_pod.group))

    def nomination_ended(self, pod: LivePod, node: str) -> None:
        """Record that *pod* is not nominated for *node* any more: others can have its capacity there, and the claims that it awaited."""
        self.changes.freed_nodes.add(node)
        self.changes.devices |= bool(pod.parsed_pod.device_claims)

    def root(self, pod: LivePod) -> Root | None:
        """Return the root of *pod*, possibly the pod itself; None if its group does not exist or is named by ``workloadRef``."""
        namespace, name = pod.parsed_pod.name
        if pod.parsed_pod.group:
            return self._group_cache.root_of(("PodGroup", namespace, pod.parsed_pod.group))
        return None if pod.parsed_pod.reference is not None else Root("Pod", namespace, name)

    def _roots_on(self, added: set[str], removed: set[str]) -> Iterator[Root]:
        """Return the roots with members bound to *added* nodes, which did not count before, or pinned to *removed* ones."""
        for pod in self._node_usage.pods.pods.values():
            node, nodes = (pod.parsed_pod.node, added) if pod.parsed_pod.node else (pod.pinned_node, removed)
            if pod.parsed_pod.group and node in nodes and (root := self.root(pod)) is not None:
                yield root

    def _group(self, kind: str, name: Name, before: Before, after: Before) -> None:
        old, new = before[0], after[0]
        if isinstance(old, LiveGroup) and isinstance(new, LiveGroup) and _same(old, new):
            return
        if kind == "PodGroup" and new is None:
            self.changes.missing_groups.add(name)
        # A new group without running pods does not change the possible victims.
        self.changes.units |= self._has_running_pods(kind, name)
        self.changes.roots.update(root for _, root in (before, after) if root is not None)
        if kind == "CompositePodGroup":
            # Without this composite, each of its children is a root.
            self.changes.roots.update(Root(*child.key) for child in self._group_cache.live_children(*name))

    def _has_running_pods(self, kind: str, name: Name) -> bool:
        """Return whether a pod of the group, or of a group below it, has a node."""
        below = [(kind, *name)]
        if kind == "CompositePodGroup":
            below = [live.key for child in self._group_cache.live_children(*name) for live in self._group_cache.tree(Root(*child.key))]
        pods, node_of = self._node_usage.pods, self._node_usage.node_of
        return any(node_of(pod) for key in below if key[0] == "PodGroup" for pod in pods.members(*key[1:]))


def _same(one: LiveGroup, other: LiveGroup) -> bool:
    """Return whether the groups are equal except for their status."""
    before, after = one.group, other.group
    return (
        one.uid == other.uid
        and before.spec == after.spec
        and before.metadata.creation_timestamp == after.metadata.creation_timestamp
        and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
    )


def only_status_changed(before: LivePod, after: LivePod) -> bool:
    """Return whether a pod on a node counts as *before*: most events of pods change conditions and times only.

    False if it has volumes, devices or assumed changes.
    """
    one, other = before.parsed_pod, after.parsed_pod
    if not one.node or one.attached is not NOTHING_ATTACHED or other.attached is not NOTHING_ATTACHED:
        return False
    if (
        before.assumed
        or before.assumed_nomination is not None
        or before.names_extended != after.names_extended
        or _differs(before, after, confirms=False)
    ):
        return False
    traits = other.traits
    return one.traits is traits or replaced(one.traits, health=traits.health, preempted=traits.preempted) == traits


def _form(pod: LivePod | None) -> object:
    return pod.parsed_pod.form if pod is not None else None


def _differs(one: LivePod | None, other: LivePod | None, *, confirms: bool) -> bool:
    """Return whether the pods differ in anything but conditions and nomination.

    *confirms*: the node of a bind that the API server has acknowledged is no difference.
    """
    if one is None or other is None:
        return one is not other
    before, after = one.parsed_pod, other.parsed_pod
    return (
        before.form is not after.form
        or (before.node != after.node and not (confirms and one.acknowledged and one.assumed == after.node))
        or before.terminating != after.terminating
        or before.gates != after.gates
        or before.group != after.group
        or (before.device_claims, before.held) != (after.device_claims, after.held)
        or one.pinned_node != other.pinned_node
        or one.stamp.uid != other.stamp.uid
        or before.labels != after.labels
        or before.scheduler != after.scheduler
        or (before.priority, before.class_name, before.policy, before.created)
        != (after.priority, after.class_name, after.policy, after.created)
    )
