"""Stateful plugins in use, and the pods that are moved under them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.base import StatefulPlugin
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.pod_tally import NodeTally
from scheduler_core.plugins.spread_score import SoftSpread


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ActivePlugins:
    """Stateful plugins over counts of pods."""

    counts: PodCounts
    plugins: tuple[StatefulPlugin, ...]
    with_state: tuple[StatefulPlugin, ...]
    """Plugins with state beyond the counts."""

    def soft(self, pod: PodRecord) -> SoftSpread | None:
        """Return the topology spread constraints of *pod* with ScheduleAnyway; None if it has none."""
        return next(filter(None, (plugin.soft(pod) for plugin in self.plugins)), None)

    def move(self, pod: PodRecord, node: int, amount: int) -> None:
        """Add *pod* on *node*, or (*amount* -1) remove it."""
        self.counts.count(pod, node, amount)
        for plugin in self.with_state:
            (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)

    def move_all(self, pods: Sequence[tuple[PodRecord, int]], amount: int) -> None:
        """Add *pods* on their nodes, or (*amount* -1) remove them, the last first."""
        pods = pods if amount > 0 else pods[::-1]
        self.counts.count_all(pods, amount)
        for plugin in self.with_state:
            if any(plugin.used_by(shape) for shape in {pod.shape for pod, _ in pods}):
                for pod, node in pods:
                    (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Pods that were assumed together, and versions of counts before."""

    pods: Sequence[tuple[PodRecord, int]]
    versions: list[tuple[NodeTally, int]]

    def restore(self) -> None:
        """Restore the versions, after the pods are removed."""
        for tally, version in self.versions:
            tally.version = version
