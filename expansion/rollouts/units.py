"""Units of an update: what its controller deletes and creates as a whole, a pod or a group of pods."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence

from expansion.contents import Content, items
from kubeapi.base_structs import Record
from kubeapi.decode import section

Key = str | int
"""Ordinal of a unit, its node, or another name that is unique among the old or the new units of one object."""


@dataclasses.dataclass(slots=True, eq=False)
class Unit:
    """Pods that are deleted, or created, together; compared by identity.

    Attributes:
        key: its key; an old and a new unit of one ordinal, or one node, have the same.
        pods: the pods.
        ready: whether all of them run.
        exists: whether they exist; a controller can count pods that a quota does not allow yet.
        node: the node of its first pod; empty if it has none.
        rank: what its controller compares when it deletes one of several; smaller ones go first.
        leaders: number of the first pods that are created before the others; 0 if all are created at once.
        placed: number of the pods that have a node.

    """

    key: Key
    pods: Sequence[Content]
    ready: bool = False
    exists: bool = dataclasses.field(default=True, kw_only=True)
    node: str = ""
    rank: tuple[float | str, ...] = ()
    leaders: int = dataclasses.field(default=0, kw_only=True)
    placed: int = dataclasses.field(default=0, init=False)

    def __post_init__(self) -> None:
        self.placed = sum(map(bool, map(node_of, self.pods)))


@dataclasses.dataclass(slots=True)
class Progress:
    """The old units that are left, the new ones that exist, and the keys of old ones that did not run when they were deleted."""

    old: dict[Key, Unit]
    new: dict[Key, Unit] = dataclasses.field(default_factory=dict)
    broken: set[Key] = dataclasses.field(default_factory=set)

    @property
    def ready(self) -> int:
        """Return the number of new units that run."""
        return sum(each.ready for each in self.new.values())


class Actions(Record, frozen=True):
    """Keys of the old units that a controller deletes, and of the new ones that it creates."""

    delete: Sequence[Key] = ()
    create: Sequence[Key] = ()

    def __bool__(self) -> bool:
        return bool(self.delete or self.create)


NOTHING = Actions()


class Situation(Record, frozen=True):
    """Units of an object before its update.

    Attributes:
        old: those that run and are replaced.
        new: those that there are at the end, and those that exist only during the update.
        current: those that run and are new already, as after an update that was begun; with the keys of new ones.
        copies: further old units, which the controller can create.
        first: what the controller does before it replaces anything.

    """

    old: Sequence[Unit]
    new: Sequence[Unit]
    current: Sequence[Unit] = ()
    copies: Sequence[Unit] = ()
    first: Actions = NOTHING


def is_ready(pod: Content) -> bool:
    """Return whether a pod of the cluster runs and is ready, or nothing is known of it."""
    status = section(pod, "status")
    ready = next((each.get("status") for each in items(status, "conditions") if each.get("type") == "Ready"), "True")
    return bool(node_of(pod)) and status.get("phase", "Running") == "Running" and ready == "True"


def node_of(pod: Content) -> str:
    """Return the node of a pod; empty if it has none."""
    return str(section(pod, "spec").get("nodeName") or "")


def created_spec(pod: Content) -> Content:
    """Return the ``spec`` of a pod that is created from the template of *pod*."""
    return {key: value for key, value in section(pod, "spec").items() if key not in ("nodeName", "hostname")}


def created_at(pod: Content) -> float:
    """Return the time of the creation of a pod; a pod without one is the newest."""
    try:
        return dt.datetime.fromisoformat(str(section(pod, "metadata").get("creationTimestamp"))).timestamp()
    except ValueError:
        return float("inf")
