"""Roots that are not attempted now: what they wait for, until when, and what happens then."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Collection

from scheduler_core.causes.cause import Cause
from scheduler_core.causes.live import (
    Awaited,
    Deviation,
    GangUndone,
    ObjectsAwaited,
    PartiallyBound,
    PinnedPodsAwaited,
    PlacementDeviated,
    UndoReason,
    UnlistedKind,
)
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.scheduling.binding import groups_of
from scheduler_core.sidecar.scheduling.decide import refused


def waiting_decision(queue: SchedulingQueue, entity: QueuedEntity, status: RootStatus) -> Decision:
    """Return the decision on a root that cannot be attempted now: Wait, or Invalid for a tree that breaks a rule."""
    cache, options = queue.cache, queue.options
    deviating = queue.deviations.of_root(entity.root)
    deviated = PlacementDeviated(deviating) if deviating else None
    decision = refused(cache, entity.root, options.cycle, status.excluded) or Decision(entity.root, Status.WAIT)
    late = any(each.deviation is Deviation.NOT_BOUND for each in deviating)
    consequence, unlisted = _consequence(entity, status, options, late=late), _unlisted(cache, status)
    if decision.status is not Status.WAIT:
        return decision
    own = tuple(each for each in (consequence, deviated, unlisted) if each is not None)
    causes: tuple[Cause, ...] = (*own, *decision.causes) or (Awaited.DELETION,)
    # A partially bound gang can be below a root that was scheduled, which waits for nothing.
    pods = status.partially_bound if _is_partial(entity, status) else status.placed if consequence or deviated else status.to_place
    affected = (Name(*live.key) for live in groups_of(cache, (pod.ref for pod in pods)))
    groups = {each.group: each for each in decision.groups}
    groups |= {name: GroupDecision(name, Status.WAIT, causes) for name in affected if own or name not in groups}
    pending = {pod.key: causes for pod in status.to_place} if status.root.kind == "Pod" else decision.pending
    return dataclasses.replace(decision, causes=causes, groups=tuple(groups.values()), pending=pending)


def undone_decision(cache: Cache, root: Name, pods: Collection[LivePod], reason: UndoReason) -> Decision:
    """Return the decision on a gang that is undone by the deletion of *pods* for a *reason*: it waits for new pods."""
    causes = (GangUndone(reason, len(pods)),)
    groups = groups_of(cache, (pod.ref for pod in pods))
    return Decision(root, Status.WAIT, causes, groups=tuple(GroupDecision(Name(*live.key), Status.WAIT, causes) for live in groups))


def _unlisted(cache: Cache, status: RootStatus) -> ObjectsAwaited | None:
    """Return which kinds a root needs that are not listed; None if there are none."""
    if not status.unlisted:
        return None
    user = cache.needed.user(status.unlisted, status.to_place, cache.group_cache.tree(status.root))
    return ObjectsAwaited(user, tuple(itertools.starmap(UnlistedKind, cache.needed.causes(status.unlisted).items())))


def _is_partial(entity: QueuedEntity, status: RootStatus) -> bool:
    return bool(status.partially_bound) and entity.partial_since is not None


def _consequence(
    entity: QueuedEntity, status: RootStatus, options: SchedulerOptions, *, late: bool
) -> PartiallyBound | PinnedPodsAwaited | None:
    """Return until when a gang with bound or pinned pods waits; None if it has no such pods, or they are *late* and nothing happens then."""
    if _is_partial(entity, status):
        kept = not options.our_pods.can_undo(status.partially_bound)
        # It is not undone while pods are being deleted, whatever the time.
        until = None if status.terminating or kept else _utc((entity.partial_since or 0.0) + options.partial_seconds, options)
        return PartiallyBound(len(status.partially_bound), until, kept)
    if status.awaits_binding and entity.awaits_binding_since is not None:
        kept = not options.our_pods.can_undo(status.placed)
        over = kept and (late or all(pod.parsed_pod.node for pod in status.placed))
        end = _utc(entity.awaits_binding_since + options.pinned_seconds, options)
        return None if over else PinnedPodsAwaited(len(status.placed), end, kept)
    return None


def _utc(monotonic: float, options: SchedulerOptions) -> dt.datetime:
    """Return a time of the monotonic clock as UTC, rounded up to seconds."""
    moment = dt.datetime.fromtimestamp(options.epoch + monotonic, dt.UTC)
    return moment + dt.timedelta(microseconds=-moment.microsecond % 1_000_000)
