"""Volumes and devices that are being bound before the binds of their pods."""

from __future__ import annotations

from collections.abc import Iterable

from kubeapi.gather import Name
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import Event, PreBinding
from scheduler_core.sidecar.writes import PreBindWrite, Ref, WriteOutcome

RECHECK_SECONDS = 1.0
"""Interval at which volumes and devices that are not bound yet are checked, as kube-scheduler does for volumes."""


class PreBindsInFlight:
    """Entities whose volumes and devices are being bound."""

    def __init__(self, entities: EntityQueue) -> None:
        self._entities = entities
        self._by_object: dict[Ref, list[tuple[QueuedEntity, PreBindWrite]]] = {}
        """Writes that have not ended, with the entity that sent each, in this order."""
        self._changed: dict[QueuedEntity, None] = {}
        self._abandoned = set[Name](), set[Name]()

    def start(self, entity: QueuedEntity, state: PreBinding, now: float) -> None:
        """Record that the writes of *state* are sent."""
        entity.awaits_victims = False
        self._entities.move(entity, Event.PRE_BIND, state)
        for target, write in state.writes.items():
            self._by_object.setdefault(target, []).append((entity, write))
        self._entities.wake_at(entity, now + RECHECK_SECONDS, now)

    def changed(self, entity: QueuedEntity) -> None:
        """Record that an object of *entity* changed, or that its timer expired."""
        if isinstance(entity.state, PreBinding):
            self._changed[entity] = None

    def abandoned(self, claims: Iterable[Name], groups: Iterable[Name]) -> None:
        """Record *claims* that may not be used any more, and PodGroups that do not exist."""
        for known, names in zip(self._abandoned, (claims, groups), strict=True):
            known.update(names)

    def pop_abandoned(self) -> tuple[list[Name], list[Name]]:
        """Return the claims and PodGroups recorded since the last call."""
        claims, groups = map(sorted, self._abandoned)
        self._abandoned = set(), set()
        return claims, groups

    def should_report(self, entity: QueuedEntity, state: PreBinding, options: SchedulerOptions, now: float) -> bool:
        """Return whether *entity* reports now what it waits for; then it does not again for a while."""
        if now < max(state.since + options.waiting_seconds, entity.waiting_reported_at + options.waiting_interval):
            return False
        entity.waiting_reported_at = now
        return True

    def ended(self, write: PreBindWrite, outcome: WriteOutcome, why: str) -> bool:
        """Record the result of *write* for the entity that sent it; of equal writes, for the one that sent it first.

        Return False if no entity waits for it: the root no longer exists, was replaced, or makes another attempt.
        """
        target, sent = write.target, self._by_object.get(write.target, [])
        number = next((number for number, (_, each) in enumerate(sent) if each == write), None)
        if number is None:
            return False
        entity, own = sent.pop(number)
        if not sent:
            del self._by_object[target]
        state = entity.state
        # An earlier attempt can have sent an equal write.
        if not isinstance(state, PreBinding) or state.writes.get(target) is not own:
            return False
        state.outcomes[target] = outcome
        if outcome is not WriteOutcome.DONE:
            state.failures[target] = why or outcome.value
        if len(state.outcomes) == len(state.writes):
            self.changed(entity)
        return True

    def pop_changed(self, now: float) -> Iterable[tuple[QueuedEntity, PreBinding]]:
        """Return the entities that changed since the last call, once each; each is looked at again after a while."""
        changed, self._changed = self._changed, {}
        result = []
        for entity in changed:
            if isinstance(entity.state, PreBinding):
                result.append((entity, entity.state))
                self._entities.wake_at(entity, now + RECHECK_SECONDS, now)
        return result
