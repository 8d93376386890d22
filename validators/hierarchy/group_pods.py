"""Pods of a PodGroup, as far as the lookup knows the controllers that create them."""

from __future__ import annotations

from kubeapi.base_structs import Record
from validators.model.controllers import pods_of
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
            if pods.spec.group != group:
                continue
            if pods.count is None:
                return None
            if pods.after:
                later += pods.count
                awaited = awaited or f"of {name}, {pods.count} are created only when {pods.after}"
            else:
                first += pods.count
    return GroupPods(first, later, tuple(names), awaited) if names else None
