"""Removes the condition DisruptionTarget of groups once it is outdated.

DisruptionTarget means that a group is about to be terminated (API of PodGroup and CompositePodGroup).  It becomes outdated if the
group gets new pods that run, or if no pod was evicted: the process stopped too early, or every eviction failed.  Only conditions
written by this sidecar are removed; they are recognized by their field manager.  The controller returns writes and makes none.
"""

from __future__ import annotations

from scheduler_core.model.conditions import DISRUPTION_TARGET
from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.group_cache import LiveGroup
from scheduler_core.sidecar.client.requests import field_manager
from scheduler_core.sidecar.controllers.pending_writes import PendingWrites
from scheduler_core.sidecar.writes import Condition, SetCondition
from scheduler_core.wording.binding_words import preempting_prefix

_GONE = Condition(DISRUPTION_TARGET, "", "", "")
_DEFAULT_MANAGER = "muster"
"""Field manager of the previous version, which the API server took from the User-Agent.  It is the same for each scheduler name, which only
the message of such a condition has: the condition is ours only if its message has our prefix.  To be removed with the next version."""


class DisruptionTargets:
    """Reconciler of the conditions DisruptionTarget that the sidecar of *scheduler_name* wrote."""

    def __init__(self, scheduler_name: str) -> None:
        self._manager = field_manager(scheduler_name)
        self._prefix = preempting_prefix(scheduler_name)
        self._pending = PendingWrites()

    @property
    def next_retry(self) -> float | None:
        """Time of the next run without a change; None: only after a change."""
        return self._pending.next_retry

    def wanted(self, cache: Cache, now: float) -> tuple[SetCondition, ...]:
        """Return the missing writes at *now*, by kind and name."""
        self._pending.expire(now)
        outdated = [live for live in cache.groups() if self._has_our_condition(live) and _has_running_pods(cache, live)]
        writes = [SetCondition(live.ref, _GONE) for live in sorted(outdated, key=lambda live: live.key)]
        return tuple(write for write in writes if self._pending.add(write, now))

    def _has_our_condition(self, live: LiveGroup) -> bool:
        """Return whether the group has the condition with status True, written by us."""
        condition = live.condition(DISRUPTION_TARGET)
        if condition is None or condition.status != "True":
            return False
        if DISRUPTION_TARGET in live.assumed_conditions or self._manager in live.disrupted_by:
            return True
        return _DEFAULT_MANAGER in live.disrupted_by and condition.message.startswith(self._prefix)


def _has_running_pods(cache: Cache, live: LiveGroup) -> bool:
    """Return whether a pod of the group has a node and none is being deleted; an eviction counts from its request on."""
    leaves = [each.key for each in cache.group_cache.tree(Name(*live.key)) if each.key[0] == "PodGroup"]
    members = [pod for key in leaves for pod in cache.members(*key[1:])]
    terminating = any(pod.deletion_assumed or pod.parsed_pod.terminating for pod in members)
    return not terminating and any(cache.usage.node_of(pod) for pod in members)
