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
        """*ref* is on its way to *node*.  False: it is not there any more, is leaving, or has a node."""
        pod = self._store.pod(ref)
        standing = self._store.standing
        if pod is None or pod.draft.terminating or pod.leaving or standing.place_of(pod) or node not in standing.nodes.nodes:
            return False
        pod.assumed, pod.acknowledged = node, False
        self._changed(pod, "")
        return True

    def acknowledge(self, ref: Ref) -> None:
        """The API server says that *ref* is where it was assumed to be."""
        if (pod := self._store.pod(ref)) is not None and pod.assumed:
            pod.acknowledged = True

    def forget(self, ref: Ref) -> None:
        """*ref* did not get to where it was assumed to be."""
        if (pod := self._store.pod(ref)) is not None and pod.assumed:
            was = self._store.standing.place_of(pod)
            pod.assumed, pod.acknowledged = "", False
            self._changed(pod, was)
            self._again(pod)

    def expect_deletion(self, ref: Ref, *, evicted: bool) -> None:
        """*ref* is about to be deleted, by a preemption (*evicted*) or not."""
        if (pod := self._store.pod(ref)) is not None and not pod.draft.terminating:
            pod.leaving, pod.evicted = True, evicted
            self._changed(pod, self._store.standing.place_of(pod))

    def cancel_deletion(self, ref: Ref) -> None:
        """*ref* is not deleted after all."""
        if (pod := self._store.pod(ref)) is not None and pod.leaving:
            pod.leaving = pod.evicted = False
            self._changed(pod, self._store.standing.place_of(pod))
            self._again(pod)

    def promise(self, ref: Ref, node: str) -> None:
        """*ref* is nominated for *node*, or (empty) for none."""
        if (pod := self._store.pod(ref)) is not None and not pod.draft.node:
            self._promised(pod, node)

    def unpromise(self, ref: Ref) -> None:
        """The nomination of *ref* that was written did not come about."""
        if (pod := self._store.pod(ref)) is not None and pod.promised is not None:
            self._promised(pod, None)

    def presume(self, target: Ref, condition: Condition) -> None:
        """*target* has *condition*."""
        if target.kind == "Pod":
            if (pod := self._store.pod(target)) is not None:
                pod.told = condition if condition.status else None
            return
        live = self._store.group(target.kind, target.namespace, target.name)
        if live is not None and target.uid in ("", live.uid):
            live.presumed[condition.type] = condition

    def unpresume(self, target: Ref, type_: str) -> None:
        """The condition of that type was not written: what stands counts again."""
        if target.kind == "Pod":
            if (pod := self._store.pod(target)) is not None:
                pod.told = None
        elif (live := self._store.group(target.kind, target.namespace, target.name)) is not None:
            live.presumed.pop(type_, None)

    def reset(self) -> None:
        """Nothing is presumed any more."""
        for pod in list(self._store.standing.pods.pods.values()):
            was = self._store.standing.place_of(pod)
            if pod.assumed or pod.leaving or pod.evicted or pod.promised is not None:
                pod.assumed, pod.acknowledged, pod.leaving, pod.evicted, pod.promised = "", False, False, False, None
                self._changed(pod, was)
        for live in self._store.groups():
            live.presumed.clear()

    def _again(self, pod: LivePod) -> None:
        """No event will tell that *pod* is as it was: its root, which may have waited for it, is looked at."""
        # A single pod that has a node waits for nothing.
        if (pod.draft.group or not pod.draft.node) and (root := self._store.report.root(pod)) is not None:
            self._store.report.news.roots.add(root)

    def _promised(self, pod: LivePod, node: str | None) -> None:
        report, before = self._store.report, pod.nominated
        pod.promised = node if node != pod.draft.nominated else None
        if before and before != pod.nominated:
            report.news.freed.add(before)
        report.changes += 1
        self._store.standing.changed(pod)

    def _changed(self, pod: LivePod, was: str) -> None:
        standing, report = self._store.standing, self._store.report
        standing.changed(pod)
        report.changes += 1
        at = standing.place_of(pod)
        if was != at:
            report.news.moved = True
            if was:
                report.news.freed.add(was)
