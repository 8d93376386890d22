"""Refusals of a root before scheduling: Invalid, Wait or Error, in that order.

Invalid is what the KEPs forbid (KEP-6012, Group hierarchy); waiting does not help.  Wait is what kube-scheduler 1.37.1
keeps out of its queue: a missing parent, a missing quorum, a scheduling gate.  Error is what its scheduling cycle
rejects (``validatePodGroup``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision, GroupDecision, Name, Status
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.wording import LONGEST, cut, listed
from scheduler_core.queueing import quorum, tree_violations
from scheduler_core.queueing.trees import Tree, Trees, allows_preemption, name_of
from validators.gates import PREEMPTION_POLICY, Gates

_INVALID = "the tree is invalid: "


@dataclasses.dataclass(frozen=True, slots=True)
class PreEnqueueRefusal:
    """Reason why a root is not tried."""

    status: Status
    message: str
    own: Mapping[Name, str] = dataclasses.field(default_factory=dict)
    """Messages of some of its groups; for the other groups the common message applies."""


def refusal(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    """Return why *tree* is not tried; None if it is tried."""
    return _invalid(tree, trees, gates) or _orphaned(tree, trees) or _held_back(tree, trees) or _error(tree, trees, gates)


def decision(tree: Tree, trees: Trees, why: PreEnqueueRefusal, conditions: Conditions) -> Decision:
    """Return the decision on a root that is not tried, with one for each of its groups."""
    groups = []
    for node in tree.nodes:
        name = name_of(node.group)
        message = why.own.get(name, why.message)
        groups.append(GroupDecision(name, why.status, message, conditions=conditions.conditions_after(name, why.status, message)))
    pending = {pod.key: gate_message(pod) or why.message for pod in trees.waiting(tree)}
    return Decision(tree.name, why.status, why.message, groups=tuple(groups), pending=pending)


def gate_message(pod: PodRecord) -> str:
    """Return kube-scheduler's message for a pod with scheduling gates, or without one of its resource claims; empty for other pods."""
    return f"waiting for scheduling gates: [{' '.join(pod.gates)}]" if pod.gates else pod.held


def stray(pod: PodRecord, trees: Trees) -> str:
    """Return kube-scheduler's message for a pod whose PodGroup does not exist."""
    reason = f'waiting for pods\'s pod group "{pod.group}" to appear in scheduling queue'
    if trees.snapshot.known.get("PodGroup", pod.namespace, pod.group) is not None:
        reason += ": it exists but cannot be used"
    return "; ".join(filter(None, (reason, gate_message(pod))))


def _invalid(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    violations = tree_violations.find_violations(tree, trees, gates)
    if not violations:
        return None
    messages = [f'{name.kind} "{name.name}": {message}' for name, group_messages in violations.items() for message in group_messages]
    own = {name: listed(group_messages) for name, group_messages in violations.items()}
    return PreEnqueueRefusal(Status.INVALID, _INVALID + listed(messages, longest=LONGEST - len(_INVALID)), own)


def _orphaned(tree: Tree, trees: Trees) -> PreEnqueueRefusal | None:
    if not tree.top.orphan:
        return None
    name, parent = tree.name, tree.top.group.spec.parent_composite_pod_group_name or ""
    message = f'waiting for CompositePodGroup "{parent}", the parent of {name.kind} "{name.name}", to appear in scheduling queue'
    if trees.snapshot.known.get("CompositePodGroup", name.namespace, parent) is not None:
        message += ": it exists but cannot be used"
    return PreEnqueueRefusal(Status.WAIT, message)


def _held_back(tree: Tree, trees: Trees) -> PreEnqueueRefusal | None:
    """Return one message about missing members and gated members; one gated member holds back the whole root."""
    own: dict[Name, str] = {}
    reasons: list[str] = []
    if missing := quorum.shortages(tree, trees):
        own.update((each.group, str(each)) for each in missing)
        reasons.append(f"{quorum.waiting_for(tree)}: {listed([str(each) for each in missing], longest=600)}")
    for message_of, gated in ((_members_gate_message, _gates(tree, trees)), (_members_claim_message, _held(tree, trees))):
        for leaf, pods in gated.items():
            own[leaf] = "; ".join(filter(None, (own.get(leaf), message_of(pods))))
        if gated:
            reasons.append(message_of(list(chain.from_iterable(gated.values()))))
    return PreEnqueueRefusal(Status.WAIT, cut("; ".join(reasons)), own) if reasons else None


def _gates(tree: Tree, trees: Trees) -> dict[Name, list[str]]:
    gated: dict[Name, list[str]] = {}
    for node in tree.nodes:
        pods = [f"{pod.key} [{' '.join(pod.gates)}]" for pod in trees.members(node).waiting if pod.gates]
        if pods:
            gated[name_of(node.group)] = pods
    return gated


def _held(tree: Tree, trees: Trees) -> dict[Name, list[str]]:
    """Return the reasons of the members without one of their resource claims, by PodGroup."""
    held: dict[Name, list[str]] = {}
    for node in tree.nodes:
        reasons = [f"{pod.key} [{pod.held}]" for pod in trees.members(node).waiting if pod.held and not pod.gates]
        if reasons:
            held[name_of(node.group)] = reasons
    return held


def _members_claim_message(pods: Sequence[str]) -> str:
    return f"waiting for resource claims of members: {listed(pods, joint=', ', longest=400)}"


def _members_gate_message(pods: Sequence[str]) -> str:
    return f"waiting for scheduling gates of members: {listed(pods, joint=', ', longest=400)}"


def _error(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    pods = [*trees.waiting(tree), *trees.running(tree)]
    if not pods:
        return None
    first = pods[0]
    message = _unlike(pods, lambda pod: f'"{pod.scheduler}"', f'"{first.scheduler}"', "the same .spec.schedulerName set, got:")
    if not message and gates.enabled(PREEMPTION_POLICY):
        expected = _policy(allows=allows_preemption(tree.top.group))
        message = _unlike(pods, _policy_of, expected, "the same preemption policy as the pod group's preemption policy, got")
    elif not message:
        message = _unlike(pods, _policy_of, _policy_of(first), "the same preemption policy, got")
    return PreEnqueueRefusal(Status.ERROR, message) if message else None


def _unlike(pods: Sequence[PodRecord], value_of: Callable[[PodRecord], str], expected: str, requirement: str) -> str:
    """Return kube-scheduler's message with the names of the pods; empty if all are equal."""
    different = [pod for pod in pods if value_of(pod) != expected]
    if not different:
        return ""
    pod = different[0]
    more = f" and {len(different) - 1} more" if len(different) > 1 else ""
    return f"all pods in a single pod group should have {requirement} {value_of(pod)} and {expected}: {pod.key}{more}"


def _policy_of(pod: PodRecord) -> str:
    return _policy(allows=pod.preempts)


def _policy(*, allows: bool) -> str:
    return "PreemptLowerPriority" if allows else "Never"
