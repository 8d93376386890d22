"""Counts of live pods for affinity and spread, kept between cycles.

Nothing is counted while no pod says anything about others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins import registry
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.stateful_plugins import StatefulPlugins

_MIN_CHANGES = 50_000
"""So many changes at least are counted before all is counted anew: what pods said that are gone adds up until then."""


class PodAffinityCache:
    """The pods of a cluster, counted by what is asked about them."""

    def __init__(self) -> None:
        self._counts: PodCounts | None = None
        self._pods_with_terms = 0
        self._has_terms_by_shape: dict[PodShape, bool] = {}
        self._pod_count = 0
        self._changes = 0

    @property
    def active(self) -> bool:
        """Return whether any pod has a term about other pods."""
        return self._pods_with_terms > 0

    @property
    def counting(self) -> bool:
        """Return whether all pods are counted, so that added and deleted pods must be reported."""
        return self._counts is not None

    def count(self, shape: PodShape, amount: int) -> None:
        """A pod of *shape* is there, or (*amount* -1) gone."""
        self._pod_count += amount
        self._changes += 1
        if self._has_terms(shape):
            self._pods_with_terms += amount
        if self._changes > _MIN_CHANGES + 4 * self._pod_count:
            # Here, and not where it is asked for: nobody may ask for long.
            self._counts = None

    def add_pod(self, pod: PodRecord) -> None:
        """*pod* is there, while all are counted."""
        if self._counts is not None:
            self._add_to(self._counts, pod)

    def remove_pod(self, pod: PodRecord) -> None:
        """*pod*, the very object that was met, is gone."""
        if self._counts is not None:
            if pod.node >= 0:
                self._counts.count(pod, pod.node, -1)
            self._counts.forget(pod)

    def reset(self) -> None:
        """Nobody is there."""
        self._counts = None
        self._pods_with_terms = self._pod_count = self._changes = 0
        self._has_terms_by_shape.clear()

    def recount(self) -> None:
        """The nodes are others: what was counted by their labels is counted anew when it is asked for."""
        self._counts = None

    def sweep(self, shapes: set[PodShape]) -> None:
        """No pod has a shape that is not among *shapes*."""
        self._has_terms_by_shape = {shape: has_terms for shape, has_terms in self._has_terms_by_shape.items() if shape in shapes}

    def stateful(self, snapshot: ClusterSnapshot, nodes: NodeTable, pods: Callable[[], Iterable[PodRecord]]) -> StatefulPlugins:
        """The stateful plugins to place with, to be given back; *snapshot* has no pods, *pods* are all that are there."""
        if not self.active:
            self._counts = None
            return StatefulPlugins(snapshot)
        if self._counts is None:
            self._changes = 0
            self._counts = PodCounts(nodes)
            for pod in pods():
                self._add_to(self._counts, pod)
        return StatefulPlugins(snapshot, self._counts, pods)

    def _add_to(self, counts: PodCounts, pod: PodRecord) -> None:
        if pod.node >= 0:
            counts.count(pod, pod.node)
        elif self._has_terms(pod.shape):
            counts.kind(pod)

    def _has_terms(self, shape: PodShape) -> bool:
        if (has_terms := self._has_terms_by_shape.get(shape)) is None:
            has_terms = self._has_terms_by_shape[shape] = registry.used_by(shape)
        return has_terms
