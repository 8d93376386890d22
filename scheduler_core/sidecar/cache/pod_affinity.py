"""Counts of live pods for affinity and spread, kept between cycles.

Pods are counted only while a pod has a term about other pods (affinity, anti-affinity or topology spread), or Services or controllers
of pods give pods default spread constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scheduler_core.model.namespace_selectors import needing_labels
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins import registry
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.stateful_plugins import StatefulPlugins

_MIN_CHANGES = 50_000
"""Minimum number of changes before the counts are rebuilt, which removes the terms of deleted pods."""


class PodAffinityCache:
    """Counts of pods by the terms of other pods."""

    def __init__(self) -> None:
        self._counts: PodCounts | None = None
        self._pods_with_terms = 0
        self._pods_with_namespace_selectors = 0
        self._terms_by_shape: dict[PodShape, tuple[bool, bool]] = {}
        """Whether a shape has terms about other pods, and whether these read labels of namespaces."""
        self._pod_count = 0
        self._changes = 0

    @property
    def active(self) -> bool:
        """Return whether any pod has a term about other pods."""
        return self._pods_with_terms > 0

    @property
    def counting(self) -> bool:
        """Return whether pods are counted now, so that added and removed pods must be reported."""
        return self._counts is not None

    def count(self, shape: PodShape, amount: int) -> None:
        """Record an added pod of *shape*, or with *amount* -1 a removed one."""
        self._pod_count += amount
        self._changes += 1
        has_terms, needs_namespaces = self._terms(shape)
        self._pods_with_terms += amount * has_terms
        self._pods_with_namespace_selectors += amount * needs_namespaces
        if self._changes > _MIN_CHANGES + 4 * self._pod_count:
            # Here and not in ``stateful``, because a long time can pass before its next call.
            self._counts = None

    def add_pod(self, pod: PodRecord) -> None:
        """Add *pod* to the counts, if pods are counted."""
        if self._counts is not None:
            self._add_to(self._counts, pod)

    def remove_pod(self, pod: PodRecord) -> None:
        """Remove *pod*, the same record that was added, from the counts."""
        if self._counts is not None:
            if pod.node >= 0:
                self._counts.count(pod, pod.node, -1)
            self._counts.forget(pod)

    def reset(self) -> None:
        """Remove all pods."""
        self._counts = None
        self._pods_with_terms = self._pods_with_namespace_selectors = self._pod_count = self._changes = 0
        self._terms_by_shape.clear()

    def recount(self) -> None:
        """Drop the counts after a change of nodes; they are rebuilt on the next use."""
        self._counts = None

    def namespace_changed(self) -> bool:
        """Drop the counts after a change of the labels of a namespace if a namespace selector reads them, and return whether one does."""
        if not self._pods_with_namespace_selectors:
            return False
        self._counts = None
        return True

    def sweep(self, shapes: set[PodShape]) -> None:
        """Remove cached shapes that are not in *shapes*."""
        self._terms_by_shape = {shape: terms for shape, terms in self._terms_by_shape.items() if shape in shapes}

    def stateful(
        self, snapshot: ClusterSnapshot, nodes: NodeTable, pods: Callable[[], Iterable[PodRecord]], *, sparing: bool = False
    ) -> StatefulPlugins:
        """Return the stateful plugins for one cycle, to be given back; *snapshot* has no pods, *pods* returns all pods.

        *sparing* as in ``StatefulPlugins``.
        Pods that only have default spread constraints are counted from the first cycle in which such a pod is placed.
        """
        if not self.active and not snapshot.selectors:
            self._counts = None
            return StatefulPlugins(snapshot, sparing=sparing)
        if self.active or self._counts is not None:
            return StatefulPlugins(snapshot, self._counted(snapshot, nodes, pods), pods, sparing=sparing)
        return StatefulPlugins(snapshot, None, pods, later=lambda: self._counted(snapshot, nodes, pods), sparing=sparing)

    def _counted(self, snapshot: ClusterSnapshot, nodes: NodeTable, pods: Callable[[], Iterable[PodRecord]]) -> PodCounts:
        if self._counts is None:
            self._changes = 0
            self._counts = PodCounts(nodes, snapshot.namespaces or {})
            for pod in pods():
                self._add_to(self._counts, pod)
        self._counts.devices = snapshot.devices
        return self._counts

    def _add_to(self, counts: PodCounts, pod: PodRecord) -> None:
        if pod.node >= 0:
            counts.count(pod, pod.node)
        elif self._terms(pod.shape)[0]:
            counts.kind(pod)

    def _terms(self, shape: PodShape) -> tuple[bool, bool]:
        if (terms := self._terms_by_shape.get(shape)) is None:
            terms = self._terms_by_shape[shape] = registry.used_by(shape), bool(needing_labels(shape.affinity))
        return terms
