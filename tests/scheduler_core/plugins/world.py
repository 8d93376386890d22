"""Small clusters: nodes by their labels, pods by their relations."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from kubeapi.affinity import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from kubeapi.nodes import Taint
from kubeapi.pods import TopologySpreadConstraint
from kubeapi.selectors import LabelSelector, Requirement
from scheduler_core.model.nodes import Ints, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from validators.object_lookup import KnownObjects

ZONE, HOST = "zone", "host"
_number = itertools.count()


def table(labels: Sequence[Mapping[str, str]], taints: Sequence[tuple[Taint, ...]] | None = None) -> NodeTable:
    """Return nodes n0, n1, ... with these labels."""
    names = [f"n{number}" for number in range(len(labels))]
    allocatable = np.zeros((4, len(labels)), dtype=np.int64)
    taints = taints or [()] * len(labels)
    return NodeTable(names, labels, taints, [False] * len(labels), ("cpu", "memory", "ephemeral-storage", "pods"), allocatable)


def zones(text: str) -> NodeTable:
    """Return one node for each letter, in the zone of that letter and on its own host; ``-`` is a node without labels."""
    return table([{} if letter == "-" else {ZONE: letter, HOST: f"n{number}"} for number, letter in enumerate(text)])


def shape(affinity: Affinity | None = None, spread: Sequence[TopologySpreadConstraint] = (), **more: object) -> PodShape:
    return PodShape(next(_number), ((3, 1),), (100, 200), affinity=affinity, spread=tuple(spread), **more)


PLAIN = shape()


def pod(
    labels: Mapping[str, str] | str = "",
    what: PodShape = PLAIN,
    *,
    node: int = -1,
    namespace: str = "default",
    terminating: bool = False,
    name: str = "",
) -> PodRecord:
    """Return a pod; labels given as text are the value of the label ``app``."""
    if isinstance(labels, str):
        labels = {"app": labels} if labels else {}
    name = name or f"p{next(_number)}"
    return PodRecord(
        key=f"{namespace}/{name}",
        namespace=namespace,
        shape=what,
        labels=labels,
        priority=0,
        node=node,
        group="",
        scheduler="default-scheduler",
        preempts=True,
        created="",
        started="",
        terminating=terminating,
        gates=(),
        nominated=-1,
    )


def snapshot(nodes: NodeTable, *pods: PodRecord) -> ClusterSnapshot:
    return ClusterSnapshot(nodes, pods, (), {}, {}, (), KnownObjects((), complete=True))


def selector(app: str | None = None, *expressions: Requirement) -> LabelSelector:
    return LabelSelector(match_labels=None if app is None else {"app": app}, match_expressions=expressions or None)


def term(key: str, app: str | None = None, **more: object) -> PodAffinityTerm:
    """Return a term that selects pods with the label ``app``; without a value all pods."""
    return PodAffinityTerm(topology_key=key, **{"label_selector": selector(app), **more})


def affinity_to(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=terms))


def anti_affinity(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=terms))


def preferred_affinity(weight: int, wanted: PodAffinityTerm) -> Affinity:
    return Affinity(
        pod_affinity=PodAffinity(preferred_during_scheduling_ignored_during_execution=(WeightedPodAffinityTerm(weight, wanted),))
    )


def preferred_anti_affinity(weight: int, wanted: PodAffinityTerm) -> Affinity:
    return Affinity(
        pod_anti_affinity=PodAffinity(preferred_during_scheduling_ignored_during_execution=(WeightedPodAffinityTerm(weight, wanted),))
    )


def spread(key: str, app: str | None = None, skew: int = 1, **more: object) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew=skew, topology_key=key, **{"label_selector": selector(app), **more})


def affinity_scores(known: StatefulPlugins, comer: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
    """Return the scores of InterPodAffinity for *nodes* before normalization."""
    plugins = (each for each in known.plugins if isinstance(each, InterPodAffinity))
    return sum((plugin.score(comer, nodes, within) for plugin in plugins), np.zeros(len(nodes), dtype=np.int64))
