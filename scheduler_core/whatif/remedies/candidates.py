"""Edits that may help a root, small ones first."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from kubeapi import kueue
from kubeapi.groups import Group
from kubeapi.nodes import Taint
from kubeapi.workloads import TopologyConstraint
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import Column
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.node_unschedulable import CORDON
from scheduler_core.plugins.taint_toleration import HARD, Tolerations
from scheduler_core.whatif.edits import pod_edits
from scheduler_core.whatif.edits.edits import Edit, Lowered, Quorum, Widened, combine
from scheduler_core.whatif.edits.node_templates import is_of_machine
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.trial.subject import Subject

_TAINTS = 4
"""Maximum number of taints to try, those on the most nodes first."""
_SETS = 2
"""Maximum number of sets of taints to tolerate together, those of the most nodes first."""
_TAINTS_TOGETHER = 8
"""Maximum number of taints in such a set: more tolerations are no small change of a pod."""
_LEVELS = frozenset({"zone", "region", "rack", "block", "row", "room", "building", "datacenter", "spine", "leaf", "superblock", "host"})
"""Usual names of topology levels, for keys that no group uses."""


def relaxations(snapshot: ClusterSnapshot, subject: Subject) -> list[Respecified]:
    """Return edits of all affected pods of the root: a taint tolerated, a selector dropped, gates removed."""
    owner, waiting = subject.root, subject.waiting
    relaxing = [*_tolerations(snapshot, subject)]
    if selecting := [pod for pod in waiting if _selects(pod)]:
        relaxing.append(pod_edits.unselecting(selecting, owner))
    if related := [pod for pod in waiting if pod_edits.rules_about_pods(pod.shape)]:
        relaxing.append(pod_edits.unrelated(related, owner))
    # Only Kueue removes its gates: a pod whose gate somebody else removes runs without its quota.
    if gated := [pod.key for pod in waiting if pod.gates and not any(map(kueue.is_gate, pod.gates))]:
        relaxing.append(pod_edits.ungated(gated, owner))
    return relaxing


def joint_tolerations(snapshot: ClusterSnapshot, subject: Subject, nodes: Iterable[int]) -> list[Edit]:
    """Return edits of all affected pods of the root that tolerate all taints of a node, for the different taints of *nodes*.

    Nodes with many taints are left out, and those with taints that describe the state of a machine, but for the taint of a cordon.
    """
    sets = Counter(tuple(taint for taint in snapshot.nodes.taints[node] if taint.effect in HARD) for node in nodes)
    sets = Counter({taints: number for taints, number in sets.items() if len(taints) <= _TAINTS_TOGETHER})
    tolerations = _tolerations_by_shape(subject)
    kept_off = {taint: _kept_off(subject, tolerations, taint) for taints in sets for taint in taints if taint.key != CORDON.key}
    untolerated = Counter[tuple[Taint, ...]]()
    for taints, number in sets.items():
        untolerated[tuple(taint for taint in taints if kept_off.get(taint))] += number
    tried = [taints for taints in untolerated if taints and not any(is_of_machine(taint.key) for taint in taints)]
    tried.sort(key=lambda taints: (-untolerated[taints], [(taint.key, taint.value, taint.effect) for taint in taints]))
    together: list[list[Edit]] = [
        [pod_edits.tolerating(kept_off[taint], taint, subject.root) for taint in taints] for taints in tried[:_SETS]
    ]
    return [functools.reduce(combine, edits) for edits in together]


def widenings(snapshot: ClusterSnapshot, subject: Subject) -> Iterator[list[Edit]]:
    """Return wider keys, the narrowest first, then no key: for each confined group, then for all groups confined by one key."""
    confined = [group for group in subject.groups if group.key]
    for group in (each for each in subject.unlike if each.key):
        yield [Widened((group.name,), (group.key,), key) for key in (*wider(snapshot, group.key), "")]
    for key in reversed(subject.keys):
        names = tuple(group.name for group in confined if group.key == key)
        if len(names) > 1:
            yield [Widened(names, (key,), more) for more in (*wider(snapshot, key), "")]
    if len(subject.keys) > 1:
        yield [Widened(tuple(group.name for group in confined), subject.keys, "")]


def quorum(subject: Subject) -> Quorum | None:
    """Return minimums above the number of members, lowered to that number; None if there are none, or no members."""
    ready: dict[Name, bool] = {}
    lowered = []
    for group in reversed(subject.groups):
        available = group.members if group.name.kind == "PodGroup" else sum(ready[child] for child in group.children)
        ready[group.name] = available > 0
        if group.gang and not group.fixed and 0 < available < group.minimum:
            lowered.append(Lowered(group.name, group.minimum, available))
    return Quorum(tuple(reversed(lowered))) if lowered else None


def wider(snapshot: ClusterSnapshot, key: str) -> list[str]:
    """Return the keys whose domains contain whole domains of *key*, the narrowest first."""
    nodes = snapshot.nodes
    labels_in_use = {label for labels in nodes.labels for label in labels}
    constrained = {each.key for group in snapshot.groups for each in _topology(group)}
    levels = sorted(
        each
        for each in labels_in_use - {key}
        if each in constrained or each.rpartition("/")[2] in _LEVELS or each.partition(".")[0] == "topology"
    )
    own = nodes.column(key)
    result = [(-len(column.values), each) for each in levels if _holds(column := nodes.column(each), own)]
    return [each for _, each in sorted(result)]


def _topology(group: Group) -> tuple[TopologyConstraint, ...]:
    constraints = group.spec.scheduling_constraints
    return (constraints and constraints.topology) or ()


def _holds(column: Column, own: Column) -> bool:
    """Return whether each value of *own* lies in one value of *column*, and *column* has fewer values."""
    labelled = own.ids >= 0
    if not labelled.any() or (column.ids[labelled] < 0).any() or len(column.values) >= len(own.values):
        return False
    pairs = np.unique(own.ids[labelled].astype(np.int64) * len(column.values) + column.ids[labelled])
    return len(pairs) == len(own.values)


def _tolerations(snapshot: ClusterSnapshot, subject: Subject) -> list[Respecified]:
    counts: dict[tuple[str, str, str], int] = {}
    kept_off: dict[tuple[str, str, str], list[str]] = {}
    taints = {}
    for node_taints in snapshot.nodes.taints:
        for taint in node_taints:
            if taint.effect in HARD and not is_of_machine(taint.key):
                key = (taint.key, taint.value, taint.effect)
                counts[key] = counts.get(key, 0) + 1
                taints[key] = taint
    tolerations = _tolerations_by_shape(subject)
    for key, taint in taints.items():
        kept_off[key] = _kept_off(subject, tolerations, taint)
    tried = sorted((key for key in taints if kept_off[key]), key=lambda key: (-counts[key], key))[:_TAINTS]
    return [pod_edits.tolerating(kept_off[key], taints[key], subject.root) for key in tried]


def _tolerations_by_shape(subject: Subject) -> dict[PodShape, Tolerations]:
    return {shape: Tolerations(shape.tolerations) for shape in {pod.shape for pod in subject.waiting}}


def _kept_off(subject: Subject, tolerations: Mapping[PodShape, Tolerations], taint: Taint) -> list[str]:
    """Return the pods that do not tolerate *taint*."""
    tolerate = {shape: each.cover(taint) for shape, each in tolerations.items()}
    return [pod.key for pod in subject.waiting if not tolerate[pod.shape]]


def _selects(pod: PodRecord) -> bool:
    if kueue.PODSET in pod.labels:
        # Kueue gives it the labels of a flavor again.
        return False
    affinity = pod.shape.affinity.node_affinity if pod.shape.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    # The controller of a DaemonSet names the node of each pod, which nobody else can change.
    if any(term.match_fields for term in (required and required.node_selector_terms) or ()):
        return False
    return any(pod_edits.selects_nodes(pod.shape))
