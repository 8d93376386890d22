"""Assumed state: writes in flight that the watch does not show yet, applied to the cache.

This prevents placing a pod twice, using capacity twice, and evicting a victim twice.  A watch event replaces the assumed state; a
failed write reverts it.
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.writes import Condition, Ref


class AssumedPods:
    """Assumed changes of the pods and groups of a cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def assume(self, ref: Ref, node: str, volumes: Mapping[str, str] | None = None) -> bool:
        """Assume that *ref* is bound to *node*, with *volumes* for its claims without one, empty for those that are provisioned.

        Return False if the pod no longer exists, is being deleted or has a node, or if *node* does not exist.
        """
        pod = self._cache.pod(ref)
        usage = self._cache.usage
        if pod is None or pod.parsed_pod.terminating or pod.deletion_assumed or usage.node_of(pod) or node not in usage.nodes.nodes:
            return False
        pod.assumed, pod.assumed_volumes, pod.acknowledged = node, volumes or {}, False
        self._update(pod, "")
        return True

    def acknowledge(self, ref: Ref) -> None:
        """Record that the API server has confirmed the bind of *ref*."""
        if (pod := self._cache.pod(ref)) is not None and pod.assumed:
            pod.acknowledged = True

    def forget(self, ref: Ref) -> None:
        """Revert the assumed bind of *ref*."""
        if (pod := self._cache.pod(ref)) is not None and pod.assumed:
            old_node = self._cache.usage.node_of(pod)
            pod.assumed, pod.acknowledged = "", False
            self._update(pod, old_node)
            self._reconsider_root(pod)

    def expect_deletion(self, ref: Ref, *, evicted: bool) -> None:
        """Assume that *ref* is being deleted; *evicted*: by a preemption."""
        if (pod := self._cache.pod(ref)) is not None and not pod.parsed_pod.terminating:
            pod.deletion_assumed, pod.evicted = True, evicted
            self._update(pod, self._cache.usage.node_of(pod))

    def cancel_deletion(self, ref: Ref) -> None:
        """Revert the assumed deletion of *ref*."""
        if (pod := self._cache.pod(ref)) is not None and pod.deletion_assumed:
            pod.deletion_assumed = pod.evicted = False
            self._update(pod, self._cache.usage.node_of(pod))
            self._reconsider_root(pod)

    def assume_nomination(self, ref: Ref, node: str) -> None:
        """Assume that *ref* is nominated for *node*; empty clears the nomination."""
        if (pod := self._cache.pod(ref)) is not None and not pod.parsed_pod.node:
            self._set_nomination(pod, node)

    def forget_nomination(self, ref: Ref) -> None:
        """Revert the assumed nomination of *ref*."""
        if (pod := self._cache.pod(ref)) is not None and pod.assumed_nomination is not None:
            self._set_nomination(pod, None)

    def assume_condition(self, target: Ref, condition: Condition) -> None:
        """Assume that *target* has *condition*."""
        if target.kind == "Pod":
            if (pod := self._cache.pod(target)) is not None:
                pod.pod_scheduled = condition if condition.status else None
            return
        live = self._cache.group(target.kind, target.namespace, target.name)
        if live is not None and target.uid in ("", live.uid):
            live.assumed_conditions[condition.type] = condition

    def forget_condition(self, target: Ref, type_: str) -> None:
        """Revert the assumed condition of that type."""
        if target.kind == "Pod":
            if (pod := self._cache.pod(target)) is not None:
                pod.pod_scheduled = None
        elif (live := self._cache.group(target.kind, target.namespace, target.name)) is not None:
            live.assumed_conditions.pop(type_, None)

    def reset(self) -> None:
        """Revert all assumed changes."""
        for pod in list(self._cache.usage.pods.pods.values()):
            if pod.assumed or pod.deletion_assumed or pod.evicted or pod.assumed_nomination is not None:
                old_node = self._cache.usage.node_of(pod)
                pod.assumed, pod.acknowledged, pod.deletion_assumed, pod.evicted, pod.assumed_nomination = "", False, False, False, None
                self._update(pod, old_node)
        for live in self._cache.groups():
            live.assumed_conditions.clear()
        self._cache.devices.claimed.drop_holds()

    def _reconsider_root(self, pod: LivePod) -> None:
        """Report the root of *pod* as changed, because no watch event follows when an assumed change is reverted."""
        # A single pod that has a node needs no further attempt.
        if (pod.parsed_pod.group or not pod.parsed_pod.node) and (root := self._cache.reporter.root(pod)) is not None:
            self._cache.reporter.changes.roots.add(root)

    def _set_nomination(self, pod: LivePod, node: str | None) -> None:
        reporter, before = self._cache.reporter, pod.nominated
        # While an earlier write is not watched, the watched nomination is about to change.
        pod.assumed_nomination = node if node != pod.parsed_pod.nominated or pod.assumed_nomination is not None else None
        if before and before != pod.nominated:
            reporter.nomination_ended(pod, before)
        reporter.change_count += 1
        self._cache.usage.changed(pod)

    def _update(self, pod: LivePod, old_node: str) -> None:
        usage, reporter = self._cache.usage, self._cache.reporter
        usage.changed(pod)
        reporter.change_count += 1
        node = usage.node_of(pod)
        if old_node != node:
            reporter.changes.pods_moved = True
            if old_node:
                reporter.changes.freed_nodes.add(old_node)
