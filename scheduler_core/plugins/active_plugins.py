"""Stateful plugins in use, and the pods that are moved under them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.causes.plugin_failures import FilterFailed
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.base import Filters, NamedFilter, StatefulPlugin
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.pod_tally import NodeTally
from scheduler_core.plugins.spread_score import SoftSpread


@dataclasses.dataclass(slots=True, eq=False)
class Batch:
    """Pods that are assumed together, and versions of counts before."""

    pods: Sequence[tuple[PodRecord, int]]
    versions: list[tuple[NodeTally, int]]
    postponed: int | None = None
    """Number as from ``PodCounts.count_alike``."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ActivePlugins:
    """Stateful plugins over counts of pods."""

    counts: PodCounts
    plugins: tuple[StatefulPlugin, ...]
    with_state: tuple[StatefulPlugin, ...]
    """Plugins with state beyond the counts."""

    def soft(self, pod: PodRecord) -> SoftSpread | None:
        """Return the topology spread constraints of *pod* with ScheduleAnyway; None if it has none."""
        for plugin in self.plugins:
            if (soft := plugin.soft(pod)) is not None:
                return soft
        return None

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None) -> list[NamedFilter]:
        """Return the filters for *pod* as ``StatefulPlugins.filters_by_plugin``."""
        found: list[NamedFilter] = []
        for plugin in filtering(self.plugins, pod):
            found += [(plugin.name, *each) for each in _filters(plugin, pod, nodes, [mask for _, _, mask in found], within)]
        return found

    def passing(self, pod: PodRecord, nodes: Nodes) -> tuple[Bools, FilterFailed | None]:
        """Return the same as ``StatefulPlugins.passing``."""
        able: Bools = np.ones(len(nodes), dtype=bool)
        for plugin in filtering(self.plugins, pod):
            for _, mask in _filters(plugin, pod, nodes, [able]):
                able = able & mask
            if (failure := plugin.failure(pod)) is not None:
                return able, failure
        return able, None

    def move(self, pod: PodRecord, node: int, amount: int) -> None:
        """Add *pod* on *node*, or (*amount* -1) remove it."""
        self.counts.count(pod, node, amount)
        for plugin in self.with_state:
            (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)

    def add_batch(self, batch: Batch, counted: Mapping[NodeTally, int]) -> None:
        """Add the pods of *batch* on their nodes; *counted* as from ``SpreadKinds.counted``."""
        pods = batch.pods
        if pods and all(number == len(pods) for number in counted.values()):
            batch.postponed = self.counts.count_alike(pods, counted)
        if batch.postponed is None:
            self.counts.count_all(pods, 1)
        self._change_state(pods, 1)

    def remove_batch(self, batch: Batch) -> None:
        """Remove the pods of *batch*, the last first, and restore the versions of counts."""
        pods = batch.pods[::-1]
        if batch.postponed is None or not self.counts.discount_alike(batch.postponed):
            self.counts.count_all(pods, -1)
        self._change_state(pods, -1)
        for tally, version in batch.versions:
            tally.version = version

    def _change_state(self, pods: Sequence[tuple[PodRecord, int]], amount: int) -> None:
        for plugin in self.with_state:
            if any(plugin.used_by(shape) for shape in {pod.shape for pod, _ in pods}):
                for pod, node in pods:
                    (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)


def filtering(plugins: Iterable[StatefulPlugin], pod: PodRecord) -> Iterator[StatefulPlugin]:
    """Return the plugins whose filter is enabled for *pod*."""
    return (plugin for plugin in plugins if pod.shape.profile.filters(plugin.name))


def _filters(plugin: StatefulPlugin, pod: PodRecord, nodes: Nodes, before: Sequence[Bools], within: Nodes | None = None) -> Filters:
    """Return the filters of *plugin*; *before* are masks of the plugins before it."""
    if not plugin.narrows or not before:
        return plugin.filters(pod, nodes, within)
    able = np.logical_and.reduce(before)
    filters: Filters = []
    for reason, mask in plugin.filters(pod, nodes[able], within):
        whole: Bools = np.ones(len(nodes), dtype=bool)
        whole[able] = mask
        filters.append((reason, whole))
    return filters
