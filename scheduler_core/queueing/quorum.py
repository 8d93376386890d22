"""Whether enough members are there at all: the quorum that lets a root into the queue.

The PreEnqueue of kube-scheduler 1.37.1's GangScheduling plugin (KEP-6012, GangScheduling Plugin Changes): a PodGroup is
ready when it has its minimum of members in any state, a CompositePodGroup when it has its minimum of ready children, and of
a tree the root alone is judged.
"""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Name
from scheduler_core.queueing.trees import Tree, Trees, minimum, name_of
from validators.hierarchy.tree import GroupNode
from validators.model.group import PodGroup


@dataclasses.dataclass(frozen=True, slots=True)
class QuorumShortage:
    """A group that lacks members and thereby keeps its root waiting."""

    group: Name
    wanted: int
    """minCount or minGroupCount; 1 for basic groups."""
    found: int
    """Members, or children that are ready."""

    def __str__(self) -> str:
        """Who is short, and by how many."""
        what = "pods" if self.group.kind == "PodGroup" else "ready child groups"
        missing = self.wanted - self.found
        return f'{self.group.kind} "{self.group.name}" has {self.found} of {self.wanted} {what}, {missing} missing'


def shortages(tree: Tree, trees: Trees) -> list[QuorumShortage]:
    """What the root lacks, from the top down; none if it may be tried.  *tree* has a root."""
    short: dict[int, QuorumShortage] = {}
    for node in reversed(tree.nodes):
        found = _found(node, trees, short)
        if found < (wanted := minimum(node.group)):
            short[id(node)] = QuorumShortage(name_of(node.group), wanted, found)
    if id(tree.top) not in short:
        return []
    # What is short below a group that is ready nonetheless keeps nobody waiting.
    blamed: list[QuorumShortage] = []
    stack = [tree.top]
    while stack:
        node = stack.pop()
        blamed.append(short[id(node)])
        stack.extend(child for child in reversed(node.children) if id(child) in short)
    return blamed


def waiting_for(tree: Tree) -> str:
    """What kube-scheduler tells the pods of a root that is short."""
    if isinstance(tree.top.group, PodGroup):
        return "waiting for minCount pods from a gang to appear in scheduling queue"
    return f'waiting for composite pod group "{tree.name.name}" tree to meet quorum'


def _found(node: GroupNode, trees: Trees, short: dict[int, QuorumShortage]) -> int:
    if isinstance(node.group, PodGroup):
        return trees.members(node).count
    return sum(id(child) not in short for child in node.children)
