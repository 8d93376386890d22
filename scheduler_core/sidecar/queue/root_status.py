"""Current status of one root: pods to place, pods bound, and pods to undo.

A gang is *partially bound* while fewer members than its minimum have a node and its condition does not say that it was scheduled:
its binding was interrupted.  The condition is final: a gang that was scheduled once is never undone (KEP-6012, Status).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator

from kubeapi.groups import INITIALLY_SCHEDULED
from kubeapi.pods import PLACEMENT_GATE
from kubeapi.workloads import MAX_DEPTH
from scheduler_core.cluster.group_store import Key
from scheduler_core.model.names import Name as Root
from scheduler_core.queueing.creation_time import Age, age
from scheduler_core.queueing.trees import minimum
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.group_cache import LiveGroup
from scheduler_core.sidecar.cache.pod_cache import LivePod, pinned_hostname
from scheduler_core.sidecar.writes import Ref


@dataclasses.dataclass(frozen=True, slots=True)
class OurPods:
    """Pods that this sidecar places: those of a scheduler name (empty: none), and those with our scheduling gate.

    With *undoes*, gangs with pods that other schedulers bind are undone too.
    """

    scheduler: str
    ungates: bool
    undoes: bool = True

    def has(self, pod: LivePod) -> bool:
        """Return whether *pod* is or was ours to place."""
        return self.places(pod) or (self.ungates and bool(pod.pinned_node))

    def can_undo(self, pods: Iterable[LivePod]) -> bool:
        """Return whether a gang with *pods* is undone if it must be: some are ours, and without ``undoes`` this sidecar binds all of these."""
        ours = [pod for pod in pods if self.has(pod)]
        return bool(ours) and (self.undoes or all(map(self.binds, ours)))

    def binds(self, pod: LivePod) -> bool:
        """Return whether *pod* is bound by this sidecar."""
        return bool(self.scheduler and pod.parsed_pod.scheduler == self.scheduler)

    def places(self, pod: LivePod) -> bool:
        """Return whether *pod* is ours to place while it has no node; an ungated pod is bound by its own scheduler."""
        return self.placed_by_ungating(pod) or self.binds(pod)

    def placed_by_ungating(self, pod: LivePod) -> bool:
        """Return whether the pod is placed by removing our gate."""
        return self.ungates and PLACEMENT_GATE in pod.parsed_pod.gates


@dataclasses.dataclass(frozen=True, slots=True)
class RootStatus:
    """Status of one root.

    Attributes:
        root: the root group, or the single pod.
        ref: reference to the root for writes.
        size: number of members.
        priority: priority of the root.
        age: creation time of the root.
        to_place: pending members that we place.
        excluded: keys of pending members that we do not place, in a tree with members that our gate holds.
        ready: whether the tree is valid and has its minimum of members, none of them with another scheduling gate, and all kinds are
            listed that decide about its placement.
        placed: members that are bound, assumed, or pinned (even to a deleted node), and are not being deleted.
        terminating: whether a placed member is being deleted although the root was never scheduled.
        partially_bound: our members with a node in partially bound gangs.
        pinned: members that were pinned to a node for another scheduler, bound or not.
        awaits_binding: whether the root is a gang that was never scheduled, and too few of its placed members are bound, or they are
            bound to nodes in several domains although they were pinned to nodes in one.
        to_commit: groups whose minimum is bound, but not recorded in their condition yet; parents first.
        contested: whether nodes of its pods are overcommitted while it has groups to commit: their kubelets can reject a pod.
        was_scheduled: whether the condition of the root, or of a group below it, says that it was scheduled.
        emptied: whether the root is in the queue although all its pods are gone: that it waits for pods is yet to be reported.
        unlisted: kinds that decide about its placement and that are not listed yet, so that it is not ready.

    """

    root: Root
    ref: Ref
    size: int
    priority: int
    age: Age
    to_place: tuple[LivePod, ...]
    excluded: frozenset[str] = frozenset()
    ready: bool = True
    placed: tuple[LivePod, ...] = ()
    terminating: bool = False
    partially_bound: tuple[LivePod, ...] = ()
    pinned: tuple[LivePod, ...] = ()
    awaits_binding: bool = False
    to_commit: tuple[LiveGroup, ...] = ()
    contested: bool = False
    was_scheduled: bool = False
    emptied: bool = False
    unlisted: frozenset[str] = frozenset()

    @property
    def order(self) -> tuple[bool, int, Age, str, str, str]:
        """Sort key: partially bound roots first, then by priority, age and name."""
        return not self.partially_bound, -self.priority, self.age, self.root.namespace, self.root.name, self.root.kind

    def recorded(self) -> RootStatus:
        """Return the status after the groups in ``to_commit`` are recorded as scheduled."""
        return (
            dataclasses.replace(self, to_commit=(), was_scheduled=True, awaits_binding=False, terminating=False) if self.to_commit else self
        )


def root_status(cache: Cache, root: Root, our_pods: OurPods, *, queued: bool = False) -> RootStatus | None:
    """Return the status of *root*; None if it does not exist or none of its pods is ours; *queued*: the root had pods of ours."""
    if root.kind == "Pod":
        return _pod_status(cache, root, our_pods)
    if cache.group_cache.root_of((root.kind, root.namespace, root.name)) != root:
        # It is now part of another tree.
        return None
    tree = _Tree(cache, root, cache.group_cache.tree(root), our_pods)
    return tree.status() or (tree.emptied() if queued else None)


def _pod_status(cache: Cache, root: Root, our_pods: OurPods) -> RootStatus | None:
    usage = cache.usage
    pod = usage.pods.pods.get(f"{root.namespace}/{root.name}")
    if pod is None or pod.parsed_pod.group or pod.parsed_pod.reference is not None or not our_pods.has(pod):
        return None
    parsed_pod = pod.parsed_pod
    if parsed_pod.node or _is_terminating(pod):
        return None
    priority = cache.group_cache.priorities.rank(parsed_pod.priority, parsed_pod.class_name, parsed_pod.policy).value
    if usage.node_of(pod):
        return RootStatus(root, pod.ref, 1, priority, age(parsed_pod.created), (), placed=(pod,))
    if not our_pods.places(pod):
        return None
    gated = _has_other_gate(pod, our_pods)
    unlisted = frozenset[str]() if gated else cache.needed.unlisted((pod,))
    return RootStatus(root, pod.ref, 1, priority, age(parsed_pod.created), (pod,), ready=not (gated or unlisted), unlisted=unlisted)


class _Tree:
    """Groups of one tree with their members."""

    def __init__(self, cache: Cache, root: Root, groups: list[LiveGroup], our_pods: OurPods) -> None:
        self._cache, self._root, self._our_pods = cache, root, our_pods
        self._groups = {live.key: live for live in groups}
        self._top = groups[0]
        self._members: dict[Key, list[LivePod]] = {}
        self._placed: Counter[Key] = Counter()
        self._bound: Counter[Key] = Counter()
        self._split = False
        self._on_node: set[str] = set()
        """Keys of the members that count on a node."""
        usage = cache.usage
        for live in groups:
            if live.key[0] == "PodGroup":
                counted_pods = [pod for pod in usage.pods.members(*live.key[1:]) if usage.is_counted(pod)]
                self._members[live.key] = counted_pods
                on_node = {pod.key for pod in counted_pods if usage.node_of(pod)}
                ended = usage.pods.ended(*live.key[1:])
                self._placed[live.key] = ended + len(on_node)
                self._bound[live.key] = ended + (sum(map(_is_bound, counted_pods)) if on_node else 0)
                self._on_node |= on_node

    def status(self) -> RootStatus | None:
        """Return the status of the tree; None if none of its pods is ours."""
        cache, our_pods, on_node = self._cache, self._our_pods, self._on_node
        members = [pod for pods in self._members.values() for pod in pods]
        if not any(map(our_pods.has, members)):
            return None
        placed = [pod for pod in members if pod.key in on_node or self._is_pinned_to_deleted_node(pod)]
        pending = [
            pod for pod in members if pod.key not in on_node and not _is_terminating(pod) and not self._is_pinned_to_deleted_node(pod)
        ]
        some_gated_by_us = our_pods.ungates and any(map(our_pods.placed_by_ungating, pending))
        ours = [pod for pod in pending if our_pods.places(pod)]
        # In a tree with pods that our gate holds, pods that we do not place are left to their scheduler.
        excluded = frozenset(pod.key for pod in pending if not our_pods.places(pod)) if some_gated_by_us else frozenset()
        gated = any(_has_other_gate(pod, our_pods) for pod in pending if pod.key not in excluded)
        was_scheduled = any(map(_was_scheduled, self._groups.values()))
        valid = self._is_valid()
        if valid and our_pods.ungates and any(map(_is_elsewhere, placed)):
            self._find_split(self._top)
        completed = cache.group_cache.completed(self._top.key)
        to_commit = tuple(self._groups_to_commit(self._top)) if valid else ()
        unlisted = cache.needed.unlisted(ours, self._groups.values()) if ours else frozenset[str]()
        return RootStatus(
            root=self._root,
            ref=self._top.ref,
            size=len(members),
            priority=cache.group_cache.priority(self._top.key),
            age=age(completed.metadata.creation_timestamp),
            to_place=tuple(ours),
            excluded=excluded,
            ready=valid and not gated and not unlisted and not self._top.parent and self._has_quorum(self._top),
            placed=tuple(pod for pod in placed if not _is_terminating(pod)),
            terminating=not was_scheduled and any(map(_is_terminating, placed)),
            partially_bound=tuple(self._partially_bound_pods()) if valid else (),
            pinned=tuple(pod for pod in members if pod.pinned_node and not our_pods.binds(pod)) if our_pods.ungates else (),
            awaits_binding=valid and not was_scheduled and self._awaits_binding(placed),
            to_commit=to_commit,
            contested=bool(to_commit) and not was_scheduled and self._is_contested(placed),
            was_scheduled=was_scheduled,
            unlisted=unlisted,
        )

    def emptied(self) -> RootStatus | None:
        """Return the status of a root that has lost all its pods; None if it has pods, was scheduled, or has no condition to correct."""
        conditions = [live.condition(INITIALLY_SCHEDULED[key[0]]) for key, live in self._groups.items()]
        reported = any(each is not None and each.status == "False" for each in conditions)
        if not reported or any(self._members.values()) or any(map(_was_scheduled, self._groups.values())):
            return None
        priority = self._cache.group_cache.priority(self._top.key)
        created = age(self._cache.group_cache.completed(self._top.key).metadata.creation_timestamp)
        return RootStatus(self._root, self._top.ref, 0, priority, created, (), ready=False, emptied=True)

    def _is_contested(self, placed: Iterable[LivePod]) -> bool:
        usage = self._cache.usage
        return usage.placement_state().overcommitted(map(usage.node_of, placed))

    def _children(self, live: LiveGroup) -> list[LiveGroup]:
        return (
            [self._groups[child.key] for child in self._cache.group_cache.live_children(*live.key[1:])] if live.key[0] != "PodGroup" else []
        )

    def _is_valid(self) -> bool:
        """Return whether the tree has a root and not too many levels; an invalid tree is not changed."""
        level, levels = [self._top], 0
        while level:
            levels += 1
            if levels > MAX_DEPTH:
                return False
            level = [child for live in level for child in self._children(live)]
        return ("CompositePodGroup", self._root.namespace, self._top.parent) not in self._groups

    def _has_quorum(self, live: LiveGroup) -> bool:
        wanted = minimum(live.group)
        if live.key[0] == "PodGroup":
            # A pod that is deleted before it had a node does not count; its replacement will be created.
            return sum(pod.key in self._on_node or not _is_terminating(pod) for pod in self._members[live.key]) >= wanted
        return sum(map(self._has_quorum, self._children(live))) >= wanted

    def _is_complete(self, live: LiveGroup, counts: Counter[Key]) -> bool:
        """Return whether a group has its minimum, given the pods in each of its leaves."""
        wanted = minimum(live.group)
        if live.key[0] == "PodGroup":
            return counts[live.key] >= wanted
        return sum(self._is_complete(child, counts) for child in self._children(live)) >= wanted

    def _is_pinned_to_deleted_node(self, pod: LivePod) -> bool:
        """Return whether the pod was pinned to a deleted node: it cannot run, and its selector is immutable."""
        gone = (
            self._our_pods.ungates
            and bool(pod.pinned_node)
            and not pod.parsed_pod.node
            and pod.pinned_node not in self._cache.usage.nodes.nodes
        )
        return gone and bool(pinned_hostname(pod))

    def _awaits_binding(self, placed: list[LivePod]) -> bool:
        gang = self._top.group.spec.scheduling_policy.gang is not None
        bound = not self._split and all(map(_is_bound, placed))
        return gang and not bound and not self._is_complete(self._top, self._bound)

    def _find_split(self, live: LiveGroup) -> list[LivePod]:
        """Return the bound pods below a group; those of groups that are bound in several domains, against the plan, do not count as bound."""
        pods = [pod for pod in self._members.get(live.key, ()) if pod.parsed_pod.node]
        pods += [pod for child in self._children(live) for pod in self._find_split(child)]
        constraints = live.group.spec.scheduling_constraints
        if constraints is not None and constraints.topology and any(map(_is_elsewhere, pods)):
            nodes, key = self._cache.usage.nodes.nodes, constraints.topology[0].key
            if len({nodes[pod.parsed_pod.node].labels.get(key, "") for pod in pods}) > 1:
                self._split = True
                for pod in pods:
                    self._bound["PodGroup", pod.name[0], pod.parsed_pod.group] = 0
        return pods

    def _any_scheduled(self, live: LiveGroup) -> bool:
        return _was_scheduled(live) or any(map(self._any_scheduled, self._children(live)))

    def _partially_bound_pods(self) -> Iterator[LivePod]:
        """Return the pods to delete; pods bound by another scheduler are not ours to undo."""
        for live in self._partial_leaves(self._top):
            for pod in self._members[live.key]:
                if pod.key in self._on_node and not _is_terminating(pod) and self._our_pods.has(pod):
                    yield pod

    def _partial_leaves(self, live: LiveGroup) -> Iterator[LiveGroup]:
        """Yield the leaves whose pods belong to a partially bound gang."""
        if self._any_scheduled(live) or self._is_complete(live, self._placed):
            for child in self._children(live):
                yield from self._partial_leaves(child)
        else:
            yield from self._leaves_with_pods(live)

    def _leaves_with_pods(self, live: LiveGroup) -> Iterator[LiveGroup]:
        if self._placed[live.key]:
            yield live
        for child in self._children(live):
            yield from self._leaves_with_pods(child)

    def _groups_to_commit(self, live: LiveGroup) -> Iterator[LiveGroup]:
        if self._is_complete(live, self._bound):
            if not _is_recorded(live):
                yield live
            for child in self._children(live):
                yield from self._groups_to_commit(child)


def _is_recorded(live: LiveGroup) -> bool:
    condition = live.condition(INITIALLY_SCHEDULED[live.key[0]])
    return condition is not None and condition.status == "True"


def _was_scheduled(live: LiveGroup) -> bool:
    """Return whether the group was scheduled before: by its condition, or because this process saw all its binds confirmed."""
    return live.binds_acknowledged or _is_recorded(live)


def _is_bound(pod: LivePod) -> bool:
    """Return whether the pod is certainly bound: the watch shows it or the API server has confirmed it."""
    return bool(pod.parsed_pod.node) or (pod.acknowledged and PLACEMENT_GATE not in pod.parsed_pod.gates)


def _is_elsewhere(pod: LivePod) -> bool:
    """Return whether the pod was pinned to a node and is bound to another one."""
    return pod.parsed_pod.node not in ("", pod.pinned_node or pod.parsed_pod.node)


def _is_terminating(pod: LivePod) -> bool:
    return pod.parsed_pod.terminating or pod.deletion_assumed


def _has_other_gate(pod: LivePod, our_pods: OurPods) -> bool:
    """Return whether the pod has a scheduling gate that is not ours."""
    return bool(pod.parsed_pod.gates) and not (our_pods.ungates and pod.gated_by_us)
