"""What makes a tree invalid: the breaches of the rules about trees, by group.

KEP-6012 (Group hierarchy; Runtime validation in Beta; Disruption mode, priority class name and priority) wants no group of
such a tree scheduled, and each of them told why.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from scheduler_core.model.decision import Name
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
"""The rules that a tree must keep to be scheduled, in order of id.

Not among them is what waits to be cured by an object still to come (``parent-exists``), what leads to no placement rather
than to a wrong one (``topology-narrows``), and what looks at one object alone.
"""


def find_violations(tree: Tree, trees: Trees, gates: Gates) -> dict[Name, list[str]]:
    """Each group that breaks rules, with all its breaches as ``field: what must hold (rule id)``; empty for a valid tree."""
    # As files are judged: all there is is known, so each group answers for itself and not for what is below it.
    settings = Settings(gates=gates, linting=True)
    found: dict[Name, list[str]] = {}
    for node in tree.nodes:
        breaches = [*_by_rules(node, trees, settings), *_by_pods(node, tree, trees)]
        if breaches:
            found[name_of(node.group)] = breaches
    return found


def _by_rules(node: GroupNode, trees: Trees, settings: Settings) -> Iterator[str]:
    lookup = trees.snapshot.known
    context = Context(node.group, None, Operation.CREATE, settings=settings, lookup=lookup, tree=trees.joined)
    for rule in RULES:
        check = rule.check
        if rule is tree_matches_templates.RULE:
            if not _workload_known(node, trees):
                continue
            check = tree_matches_templates.at_run_time
        for error in check(context):
            yield f"{error.path}: {error} ({rule.id})"


def _workload_known(node: GroupNode, trees: Trees) -> bool:
    """A Workload that is not in the input is not compared with."""
    reference, name = node.group.spec.workload_ref, name_of(node.group)
    return reference is not None and trees.snapshot.known.get("Workload", name.namespace, reference.workload_name) is not None


def _by_pods(node: GroupNode, tree: Tree, trees: Trees) -> Iterator[str]:
    """Pods of another priority than the root's, as kube-scheduler words it; without the root nothing is known of that."""
    if tree.cyclic or tree.top.orphan:
        return
    wanted, members = trees.priority(tree.top.group), trees.members(node)
    unlike = [pod for pod in chain(members.waiting, members.running) if pod.priority != wanted]
    if unlike:
        yield (
            "all pods in a single pod group should have the same priority as the pod group's priority, "
            f"got {unlike[0].priority} and {wanted}: {_and_more([pod.key for pod in unlike])} ({pod_priority_matches.RULE.id})"
        )


def _and_more(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more"
