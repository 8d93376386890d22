"""Policy of the queue: the next action for a root, by its state, its status and the time."""

from __future__ import annotations

import enum

from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import Backoff, Unschedulable, Waiting
from scheduler_core.sidecar.writes import Bind, Ref, Ungate

MAX_REPORTS_A_SECOND = 10.0
"""Average number of conditions a second in which a large tree reports what it waits for while it is created."""
RECHECK_SECONDS = 1.0
"""Interval at which overcommitted nodes, and gangs whose wait is over, are looked at again."""


class Action(enum.Enum):
    """Next action for a root."""

    COMMIT = enum.auto()
    """Record in its conditions that it was scheduled."""
    UNDO = enum.auto()
    """Delete its bound pods."""
    REBIND = enum.auto()
    """Repeat binds with an unknown result."""
    SCHEDULE = enum.auto()
    """Find nodes for its pods."""
    REPORT = enum.auto()
    """Report in its conditions what it waits for."""


def next_action(entity: QueuedEntity, waiting: Waiting, status: RootStatus, options: SchedulerOptions, now: float) -> Action | None:
    """Return the next action for *entity*; None: it must wait."""
    unconfirmed = isinstance(waiting, Backoff) and bool(waiting.unconfirmed)
    backing_off = now < entity.backoff_expiration
    schedulable = bool(status.to_place) and status.ready and isinstance(waiting, Backoff)
    if unconfirmed and not backing_off:
        return Action.REBIND
    if status.to_commit and now >= entity.commit_after:
        return Action.COMMIT
    if _must_undo(entity, status, options, now, schedulable=schedulable):
        return Action.UNDO
    if schedulable and not (status.terminating or unconfirmed or backing_off):
        return Action.SCHEDULE
    return Action.REPORT if entity.report_at is not None and now >= entity.report_at else None


def is_held_back(waiting: Waiting, status: RootStatus) -> bool:
    """Return whether a root can be attempted only after its members, parents or gates have changed, or a kind is listed."""
    # The API server itself reports the gates of a pod.
    if isinstance(waiting, Unschedulable) or waiting.unconfirmed or (status.root.kind == "Pod" and not status.unlisted):
        return False
    return (is_unplaced(status) or status.emptied) and not (status.to_place and status.ready and not status.terminating)


def is_unplaced(status: RootStatus) -> bool:
    """Return whether pods of a root are to be placed, bound by their scheduler, or undone."""
    return bool(status.to_place or status.partially_bound or status.awaits_binding)


def current_waiting(entity: QueuedEntity, cache: Cache, *, hint: bool) -> Waiting:
    """Return what *entity* waits for now: only its backoff after a *hint*, and without binds whose result is visible by now."""
    waiting = entity.waiting
    if isinstance(waiting, Unschedulable):
        return Backoff() if hint else waiting
    unconfirmed = {ref: write for ref, write in waiting.unconfirmed.items() if _is_unconfirmed(cache, ref, write)}
    return Backoff(unconfirmed, waiting.decision)


def update_timers(
    entity: QueuedEntity, waiting: Waiting, status: RootStatus, options: SchedulerOptions, now: float, *, hint: bool
) -> list[float]:
    """Update the timers of *entity*, and return the times of the next checks; *hint*: its objects have changed."""
    if status.to_place and status.ready and not status.partially_bound and not entity.waited_for_members:
        entity.waited_for_members = True
        entity.backoff_expiration = max(entity.backoff_expiration, now + options.settle_seconds)
    entity.partial_since = _since(entity.partial_since, now, active=bool(status.partially_bound))
    entity.awaits_binding_since = _since(entity.awaits_binding_since, now, active=status.awaits_binding)
    times = _update_commit(entity, status, options, now)
    waits = _undo_times(entity, options)
    times += [at for at in waits if at > now]
    # A gang that is only reported is not looked at again.
    times += [
        now + RECHECK_SECONDS for at in waits if at <= now and (not options.is_current(at) or options.our_pods.can_undo(status.placed))
    ]
    _update_report(entity, options, now, held_back=is_held_back(waiting, status), partial=bool(status.partially_bound), hint=hint)
    times += [entity.report_at] if entity.report_at is not None else []
    return times


def _update_commit(entity: QueuedEntity, status: RootStatus, options: SchedulerOptions, now: float) -> list[float]:
    """Set the time from which *entity* can be recorded as scheduled, and return the times at which to check it."""
    if entity.contested_since is not None and not status.contested:
        entity.commit_after = now
    entity.contested_since = _since(entity.contested_since, now, active=status.contested)
    if entity.contested_since is None:
        return [entity.commit_after] if status.to_commit else []
    entity.commit_after = max(entity.commit_after, entity.contested_since + options.contested_seconds)
    return [entity.commit_after, now + RECHECK_SECONDS]


def _update_report(entity: QueuedEntity, options: SchedulerOptions, now: float, *, held_back: bool, partial: bool, hint: bool) -> None:
    """Set the time at which *entity* reports what it waits for; a partially bound gang does not wait with it."""
    if not held_back:
        entity.report_at, entity.waiting_reported = None, False
    elif hint or not entity.waiting_reported:
        interval = max(options.waiting_interval, entity.waiting_writes / MAX_REPORTS_A_SECOND)
        delay, interval = (0.0, options.waiting_seconds) if partial else (options.waiting_seconds, interval)
        at = max(now + delay, entity.waiting_reported_at + interval)
        entity.report_at = at if entity.report_at is None else min(at, entity.report_at)


def _must_undo(entity: QueuedEntity, status: RootStatus, options: SchedulerOptions, now: float, *, schedulable: bool) -> bool:
    """Return whether the bound pods of a gang must be undone without another attempt."""
    if is_over(entity.awaits_binding_since, options.pinned_seconds, options, now):
        return options.our_pods.can_undo(status.placed)
    if not status.partially_bound or status.terminating or entity.partial_since is None:
        return False
    if not options.our_pods.can_undo(status.partially_bound):
        return False
    if entity.awaits_victims and status.to_place and status.ready:
        return False
    # An attempt that finds no capacity undoes the gang at once, so only failed binds are counted here.
    if schedulable:
        return entity.bind_failures >= options.max_bind_failures
    return is_over(entity.partial_since, options.partial_seconds, options, now)


def _undo_times(entity: QueuedEntity, options: SchedulerOptions) -> list[float]:
    """Return the times at which the wait of bound or pinned pods is over."""
    waits = ((entity.partial_since, options.partial_seconds), (entity.awaits_binding_since, options.pinned_seconds))
    return [since + seconds for since, seconds in waits if since is not None]


def is_over(since: float | None, seconds: float, options: SchedulerOptions, now: float) -> bool:
    """Return whether a wait *since* a time for *seconds* is over, and nothing that happened until then is missing in the cache."""
    return since is not None and now >= since + seconds and options.is_current(since + seconds)


def _since(since: float | None, now: float, *, active: bool) -> float | None:
    if not active:
        return None
    return now if since is None else since


def _is_unconfirmed(cache: Cache, ref: Ref, write: Bind | Ungate) -> bool:
    """Return whether *write* must be repeated.  A bind to a deleted node must not, because the API server would accept it."""
    pod = cache.pod(ref)
    return pod is not None and pod.assumed == write.node and write.node in cache.usage.nodes.nodes
