"""Fragmentation: for each topology level and pod shape, the largest gang that fits in one domain now.

Requests, taints, selectors, host ports and capacity held for nominated pods are considered; rules between pods
(affinity, anti-affinity, spread) are not.  A domain is as in KEP-5732: nodes with one value of the label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis import node_refusals
from scheduler_core.model.nodes import PODS, Ints, NodeTable
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.state import PlacementState

MOST_SHAPES = 8
_LEVELS = frozenset({"zone", "rack"})
"""Well-known levels: names of topology keys without their prefix."""
_DEPRECATED = "failure-domain.beta.kubernetes.io"


class Fragment(Record, frozen=True):
    """One pod shape on one topology level.

    Attributes:
        key: the topology key.
        requests: the requests of the shape, without those for devices of claims.
        pod: the first pod of that shape by name, as ``namespace/name``.
        largest: pods of the shape that fit in the best domain.
        domain: that domain, ties by name; empty if no pod fits anywhere.
        total: pods of the shape that fit in the whole cluster, one by one.

    """

    key: str
    requests: tuple[Amount, ...]
    pod: str
    largest: int
    domain: str
    total: int


def fragments(snapshot: ClusterSnapshot, ignore: Iterable[str] = ()) -> tuple[Fragment, ...]:
    """Return the fragments of *snapshot*; unmodelled fields in *ignore* are ignored."""
    state = PlacementState.from_snapshot(snapshot, PlacingOptions(), ignore)
    return largest(state, levels(snapshot), examples(snapshot))


def largest(state: PlacementState, keys: Sequence[str], pods: Sequence[PodRecord]) -> tuple[Fragment, ...]:
    """Return the largest gang of each of *pods* in one domain of each of *keys*: by pod, then by key."""
    return tuple(_of_shape(state, keys, pods))


def levels(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """Return the topology keys of group constraints and the zones and racks of nodes, those with few domains first."""
    requested = {
        each.key for group in snapshot.groups if (constraints := group.spec.scheduling_constraints) for each in constraints.topology or ()
    }
    known = {key for labels in snapshot.nodes.labels for key in labels if key.rpartition("/")[2] in _LEVELS}
    keys = requested | {key for key in known if key.partition("/")[0] != _DEPRECATED}
    domains = {key: len(snapshot.nodes.column(key).values) for key in keys}
    return tuple(sorted((key for key in keys if domains[key]), key=lambda key: (domains[key], key)))


def examples(snapshot: ClusterSnapshot, most: int = MOST_SHAPES) -> tuple[PodRecord, ...]:
    """Return the first pod of each shape by name: of pending pods first, then of pods of running groups, frequent shapes first."""
    chosen: dict[int, PodRecord] = {}
    for pods in (_pending(snapshot), _running(snapshot)):
        first: dict[int, PodRecord] = {}
        counts: Counter[int] = Counter()
        for pod in pods:
            first.setdefault(pod.shape.serial, pod)
            counts[pod.shape.serial] += 1
        for serial in sorted(first, key=lambda serial: (-counts[serial], serial)):
            chosen.setdefault(serial, first[serial])
    return tuple(chosen.values())[:most]


def _pending(snapshot: ClusterSnapshot) -> Iterator[PodRecord]:
    return (pod for pod in snapshot.pods if pod.node < 0 and not pod.terminating)


def _running(snapshot: ClusterSnapshot) -> Iterator[PodRecord]:
    return (pod for pod in snapshot.pods if pod.node >= 0 and pod.group)


def _of_shape(state: PlacementState, keys: Sequence[str], pods: Sequence[PodRecord]) -> Iterator[Fragment]:
    for pod in pods:
        slots = _slots(state, pod.shape)
        total, requests = int(slots.sum()), _requests(pod.shape, state.nodes)
        for key in keys:
            column = state.nodes.column(key)
            labelled = column.ids >= 0
            sums = np.bincount(column.ids[labelled], weights=slots[labelled], minlength=len(column.values))
            best = int(sums.argmax()) if len(sums) else 0
            largest_count = int(sums[best]) if len(sums) else 0
            yield Fragment(key, requests, pod.key, largest_count, column.values[best] if largest_count else "", total)


def _slots(state: PlacementState, shape: PodShape) -> Ints:
    """Return how many pods of *shape* each node holds; shape (nodes,)."""
    profile, ledger = state.profile.compile(shape), state.ledger
    free = state.nodes.allocatable[profile.rows] - ledger.used[profile.rows] - ledger.held[profile.rows]
    slots: Ints = np.maximum((free // profile.amounts).min(axis=0), 0)
    if profile.mask is not None:
        slots[~profile.mask] = 0
    if profile.one_by_one:
        np.minimum(slots, 1, out=slots)
        slots[~node_refusals.admitted(state, shape)] = 0
    return slots


def _requests(shape: PodShape, nodes: NodeTable) -> tuple[Amount, ...]:
    return tuple(Amount(nodes.resource(row), value) for row, value in shape.requests if row != PODS and row not in nodes.counted)
