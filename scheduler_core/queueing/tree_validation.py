"""Validation of a whole tree as kube-scheduler does it at the beginning of a cycle, from 1.38 on (validatePodGroupHierarchy).

The first violation is that of the whole tree: every group and every pod of it gets the same message.  The parts of a tree are compared in
the order of the walk: a group, then the groups and pods below it; children by age.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from kubeapi.workloads import MAX_DEPTH
from scheduler_core.causes.attempts import TreeRefused, TreeRule
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.queueing.trees import Tree, Trees, name_of, policy_word
from validators.hierarchy.tree import GroupNode


def find_refusal(tree: Tree, trees: Trees) -> TreeRefused | None:
    """Return the first violation of *tree*, which has a root and pods to place; None if it is valid."""
    return next(_Validation(tree, trees).violations(tree.top, None, 1), None)


class _Validation:
    def __init__(self, tree: Tree, trees: Trees) -> None:
        self._trees = trees
        self._root = tree.top
        self._first = next(trees.waiting(tree), None) or next(trees.running(tree), None)
        self._policy = tree.top.group.spec.preemption_policy or (_policy(self._first) if self._first is not None else "")

    def violations(self, node: GroupNode, parent: GroupNode | None, depth: int) -> Iterator[TreeRefused]:
        """Yield the violations of *node*, a child of *parent* on the level *depth*, and of what is below it."""
        if node.group.kind == "CompositePodGroup" and depth == MAX_DEPTH:
            yield TreeRefused(TreeRule.DEPTH, name_of(node.group), expected=str(MAX_DEPTH))
        if parent is not None:
            yield from self._of_child(node, parent)
        # Deeper levels violate the rule about the depth already.
        for child in node.children if depth < MAX_DEPTH else ():
            yield from self.violations(child, node, depth + 1)
        members = self._trees.members(node)
        for pod in chain(members.waiting, members.running):
            yield from self._of_pod(pod)

    def _of_child(self, node: GroupNode, parent: GroupNode) -> Iterator[TreeRefused]:
        name, spec, above = name_of(node.group), node.group.spec, parent.group.spec
        root = name_of(self._root.group)
        if (workload := _workload(node)) != (expected := _workload(self._root)):
            yield TreeRefused(TreeRule.WORKLOAD, name, workload, root, expected)
        if (priority := self._trees.priority(node.group)) != (of_root := self._trees.priority(self._root.group)):
            yield TreeRefused(TreeRule.GROUP_PRIORITY, name, str(priority), root, str(of_root))
        if spec.preemption_policy and self._policy and spec.preemption_policy != self._policy:
            yield TreeRefused(TreeRule.GROUP_POLICY, name, spec.preemption_policy, None, self._policy)
        if above.scheduling_policy.gang is not None and spec.scheduling_policy.basic is not None:
            yield TreeRefused(TreeRule.BASIC_CHILD, name, other=name_of(parent.group))
        modes = above.disruption_mode, spec.disruption_mode
        if modes[0] is not None and modes[0].all is not None and modes[1] is not None and modes[1].single is not None:
            yield TreeRefused(TreeRule.SINGLE_CHILD, name, other=name_of(parent.group))

    def _of_pod(self, pod: PodRecord) -> Iterator[TreeRefused]:
        name, root = _pod_name(pod), name_of(self._root.group)
        if self._first is not None and pod.scheduler != self._first.scheduler:
            yield TreeRefused(TreeRule.SCHEDULER, name, pod.scheduler, _pod_name(self._first), self._first.scheduler)
        if pod.priority != (of_root := self._trees.priority(self._root.group)):
            yield TreeRefused(TreeRule.POD_PRIORITY, name, str(pod.priority), root, str(of_root))
        if (policy := _policy(pod)) != self._policy:
            yield TreeRefused(TreeRule.POD_POLICY, name, policy, None, self._policy)


def _workload(node: GroupNode) -> str:
    reference = node.group.spec.workload_ref
    return reference.workload_name if reference is not None else ""


def _policy(pod: PodRecord) -> str:
    return policy_word(allows=pod.preempts)


def _pod_name(pod: PodRecord) -> Name:
    return Name("Pod", pod.namespace, pod.name)
