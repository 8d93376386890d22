"""Current status of one root: pods to place, pods bound, and pods to undo.

A gang is *partial* while members of it have a node, fewer than it needs, and its condition does not say that it was placed once:
then binding was broken off.  What the condition says is final: a gang that was placed once is never undone (KEP-6012, Status).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator

from scheduler_core.model.conditions import INITIALLY_SCHEDULED
from scheduler_core.model.decision import Name as Root
from scheduler_core.queueing.creation_time import Age, age
from scheduler_core.queueing.trees import minimum
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.group_cache import Key, LiveGroup
from scheduler_core.sidecar.cache.pod_cache import LivePod, pinned_hostname
from scheduler_core.sidecar.client.requests import GATE
from scheduler_core.sidecar.writes import Ref
from validators.model.workload import MAX_DEPTH


@dataclasses.dataclass(frozen=True, slots=True)
class OurPods:
    """Pods that this sidecar places: those of a scheduler name (empty: none), and those with our scheduling gate."""

    scheduler: str
    ungates: bool

    def has(self, pod: LivePod) -> bool:
        """Return whether *pod* is or was ours to place."""
        return self.places(pod) or (self.ungates and bool(pod.pinned_node))

    def places(self, pod: LivePod) -> bool:
        """Return whether *pod* is ours to place while it has no node; an ungated pod is bound by its own scheduler."""
        return self.opens(pod) or bool(self.scheduler and pod.draft.scheduler == self.scheduler)

    def opens(self, pod: LivePod) -> bool:
        """Return whether the pod is placed by removing our gate."""
        return self.ungates and GATE in pod.draft.gates


@dataclasses.dataclass(frozen=True, slots=True)
class RootStatus:
    """One root.

    Attributes:
        root: the top of the tree, or the single pod.
        ref: the same, as writes name it.
        size: members.
        priority: that of the root.
        age: since when it is there.
        to_place: pending members that are ours to place.
        held: keys of pending members that are not, beside ones that our gate holds.
        ready: whether there are members enough, and none with a gate.
        placed: members that have a node, are on their way to one, or were pinned to one that is gone, and are not leaving.
        leaving: whether a member leaves while the root has never been placed as a whole.
        loose: members of ours that have a node in gangs that are partial.
        hanging: whether the root is a gang that has never been placed, and lacks members that count as on a node and are not bound.
        finished: groups that have what they need and do not say so, parents first.
        settled: whether the root, or a group below it, says that it was placed once.

    """

    root: Root
    ref: Ref
    size: int
    priority: int
    age: Age
    to_place: tuple[LivePod, ...]
    held: frozenset[str] = frozenset()
    ready: bool = True
    placed: tuple[LivePod, ...] = ()
    terminating: bool = False
    loose: tuple[LivePod, ...] = ()
    hanging: bool = False
    finished: tuple[LiveGroup, ...] = ()
    settled: bool = False

    @property
    def order(self) -> tuple[bool, int, Age, str, str, str]:
        """Partial roots first, then as the queue has it: priority, age, name."""
        return not self.loose, -self.priority, self.age, self.root.namespace, self.root.name, self.root.kind

    def recorded(self) -> RootStatus:
        """Return the same once its finished groups are recorded as placed."""
        return dataclasses.replace(self, finished=(), settled=True, hanging=False, terminating=False) if self.finished else self


def survey(store: Cache, root: Root, whose: OurPods) -> RootStatus | None:
    """Return the status of *root*; None if it does not exist or none of its pods is ours."""
    if root.kind == "Pod":
        return _of_pod(store, root, whose)
    if store.group_cache.root_of((root.kind, root.namespace, root.name)) != root:
        # It has come to be a part of another tree.
        return None
    return _Tree(store, root, store.group_cache.tree(root), whose).survey()


def _of_pod(store: Cache, root: Root, whose: OurPods) -> RootStatus | None:
    usage = store.usage
    pod = usage.pods.pods.get(f"{root.namespace}/{root.name}")
    if pod is None or pod.draft.group or pod.draft.reference is not None or not whose.has(pod):
        return None
    draft = pod.draft
    if draft.node or _leaves(pod):
        return None
    priority = store.group_cache.priorities.rank(draft.priority, draft.class_name, draft.policy).value
    if usage.node_of(pod):
        return RootStatus(root, pod.ref, 1, priority, age(draft.created), (), placed=(pod,))
    if not whose.places(pod):
        return None
    return RootStatus(root, pod.ref, 1, priority, age(draft.created), (pod,), ready=not _closed(pod, whose))


class _Tree:
    """The groups of one tree with their members, looked through once."""

    def __init__(self, store: Cache, root: Root, groups: list[LiveGroup], whose: OurPods) -> None:
        self._store, self._root, self._whose = store, root, whose
        self._groups = {live.key: live for live in groups}
        self._top = groups[0]
        self._members: dict[Key, list[LivePod]] = {}
        self._placed: Counter[Key] = Counter()
        self._firm: Counter[Key] = Counter()
        usage = store.usage
        for live in groups:
            if live.key[0] == "PodGroup":
                found = [pod for pod in usage.pods.members(*live.key[1:]) if usage.is_counted(pod)]
                self._members[live.key] = found
                ended = usage.pods.ended(*live.key[1:])
                self._placed[live.key] = ended + sum(bool(usage.node_of(pod)) for pod in found)
                self._firm[live.key] = ended + sum(map(_is_firm, found))

    def survey(self) -> RootStatus | None:
        """None if nothing of it is ours."""
        store, whose, node_of = self._store, self._whose, self._store.usage.node_of
        members = [pod for found in self._members.values() for pod in found]
        if not any(map(whose.has, members)):
            return None
        placed = [pod for pod in members if node_of(pod) or self._is_astray(pod)]
        pending = [pod for pod in members if not node_of(pod) and not _leaves(pod) and not self._is_astray(pod)]
        gated = any(map(whose.opens, pending))
        ours = [pod for pod in pending if whose.places(pod)]
        # Beside pods that our gate holds others are placed by their scheduler; beside pods of our scheduler there are to be none.
        held = frozenset(pod.key for pod in pending if not whose.places(pod)) if gated else frozenset()
        closed = any(_closed(pod, whose) for pod in pending if pod.key not in held)
        settled = any(map(_was_placed, self._groups.values()))
        sound = self._is_sound()
        completed = store.group_cache.completed(self._top)
        return RootStatus(
            root=self._root,
            ref=Ref(*self._top.key, self._top.uid),
            size=len(members),
            priority=self._top.priority,
            age=age(completed.metadata.creation_timestamp),
            to_place=tuple(ours),
            held=held,
            ready=sound and not closed and not self._top.parent and self._has_quorum(self._top),
            placed=tuple(pod for pod in placed if not _leaves(pod)),
            terminating=not settled and any(map(_leaves, placed)),
            loose=tuple(self._loose_pods()) if sound else (),
            hanging=sound and not settled and self._hangs(placed),
            finished=tuple(self._finished(self._top)) if sound else (),
            settled=settled,
        )

    def _children(self, live: LiveGroup) -> list[LiveGroup]:
        return [self._groups[child.key] for child in self._store.group_cache.children(*live.key[1:])] if live.key[0] != "PodGroup" else []

    def _is_sound(self) -> bool:
        """Return whether the tree has a root and at most the allowed number of levels; any other tree is invalid and not touched."""
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
            # One that is being deleted before it had a node fills no place; its successor is about to come.
            return sum(bool(self._store.usage.node_of(pod)) or not _leaves(pod) for pod in self._members[live.key]) >= wanted
        return sum(map(self._has_quorum, self._children(live))) >= wanted

    def _is_complete(self, live: LiveGroup, counts: Counter[Key]) -> bool:
        """Return whether a group has its minimum, given the pods in each of its leaves."""
        wanted = minimum(live.group)
        if live.key[0] == "PodGroup":
            return counts[live.key] >= wanted
        return sum(self._is_complete(child, counts) for child in self._children(live)) >= wanted

    def _is_astray(self, pod: LivePod) -> bool:
        """Return whether the pod was pinned to a deleted node: it cannot run, and its selector is immutable."""
        gone = self._whose.ungates and bool(pod.pinned_node) and not pod.draft.node and pod.pinned_node not in self._store.usage.nodes.nodes
        return gone and bool(pinned_hostname(pod))

    def _hangs(self, placed: list[LivePod]) -> bool:
        gang = self._top.group.spec.scheduling_policy.gang is not None
        return gang and not all(map(_is_firm, placed)) and not self._is_complete(self._top, self._firm)

    def _is_settled(self, live: LiveGroup) -> bool:
        return _was_placed(live) or any(map(self._is_settled, self._children(live)))

    def _loose_pods(self) -> Iterator[LivePod]:
        """Return the pods to delete; pods bound by another scheduler are not ours to undo."""
        for live in self._loose(self._top):
            for pod in self._members[live.key]:
                if self._store.usage.node_of(pod) and not _leaves(pod) and self._whose.has(pod):
                    yield pod

    def _loose(self, live: LiveGroup) -> Iterator[LiveGroup]:
        """The leaves whose pods are part of a gang that is partial."""
        if self._is_settled(live) or self._is_complete(live, self._placed):
            for child in self._children(live):
                yield from self._loose(child)
        else:
            yield from self._occupied(live)

    def _occupied(self, live: LiveGroup) -> Iterator[LiveGroup]:
        if self._placed[live.key]:
            yield live
        for child in self._children(live):
            yield from self._occupied(child)

    def _finished(self, live: LiveGroup) -> Iterator[LiveGroup]:
        if self._is_complete(live, self._firm):
            if not _is_true(live):
                yield live
            for child in self._children(live):
                yield from self._finished(child)


def _is_true(live: LiveGroup) -> bool:
    condition = live.condition(INITIALLY_SCHEDULED[live.key[0]])
    return condition is not None and condition.status == "True"


def _was_placed(live: LiveGroup) -> bool:
    """Return whether it was placed before: by its condition, or by one that is still to be written."""
    return live.binds_acknowledged or _is_true(live)


def _is_firm(pod: LivePod) -> bool:
    """Return whether the pod is certainly bound: the watch shows it or the API server has confirmed it."""
    return bool(pod.draft.node) or (pod.acknowledged and GATE not in pod.draft.gates)


def _leaves(pod: LivePod) -> bool:
    return pod.draft.terminating or pod.deletion_assumed


def _closed(pod: LivePod, whose: OurPods) -> bool:
    """Return whether the pod has a scheduling gate that is not ours."""
    return bool(pod.draft.gates) and not (whose.ungates and pod.gated_by_us)
