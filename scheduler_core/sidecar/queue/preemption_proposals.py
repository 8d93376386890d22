"""Preemption plans whose evictions are not sent yet: their dry runs, and the writes of their nominations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.states import Event, PreemptionPlan, PreemptionProposed
from scheduler_core.sidecar.writes import Ref


class PlanReservations(Protocol):
    """Capacity that is reserved by preemption plans."""

    def prune(self, plan: PreemptionPlan) -> PreemptionPlan:
        """Return *plan* without the victims that are gone."""

    def release(self, plan: PreemptionPlan) -> None:
        """Drop *plan*: its victims are no longer assumed deleted, and its capacity is released."""


class PreemptionProposals:
    """Proposed plans of all entities."""

    def __init__(self, entities: EntityQueue) -> None:
        self._entities = entities

    def all(self) -> list[tuple[QueuedEntity, PreemptionProposed]]:
        """Return the entities in the order of their plans, with their states."""
        entities = (self._entities.by_root[root] for root in self._entities.plans)
        return [(entity, entity.state) for entity in entities if isinstance(entity.state, PreemptionProposed)]

    def dry_run_passed(self, entity: QueuedEntity, proposed: PreemptionProposed) -> None:
        """Record that the dry run of the evictions of *entity* has passed."""
        self._entities.move(entity, Event.DRY_RUN_PASSED, dataclasses.replace(proposed, passed=True))

    def nominate(self, entity: QueuedEntity, plan: PreemptionPlan, nominations: Mapping[Ref, str]) -> None:
        """Record that the *nominations* of *plan* are sent, which must be written before its evictions are sent."""
        self._entities.move(entity, Event.NOMINATE, PreemptionProposed(plan, passed=True, unwritten=dict(nominations)))
