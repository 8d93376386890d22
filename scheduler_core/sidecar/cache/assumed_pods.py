"""Assumed state: writes under way that the watch does not show yet, applied to the cache.

So no pod is placed twice, no room is given twice, and no victim is told twice.  What is seen takes the place of what was
presumed; what fails is taken back.
"""

from __future__ import annotations

from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.writes import Condition, Ref


class AssumedPods:
    """Assumed changes of the pods and groups of a cache."""

    def __init__(self, store: Cache) -> None:
        self._store = store

    def assume(self, ref: Ref, node: str) -> bool:
        """*ref* is on its way to *node*.  False: the object no longer exists, is leaving, or has a node."""
        pod = self._store.pod(ref)
        usage = self._store.usage
        if pod is None or pod.draft.terminating or pod.deletion_assumed or usage.node_of(pod) or node not in usage.nodes.nodes:
            return False
        pod.assumed, pod.acknowledged = node, False
        self._update(pod, "")
        return True

    def acknowledge(self, ref: Ref) -> None:
        """The API server says that *ref* is where it was assumed to be."""
        if (pod := self._store.pod(ref)) is not None and pod.assumed:
            pod.acknowledged = True

    def forget(self, ref: Ref) -> None:
        """*ref* did not get to where it was assumed to be."""
        if (pod := self._store.pod(ref)) is not None and pod.assumed:
            was = self._store.usage.node_of(pod)
            pod.assumed, pod.acknowledged = "", False
            self._update(pod, was)
            self._reconsider_root(pod)

    def expect_deletion(self, ref: Ref, *, evicted: bool) -> None:
        """*ref* is about to be deleted, by a preemption (*evicted*) or not."""
        if (pod := self._store.pod(ref)) is not None and not pod.draft.terminating:
            pod.deletion_assumed, pod.evicted = True, evicted
            self._update(pod, self._store.usage.node_of(pod))

    def cancel_deletion(self, ref: Ref) -> None:
        """*ref* is not deleted after all."""
        if (pod := self._store.pod(ref)) is not None and pod.deletion_assumed:
            pod.deletion_assumed = pod.evicted = False
            self._update(pod, self._store.usage.node_of(pod))
            self._reconsider_root(pod)

    def assume_nomination(self, ref: Ref, node: str) -> None:
        """*ref* is nominated for *node*, or (empty) for none."""
        if (pod := self._store.pod(ref)) is not None and not pod.draft.node:
            self._set_nomination(pod, node)

    def forget_nomination(self, ref: Ref) -> None:
        """The nomination of *ref* that was written did not come about."""
        if (pod := self._store.pod(ref)) is not None and pod.assumed_nomination is not None:
            self._set_nomination(pod, None)

    def assume_condition(self, target: Ref, condition: Condition) -> None:
        """*target* has *condition*."""
        if target.kind == "Pod":
            if (pod := self._store.pod(target)) is not None:
                pod.pod_scheduled = condition if condition.status else None
            return
        live = self._store.group(target.kind, target.namespace, target.name)
        if live is not None and target.uid in ("", live.uid):
            live.assumed_conditions[condition.type] = condition

    def forget_condition(self, target: Ref, type_: str) -> None:
        """The condition of that type was not written: what stands counts again."""
        if target.kind == "Pod":
            if (pod := self._store.pod(target)) is not None:
                pod.pod_scheduled = None
        elif (live := self._store.group(target.kind, target.namespace, target.name)) is not None:
            live.assumed_conditions.pop(type_, None)

    def reset(self) -> None:
        """Nothing is presumed any more."""
        for pod in list(self._store.usage.pods.pods.values()):
            was = self._store.usage.node_of(pod)
            if pod.assumed or pod.deletion_assumed or pod.evicted or pod.assumed_nomination is not None:
                pod.assumed, pod.acknowledged, pod.deletion_assumed, pod.evicted, pod.assumed_nomination = "", False, False, False, None
                self._update(pod, was)
        for live in self._store.groups():
            live.assumed_conditions.clear()

    def _reconsider_root(self, pod: LivePod) -> None:
        """No event will tell that *pod* is as it was: its root, which may have waited for it, is looked at."""
        # A single pod that has a node waits for nothing.
        if (pod.draft.group or not pod.draft.node) and (root := self._store.reporter.root(pod)) is not None:
            self._store.reporter.changes.roots.add(root)

    def _set_nomination(self, pod: LivePod, node: str | None) -> None:
        reporter, before = self._store.reporter, pod.nominated
        pod.assumed_nomination = node if node != pod.draft.nominated else None
        if before and before != pod.nominated:
            reporter.changes.freed_nodes.add(before)
        reporter.change_count += 1
        self._store.usage.changed(pod)

    def _update(self, pod: LivePod, was: str) -> None:
        usage, reporter = self._store.usage, self._store.reporter
        usage.changed(pod)
        reporter.change_count += 1
        node = usage.node_of(pod)
        if was != node:
            reporter.changes.pods_moved = True
            if was:
                reporter.changes.freed_nodes.add(was)
