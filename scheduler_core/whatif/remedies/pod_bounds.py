"""Lower bound of the pods that get no node in a changed cluster, from free capacity and topology spread, without a cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread, SpreadRule
from scheduler_core.plugins.spread_constraints import SpreadTerm
from scheduler_core.preemption.units.preemption_units import lowest_priority

_Alike = tuple[PodShape, tuple[SpreadTerm, ...]]


class PodBounds:
    """Bounds for pods of *snapshot* without a node, if no running pod is evicted; ``state`` is its placement state."""

    def __init__(self, snapshot: ClusterSnapshot, options: CycleOptions) -> None:
        gated = apply_feature_gates(snapshot, options.gates, options.ignored)
        self.state = PlacementState.from_snapshot(gated, options.effective_placing, options.ignore, options.plugins)
        self._snapshot = gated
        self._waiting = [pod for pod in gated.pods if pod.node < 0]
        nodes = gated.nodes
        self._free: Ints = np.maximum(nodes.allocatable - self.state.ledger.used, 0)
        self._rows = frozenset(range(len(nodes.resources))) - nodes.limit_rows.keys() - nodes.volume_rows - nodes.counted

    def least_missing(self, required: Collection[str]) -> int:
        """Return a number of pods of *required*, by their keys, that get no node in any case; 0 if that is unknown."""
        own = [pod for pod in self._waiting if pod.key in required]
        # Only for the rest of a group are there further cycles, in which pods are gone that other roots evict.
        if not own or (any(pod.group for pod in own) and self._others_can_evict(required)):
            return 0
        by_shape = defaultdict[_Alike, list[PodRecord]](list)
        for pod in own:
            by_shape[pod.shape, tuple(rule.spread for rule in self.rules(pod))].append(pod)
        shapes = [*dict.fromkeys(shape for shape, _ in by_shape)]
        slots = {shape: self.slots([shape]) for shape in shapes}
        single = sum(max(0, len(pods) - self._most(pods, slots[shape])) for (shape, _), pods in by_shape.items())
        return max(single, len(own) - int(self.slots(shapes).sum()) if len(shapes) > 1 else 0)

    def slots(self, shapes: Sequence[PodShape]) -> Ints:
        """Return how many pods each node holds at most if each requests the least of *shapes*; shape (nodes,)."""
        compiled = [self.state.profile.compile(shape) for shape in shapes]
        amounts = [dict(zip(each.rows.tolist(), each.amounts.ravel().tolist(), strict=True)) for each in compiled]
        common = {row: min(each.get(row, 0) for each in amounts) for row in sorted(self._rows)}
        counts: Ints = np.full(len(self._snapshot.nodes), len(self._waiting), dtype=np.int64)
        for row, amount in common.items():
            if amount:
                counts = np.minimum(counts, self._free[row] // amount)
        masks = [each.mask for each in compiled if each.mask is not None]
        return counts * np.logical_or.reduce(masks) if len(masks) == len(compiled) else counts

    def rules(self, pod: PodRecord) -> tuple[SpreadRule, ...]:
        """Return the topology spread constraints that filter nodes and count *pod* itself; none for a pod of a group."""
        state = self.state.stateful
        if pod.group or not pod.shape.profile.filters(PodTopologySpread.name) or not state.touches(pod):
            return ()
        rules = (rule for plugin in state.plugins if isinstance(plugin, PodTopologySpread) for rule in plugin.rules(pod))
        return tuple(rule for rule in rules if rule.self_count and rule.spread.pods.has(pod.namespace, pod.labels))

    def _most(self, pods: Sequence[PodRecord], slots: Ints) -> int:
        """Return how many of *pods*, which are alike, get a node at most."""
        most = int(slots.sum())
        for rule in self.rules(pods[0]):
            others = sum(rule.spread.pods.has(pod.namespace, pod.labels) for pod in self._waiting) - len(pods)
            most = min(most, _most_spread(rule, np.minimum(slots, len(pods)), others))
        return most

    def _others_can_evict(self, required: Collection[str]) -> bool:
        """Return whether another pending root can evict pods, whose capacity pods of *required* could take in a later cycle."""
        others = [pod for pod in self._waiting if pod.key not in required]
        of_groups = self._snapshot.priorities.values() if any(pod.group for pod in others) else ()
        return max((*of_groups, *(pod.priority for pod in others)), default=0) > lowest_priority(self._snapshot) if others else False


def _most_spread(rule: SpreadRule, slots: Ints, others: int) -> int:
    """Return how many equal pods *rule* allows at most, one after the other, with *slots* of them on each node.

    It counts up to *others* further pending pods.
    """
    counts, eligible = rule.tally.domains()[:-1], rule.tally.ids >= 0
    capacity = slots_by_domain(rule, slots, eligible)
    known = (counts + capacity + others)[rule.is_domain]
    level = int(known.min()) if len(known) and len(known) >= rule.spread.least else 0
    allowed = np.minimum(capacity, np.maximum(0, level + rule.spread.skew - counts))
    return int(allowed.sum()) + int(slots[~eligible & (rule.ids >= 0)].sum())


def slots_by_domain(rule: SpreadRule, slots: Ints, nodes: Bools) -> Ints:
    """Return the sum of *slots* of *nodes* in each domain of *rule*; shape (values,)."""
    sums: Ints = np.bincount(rule.ids[nodes], weights=slots[nodes], minlength=len(rule.is_domain)).astype(np.int64)
    return sums
