"""Wording of the causes that keep a root out of the scheduling queue, as in kube-scheduler where it has a message."""

from __future__ import annotations

from typing import assert_never

from scheduler_core.causes.pre_enqueue import (
    ClaimMissing,
    GroupBeingDeleted,
    InvalidTree,
    MembersGated,
    MembersWithoutClaims,
    NotARoot,
    ParentAwaited,
    PodField,
    PodGroupAwaited,
    PodsDiffer,
    PreEnqueueCause,
    PriorityMismatch,
    QuorumAwaited,
    QuorumShortage,
    RootPolicy,
    RuleViolation,
    SchedulingGated,
    TreeViolation,
)
from scheduler_core.model.names import Name
from scheduler_core.wording.sentences import Clause, Sentence
from scheduler_core.wording.truncation import LONGEST, Enumeration

_INVALID_TREE = "the tree is invalid"
INVALID = f"{_INVALID_TREE}: "
"""Prefix of every message about a tree that breaks rules."""
_EXISTS = "exists but cannot be used"
_UNUSABLE = f": it {_EXISTS}"


def pre_enqueue_words(cause: PreEnqueueCause) -> str:  # noqa: PLR0911 - one case for each kind of cause
    """Return *cause* in words."""
    match cause:
        case SchedulingGated():
            return f"waiting for scheduling gates: [{' '.join(cause.gates)}]"
        case ClaimMissing():
            return cause.reason
        case PodGroupAwaited():
            return _group_awaited(cause) + (_UNUSABLE if cause.exists else "")
        case ParentAwaited():
            return _parent_awaited(cause)
        case QuorumShortage():
            what = "pods" if cause.group.kind == "PodGroup" else "ready child groups"
            missing = cause.minimum - cause.available
            return f"{_name(cause.group)} has {cause.available} of {cause.minimum} {what}, {missing} missing"
        case GroupBeingDeleted():
            return f"{_name(cause.group)} is being deleted: {_never_created(cause)}"
        case QuorumAwaited() | MembersGated() | MembersWithoutClaims() | InvalidTree():
            return enumeration(cause).text
        case RuleViolation() | PriorityMismatch():
            return _violation(cause)
        case PodsDiffer():
            return _unlike(cause)
    assert_never(cause)


def _group_awaited(cause: PodGroupAwaited) -> str:
    if cause.or_ancestor:
        return _not_created(cause.group)
    return f'waiting for pods\'s pod group "{cause.group.name}" to appear in scheduling queue'


def _parent_awaited(cause: ParentAwaited) -> str:
    if cause.names_child:
        return f"{_not_created(cause.child)}: {_name(cause.parent)} {_EXISTS if cause.exists else 'does not exist'}"
    awaited = f"waiting for {_name(cause.parent)}, the parent of {_name(cause.child)}, to appear in scheduling queue"
    return awaited + (_UNUSABLE if cause.exists else "")


def _not_created(group: Name) -> str:
    noun = "pod group" if group.kind == "PodGroup" else "composite pod group"
    return f'{noun} "{group.name}" or one of its composite pod group ancestors has not been created yet'


def _never_created(cause: GroupBeingDeleted) -> str:
    noun = "pod" if cause.group.kind == "PodGroup" else "child group"
    if not cause.missing:
        return f"no more {noun}s can be created"
    return f"the missing {noun}{'' if cause.missing == 1 else 's'} can never be created"


def enumeration(cause: QuorumAwaited | MembersGated | MembersWithoutClaims | InvalidTree) -> Enumeration:
    """Return *cause* with the shortages, pods or violations that its message lists."""
    match cause:
        case QuorumAwaited():
            shortages = tuple((each, pre_enqueue_words(each)) for each in cause.shortages)
            return Enumeration(f"{_quorum(cause)}: ", shortages, longest=600)
        case MembersGated():
            gated = tuple(((pod, gates), f"{pod} [{' '.join(gates)}]") for pod, gates in cause.gated_pods)
            return Enumeration("waiting for scheduling gates of members: ", gated, ", ", 400)
        case MembersWithoutClaims():
            without = tuple(((pod, reason), f"{pod} [{reason}]") for pod, reason in cause.pods_without_claim)
            return Enumeration("waiting for resource claims of members: ", without, ", ", 400)
        case InvalidTree():
            violations = ((group.group, each) for group in cause.groups for each in group.violations)
            named = tuple((each, f"{_name(group)}: {_violation(each)}") for group, each in violations)
            return Enumeration(INVALID, named, longest=LONGEST - len(INVALID))
    assert_never(cause)


def pre_enqueue_sentence(cause: QuorumAwaited | InvalidTree) -> Sentence:
    """Return *cause* with a clause for each shortage, or violation."""
    lead = _quorum(cause) if isinstance(cause, QuorumAwaited) else _INVALID_TREE
    return Sentence(lead, tuple(Clause(text) for _, text in enumeration(cause).parts))


def _quorum(cause: QuorumAwaited) -> str:
    root = cause.root
    if cause.policy is not None:
        awaited = "tree to have at least one ready child group" if cause.policy is RootPolicy.BASIC else "to meet its quorum"
        return f"waiting for {root.kind.lower()}/{root.namespace}/{root.name} {awaited}"
    if root.kind == "PodGroup":
        return "waiting for minCount pods from a gang to appear in scheduling queue"
    return f'waiting for composite pod group "{root.name}" tree to meet quorum'


def _violation(violation: TreeViolation) -> str:
    match violation:
        case RuleViolation():
            return f"{violation.field}: {violation.detail} ({violation.rule})"
        case PriorityMismatch():
            same = "all pods in a single pod group should have the same priority as the pod group's priority"
            pods = _and_more(violation.pod_names[0], len(violation.pod_names) - 1)
            return f"{same}, got {violation.priority} and {violation.root_priority}: {pods} ({violation.rule})"
    assert_never(violation)


def _unlike(cause: PodsDiffer) -> str:
    if cause.field is PodField.SCHEDULER:
        requirement, quote = "the same .spec.schedulerName set, got:", '"'
    else:
        policy = "the same preemption policy as the pod group's preemption policy" if cause.of_group else "the same preemption policy"
        requirement, quote = f"{policy}, got", ""
    values = f"{quote}{cause.value}{quote} and {quote}{cause.expected}{quote}"
    return f"all pods in a single pod group should have {requirement} {values}: {_and_more(cause.pod, cause.more)}"


def _and_more(pod: str, more: int) -> str:
    return f"{pod} and {more} more" if more else pod


def _name(name: Name) -> str:
    return f'{name.kind} "{name.name}"'


def order_words(cause: NotARoot) -> str:
    """Return why a requested order cannot be used."""
    return f'the order names "{cause.spelling}", {_not_a_root(cause)}'


def _not_a_root(cause: NotARoot) -> str:
    if cause.object is None and cause.no_roots:
        return "but there are no roots"
    if cause.object is None:
        similar = " or ".join(f"{each.namespace}/{each.name}" for each in cause.similar)
        return f"which is not a root{f'; did you mean {similar}?' if similar else ''}"
    if cause.group is None:
        return f'which is not a root: it is a {cause.object.kind} in the tree of "{cause.root.name if cause.root else ""}"'
    exists = f'whose root is "{cause.root.name}"' if cause.root is not None else "which does not exist"
    return f'which is not a root: it is a pod of PodGroup "{cause.group.name}", {exists}'
