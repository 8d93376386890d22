"""Quorum of members: the precondition for a root to enter the queue.

The rules are those of PreEnqueue in kube-scheduler's GangScheduling plugin (1.37.1; KEP-6012, GangScheduling Plugin Changes).
A PodGroup is ready with its minimum of members in any state, a CompositePodGroup with its minimum of ready children.
Only the root of a tree decides.
"""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Name
from scheduler_core.queueing.trees import Tree, Trees, minimum, name_of
from validators.hierarchy.tree import GroupNode
from validators.model.group import PodGroup


@dataclasses.dataclass(frozen=True, slots=True)
class QuorumShortage:
    """A group that lacks members and so prevents its root from being tried."""

    group: Name
    required: int
    """minCount or minGroupCount; 1 for basic groups."""
    available: int
    """Members, or ready children."""

    def __str__(self) -> str:
        """Return the group and the number of missing members."""
        what = "pods" if self.group.kind == "PodGroup" else "ready child groups"
        missing = self.required - self.available
        return f'{self.group.kind} "{self.group.name}" has {self.available} of {self.required} {what}, {missing} missing'


def shortages(tree: Tree, trees: Trees) -> list[QuorumShortage]:
    """Return the shortages of the root, from the top down; none if it can be tried.  *tree* has a root."""
    short: dict[int, QuorumShortage] = {}
    for node in reversed(tree.nodes):
        available = _available(node, trees, short)
        if available < (required := minimum(node.group)):
            short[id(node)] = QuorumShortage(name_of(node.group), required, available)
    if id(tree.top) not in short:
        return []
    # A shortage below a ready group does not hold back the root.
    result: list[QuorumShortage] = []
    stack = [tree.top]
    while stack:
        node = stack.pop()
        result.append(short[id(node)])
        stack.extend(child for child in reversed(node.children) if id(child) in short)
    return result


def waiting_for(tree: Tree) -> str:
    """Return kube-scheduler's message for the pods of a root without its quorum."""
    if isinstance(tree.top.group, PodGroup):
        return "waiting for minCount pods from a gang to appear in scheduling queue"
    return f'waiting for composite pod group "{tree.name.name}" tree to meet quorum'


def _available(node: GroupNode, trees: Trees, short: dict[int, QuorumShortage]) -> int:
    if isinstance(node.group, PodGroup):
        return trees.members(node).count
    return sum(id(child) not in short for child in node.children)
