"""Causes that the messages above a line state, so that the line need not repeat them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from scheduler_core.causes.attempts import AttemptResult, PlacementsUnavailable, PreemptionReason
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import PodsAwaitDevices, PodsLeftOut
from scheduler_core.causes.groups import AttemptError, GroupCause, GroupUnschedulable, StorageExceeded, VictimsAwaited
from scheduler_core.causes.pre_enqueue import ClaimMissing, InvalidTree, MembersGated, MembersWithoutClaims, QuorumAwaited
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.wording import claim_words, group_words, pre_enqueue_words
from scheduler_core.wording.conditions import scheduler_causes
from scheduler_core.wording.decision_words import by_causes, message_causes, most_frequent
from scheduler_core.wording.truncation import Enumeration

StatedCauses = frozenset[Hashable]
"""Causes that messages state in full, and members, shortages and violations that they list."""


class Statements:
    """Causes that the messages of a decision, and those of its groups, state."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision
        self._of_root = _stated(message_causes(decision))
        self._of_groups: dict[Name, StatedCauses] = {}

    def above(self, groups: Iterable[GroupDecision]) -> StatedCauses:
        """Return what the message of the root and those of *groups* state."""
        return self._of_root.union(*map(self.of_group, groups))

    def of_group(self, group: GroupDecision) -> StatedCauses:
        """Return what the message and the condition of a group state."""
        if (known := self._of_groups.get(group.group)) is not None:
            return known
        condition = scheduler_causes(self._decision, group)
        result, post_filter = condition or (None, None)
        shared = (GroupUnschedulable(), result) if result is not None else ()
        stated = _stated((*group.causes, *group.notes, *shared, *(() if post_filter is None else (post_filter,))))
        self._of_groups[group.group] = stated
        return stated


def reasons_left(pods: Mapping[str, tuple[Cause, ...]], stated: StatedCauses) -> list[tuple[str, list[str]]]:
    """Return the causes of *pods* that are not *stated*, in words, each with its pods; those of the most pods first."""
    kept = ((without_stated(causes, stated), alike) for causes, alike in by_causes(pods.items()).items())
    return most_frequent((pod, causes) for causes, alike in kept if causes for pod in alike)


def without_stated(causes: Sequence[Cause], stated: StatedCauses) -> tuple[Cause, ...]:
    """Return those of *causes* that are not in *stated*, and of which not every part is."""
    return tuple(
        each for each in causes if not (_shared(each) in stated or ((parts := _enumeration(each)) and stated.issuperset(parts.values)))
    )


def _shared(cause: Cause) -> Cause:
    """Return *cause*, or without its parts what a pod says if it only names its group: the message of the group says why."""
    return GroupUnschedulable() if isinstance(cause, GroupUnschedulable) and cause.group is not None else cause


def _stated(causes: Iterable[Cause | PreemptionReason]) -> StatedCauses:
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
