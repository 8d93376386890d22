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

_SLACK = 50_000
"""So many changes at least are counted before all is counted anew: what pods said that are gone adds up until then."""


class PodAffinityCache:
    """The pods of a cluster, counted by what is asked about them."""

    def __init__(self) -> None:
        self._census: PodCounts | None = None
        self._speakers = 0
        self._says: dict[PodShape, bool] = {}
        self._there = 0
        self._changes = 0

    @property
    def active(self) -> bool:
        """Return whether any pod has a term about other pods."""
        return self._speakers > 0

    @property
    def counting(self) -> bool:
        """Return whether all pods are counted, so that added and deleted pods must be reported."""
        return self._census is not None

    def count(self, shape: PodShape, amount: int) -> None:
        """A pod of *shape* is there, or (*amount* -1) gone."""
        self._there += amount
        self._changes += 1
        if self._speaks(shape):
            self._speakers += amount
        if self._changes > _SLACK + 4 * self._there:
            # Here, and not where it is asked for: nobody may ask for long.
            self._census = None

    def add_pod(self, pod: PodRecord) -> None:
        """*pod* is there, while all are counted."""
        if self._census is not None:
            self._enter(self._census, pod)

    def remove_pod(self, pod: PodRecord) -> None:
        """*pod*, the very object that was met, is gone."""
        if self._census is not None:
            if pod.node >= 0:
                self._census.count(pod, pod.node, -1)
            self._census.forget(pod)

    def reset(self) -> None:
        """Nobody is there."""
        self._census = None
        self._speakers = self._there = self._changes = 0
        self._says.clear()

    def recount(self) -> None:
        """The nodes are others: what was counted by their labels is counted anew when it is asked for."""
        self._census = None

    def sweep(self, shapes: set[PodShape]) -> None:
        """No pod has a shape that is not among *shapes*."""
        self._says = {shape: says for shape, says in self._says.items() if shape in shapes}

    def stateful(self, snapshot: ClusterSnapshot, nodes: NodeTable, pods: Callable[[], Iterable[PodRecord]]) -> StatefulPlugins:
        """The stateful plugins to place with, to be given back; *snapshot* has no pods, *pods* are all that are there."""
        if not self.active:
            self._census = None
            return StatefulPlugins(snapshot)
        if self._census is None:
            self._changes = 0
            self._census = PodCounts(nodes)
            for pod in pods():
                self._enter(self._census, pod)
        return StatefulPlugins(snapshot, self._census, pods)

    def _enter(self, census: PodCounts, pod: PodRecord) -> None:
        if pod.node >= 0:
            census.count(pod, pod.node)
        elif self._speaks(pod.shape):
            census.kind(pod)

    def _speaks(self, shape: PodShape) -> bool:
        if (says := self._says.get(shape)) is None:
            says = self._says[shape] = registry.used_by(shape)
        return says
