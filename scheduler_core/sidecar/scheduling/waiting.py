"""Roots that are not attempted now: what they wait for, until when, and what happens then."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection

from scheduler_core.model.decision import Decision, GroupDecision, Name, Status
from scheduler_core.model.nouns import counted
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.cache.unlisted_kinds import explain_unlisted
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.scheduling.binding import groups_of
from scheduler_core.sidecar.scheduling.decide import refused

_DELETED = "waiting until its pods that are being deleted are gone"


def waiting_decision(cache: Cache, entity: QueuedEntity, status: RootStatus, options: SchedulerOptions) -> Decision:
    """Return the decision on a root that cannot be attempted now: Wait, or Invalid for a tree that breaks a rule."""
    decision = refused(cache, entity.root, options.cycle, status.excluded) or Decision(entity.root, Status.WAIT, "")
    consequence, unlisted = _consequence(entity, status, options), _unlisted(cache, status)
    if decision.status is not Status.WAIT:
        return decision
    message = "; ".join(filter(None, (consequence, unlisted, decision.message))) or _DELETED
    # A partially bound gang can be below a root that was scheduled, which waits for nothing.
    pods = status.partially_bound if _is_partial(entity, status) else status.placed if consequence else status.to_place
    affected = (Name(*live.key) for live in groups_of(cache, (pod.ref for pod in pods)))
    groups = {each.group: each for each in decision.groups}
    groups |= {name: GroupDecision(name, Status.WAIT, message) for name in affected if consequence or unlisted or name not in groups}
    pending = {pod.key: message for pod in status.to_place} if status.root.kind == "Pod" else decision.pending
    return dataclasses.replace(decision, message=message, groups=tuple(groups.values()), pending=pending)


def undone_decision(cache: Cache, root: Name, pods: Collection[LivePod], why: str) -> Decision:
    """Return the decision on a gang that is undone by the deletion of *pods*, and *why*: it waits for new pods."""
    count = len(pods)
    message = f"partially bound and not completed: {why}; the {counted(count, 'pod')} with a node {'was' if count == 1 else 'were'} deleted"
    groups = groups_of(cache, (pod.ref for pod in pods))
    return Decision(root, Status.WAIT, message, groups=tuple(GroupDecision(Name(*live.key), Status.WAIT, message) for live in groups))


def _unlisted(cache: Cache, status: RootStatus) -> str:
    """Return which kinds a root needs that are not listed, why, and what to do; empty if there are none."""
    if not status.unlisted:
        return ""
    user = cache.needed.user(status.unlisted, status.to_place, cache.group_cache.tree(status.root))
    return f"waiting for objects that {user} needs: {explain_unlisted(cache.needed.causes(status.unlisted))}"


def _is_partial(entity: QueuedEntity, status: RootStatus) -> bool:
    return bool(status.partially_bound) and entity.partial_since is not None


def _consequence(entity: QueuedEntity, status: RootStatus, options: SchedulerOptions) -> str:
    """Return until when a gang with bound or pinned pods waits, and what happens then; empty if it has no such pods."""
    if _is_partial(entity, status):
        if status.terminating:
            # It is not undone before, whatever the time.
            return f"partially bound: {_DELETED}"
        until, count = _utc((entity.partial_since or 0.0) + options.partial_seconds, options), len(status.partially_bound)
        deleted = f"the {counted(count, 'pod')} with a node {'is' if count == 1 else 'are'} deleted"
        return f"partially bound: waiting until {until} for the missing pods; then {deleted}"
    if status.awaits_binding and entity.awaits_binding_since is not None:
        until, count = _utc(entity.awaits_binding_since + options.pinned_seconds, options), len(status.placed)
        deleted = "it is deleted" if count == 1 else "they are deleted"
        return f"waiting until {until} for the scheduler of its {counted(count, 'pinned pod')}; then {deleted}"
    return ""


def _utc(monotonic: float, options: SchedulerOptions) -> str:
    """Return a time of the monotonic clock as UTC, rounded up to seconds."""
    moment = dt.datetime.fromtimestamp(options.epoch + monotonic, dt.UTC)
    return (moment + dt.timedelta(microseconds=-moment.microsecond % 1_000_000)).strftime("%Y-%m-%dT%H:%M:%SZ")
