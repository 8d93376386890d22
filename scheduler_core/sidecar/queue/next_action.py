"""Policy of the queue: what is to be done about a root now, by its state, its status and the time."""

from __future__ import annotations

import enum

from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import Backoff, Unschedulable, Waiting
from scheduler_core.sidecar.writes import Bind, Ref, Ungate


class Action(enum.Enum):
    """Next action for a root."""

    COMMIT = "record that it was placed"
    UNDO = "take back what was bound of it"
    REBIND = "repeat binds of which is not known whether they were carried out"
    SCHEDULE = "find nodes for its pods"


def next_action(entity: QueuedEntity, waiting: Waiting, status: RootStatus, options: SchedulerOptions, now: float) -> Action | None:
    """Return what is to be done about *entity* now; None: nothing but to wait."""
    unconfirmed = isinstance(waiting, Backoff) and bool(waiting.unconfirmed)
    backing_off = now < entity.backoff_expiration
    schedulable = bool(status.to_place) and status.ready and isinstance(waiting, Backoff)
    if unconfirmed and not backing_off:
        return Action.REBIND
    if status.to_commit and now >= entity.commit_after:
        return Action.COMMIT
    if _must_undo(entity, status, options, now, schedulable=schedulable):
        return Action.UNDO
    return Action.SCHEDULE if schedulable and not (status.terminating or unconfirmed or backing_off) else None


def current_waiting(entity: QueuedEntity, store: Cache, *, hint: bool) -> Waiting:
    """Return what a scheduling attempt waits for by now: nothing after a *hint*; binds of which it shows what became are left out."""
    waiting = entity.waiting
    if isinstance(waiting, Unschedulable):
        return Backoff() if hint else waiting
    unconfirmed = {ref: write for ref, write in waiting.unconfirmed.items() if _is_unconfirmed(store, ref, write)}
    return Backoff(unconfirmed, waiting.decision)


def update_timers(entity: QueuedEntity, status: RootStatus, options: SchedulerOptions, now: float) -> list[float]:
    """Note since when *entity* is partial, and since when it hangs; return when that has to be looked at again."""
    if status.to_place and status.ready and not status.partially_bound and not entity.waited_for_members:
        entity.waited_for_members = True
        entity.backoff_expiration = max(entity.backoff_expiration, now + options.settle_seconds)
    entity.partial_since = _since(entity.partial_since, now, there=bool(status.partially_bound))
    entity.awaits_binding_since = _since(entity.awaits_binding_since, now, there=status.awaits_binding)
    times = [entity.commit_after] if status.to_commit else []
    times += [entity.partial_since + options.partial_seconds] if entity.partial_since is not None else []
    times += [entity.awaits_binding_since + options.pinned_seconds] if entity.awaits_binding_since is not None else []
    return times


def _must_undo(entity: QueuedEntity, status: RootStatus, options: SchedulerOptions, now: float, *, schedulable: bool) -> bool:
    """Return whether the bound pods of a gang must be undone without another attempt."""
    if entity.awaits_binding_since is not None and now >= entity.awaits_binding_since + options.pinned_seconds:
        return any(map(options.our_pods.has, status.placed))
    if not status.partially_bound or status.terminating or entity.awaits_victims or entity.partial_since is None:
        return False
    # Where an attempt finds no room it is undone at once; what is unschedulable all the same, an attempt could not judge.
    if schedulable:
        return entity.bind_failures >= options.max_bind_failures
    return now >= entity.partial_since + options.partial_seconds


def _since(since: float | None, now: float, *, there: bool) -> float | None:
    if not there:
        return None
    return now if since is None else since


def _is_unconfirmed(store: Cache, ref: Ref, write: Bind | Ungate) -> bool:
    """Return whether *write* must be repeated.  Not to a deleted node: the API server would bind to it."""
    pod = store.pod(ref)
    return pod is not None and pod.assumed == write.node and write.node in store.usage.nodes.nodes
