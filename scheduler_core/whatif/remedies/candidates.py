"""Changes that may help a root: what is near at hand, from little to much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.model.decision import Name
from scheduler_core.model.nodes import Column
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.taint_toleration import tolerates
from scheduler_core.whatif.edits import edits, pod_edits
from scheduler_core.whatif.edits.edits import Edit, Lowered, Quorum, Widened
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.trial.nearly_room import RoomInDomain
from scheduler_core.whatif.trial.subject import Subject
from validators.model.group import Group
from validators.model.workload import TopologyConstraint

_TAINTS = 4
"""Taints that are tried, those on the most nodes first."""
_HARD = ("NoSchedule", "NoExecute")
_LEVELS = frozenset({"zone", "region", "rack", "block", "row", "room", "building", "datacenter", "spine", "leaf", "superblock", "host"})
"""What levels of a topology are called, where no group says so."""


def relaxations(snapshot: ClusterSnapshot, subject: Subject) -> list[Respecified]:
    """A taint tolerated, a selector dropped, gates removed: by all pods of the root that are kept off by it."""
    who, waiting = edits.titled(subject.root), subject.waiting
    found = [*_tolerations(snapshot, subject)]
    if choosy := [pod.key for pod in waiting if _selects(pod)]:
        found.append(pod_edits.unselecting(choosy, "node selector and affinity", who))
    if related := [pod.key for pod in waiting if _relates(pod)]:
        found.append(pod_edits.unrelated(related, who))
    if closed := [pod.key for pod in waiting if pod.gates]:
        found.append(pod_edits.ungated(closed, who))
    return found


def widenings(snapshot: ClusterSnapshot, subject: Subject) -> Iterator[list[Edit]]:
    """For each group that is confined, then for all that are so by one key together: wider keys, the nearest first, then none."""
    confined = [group for group in subject.groups if group.key]
    for group in (each for each in subject.unlike if each.key):
        yield [Widened((group.name,), group.key, key) for key in (*wider(snapshot, group.key), "")]
    for key in reversed(subject.keys):
        alike = tuple(group.name for group in confined if group.key == key)
        if len(alike) > 1:
            yield [Widened(alike, key, more) for more in (*wider(snapshot, key), "")]
    if len(subject.keys) > 1:
        yield [Widened(tuple(group.name for group in confined), phrases.listed(subject.keys), "")]


def quorum(subject: Subject) -> Quorum | None:
    """Minimums that are more than there is of members, lowered to what there is; None where there are none, or no members."""
    ready: dict[Name, bool] = {}
    lowered = []
    for group in reversed(subject.groups):
        there = group.members if group.name.kind == "PodGroup" else sum(ready[child] for child in group.children)
        ready[group.name] = there > 0
        if group.gang and 0 < there < group.minimum:
            lowered.append(Lowered(group.name, group.minimum, there))
    return Quorum(tuple(reversed(lowered))) if lowered else None


def wider(snapshot: ClusterSnapshot, key: str) -> list[str]:
    """Keys each of whose domains holds whole domains of *key*, the nearest first."""
    nodes = snapshot.nodes
    named = {label for labels in nodes.labels for label in labels}
    told = {each.key for group in snapshot.groups for each in _topology(group)}
    levels = sorted(each for each in named - {key} if each in told or each.rpartition("/")[2] in _LEVELS or each.startswith("topology."))
    own = nodes.column(key)
    found = [(-len(column.values), each) for each in levels if _holds(column := nodes.column(each), own)]
    return [each for _, each in sorted(found)]


def named(area: RoomInDomain) -> str:
    """``rack r1``, or ``rack-1`` where the value says what it is."""
    noun = phrases.level(area.key)
    return area.value if area.value.startswith(noun) else f"{noun} {area.value}"


def _topology(group: Group) -> tuple[TopologyConstraint, ...]:
    constraints = group.spec.scheduling_constraints
    return (constraints and constraints.topology) or ()


def _holds(column: Column, own: Column) -> bool:
    """Whether nodes of one value of *own* have all one value of *column*, and there are fewer of these."""
    there = own.ids >= 0
    if not there.any() or (column.ids[there] < 0).any() or len(column.values) >= len(own.values):
        return False
    pairs = np.unique(own.ids[there].astype(np.int64) * len(column.values) + column.ids[there])
    return len(pairs) == len(own.values)


def _tolerations(snapshot: ClusterSnapshot, subject: Subject) -> list[Respecified]:
    counts: dict[tuple[str, str, str], int] = {}
    kept_off: dict[tuple[str, str, str], list[str]] = {}
    taints = {}
    for on_node in snapshot.nodes.taints:
        for taint in on_node:
            if taint.effect in _HARD and not taint.key.startswith("node.kubernetes.io/"):
                at = (taint.key, taint.value, taint.effect)
                counts[at] = counts.get(at, 0) + 1
                taints[at] = taint
    for at, taint in taints.items():
        kept_off[at] = [pod.key for pod in subject.waiting if not tolerates(pod.shape.tolerations, taint)]
    tried = sorted((at for at in taints if kept_off[at]), key=lambda at: (-counts[at], at))[:_TAINTS]
    return [pod_edits.tolerating(kept_off[at], taints[at], edits.titled(subject.root)) for at in tried]


def _selects(pod: PodRecord) -> bool:
    affinity = pod.shape.affinity.node_affinity if pod.shape.affinity else None
    return bool(pod.shape.node_selector or (affinity and affinity.required_during_scheduling_ignored_during_execution))


def _relates(pod: PodRecord) -> bool:
    affinity = pod.shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    hard = any(each.when_unsatisfiable != "ScheduleAnyway" for each in pod.shape.spread)
    return hard or any(side is not None and side.required_during_scheduling_ignored_during_execution for side in sides)
