"""Binds in flight and their results."""

from __future__ import annotations

from scheduler_core.model.decision import Decision
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.states import Backoff, Binding, Binds, Event
from scheduler_core.sidecar.writes import Bind, Ref, Ungate, WriteOutcome


class BindsInFlight:
    """Binds in flight of all entities; *retry_seconds* is the time after which retried binds are reported.

    Attributes:
        by_pod: entities with binds in flight, by pod; an entity can be deleted meanwhile.

    """

    def __init__(self, entities: EntityQueue, assumed: AssumedPods, retry_seconds: float) -> None:
        self._entities, self._assumed, self._retry_seconds = entities, assumed, retry_seconds
        self.by_pod: dict[Ref, QueuedEntity] = {}
        self._failing: dict[QueuedEntity, float] = {}

    def start(self, entity: QueuedEntity, binds: Binds, decision: Decision | None) -> None:
        """Record that *binds* of *decision* are sent."""
        entity.awaits_victims = False
        entity.binding = Binding(binds, decision)
        self._entities.move(entity, Event.BIND, entity.binding)
        self.by_pod |= dict.fromkeys(binds, entity)

    def is_current(self, write: Bind | Ungate) -> bool:
        """Return whether *write* is in flight and was decided since the last restart."""
        entity = self.by_pod.get(write.pod)
        return entity is not None and isinstance(entity.state, Binding) and entity.state.binds[write.pod] == write

    def retried(self, write: Bind | Ungate, why: str, now: float) -> None:
        """Record that the first try of a bind failed, and *why*; it is reported if the binds are not done soon."""
        entity = self.by_pod.get(write.pod)
        if entity is None or not isinstance(entity.state, Binding) or not self.is_current(write):
            return
        entity.state.failures[write.pod] = why
        self._entities.wake_at(entity, self._failing.setdefault(entity, now + self._retry_seconds), now)

    def failing(self, now: float) -> tuple[tuple[QueuedEntity, Binding], ...]:
        """Return the entities, each once, with binds that have been retried for long enough to report it."""
        due = []
        for entity, at in [*self._failing.items()]:
            if not isinstance(entity.state, Binding) or not entity.state.failures:
                del self._failing[entity]
            elif at <= now:
                self._failing[entity] = float("inf")
                due.append((entity, entity.state))
            else:
                self._entities.wake_at(entity, at, now)
        return tuple(due)

    def ended(self, write: Bind | Ungate, outcome: WriteOutcome, why: str, now: float) -> tuple[QueuedEntity, Binding] | None:
        """Record the result of a bind; return the entity and its binds if this was the last one, else None."""
        entity, pod = self.by_pod.get(write.pod), write.pod
        binding = entity.state if entity is not None and isinstance(entity.state, Binding) else None
        if binding is not None and binding.binds[pod] != write:
            # This bind is from before a restart; the result of the current bind is not known yet.
            return None
        self.by_pod.pop(pod, None)
        if outcome is WriteOutcome.DONE:
            self._assumed.acknowledge(pod)
        elif outcome is not WriteOutcome.FAILED or binding is None:
            # A bind that may have been carried out keeps its capacity until its result is known.
            self._assumed.forget(pod)
        if entity is None or binding is None:
            return None
        binding.outcomes[pod] = outcome
        if outcome in {WriteOutcome.REFUSED, WriteOutcome.FAILED}:
            binding.failures[pod] = why
        else:
            binding.failures.pop(pod, None)
        if len(binding.outcomes) < len(binding.binds):
            return None
        self._binding_done(entity, binding, now)
        return entity, binding

    def _binding_done(self, entity: QueuedEntity, binding: Binding, now: float) -> None:
        if binding.failed:
            entity.bind_failures += 1
            entity.back_off(now)
        else:
            entity.bind_failures = entity.attempts = 0
        self._entities.move(entity, Event.BINDING_DONE, Backoff(binding.unconfirmed, binding.decision))
