"""Refusals of a root before scheduling: Invalid, Wait or Error, in that order.

Invalid is what the KEPs forbid (KEP-6012, Group hierarchy); waiting does not help.  Wait is what kube-scheduler
keeps out of its queue: a missing parent, a missing quorum, a scheduling gate.  Error is what its scheduling cycle
rejects because of the pods (``validatePodGroup``); from 1.38 on it rejects most invalid trees too (``tree_validation``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubeapi.base_structs import Record, record_field
from scheduler_core.causes.attempts import TreeRefused
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.pre_enqueue import (
    ClaimMissing,
    GatedPod,
    InvalidTree,
    MembersGated,
    MembersWithoutClaims,
    ParentAwaited,
    PodField,
    PodGroupAwaited,
    PodsDiffer,
    PodWithoutClaim,
    SchedulingGated,
)
from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.queueing import quorum, tree_validation, tree_violations
from scheduler_core.queueing.trees import Tree, Trees, allows_preemption, name_of, policy_word
from validators.gates import PREEMPTION_POLICY, Gates


class PreEnqueueRefusal(Record, frozen=True):
    """Reason why a root is not tried."""

    status: Status
    causes: tuple[Cause, ...]
    own: Mapping[Name, tuple[Cause, ...]] = record_field(default_factory=dict)
    """Causes of some of its groups; for the other groups the common causes apply."""
    reason: TreeRefused | None = None
    """What kube-scheduler reports on all groups; None if it reports nothing."""


def refusal(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    """Return why *tree* is not tried; None if it is tried."""
    waits = _orphaned(tree, trees) or _held_back(tree, trees)
    validates = trees.snapshot.behavior.validates_trees and waits is None and not tree.cyclic
    refused = tree_validation.find_refusal(tree, trees) if validates else None
    return _invalid(tree, trees, gates, refused) or waits or (_refused(refused) if validates else _error(tree, trees, gates))


def decision(tree: Tree, trees: Trees, why: PreEnqueueRefusal, conditions: Conditions) -> Decision:
    """Return the decision on a root that is not tried, with one for each of its groups."""
    names = map(name_of, (node.group for node in tree.nodes))
    groups = tuple(
        GroupDecision(name, why.status, why.own.get(name, why.causes), reason=why.reason, present=conditions.present(name))
        for name in names
    )
    pending = {pod.key: gate_causes(pod) or why.causes for pod in trees.waiting(tree)}
    return Decision(tree.name, why.status, why.causes, groups=groups, pending=pending, behavior=trees.snapshot.behavior)


def gate_causes(pod: PodRecord) -> tuple[SchedulingGated | ClaimMissing, ...]:
    """Return why a pod with scheduling gates, or without one of its resource claims, is not tried; nothing for other pods."""
    if pod.gates:
        return (SchedulingGated(tuple(pod.gates)),)
    return (ClaimMissing(pod.held),) if pod.held else ()


def stray(pod: PodRecord, trees: Trees) -> tuple[Cause, ...]:
    """Return why a pod whose PodGroup does not exist is not tried."""
    exists = trees.snapshot.known.get("PodGroup", pod.namespace, pod.group) is not None
    return (
        PodGroupAwaited(Name("PodGroup", pod.namespace, pod.group), exists, trees.snapshot.behavior.names_awaited_roots),
        *gate_causes(pod),
    )


def _invalid(tree: Tree, trees: Trees, gates: Gates, refused: TreeRefused | None) -> PreEnqueueRefusal | None:
    groups = tree_violations.find_violations(tree, trees, gates)
    own = {each.group: each.violations for each in groups}
    return PreEnqueueRefusal(Status.INVALID, (InvalidTree(groups),), own, refused) if groups else None


def _refused(refused: TreeRefused | None) -> PreEnqueueRefusal | None:
    """Return the refusal of a tree that no rule of the KEPs forbids, and that kube-scheduler does not place."""
    if refused is None:
        return None
    status = Status.ERROR if refused.object.kind == "Pod" else Status.INVALID
    return PreEnqueueRefusal(status, (refused,), reason=refused)


def _orphaned(tree: Tree, trees: Trees) -> PreEnqueueRefusal | None:
    if not tree.top.orphan:
        return None
    parent = tree.top.group.spec.parent_composite_pod_group_name or ""
    exists = trees.snapshot.known.get("CompositePodGroup", tree.name.namespace, parent) is not None
    names_child = trees.snapshot.behavior.names_awaited_roots
    awaited = ParentAwaited(Name("CompositePodGroup", tree.name.namespace, parent), tree.name, exists, names_child)
    return PreEnqueueRefusal(Status.WAIT, (awaited,))


def _held_back(tree: Tree, trees: Trees) -> PreEnqueueRefusal | None:
    """Return the missing members and the gated members; one gated member holds back the whole root."""
    if tree.cyclic:
        return None
    own: dict[Name, tuple[Cause, ...]] = {}
    causes: list[Cause] = []
    if (missing := quorum.awaited(tree, trees)) is not None:
        own.update((each.group, (each,)) for each in missing.shortages)
        deleted = quorum.being_deleted(tree, missing)
        own.update((each.group, (*own.get(each.group, ()), each)) for each in deleted)
        causes += [missing, *deleted]
    waiting = {name_of(node.group): trees.members(node).waiting for node in tree.nodes}
    gated = {name: tuple(GatedPod(pod.key, tuple(pod.gates)) for pod in pods if pod.gates) for name, pods in waiting.items()}
    held = {name: tuple(PodWithoutClaim(pod.key, pod.held) for pod in pods if pod.held and not pod.gates) for name, pods in waiting.items()}
    for name in waiting:
        if gated[name]:
            own[name] = (*own.get(name, ()), MembersGated(gated[name]))
    for name in waiting:
        if held[name]:
            own[name] = (*own.get(name, ()), MembersWithoutClaims(held[name]))
    if any(gated.values()):
        causes.append(MembersGated(tuple(pod for pods in gated.values() for pod in pods)))
    if any(held.values()):
        causes.append(MembersWithoutClaims(tuple(pod for pods in held.values() for pod in pods)))
    return PreEnqueueRefusal(Status.WAIT, tuple(causes), own) if causes else None


def _error(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    pods = [*trees.waiting(tree), *trees.running(tree)]
    if not pods:
        return None
    of_group = gates.enabled(PREEMPTION_POLICY)
    expected = policy_word(allows=allows_preemption(tree.top.group)) if of_group else _policy_of(pods[0])
    cause = _unlike(pods, PodField.SCHEDULER, lambda pod: pod.scheduler, pods[0].scheduler)
    cause = cause or _unlike(pods, PodField.PREEMPTION_POLICY, _policy_of, expected, of_group=of_group)
    return PreEnqueueRefusal(Status.ERROR, (cause,)) if cause is not None else None


def _unlike(
    pods: Sequence[PodRecord], field: PodField, value_of: Callable[[PodRecord], str], expected: str, *, of_group: bool = False
) -> PodsDiffer | None:
    """Return the pods that differ from *expected*; None if all are equal."""
    different = [pod for pod in pods if value_of(pod) != expected]
    if not different:
        return None
    return PodsDiffer(field, different[0].key, value_of(different[0]), expected, len(different) - 1, of_group)


def _policy_of(pod: PodRecord) -> str:
    return policy_word(allows=pod.preempts)
