"""Stateful plugins over the pods of a snapshot, updated while pods are assumed, removed and rewound.

In a group cycle kube-scheduler restricts only the candidate nodes to the placement.  Its plugins count the pods and compare the domains
of the whole snapshot (in 1.37, PreFilter and PreScore receive every node).  Without ``within`` the plugins do the same; with it they see
only those nodes.  Pods that are only nominated are not counted: the caller assumes them first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.causes.plugin_failures import FilterFailed
from scheduler_core.model.devices import Allocation
from scheduler_core.model.namespace_selectors import needing_labels
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.volumes import ClaimName
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import ClusterEvent, Dependence, Filters, NamedFilter, Refusal, StatefulPlugin
from scheduler_core.plugins.claim_allocation import ClaimAllocation, requests_count
from scheduler_core.plugins.equally_spread_pods import SpreadKinds
from scheduler_core.plugins.pod_counts import PodCounts, PodKind
from scheduler_core.plugins.spread_constraints import NO_TERMS, SYSTEM_DEFAULTS, DefaultSpread, SpreadDefaults
from scheduler_core.plugins.spread_score import SoftSpread, SpreadKind, SpreadScoring
from scheduler_core.plugins.topology_counts import NodeTally


@dataclasses.dataclass(slots=True, eq=False)
class _Batch:
    """Pods that are assumed together, and versions of counts before."""

    pods: Sequence[tuple[PodRecord, int]]
    versions: list[tuple[NodeTally, int]]
    postponed: int | None = None
    """Number as from ``PodCounts.count_alike``."""


_Entry = tuple[PodRecord, int, int] | _Batch
"""Pod, node and amount of a move; or a batch."""


class StatefulPlugins:
    """Constraints between the pods of a snapshot.

    Once it is ``active``, every assumed or removed pod must be reported, even if no plugin applies to it: other pods may count it.
    Nothing is counted before the first pod that can affect a verdict appears, in the snapshot or later.
    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        counts: PodCounts | None = None,
        running: Callable[[], Iterable[PodRecord]] | None = None,
        *,
        later: Callable[[], PodCounts] | None = None,
        sparing: bool = False,
        defaults: SpreadDefaults = SYSTEM_DEFAULTS,
    ) -> None:
        """Count the pods of *snapshot*; or borrow *counts*, which hold the *running* pods already, until ``give_back``.

        With *later* they are borrowed when they are needed.  If *sparing*, a pod takes what fewest other pods can use, where
        kube-scheduler's choice can be worse.  Pods without topology spread constraints have those of *defaults*.
        """
        self._snapshot, self._later = snapshot, later
        self._sparing = sparing
        self._defaults = DefaultSpread(snapshot.selectors, defaults)
        self._running = running or (lambda: snapshot.pods)
        self._met = counts.mark() if counts is not None else 0
        self._active = self._over(counts) if counts is not None else None
        self._settled: list[_Entry] = []
        self._journal: list[_Entry] = []
        self._next_versions: dict[tuple[int, int], int] = {}
        self._used_by: dict[PodShape, bool] = {}
        self._with_constraints: dict[PodShape, bool] = {}
        self._kinds = SpreadKinds(self._defaults)
        self._unmodelled: dict[PodShape, tuple[str, ...]] = {}
        self._known_namespaces: bool | None = None
        if counts is None and later is None and any(self._is_used_by(pod) for pod in snapshot.pods):
            self._activated()

    @property
    def active(self) -> bool:
        """Return whether any pod of the snapshot, or reported since, can affect a verdict.

        If none can, no plugin applies to any pod, and assumed pods of the snapshot need not be reported.
        """
        return self._active is not None or self._later is not None

    @property
    def plugins(self) -> tuple[StatefulPlugin, ...]:
        """Return the plugins; empty unless ``active``."""
        return self._active.plugins if self._active is not None else ()

    def mark(self) -> int:
        """Return a mark for ``rewind``."""
        return len(self._journal)

    def assume(self, pod: PodRecord, node: int) -> None:
        """Assume *pod* on *node*."""
        self._move(pod, node, 1)

    def plan_claims(self, volumes: Mapping[ClaimName, int], devices: Mapping[str, Allocation]) -> None:
        """Let claims take their volume, by namespace and name, or their devices, by key, when their pods are assumed."""
        for plugin in self._allocating:
            plugin.plan_claims(volumes, devices)

    def free_volumes(self, pod: PodRecord) -> None:
        """Free the existing volumes that *pod*, which is assumed, takes."""
        for plugin in self._allocating:
            plugin.free_volumes(pod)

    def most_pods(self, pod: PodRecord, nodes: Nodes) -> Ints | None:
        """Return an upper bound of the pods like *pod* for each of *nodes*, by what claims can still get; None if there is none."""
        bounds = (plugin.most_pods(pod, nodes) for plugin in self._allocating)
        return next((bound for bound in bounds if bound is not None), None)

    def assume_all(self, pods: Sequence[tuple[PodRecord, int]], cause: int) -> None:
        """Assume pods of one leaf on their nodes; *cause* as for ``Ledger.assume``.

        The versions of counts depend only on their versions before and *cause*, and rewinding restores them.
        """
        if self._active is None:
            if not self._defaults.possible and not any(map(self._is_used_by, {pod.shape: pod for pod, _ in pods}.values())):
                self._journal.append(_Batch(pods, []))
                return
            for pod, node in pods:
                self.assume(pod, node)
            return
        counted = self._kinds.counted([pod for pod, _ in pods], self._active.counts)
        batch = _Batch(pods, [(tally, tally.version) for tally in counted])
        self._journal.append(batch)
        self._active.add_batch(batch, counted)
        for tally, version in batch.versions:
            # If some of the pods are not counted, the counts depend on which.
            if counted[tally] == len(pods):
                tally.version = self._next_versions.setdefault((version, cause), tally.version)

    def remove(self, pod: PodRecord, node: int) -> None:
        """Remove *pod*, which runs on *node*."""
        self._move(pod, node, -1)

    def rewind(self, mark: int) -> None:
        """Undo everything since *mark*, in reverse."""
        undone = self._journal[mark:]
        del self._journal[mark:]
        if self._active is not None:
            for entry in reversed(undone):
                if isinstance(entry, _Batch):
                    self._active.remove_batch(entry)
                else:
                    self._active.move(entry[0], entry[1], -entry[2])

    def forget(self) -> None:
        """Make everything assumed and removed permanent: later marks start here."""
        self._settled += self._journal
        self._journal.clear()
        for plugin in self._allocating:
            plugin.settle()

    def give_back(self) -> None:
        """Undo everything, permanent changes included: borrowed counts are as before."""
        self._journal[:0] = self._settled
        self._settled.clear()
        self.rewind(0)
        if self._active:
            self._active.counts.rewind(self._met)

    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* must be placed one by one: a plugin can filter or score nodes for it, other than by ``SoftSpread``."""
        active = self._plugins_for(pod)
        return active is not None and any(plugin.touches(pod) for plugin in active.plugins)

    def counted(self, pod: PodRecord) -> bool:
        """Return whether the requests of *pod* say all that the plugins that apply to it demand."""
        return self._active is not None and all(requests_count(plugin, pod) for plugin in self._active.plugins if plugin.touches(pod))

    def scores(self, pod: PodRecord) -> bool:
        """Return whether any plugin can score nodes for *pod*."""
        active = self._plugins_for(pod)
        return active is not None and any(_scores(plugin, pod) for plugin in active.plugins if plugin.weight)

    def touched(self, pods: Sequence[PodRecord]) -> list[PodRecord]:
        """Return those of *pods* for which ``touches`` is true."""
        if self._active is not None and not self._active.counts.has_claims:
            if self._lack_constraints(pods, self._active.counts) and not any(any(map(each.touches, pods)) for each in self._allocating):
                return []
            # The verdict of plugins that only count pods depends on the shape, unless a default constraint filters nodes.
            # The first pod of each shape: it may be known already.
            distinct = {pod.shape: pod for pod in reversed(pods)}.values()
            alike = not any(self._defaults.filters(pod) or self.touches(pod) for pod in distinct)
            if alike and not any(any(map(plugin.touches, pods)) for plugin in self._active.with_state):
                return []
        return [pod for pod in pods if self.touches(pod)]

    def spread_kinds(self, pods: Sequence[PodRecord]) -> dict[PodRecord, SpreadKind]:
        """Return the kind of each of *pods*, of one namespace; nothing if none has a topology spread constraint with ScheduleAnyway."""
        if not self._active and not any(map(self._is_used_by, pods)):
            return {}
        active = self._activated()
        return {} if self._lack_constraints(pods, active.counts) else self._kinds.kinds(pods, active.counts, active.soft)

    def _lack_constraints(self, pods: Sequence[PodRecord], counts: PodCounts) -> bool:
        """Return whether *pods* depend on others by claims at most, as no constraint is theirs, and none of *counts* selects them."""
        if self._defaults.possible or counts.has_claims or counts.volumes.sharing:
            return False
        known = self._with_constraints
        for shape in {pod.shape for pod in pods}:
            if (constrained := known.get(shape)) is None:
                constrained = known[shape] = registry.has_constraints(shape)
            if constrained:
                return False
        return True

    def events(self, pod: PodRecord) -> frozenset[ClusterEvent]:
        """Return the events that can make a node pass that a plugin has refused to *pod*; empty if none applies to it."""
        if not self.touches(pod):
            return frozenset()
        return frozenset().union(*(plugin.events for plugin in _filtering(self.plugins, pod) if plugin.touches(pod)))

    def filter(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """Return the filters for *pod* in kube-scheduler's order; masks have the shape of *nodes*.

        A node that several filters refuse is reported under the first.  Arguments as for ``StatefulPlugin.filters``.
        """
        return [(refusal.reason, mask) for refusal, mask in self.filters_by_plugin(pod, nodes, within)]

    def filters_by_plugin(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> list[NamedFilter]:
        """Return the same with the name of each filter's plugin."""
        active = self._plugins_for(pod)
        return [] if active is None else active.filters(pod, nodes, within)

    def passing(self, pod: PodRecord, nodes: Nodes) -> tuple[Bools, FilterFailed | None]:
        """Return those of *nodes* that pass all filters for *pod*, as a mask; and the error that ends the attempt, None if none."""
        active = self._plugins_for(pod)
        return (np.ones(len(nodes), dtype=bool), None) if active is None else active.passing(pod, nodes)

    def allowed(self, pods: Iterable[PodRecord]) -> list[tuple[PodShape, Bools | None, int]] | None:
        """Return the nodes that pods of each kind can get at most, whatever is assumed besides, and the number of such pods.

        A mask has the shape (all nodes,); it is None if no node is excluded.  The result is None if the attempt to place the pods can end in
        an error, or if they hold a place already: then more may be possible.
        """
        kinds: dict[PodKind, tuple[PodRecord, int]] = {}
        for pod in pods:
            if (active := self._plugins_for(pod)) is None or pod.nominated >= 0 or any(plugin.touches(pod) for plugin in active.allocating):
                return None
            kind = active.counts.kind(pod)
            kinds[kind] = pod, kinds.get(kind, (pod, 0))[1] + 1
        return [(pod.shape, self._allowed(pod), count) for pod, count in kinds.values()]

    def _allowed(self, pod: PodRecord) -> Bools | None:
        masks = (plugin.allowed(pod, self._snapshot.nodes.everything) for plugin in _filtering(self.plugins, pod))
        found = [mask for mask in masks if mask is not None]
        return np.logical_and.reduce(found) if found else None

    def depends_on(self, pods: Sequence[PodRecord]) -> Dependence | None:
        """Return what the places of *pods* depend on if they are tried in this order; None if that is more than can be said."""
        if any(pod.nominated >= 0 or self._plugins_for(pod) is None for pod in pods):
            return None
        found, nodes = Dependence(), self._snapshot.nodes.everything
        for plugin in self.plugins:
            if isinstance(plugin, SpreadScoring) and any(plugin.soft(pod) is not None for pod in pods):
                return None
            # Pods of one kind differ in their claims.
            touched = {plugin.counts.kind(pod): pod for pod in pods if plugin.touches(pod)}
            if not all(plugin.depends_on(pod, nodes, found) for pod in touched.values()):
                return None
        return found

    def skipped(self, pod: PodRecord) -> frozenset[str]:
        """Return the plugins whose PreFilter in kube-scheduler skips *pod* in the present state."""
        return frozenset(plugin.name for plugin in self.plugins if plugin.skips(pod))

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Return the weighted sum of the normalised scores of *nodes*, all feasible nodes.  Arguments as for ``filter``."""
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        if (active := self._plugins_for(pod)) is not None:
            for plugin in active.plugins:
                if weight := pod.shape.profile.weight(plugin.name, plugin.weight):
                    total += weight * plugin.normalise(plugin.score(pod, nodes, within))
        return total

    def resolvable(self, pod: PodRecord, nodes: Nodes) -> Nodes:
        """Return those of *nodes* that no plugin refuses to *pod* for a reason that preemption cannot resolve."""
        if (active := self._plugins_for(pod)) is None:
            return nodes
        able: Bools = np.ones(len(nodes), dtype=bool)
        for plugin in _filtering(active.plugins, pod):
            if not (isinstance(plugin, ClaimAllocation) and plugin.evictions_help):
                for reason, passing in plugin.filters(pod, nodes):
                    if not plugin.resolvable(reason):
                        able &= passing
        return nodes[able]

    def unmodelled(self, pod: PodRecord) -> tuple[str, ...]:
        """Return the field paths of *pod* that cannot be evaluated, in wire names: namespace selectors of affinity terms.

        They cannot if the labels of the namespace of some pod are not known.  Such a namespace is not selected.
        """
        if self._knows_namespaces():
            return ()
        if (paths := self._unmodelled.get(pod.shape)) is None:
            paths = self._unmodelled[pod.shape] = needing_labels(pod.shape.affinity)
        return paths

    def _knows_namespaces(self) -> bool:
        if self._known_namespaces is None:
            known = self._snapshot.namespaces
            self._known_namespaces = known is not None and all(pod.namespace in known for pod in self._snapshot.pods)
        return self._known_namespaces

    def selection(self, pod: PodRecord) -> Hashable:
        """Return equal values for pods of one shape and namespace that no constraint distinguishes."""
        return () if self._active is None else self._active.counts.selection(pod)

    def bind(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether the node of *pod* can change a verdict on *other*."""
        return self._active is not None and any(plugin.binds(pod, other) for plugin in self._active.plugins)

    def _move(self, pod: PodRecord, node: int, amount: int) -> None:
        if self._active or self._is_used_by(pod):
            self._activated().move(pod, node, amount)
        self._journal.append((pod, node, amount))

    @property
    def _allocating(self) -> tuple[ClaimAllocation, ...]:
        return self._active.allocating if self._active is not None else ()

    def _plugins_for(self, pod: PodRecord) -> _ActivePlugins | None:
        """Return the plugins, which know *pod* from now on; None if no pod so far, nor this one, can affect a verdict."""
        if not self._active and not self._is_used_by(pod):
            return None
        active = self._activated()
        active.counts.kind(pod)
        return active

    def _is_used_by(self, pod: PodRecord) -> bool:
        if (used := self._used_by.get(pod.shape)) is None:
            used = self._used_by[pod.shape] = registry.used_by(pod.shape)
        # Default constraints are read only of a pod that is to be placed.
        return used or (self._defaults.possible and pod.node < 0 and self._defaults.terms(pod) is not NO_TERMS)

    def _activated(self) -> _ActivePlugins:
        """Return the plugins, after counting all pods so far at the first call."""
        if self._active is None:
            counts = self._later() if self._later is not None else self._new_counts()
            self._met = counts.mark()
            active = self._over(counts)
            for entry in (*self._settled, *self._journal):
                for pod, node, amount in [(pod, node, 1) for pod, node in entry.pods] if isinstance(entry, _Batch) else [entry]:
                    active.move(pod, node, amount)
            self._active = active
        return self._active

    def _new_counts(self) -> PodCounts:
        counts = PodCounts(self._snapshot.nodes, self._snapshot.namespaces or {}, self._snapshot.devices)
        for pod in self._snapshot.pods:
            if pod.node >= 0:
                counts.count(pod, pod.node)
            elif registry.used_by(pod.shape):
                counts.kind(pod)
        return counts

    def _over(self, counts: PodCounts) -> _ActivePlugins:
        """Return the plugins over *counts*; running pods are added to plugins with further state."""
        plugins = tuple(
            plugin(counts, self._defaults) if issubclass(plugin, SpreadScoring) else plugin(counts) for plugin in registry.STATEFUL
        )
        allocating = tuple(plugin for plugin in plugins if isinstance(plugin, ClaimAllocation))
        for allocation in allocating:
            allocation.sparing = self._sparing
        with_state = tuple(plugin for plugin in plugins if plugin.keeps_state)
        for pod in self._running() if with_state else ():
            if pod.node >= 0:
                for plugin in with_state:
                    plugin.add_pod(pod, pod.node)
        return _ActivePlugins(counts, plugins, with_state, allocating)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _ActivePlugins:
    """Stateful plugins over counts of pods."""

    counts: PodCounts
    plugins: tuple[StatefulPlugin, ...]
    with_state: tuple[StatefulPlugin, ...]
    """Plugins with state beyond the counts."""
    allocating: tuple[ClaimAllocation, ...]

    def soft(self, pod: PodRecord) -> SoftSpread | None:
        """Return the topology spread constraints of *pod* with ScheduleAnyway; None if it has none."""
        scoring = (plugin.soft(pod) for plugin in self.plugins if isinstance(plugin, SpreadScoring))
        return next((soft for soft in scoring if soft is not None), None)

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None) -> list[NamedFilter]:
        """Return the filters for *pod* as ``StatefulPlugins.filters_by_plugin``."""
        filters: list[NamedFilter] = []
        for plugin in _filtering(self.plugins, pod):
            before = [mask for _, mask in filters]
            filters += [(Refusal(plugin.name, reason), mask) for reason, mask in _filters(plugin, pod, nodes, before, within)]
        return filters

    def passing(self, pod: PodRecord, nodes: Nodes) -> tuple[Bools, FilterFailed | None]:
        """Return the same as ``StatefulPlugins.passing``."""
        able: Bools = np.ones(len(nodes), dtype=bool)
        for plugin in _filtering(self.plugins, pod):
            for _, mask in _filters(plugin, pod, nodes, [able]):
                able = able & mask
            if isinstance(plugin, ClaimAllocation) and (failure := plugin.failure(pod)) is not None:
                return able, failure
        return able, None

    def move(self, pod: PodRecord, node: int, amount: int) -> None:
        """Add *pod* on *node*, or (*amount* -1) remove it."""
        self.counts.count(pod, node, amount)
        for plugin in self.with_state:
            (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)

    def add_batch(self, batch: _Batch, counted: Mapping[NodeTally, int]) -> None:
        """Add the pods of *batch* on their nodes; *counted* as from ``SpreadKinds.counted``."""
        pods = batch.pods
        if pods and all(number == len(pods) for number in counted.values()):
            batch.postponed = self.counts.count_alike(pods, counted)
        if batch.postponed is None:
            self.counts.count_all(pods, 1)
        self._change_state(pods, 1)

    def remove_batch(self, batch: _Batch) -> None:
        """Remove the pods of *batch*, the last first, and restore the versions of counts."""
        pods = batch.pods[::-1]
        if batch.postponed is None or not self.counts.discount_alike(batch.postponed):
            self.counts.count_all(pods, -1)
        self._change_state(pods, -1)
        for tally, version in batch.versions:
            tally.version = version

    def _change_state(self, pods: Sequence[tuple[PodRecord, int]], amount: int) -> None:
        shapes = {pod.shape for pod, _ in pods}
        for plugin in self.with_state:
            if any(map(plugin.used_by, shapes)):
                for pod, node in pods:
                    (plugin.add_pod if amount > 0 else plugin.remove_pod)(pod, node)


def _filtering(plugins: Iterable[StatefulPlugin], pod: PodRecord) -> Iterator[StatefulPlugin]:
    """Return the plugins whose filter is enabled for *pod*."""
    return (plugin for plugin in plugins if pod.shape.profile.filters(plugin.name))


def _scores(plugin: StatefulPlugin, pod: PodRecord) -> bool:
    """Return whether *plugin* can score nodes for *pod*."""
    return plugin.soft(pod) is not None if isinstance(plugin, SpreadScoring) else plugin.touches(pod)


def _filters(plugin: StatefulPlugin, pod: PodRecord, nodes: Nodes, before: Sequence[Bools], within: Nodes | None = None) -> Filters:
    """Return the filters of *plugin*; *before* are masks of the plugins before it."""
    if not before or not (isinstance(plugin, ClaimAllocation) and plugin.narrows):
        return plugin.filters(pod, nodes, within)
    able = np.logical_and.reduce(before)
    filters: Filters = []
    for reason, mask in plugin.filters(pod, nodes[able], within):
        whole: Bools = np.ones(len(nodes), dtype=bool)
        whole[able] = mask
        filters.append((reason, whole))
    return filters
