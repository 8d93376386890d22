"""Causes that the messages above a line state, so that the line need not repeat them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from scheduler_core.causes.attempts import AttemptResult, PlacementsUnavailable, PreemptionReason
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import PodsAwaitDevices, PodsLeftOut
from scheduler_core.causes.groups import AttemptError, GroupCause, GroupUnschedulable, StorageExceeded, VictimsAwaited
from scheduler_core.causes.pre_enqueue import ClaimMissing, InvalidTree, MembersGated, MembersWithoutClaims, QuorumAwaited
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.wording import claim_words, group_words, pre_enqueue_words
from scheduler_core.wording.conditions import scheduler_causes
from scheduler_core.wording.decision_words import message_causes
from scheduler_core.wording.truncation import Enumeration

Stated = frozenset[Hashable]
"""Causes that messages state in full, and members, shortages and violations that they list."""


def stated_above(decision: Decision, above: Iterable[GroupDecision]) -> Stated:
    """Return what the message of *decision* and those of the groups *above* state."""
    return _stated(message_causes(decision)).union(*(stated_by_group(decision, group) for group in above))


def stated_by_group(decision: Decision, group: GroupDecision) -> Stated:
    """Return what the message and the condition of a group state."""
    stated = _stated((*group.causes, *group.notes))
    if (condition := scheduler_causes(decision, group)) is not None:
        result, post_filter = condition
        stated |= _stated((GroupUnschedulable(), result))
        stated |= _stated(() if post_filter is None else (post_filter,))
    return stated


def without_stated(causes: Sequence[Cause], stated: Stated) -> tuple[Cause, ...]:
    """Return those of *causes* that are not in *stated*, and of which not every part is."""
    return tuple(each for each in causes if not (each in stated or ((parts := _enumeration(each)) and stated.issuperset(parts.values))))


def _stated(causes: Iterable[Cause | PreemptionReason]) -> Stated:
    return frozenset(stated for cause in causes for stated in _within(cause))


def _within(cause: Cause | PreemptionReason) -> Iterator[Hashable]:
    """Yield *cause*, and the causes that its text has whole."""
    yield cause
    match cause:
        case GroupUnschedulable() | AttemptError() if cause.reason is not None:
            yield from _within(cause.reason)
        case PlacementsUnavailable() if cause.first is not None:
            yield from _within(cause.first)
        case VictimsAwaited():
            yield AttemptResult.VICTIMS_AWAITED
        case StorageExceeded():
            yield AttemptResult.STORAGE_EXCEEDED
        case _ if isinstance(cause, GroupCause):
            yield from group_words.stated(cause)
        case _ if (listed := _enumeration(cause)) is not None:
            yield from listed.whole
            if isinstance(cause, MembersWithoutClaims):
                yield from (ClaimMissing(reason) for _, reason in cause.pods_without_claim[: len(listed.whole)])


def _enumeration(cause: Cause | PreemptionReason) -> Enumeration | None:
    """Return what the message about *cause* lists; None if it lists nothing."""
    match cause:
        case QuorumAwaited() | MembersGated() | MembersWithoutClaims() | InvalidTree():
            return pre_enqueue_words.enumeration(cause)
        case PodsLeftOut() | PodsAwaitDevices():
            return claim_words.claim_enumeration(cause)
    return None
