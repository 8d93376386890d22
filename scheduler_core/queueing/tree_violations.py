"""Violations of the rules about trees, by group.

KEP-6012 (Group hierarchy; Runtime validation in Beta; Disruption mode, priority class name and priority): no group of an
invalid tree is scheduled, and the reason is reported on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from scheduler_core.causes.pre_enqueue import GroupViolations, PriorityMismatch, RuleViolation, TreeViolation
from scheduler_core.queueing.trees import Tree, Trees, name_of
from validators.gates import Gates
from validators.hierarchy.tree import GroupNode
from validators.rules import (
    parent_acyclic,
    pod_priority_matches,
    tree_depth,
    tree_disruption_nesting,
    tree_matches_templates,
    tree_one_workload,
    tree_priority_uniform,
)
from validators.rules.base import Context, Operation, Settings

RULES = (
    parent_acyclic.RULE,
    tree_depth.RULE,
    tree_disruption_nesting.RULE,
    tree_matches_templates.RULE,
    tree_one_workload.RULE,
    tree_priority_uniform.RULE,
)
"""Rules that a tree must satisfy to be scheduled, sorted by id.

Excluded are violations that a later object can fix (``parent-exists``), those that prevent a placement but cause no wrong one
(``topology-narrows``), and rules about a single object.
"""


def find_violations(tree: Tree, trees: Trees, gates: Gates) -> tuple[GroupViolations, ...]:
    """Return the violations of each group; none for a valid tree."""
    # As in the linter all objects are known, so that each group reports its own violations, not those below it.
    settings = Settings(gates=gates, linting=True)
    found = []
    for node in tree.nodes:
        violations: tuple[TreeViolation, ...] = (*_by_rules(node, trees, settings), *_by_pods(node, tree, trees))
        if violations:
            found.append(GroupViolations(name_of(node.group), violations))
    return tuple(found)


def _by_rules(node: GroupNode, trees: Trees, settings: Settings) -> Iterator[RuleViolation]:
    lookup = trees.snapshot.known
    context = Context(node.group, None, Operation.CREATE, settings=settings, lookup=lookup, tree=trees.joined)
    for rule in RULES:
        check = rule.check
        if rule is tree_matches_templates.RULE:
            if not _workload_known(node, trees):
                continue
            # Values that differ from the template are accepted: those of the group count.
            check = tree_matches_templates.references
        for error in check(context):
            yield RuleViolation(str(error.path), str(error), rule.id)


def _workload_known(node: GroupNode, trees: Trees) -> bool:
    """Return whether the Workload is in the input; otherwise the tree is not compared with it."""
    reference, name = node.group.spec.workload_ref, name_of(node.group)
    return reference is not None and trees.snapshot.known.get("Workload", name.namespace, reference.workload_name) is not None


def _by_pods(node: GroupNode, tree: Tree, trees: Trees) -> Iterator[PriorityMismatch]:
    """Return the pods with a priority other than the root's; not checked without the root."""
    if tree.cyclic or tree.top.orphan:
        return
    expected, members = trees.priority(tree.top.group), trees.members(node)
    unlike = [pod for pod in chain(members.waiting, members.running) if pod.priority != expected]
    if unlike:
        yield PriorityMismatch(tuple(pod.key for pod in unlike), unlike[0].priority, expected, pod_priority_matches.RULE.id)
