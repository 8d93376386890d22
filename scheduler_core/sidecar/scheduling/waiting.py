"""Roots that are not attempted now: what they wait for, until when, and what happens then."""

from __future__ import annotations

import dataclasses
import datetime as dt

from scheduler_core.diagnosis.phrases import counted
from scheduler_core.model.decision import Decision, GroupDecision, Name, Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.scheduling.decide import refused

_DELETED = "waiting until its pods that are being deleted are gone"


def waiting_decision(cache: Cache, entity: QueuedEntity, status: RootStatus, options: SchedulerOptions) -> Decision:
    """Return the decision on a root that cannot be attempted now: Wait, or Invalid for a tree that breaks a rule."""
    decision = refused(cache, entity.root, options.cycle, status.excluded) or _awaits_deletion(cache, entity)
    consequence = _consequence(entity, status, options)
    if decision.status is not Status.WAIT or not consequence:
        return decision
    message = f"{consequence}; {decision.message}" if _needs_members(entity, status) else consequence
    groups = tuple(dataclasses.replace(each, message=message) for each in decision.groups)
    return dataclasses.replace(decision, message=message, groups=groups)


def _awaits_deletion(cache: Cache, entity: QueuedEntity) -> Decision:
    groups = tuple(GroupDecision(Name(*live.key), Status.WAIT, _DELETED) for live in cache.group_cache.tree(entity.root))
    return Decision(entity.root, Status.WAIT, _DELETED, groups=groups)


def _needs_members(entity: QueuedEntity, status: RootStatus) -> bool:
    return bool(status.partially_bound) and entity.partial_since is not None


def _consequence(entity: QueuedEntity, status: RootStatus, options: SchedulerOptions) -> str:
    """Return until when a gang with bound or pinned pods waits, and what happens then; empty if it has no such pods."""
    if _needs_members(entity, status):
        until = _utc((entity.partial_since or 0.0) + options.partial_seconds, options)
        bound = counted(len(status.partially_bound), "pod")
        return f"partially bound: waiting until {until} for the missing pods; then the {bound} with a node are deleted"
    if status.awaits_binding and entity.awaits_binding_since is not None:
        until = _utc(entity.awaits_binding_since + options.pinned_seconds, options)
        return f"waiting until {until} for the scheduler of its {counted(len(status.placed), 'pinned pod')}; then they are deleted"
    return ""


def _utc(monotonic: float, options: SchedulerOptions) -> str:
    """Return a time of the monotonic clock as UTC, rounded up to seconds."""
    moment = dt.datetime.fromtimestamp(options.epoch + monotonic, dt.UTC)
    return (moment + dt.timedelta(microseconds=-moment.microsecond % 1_000_000)).strftime("%Y-%m-%dT%H:%M:%SZ")
