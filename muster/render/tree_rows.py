"""One decision as rows: a row for each group of the tree, parents first, with the lines that draw the tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kubeapi.base_structs import Record, record_field
from scheduler_core.causes.cause import Cause
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from validators.model.objects import namespace_of

if TYPE_CHECKING:
    from scheduler_core.model.snapshot import ClusterSnapshot

PARTLY = "◐"
"""Sign of a group of which some pods are left over."""


class Kinship(Record, frozen=True):
    """Groups and pods by parent.

    Attributes:
        parents: the CompositePodGroup above each group.
        groups: the name of each pod's PodGroup, in its namespace, by ``namespace/name`` of the pod.

    """

    parents: Mapping[Name, Name] = record_field(default_factory=dict)
    groups: Mapping[str, str] = record_field(default_factory=dict)

    @classmethod
    def from_snapshot(cls, snapshot: ClusterSnapshot) -> Kinship:
        """Return the relations of the groups and pods of *snapshot*."""
        parents = {}
        for group in snapshot.groups:
            if parent := group.spec.parent_composite_pod_group_name:
                namespace = namespace_of(group)
                parents[Name(group.kind, namespace, group.metadata.name)] = Name("CompositePodGroup", namespace, parent)
        return cls(parents, {pod.key: pod.group for pod in snapshot.pods if pod.group})

    def leaf(self, pod: str) -> Name:
        """Return the PodGroup of a pod, or the pod itself."""
        own, group = pod_name(pod), self.groups.get(pod)
        return own if group is None else Name("PodGroup", own.namespace, group)


def pod_name(key: str) -> Name:
    """Return the name of the pod ``namespace/name``."""
    namespace, _, name = key.partition("/")
    return Name("Pod", namespace, name)


@dataclasses.dataclass(slots=True)
class TreeRow:
    """A group of the tree, or the single pod that is the root."""

    decision: GroupDecision
    lead: str
    """Prefix of its line: the lines of the tree."""
    below: str
    """Prefix of further lines about it."""
    above: tuple[GroupDecision, ...]
    """The groups above it, the root first."""
    assigned: dict[str, str] = dataclasses.field(default_factory=dict)
    """Its own pods that got a node."""
    promised: dict[str, str] = dataclasses.field(default_factory=dict)
    """Its own pods with a nominated node."""
    pending: dict[str, tuple[Cause, ...]] = dataclasses.field(default_factory=dict)
    """Its own pods without a node, with the causes."""
    placed: int = 0
    """Number of pods with a node, in its whole subtree."""
    total: int = 0
    """Number of pods to place, in its whole subtree."""
    awaits: bool = False
    """True if a pod of its subtree has a nominated node."""
    when: str = "after eviction"
    """When its pods get their nominated nodes."""

    @property
    def is_partly_placed(self) -> bool:
        """Return whether the minimum of the group is placed, and pods are left over."""
        return self.decision.status is Status.SUCCESS and self.placed < self.total


def rows(decision: Decision, kinship: Kinship) -> list[TreeRow]:
    """Return the rows of a decision, the root first."""
    decisions = list(decision.groups) or [GroupDecision(decision.root, decision.status, decision.causes)]
    children = _children(decisions, kinship)
    result: list[TreeRow] = []
    stack: list[tuple[GroupDecision, str, str, tuple[GroupDecision, ...]]] = [(decisions[0], "", "", ())]
    while stack:
        each, lead, line, above = stack.pop()
        below = children.get(each.group, [])
        result.append(TreeRow(each, lead, f"{line}│  " if below else f"{line}   ", above))
        for child in reversed(below):
            last = child is below[-1]
            stack.append((child, f"{line}{'└─' if last else '├─'} ", f"{line}{'   ' if last else '│  '}", (*above, each)))
    if decision.status is Status.WAIT:
        for row in result:
            row.when = "when its devices are ready"
    _share_out(decision, {row.decision.group: row for row in result}, kinship)
    _sum_up(result, children)
    return result


def _children(decisions: Sequence[GroupDecision], kinship: Kinship) -> dict[Name, list[GroupDecision]]:
    """Return the children of each group; a group before its parent is below the root, so that a cycle can be drawn."""
    top = decisions[0].group
    seen, children = {top}, dict[Name, list[GroupDecision]]()
    for each in decisions[1:]:
        parent = kinship.parents.get(each.group, top)
        children.setdefault(parent if parent in seen else top, []).append(each)
        seen.add(each.group)
    return children


def _share_out(decision: Decision, by_group: Mapping[Name, TreeRow], kinship: Kinship) -> None:
    top = by_group[decision.groups[0].group if decision.groups else decision.root]
    for pod, node in decision.assignments.items():
        by_group.get(kinship.leaf(pod), top).assigned[pod] = node
    for pod, node in decision.nominations.items():
        by_group.get(kinship.leaf(pod), top).promised[pod] = node
    for pod, causes in decision.pending.items():
        by_group.get(kinship.leaf(pod), top).pending[pod] = causes


def _sum_up(tree_rows: Sequence[TreeRow], children: Mapping[Name, Sequence[GroupDecision]]) -> None:
    """Count from the leaves upwards; in *tree_rows* parents are first."""
    by_group = {row.decision.group: row for row in tree_rows}
    for row in reversed(tree_rows):
        below = [by_group[child.group] for child in children.get(row.decision.group, ())]
        row.placed = len(row.assigned) + sum(each.placed for each in below)
        row.awaits = bool(row.promised) or any(each.awaits for each in below)
        row.total = len(row.assigned) + len(row.pending) + sum(each.total for each in below)
