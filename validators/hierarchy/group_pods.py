"""Pods of a PodGroup, as far as the lookup knows the controllers that create them."""

from __future__ import annotations

from collections.abc import Hashable

from kubeapi.base_structs import Record
from kubeapi.groups import Group, PodGroup
from validators.hierarchy.creation_order import Level, PodBatch, created
from validators.hierarchy.tree import GroupNode
from validators.model.controllers import pods_of
from validators.model.objects import namespace_of
from validators.model.views import Pod
from validators.object_lookup import Lookup


class GroupPods(Record, frozen=True):
    """Numbers of pods of one PodGroup.

    Attributes:
        first: number of pods that are created without waiting for an event.
        later: number of pods that are created only after an event, such as the readiness of another pod.
        controllers: the controllers, as ``KIND NAME``.
        awaited: the first of these events, in words, with the controller.

    """

    first: int
    later: int
    controllers: tuple[str, ...]
    awaited: str = ""

    @property
    def total(self) -> int:
        """The number of all pods."""
        return self.first + self.later


def group_pods(lookup: Lookup, namespace: str, group: str) -> GroupPods | None:
    """Return the pods of the PodGroup *group*.

    The result is None if no controller of its pods is known, or if the number of pods of one is not known.  Objects that another
    controller has created are not counted: their pods are those of the other controller.
    """
    first, later, awaited = 0, 0, ""
    names: dict[str, None] = {}
    members = (each for each in lookup.children("Pod", namespace, group) if each.metadata.controller is None)
    for member in members:
        name = f"{member.kind} {member.metadata.name}"
        if not isinstance(member, Pod):
            names[name] = None
        for pods in pods_of(member):
            if pods.group != group:
                continue
            if pods.count is None:
                return None
            if pods.wait is not None:
                later += pods.count
                awaited = awaited or f"of {name}, {pods.count} are created only when {pods.wait.words}"
            else:
                first += pods.count
    return GroupPods(first, later, tuple(names), awaited) if names else None


_MANY = 2**31
"""Number of pods that are as many as any gang needs."""


def created_pods(root: GroupNode, lookup: Lookup) -> dict[str, int]:
    """Return the number of pods of each PodGroup of a tree that are created, although some come only after other pods run.

    Pods whose number is not known are as many as the groups need.
    """
    nodes, waiting = [], [root]
    while waiting:
        nodes.append(waiting.pop())
        waiting += nodes[-1].children
    levels: dict[Hashable, Level] = {
        _key(node.group): Level(_minimum(node.group), None if node.parent is None else _key(node.parent.group)) for node in nodes
    }
    leaves = {node.group.metadata.name for node in nodes if isinstance(node.group, PodGroup)}
    members = {}
    for leaf in leaves:
        for each in lookup.children("Pod", namespace_of(root.group), leaf):
            if each.metadata.controller is None:
                members[each.kind, each.metadata.name] = each
    batches = [
        PodBatch(name, pods.part, ("PodGroup", pods.group) if pods.group in leaves else None, _count(pods.count), pods.wait)
        for name, member in members.items()
        for pods in pods_of(member)
    ]
    made = created(batches, levels)
    counts = dict.fromkeys(leaves, 0)
    for index in made:
        batch = batches[index]
        if isinstance(batch.group, tuple):
            counts[batch.group[1]] += batch.count
    return counts


def _count(count: int | None) -> int:
    return _MANY if count is None else count


def _key(group: Group) -> tuple[str, str]:
    return group.kind, group.metadata.name


def _minimum(group: Group) -> int:
    if isinstance(group, PodGroup):
        gang = group.spec.scheduling_policy.gang
        return 1 if gang is None else gang.min_count
    composite = group.spec.scheduling_policy.gang
    return 1 if composite is None else composite.min_group_count
