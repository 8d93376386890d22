"""Entity of the scheduling queue: a tree of groups with its pending pods, or a single pod."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """A group with everything below it, or a pod without a group.

    A leaf has pods and no children; a composite has children and no pods.
    """

    name: Name
    minimum: int
    """minCount or minGroupCount; 1 for basic groups and for a pod."""
    gang: bool
    key: str
    """Topology key of its constraint; empty if none."""
    priority: int
    preempts: bool
    created: str
    children: tuple[Entity, ...] = ()
    """By creation time, then name."""
    waiting: tuple[PodRecord, ...] = ()
    """Members to place in this cycle, in the order in which they are tried: priority descending, age, name."""
    running: tuple[PodRecord, ...] = ()
    """Members that have a node."""
    desired: int = 0
    """desiredCount; 0 if none."""

    @property
    def profile(self) -> SchedulerProfile:
        """Return the profile that schedules it."""
        first = self.first_pod()
        return DEFAULT_PROFILE if first is None else first.shape.profile

    def first_pod(self) -> PodRecord | None:
        """Return its first pod, waiting or running; None if it has none."""
        pods = self.waiting or self.running
        return pods[0] if pods else next(filter(None, (child.first_pod() for child in self.children)), None)

    def walk(self) -> Iterator[Entity]:
        """Return the entity and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[Entity]:
        """Return the entities that hold pods: below this one, or itself."""
        return (each for each in self.walk() if each.name.kind != "CompositePodGroup")
