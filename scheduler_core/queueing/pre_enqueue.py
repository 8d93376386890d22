"""What becomes of a root before it is tried at all: Invalid, Wait or Error, in that order.

Invalid is what the documents forbid (KEP-6012, Group hierarchy) and no waiting cures.  Wait is what kube-scheduler 1.37.1
holds back from its queue: a parent that has not been seen, a quorum not reached, a scheduling gate.  Error is what its cycle
then refuses of the pods (``validatePodGroup``).
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
    """Why a root is not tried."""

    status: Status
    message: str
    own: Mapping[Name, str] = dataclasses.field(default_factory=dict)
    """What is to be said of some of its groups in particular; of the others the message holds."""


def refusal(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    """Why *tree* is not tried; None if it is."""
    return _invalid(tree, trees, gates) or _orphaned(tree, trees) or _held_back(tree, trees) or _error(tree, trees, gates)


def decision(tree: Tree, trees: Trees, why: PreEnqueueRefusal, conditions: Conditions) -> Decision:
    """The decision on a root that is not tried, with one for each of its groups."""
    groups = []
    for node in tree.nodes:
        name = name_of(node.group)
        message = why.own.get(name, why.message)
        groups.append(GroupDecision(name, why.status, message, conditions=conditions.conditions_after(name, why.status, message)))
    pending = {pod.key: gated(pod) or why.message for pod in trees.waiting(tree)}
    return Decision(tree.name, why.status, why.message, groups=tuple(groups), pending=pending)


def gated(pod: PodRecord) -> str:
    """What kube-scheduler tells a pod with scheduling gates; empty for a pod without."""
    return f"waiting for scheduling gates: [{' '.join(pod.gates)}]" if pod.gates else ""


def stray(pod: PodRecord, trees: Trees) -> str:
    """What kube-scheduler tells a pod whose PodGroup is not there."""
    reason = f'waiting for pods\'s pod group "{pod.group}" to appear in scheduling queue'
    if trees.snapshot.known.get("PodGroup", pod.namespace, pod.group) is not None:
        reason += ": it is there and cannot be read"
    return "; ".join(filter(None, (reason, gated(pod))))


def _invalid(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    found = tree_violations.find_violations(tree, trees, gates)
    if not found:
        return None
    told = [f'{name.kind} "{name.name}": {breach}' for name, breaches in found.items() for breach in breaches]
    own = {name: listed(breaches) for name, breaches in found.items()}
    return PreEnqueueRefusal(Status.INVALID, _INVALID + listed(told, longest=LONGEST - len(_INVALID)), own)


def _orphaned(tree: Tree, trees: Trees) -> PreEnqueueRefusal | None:
    if not tree.top.orphan:
        return None
    name, parent = tree.name, tree.top.group.spec.parent_composite_pod_group_name or ""
    message = f'waiting for CompositePodGroup "{parent}", the parent of {name.kind} "{name.name}", to appear in scheduling queue'
    if trees.snapshot.known.get("CompositePodGroup", name.namespace, parent) is not None:
        message += ": it is there and cannot be read"
    return PreEnqueueRefusal(Status.WAIT, message)


def _held_back(tree: Tree, trees: Trees) -> PreEnqueueRefusal | None:
    """Quorum and gates, told together: one gated member holds back its whole root."""
    own: dict[Name, str] = {}
    reasons: list[str] = []
    if short := quorum.shortages(tree, trees):
        own.update((each.group, str(each)) for each in short)
        reasons.append(f"{quorum.waiting_for(tree)}: {listed([str(each) for each in short], longest=600)}")
    if closed := _gates(tree, trees):
        for leaf, pods in closed.items():
            own[leaf] = "; ".join(filter(None, (own.get(leaf), _gate_message(pods))))
        reasons.append(_gate_message(list(chain.from_iterable(closed.values()))))
    return PreEnqueueRefusal(Status.WAIT, cut("; ".join(reasons)), own) if reasons else None


def _gates(tree: Tree, trees: Trees) -> dict[Name, list[str]]:
    closed: dict[Name, list[str]] = {}
    for node in tree.nodes:
        pods = [f"{pod.key} [{' '.join(pod.gates)}]" for pod in trees.members(node).waiting if pod.gates]
        if pods:
            closed[name_of(node.group)] = pods
    return closed


def _gate_message(pods: Sequence[str]) -> str:
    return f"waiting for scheduling gates of members: {listed(pods, joint=', ', longest=400)}"


def _error(tree: Tree, trees: Trees, gates: Gates) -> PreEnqueueRefusal | None:
    pods = [*trees.waiting(tree), *trees.running(tree)]
    first = pods[0]
    message = _unlike(pods, lambda pod: f'"{pod.scheduler}"', f'"{first.scheduler}"', "the same .spec.schedulerName set, got:")
    if not message and gates.enabled(PREEMPTION_POLICY):
        wanted = _policy(allows=allows_preemption(tree.top.group))
        message = _unlike(pods, _policy_of, wanted, "the same preemption policy as the pod group's preemption policy, got")
    elif not message:
        message = _unlike(pods, _policy_of, _policy_of(first), "the same preemption policy, got")
    return PreEnqueueRefusal(Status.ERROR, message) if message else None


def _unlike(pods: Sequence[PodRecord], seen: Callable[[PodRecord], str], wanted: str, what: str) -> str:
    """In kube-scheduler's words, with the pods that it does not name; empty if all are alike."""
    unlike = [pod for pod in pods if seen(pod) != wanted]
    if not unlike:
        return ""
    pod = unlike[0]
    more = f" and {len(unlike) - 1} more" if len(unlike) > 1 else ""
    return f"all pods in a single pod group should have {what} {seen(pod)} and {wanted}: {pod.key}{more}"


def _policy_of(pod: PodRecord) -> str:
    return _policy(allows=pod.preempts)


def _policy(*, allows: bool) -> str:
    return "PreemptLowerPriority" if allows else "Never"
