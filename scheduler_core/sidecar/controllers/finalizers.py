"""Protection finalizers of groups: added on creation, removed from the leaves to the root.

Sources: KEP-4671 and KEP-6012, Object ownership; a PodGroup is protected while a pod of it has not ended, a CompositePodGroup
while a group names it as its parent.  The controller returns writes and makes none.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Protocol

from kubeapi.groups import PROTECTION_FINALIZERS, Group
from scheduler_core.sidecar.cache.group_cache import ref_of
from scheduler_core.sidecar.controllers.pending_writes import PendingWrites
from scheduler_core.sidecar.writes import AddFinalizer, RemoveFinalizer, Write
from validators.model.objects import namespace_of

Key = tuple[str, str]
"""Namespace and name."""


class Membership(Protocol):
    """Membership of pods in a group."""

    def has_members(self, namespace: str, group: str) -> bool:
        """Return whether this PodGroup can have a pod that has not ended; any unreadable pod of the namespace can be its pod."""

    def hides_children(self, namespace: str) -> bool:
        """Return whether the namespace has an unreadable group, whose parent can be any group there."""


class Finalizers:
    """Reconciler of finalizers, with its pending writes."""

    def __init__(self) -> None:
        self._pending = PendingWrites()

    @property
    def next_retry(self) -> float | None:
        """Time of the next run without a change; None: only after a change."""
        return self._pending.next_retry

    def wanted(
        self,
        groups: Iterable[Group],
        members: Membership,
        now: float,
        ignored: Iterable[Group] = (),
    ) -> tuple[Write, ...]:
        """Return the missing writes at *now*, by kind and name.

        *groups* are all readable groups that count.  *ignored* are those that do not, because another API group has one of the same kind
        and name: nothing needs them.
        """
        everything = sorted(groups, key=lambda each: (each.kind, namespace_of(each), each.metadata.name))
        parents = {_parent(each) for each in everything if each.spec.parent_composite_pod_group_name} - _deleted_cycles(everything)
        self._pending.expire(now)
        missing = (
            *(_wanted(group, parents, members) for group in everything),
            *(_leaving(each) for each in ignored),
        )
        return tuple(write for write in missing if write is not None and self._pending.add(write, now))


def _deleted_cycles(groups: Sequence[Group]) -> set[Key]:
    """Return the composites in a cycle of parents that are all being deleted and have no other children.

    Such a cycle has no leaf at which the removal can start.  The API server accepts it, and parents are immutable.
    """
    composites = {_key(each): each for each in groups if each.kind == "CompositePodGroup"}
    children = collections.Counter(_parent(each) for each in groups)
    seen: dict[Key, Key] = {}
    removable: set[Key] = set()
    for start in composites:
        path, key = [], start
        while key in composites and key not in seen:
            seen[key] = start
            path.append(key)
            key = _parent(composites[key])
        if key in path:
            cycle = path[path.index(key) :]
            if all(children[each] == 1 and composites[each].metadata.deletion_timestamp is not None for each in cycle):
                removable.update(cycle)
    return removable


def _key(group: Group) -> Key:
    return namespace_of(group), group.metadata.name


def _parent(group: Group) -> Key:
    return namespace_of(group), group.spec.parent_composite_pod_group_name or ""


def _leaving(group: Group) -> RemoveFinalizer | None:
    """Return the write that removes the finalizer of a group that nothing needs, once it is deleted."""
    finalizer, metadata = PROTECTION_FINALIZERS[group.kind], group.metadata
    leaves = metadata.deletion_timestamp is not None and finalizer in (metadata.finalizers or ())
    return RemoveFinalizer(ref_of(group), finalizer) if leaves else None


def _wanted(group: Group, parents: set[Key], members: Membership) -> AddFinalizer | RemoveFinalizer | None:
    finalizer = PROTECTION_FINALIZERS[group.kind]
    metadata, ref = group.metadata, ref_of(group)
    protected = finalizer in (metadata.finalizers or ())
    if metadata.deletion_timestamp is None:
        return None if protected else AddFinalizer(ref, finalizer)
    if not protected:
        return None
    if group.kind == "PodGroup":
        needed = members.has_members(ref.namespace, ref.name)
    else:
        needed = (ref.namespace, ref.name) in parents or members.hides_children(ref.namespace)
    return None if needed else RemoveFinalizer(ref, finalizer)
