"""Comparison of the nodes to which pods were pinned with what their schedulers did, and the deviations of each root.

The plan is the annotation that a pod gets when our gate is removed, so it outlives the process.  Only pods that no longer exist are
remembered here: a new process knows that members are missing, but not which.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from scheduler_core.causes.live import DeviatingPod, Deviation
from scheduler_core.model.names import Name as Root
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.writes import Ref

INITIAL_SECONDS, MAX_SECONDS = 10.0, 3600.0
"""Backoff after a gang with pinned pods was undone, doubled each time: the scheduler that has not bound it may do so again."""


def deviating_pods(pinned: Iterable[LivePod], gone: Mapping[Ref, str], nodes: Container[str], *, late: bool) -> tuple[DeviatingPod, ...]:
    """Return the pods that are not as planned, by name; those that are being deleted are not compared.

    Args:
        pinned: pods that were pinned to nodes.
        gone: planned nodes of pods that no longer exist, and that their gang misses.
        nodes: names of the existing nodes.
        late: whether the pods should be bound by now.

    """
    found = [DeviatingPod(ref.key, node, Deviation.POD_GONE) for ref, node in gone.items()]
    for pod in pinned:
        if pod.parsed_pod.terminating or pod.deletion_assumed:
            continue
        node, planned = pod.parsed_pod.node, pod.pinned_node
        if node and node != planned:
            found.append(DeviatingPod(pod.key, planned, Deviation.BOUND_ELSEWHERE, node))
        elif not node and planned not in nodes:
            found.append(DeviatingPod(pod.key, planned, Deviation.NODE_GONE))
        elif not node and late:
            error = pod.pod_scheduled.message if pod.pod_scheduled is not None else ""
            found.append(DeviatingPod(pod.key, planned, Deviation.NOT_BOUND, error=error))
    return tuple(sorted(found))


class DeviationLog:
    """Deviations of each root, those that are new, and how often its gang was undone."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._found: dict[Root, tuple[DeviatingPod, ...]] = {}
        self._planned: dict[Root, dict[Ref, str]] = {}
        self._new: dict[Root, dict[tuple[str, Deviation], DeviatingPod]] = {}
        self._undone: dict[Root, tuple[str, int, float]] = {}

    @property
    def has_new(self) -> bool:
        """Return whether there are deviations that are not yet reported."""
        return bool(self._new)

    def of_root(self, root: Root) -> tuple[DeviatingPod, ...]:
        """Return the deviations of *root*."""
        return self._found.get(root, ())

    def update(self, status: RootStatus, *, late: bool, incomplete: bool) -> bool:
        """Update the deviations of a root, and return whether there are new ones.

        *late*: its pods should be bound by now; *incomplete*: members are missing, and should have been replaced by now.
        """
        root, before = status.root, self.of_root(status.root)
        gone = self._gone(status)
        found = deviating_pods(status.pinned, gone if incomplete else {}, self._cache.usage.nodes.nodes, late=late)
        if status.was_scheduled:
            self._undone.pop(root, None)
        if not found:
            self._found.pop(root, None)
            self._new.pop(root, None)
            return False
        self._found[root] = found
        known = {(each.pod, each.deviation) for each in before}
        new = {key: each for each in found if (key := (each.pod, each.deviation)) not in known}
        if new:
            self._new.setdefault(root, {}).update(new)
        return bool(new)

    def pop_new(self) -> dict[Root, tuple[DeviatingPod, ...]]:
        """Return the deviations that are not yet reported, by root."""
        new, self._new = self._new, {}
        return {root: tuple(found.values()) for root, found in new.items()}

    def forget(self, root: Root) -> None:
        """Remove the deviations of *root*, which has no pods of ours; how often it was undone is kept while its group exists."""
        for each in (self._found, self._planned, self._new):
            each.pop(root, None)
        live = self._cache.group(root.kind, root.namespace, root.name)
        if root in self._undone and (live is None or live.uid != self._undone[root][0]):
            del self._undone[root]

    def record_undone(self, status: RootStatus, now: float) -> None:
        """Record that a gang with pinned pods is undone: it is not attempted before ``retry_at``."""
        uid, before, _ = self._undone.get(status.root, ("", 0, 0.0))
        count = before if uid == status.ref.uid else 0
        seconds = min(MAX_SECONDS, INITIAL_SECONDS * 2.0 ** min(count, 16))
        self._undone[status.root] = (status.ref.uid, count + 1, now + seconds)

    def retry_at(self, status: RootStatus) -> float:
        """Return the time before which a root is not attempted, because its gang was undone."""
        uid, _, until = self._undone.get(status.root, ("", 0, 0.0))
        return until if uid == status.ref.uid else 0.0

    def _gone(self, status: RootStatus) -> dict[Ref, str]:
        """Return the planned nodes of pods of a partially bound gang that no longer exist, other than those that we have deleted."""
        pods = self._cache.usage.pods
        before = self._planned.pop(status.root, {})
        if status.was_scheduled:
            return {}
        planned = {pod.ref: pod.pinned_node for pod in status.pinned if not pod.deletion_assumed}
        gone = {
            ref: node
            for ref, node in before.items()
            if status.partially_bound and self._cache.pod(ref) is None and not pods.has_ended(ref.key)
        }
        if planned or gone:
            self._planned[status.root] = planned | gone
        return gone
