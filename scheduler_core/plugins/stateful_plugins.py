"""The stateful plugins over the pods of a snapshot, kept up to date while pods are tried.

kube-scheduler confines a group cycle to the nodes of a placement as candidates only: the pods that its plugins count, and the
domains that they compare, are those of the whole snapshot (in 1.37 PreFilter and PreScore are given every node, and the placement
only limits what is filtered).  ``within`` left out does the same; given, it cuts the snapshot down to those nodes.  No plugin looks
at pods that are nominated only: whoever counts them assumes them first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Filters, StatefulPlugin
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.pod_terms import unmodelled


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Active:
    counts: PodCounts
    plugins: tuple[StatefulPlugin, ...]
    keeping: tuple[StatefulPlugin, ...]
    """Those that keep more of pods than is counted."""

    def move(self, pod: PodRecord, node: int, amount: int) -> None:
        """*pod* is on *node*, or (*amount* -1) no longer."""
        self.counts.put(pod, node, amount)
        for plugin in self.keeping:
            (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)


class StatefulPlugins:
    """The pods of a snapshot as they constrain each other.

    Every pod that is assumed or removed must be told once it is ``active``, also one that nothing touches: others may count it.
    Nothing is counted before the first pod that says anything about others is met, in the snapshot or later.
    """

    def __init__(
        self, snapshot: ClusterSnapshot, counts: PodCounts | None = None, running: Callable[[], Iterable[PodRecord]] | None = None
    ) -> None:
        """Of the pods of *snapshot*; *counts* has counted them already, and is lent until ``give_back``: then they are *running*."""
        self._snapshot = snapshot
        self._running = running or (lambda: snapshot.pods)
        self._met = counts.mark() if counts is not None else 0
        self._active = self._over(counts) if counts is not None else None
        self._settled: list[tuple[PodRecord, int, int]] = []
        self._journal: list[tuple[PodRecord, int, int]] = []
        self._says: dict[PodShape, bool] = {}
        self._unmodelled: dict[PodShape, tuple[str, ...]] = {}
        if counts is None and any(self._speaks(pod) for pod in snapshot.pods):
            self._activated()

    @property
    def active(self) -> bool:
        """Whether any pod of the snapshot, or told since, says anything about others.

        While none does nothing touches any pod, and whoever places only pods of the snapshot need not tell where they go.
        """
        return self._active is not None

    @property
    def plugins(self) -> tuple[StatefulPlugin, ...]:
        """Each by itself; empty unless ``active``."""
        return self._active.plugins if self._active is not None else ()

    def mark(self) -> int:
        """A point to rewind to."""
        return len(self._journal)

    def assume(self, pod: PodRecord, node: int) -> None:
        """*pod* runs on *node* for now."""
        self._move(pod, node, 1)

    def remove(self, pod: PodRecord, node: int) -> None:
        """*pod*, which runs on *node*, does not for now."""
        self._move(pod, node, -1)

    def rewind(self, mark: int) -> None:
        """Undo everything since *mark*, in reverse."""
        while len(self._journal) > mark:
            pod, node, amount = self._journal.pop()
            if self._active:
                self._active.move(pod, node, -amount)

    def forget(self) -> None:
        """Let what is assumed and removed stand for good."""
        self._settled += self._journal
        self._journal.clear()

    def give_back(self) -> None:
        """Undo all there is, also what stands for good: counts that were lent are as they were."""
        self._journal[:0] = self._settled
        self._settled.clear()
        self.rewind(0)
        if self._active:
            self._active.counts.rewind(self._met)

    def touches(self, pod: PodRecord) -> bool:
        """Whether ``filter`` or ``score`` can have anything to say about *pod*; who is False here goes where it would go alone."""
        if not self._active and not self._speaks(pod):
            return False
        active = self._activated()
        active.counts.kind(pod)
        return any(plugin.touches(pod) for plugin in active.plugins)

    def filter(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """The filters that bind *pod*, in upstream's order: why not, and a mask of *nodes*' shape, True where it may run.

        A node that fails several fails by the first of them, as upstream reports it.

        Args:
            pod: the pod that comes; it must not count as running.
            nodes: indices of the candidates.
            within: the only nodes (ascending) whose pods and domains count; None for all of the snapshot, as upstream.

        """
        if not self._active and not self._speaks(pod):
            return []
        active = self._activated()
        active.counts.kind(pod)
        return [each for plugin in active.plugins for each in plugin.filters(pod, nodes, within)]

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Shape of *nodes*, which are all that are feasible: the plugins' normalised scores by their weights.  Arguments as for ``filter``."""
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        if self._active or self._speaks(pod):
            for plugin in self._activated().plugins:
                if plugin.weight:
                    total += plugin.weight * plugin.normalise(plugin.score(pod, nodes, within))
        return total

    def resolvable(self, pod: PodRecord, nodes: Nodes) -> Nodes:
        """Those of *nodes* where no plugin refuses *pod* for a reason that no eviction removes."""
        if not self._active and not self._speaks(pod):
            return nodes
        able: Bools = np.ones(len(nodes), dtype=bool)
        for plugin in self._activated().plugins:
            for reason, passing in plugin.filters(pod, nodes):
                if not plugin.resolvable(reason):
                    able &= passing
        return nodes[able]

    def unmodelled(self, pod: PodRecord) -> tuple[str, ...]:
        """Field paths of what *pod* says that cannot be told from what is known, in wire names.

        As ``spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector``: the labels of
        namespaces are not known.  Filters and scores take such a selector to select no namespace.
        """
        if (found := self._unmodelled.get(pod.shape)) is None:
            found = self._unmodelled[pod.shape] = unmodelled(pod.shape)
        return found

    def bind(self, pod: PodRecord, other: PodRecord) -> bool:
        """Whether it can decide where *other* may run that *pod* is where it is: by a requirement of one of them, or by counting."""
        return self._active is not None and any(plugin.binds(pod, other) for plugin in self._active.plugins)

    def _move(self, pod: PodRecord, node: int, amount: int) -> None:
        if self._active or self._speaks(pod):
            self._activated().move(pod, node, amount)
        self._journal.append((pod, node, amount))

    def _speaks(self, pod: PodRecord) -> bool:
        if (says := self._says.get(pod.shape)) is None:
            says = self._says[pod.shape] = registry.speaks(pod.shape)
        return says

    def _activated(self) -> _Active:
        """Everything so far is counted when it first matters."""
        if self._active is None:
            counts = PodCounts(self._snapshot.nodes)
            for pod in self._snapshot.pods:
                if pod.node >= 0:
                    counts.put(pod, pod.node)
                elif self._speaks(pod):
                    counts.kind(pod)
            active = self._over(counts)
            for pod, node, amount in (*self._settled, *self._journal):
                active.move(pod, node, amount)
            self._active = active
        return self._active

    def _over(self, counts: PodCounts) -> _Active:
        """The plugins over *counts*; those that keep more are told of the pods that run."""
        plugins = tuple(plugin(counts) for plugin in registry.STATEFUL)
        keeping = tuple(plugin for plugin in plugins if type(plugin).add_pod is not StatefulPlugin.add_pod)
        for pod in self._running() if keeping else ():
            if pod.node >= 0:
                for plugin in keeping:
                    plugin.add_pod(pod, pod.node)
        return _Active(counts, plugins, keeping)
