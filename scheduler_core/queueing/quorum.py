"""Quorum of members: the precondition for a root to enter the queue.

The rules are those of PreEnqueue in kube-scheduler's GangScheduling plugin (1.37.1; KEP-6012, GangScheduling Plugin Changes).
A PodGroup is ready with its minimum of members in any state, a CompositePodGroup with its minimum of ready children.
Only the root of a tree decides.
"""

from __future__ import annotations

from kubeapi.groups import PodGroup
from scheduler_core.causes.pre_enqueue import GroupBeingDeleted, QuorumAwaited, QuorumShortage, RootPolicy
from scheduler_core.queueing.trees import Tree, Trees, minimum, name_of
from validators.hierarchy.tree import GroupNode


def awaited(tree: Tree, trees: Trees) -> QuorumAwaited | None:
    """Return the quorum that the root waits for; None if it can be tried.  *tree* has a root."""
    missing = shortages(tree, trees)
    return QuorumAwaited(tree.name, tuple(missing), _stated_policy(tree, trees)) if missing else None


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


def being_deleted(tree: Tree, missing: QuorumAwaited | None = None) -> tuple[GroupBeingDeleted, ...]:
    """Return the groups of *tree* that are being deleted, with what they lack of *missing*, from the top down."""
    lacking = {each.group: each.minimum - each.available for each in (missing.shortages if missing else ())}
    deleted = (name_of(node.group) for node in tree.nodes if node.group.metadata.deletion_timestamp is not None)
    return tuple(GroupBeingDeleted(name, lacking.get(name, 0)) for name in deleted)


def _stated_policy(tree: Tree, trees: Trees) -> RootPolicy | None:
    """Return the policy of the root, which kube-scheduler states since 1.38."""
    if not trees.snapshot.behavior.names_awaited_roots:
        return None
    return RootPolicy.BASIC if tree.top.group.spec.scheduling_policy.gang is None else RootPolicy.GANG


def _available(node: GroupNode, trees: Trees, short: dict[int, QuorumShortage]) -> int:
    if isinstance(node.group, PodGroup):
        return trees.members(node).count
    return sum(id(child) not in short for child in node.children)
