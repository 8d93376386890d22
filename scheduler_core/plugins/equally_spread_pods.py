"""Kinds of pods that topology spread constraints with ``ScheduleAnyway`` do not distinguish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.affinity_terms import own_keys
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.spread_constraints import DefaultSpread
from scheduler_core.plugins.spread_score import SoftSpread, SpreadKind
from scheduler_core.plugins.topology_counts import NodeTally

_DISTINCT = attrgetter("shape", "controller", "terminating")


class SpreadKinds:
    """Kinds of the pods of a snapshot.  Pods are given together if they are of one namespace, so that few labels distinguish them."""

    def __init__(self, defaults: DefaultSpread) -> None:
        self._defaults = defaults
        self._own_keys: dict[PodShape, frozenset[str]] = {}
        self._kinds: dict[tuple[SoftSpread | None, frozenset[NodeTally]], SpreadKind] = {}
        self._last: dict[PodRecord, SpreadKind] = {}
        self._valid_at = 0
        """Number of counts by node at which ``_last`` is valid."""

    def kinds(
        self, pods: Sequence[PodRecord], counts: PodCounts, soft: Callable[[PodRecord], SoftSpread | None]
    ) -> dict[PodRecord, SpreadKind]:
        """Return the kind of each of *pods*, the same object for equal kinds; nothing if *soft* is None for all of them."""
        keys = self._distinguishing(pods, counts)
        found = [(soft(same[0]), same) for same in _grouped(pods, keys)]
        if not any(each for each, _ in found):
            return {}
        # The counts that these constraints added can distinguish more pods.
        more = keys if counts.keys_by_node(pods[0].namespace) <= keys else self._distinguishing(pods, counts)
        kinds: dict[PodRecord, SpreadKind] = {}
        for constraints, several in found:
            for same in _grouped(several, more) if more != keys else (several,):
                name = constraints, frozenset(counts.counting(same[0]))
                if (kind := self._kinds.get(name)) is None:
                    kind = self._kinds[name] = SpreadKind(*name)
                kinds.update(dict.fromkeys(same, kind))
        self._last, self._valid_at = kinds, counts.number_by_node
        return kinds

    def counted(self, pods: Sequence[PodRecord], counts: PodCounts) -> Mapping[NodeTally, int]:
        """Return, for each count by node, how many of *pods* it counts."""
        if not counts.number_by_node:
            return {}
        last = self._last if self._valid_at == counts.number_by_node else {}
        known = [kind for pod in pods if (kind := last.get(pod)) is not None]
        # The usual case: the pods of a leaf are equal.
        if known and known.count(known[0]) == len(pods):
            return dict.fromkeys(known[0].counted_by, len(pods))
        parts: Iterable[tuple[Iterable[NodeTally], int]]
        if len(known) == len(pods):
            parts = [(kind.counted_by, number) for kind, number in Counter(known).items()]
        else:
            parts = [(counts.counting(same[0]), len(same)) for same in _grouped(pods, self._distinguishing(pods, counts))]
        counted: Counter[NodeTally] = Counter()
        for tallies, number in parts:
            for tally in tallies:
                counted[tally] += number
        return counted

    def _distinguishing(self, pods: Sequence[PodRecord], counts: PodCounts) -> frozenset[str]:
        """Return the keys of labels that decide about the constraints of *pods* and about the counts of them by node."""
        if not pods:
            return frozenset()
        namespace, own = pods[0].namespace, self._own_keys
        shapes = {pod.shape for pod in pods}
        for shape in shapes - own.keys():
            own[shape] = own_keys(shape)
        return frozenset(self._defaults.keys(namespace)).union(counts.keys_by_node(namespace), *map(own.__getitem__, shapes))


def _grouped(pods: Sequence[PodRecord], keys: Iterable[str]) -> Collection[Sequence[PodRecord]]:
    """Return *pods* of one namespace by shape, controller and the values of the labels *keys*."""
    values: list[list[object]] = [[pod.labels.get(key) for pod in pods] for key in keys]
    columns: list[list[object]] = [[*map(_DISTINCT, pods)], *values]
    # The usual case: the pods of a leaf are equal.
    if pods and all(each.count(each[0]) == len(pods) for each in columns):
        return (pods,)
    names = zip(*columns, strict=True)
    groups: dict[tuple[object, ...], list[PodRecord]] = {}
    for name, pod in zip(names, pods, strict=True):
        groups.setdefault(name, []).append(pod)
    return groups.values()
