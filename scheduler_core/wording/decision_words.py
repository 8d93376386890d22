"""Messages of decisions, of their groups and of their pods: causes in words, one after the other."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, get_args

from scheduler_core.causes.attempts import NOTHING_NEW, AttemptResult, FitError
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import ClaimCause, PodsAwaitDevices, PodsLeftOut, ReservationRefused, SelectorsNotEvaluated
from scheduler_core.causes.groups import GroupCause, GroupUnschedulable, PartlyPlaced
from scheduler_core.causes.live import LiveCause
from scheduler_core.causes.pre_enqueue import InvalidTree, MembersGated, MembersWithoutClaims, PreEnqueueCause, QuorumAwaited, TreeViolation
from scheduler_core.causes.searches import (
    AttemptNote,
    NoPlacementExists,
    PlacementMissed,
    PlacementsSampled,
    ProofMissing,
    ProofNotFound,
    ProofObstacle,
    SearchStopped,
)
from scheduler_core.causes.volume_causes import VolumesNotHeld
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.claim_words import claim_words, selector_words
from scheduler_core.wording.greedy_words import greedy_sentence
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.group_words import sentences as group_sentences
from scheduler_core.wording.kube_scheduler import attempt_words, fit_error, pod_unschedulable, unschedulable
from scheduler_core.wording.live_words import live_words
from scheduler_core.wording.nouns import counted, level
from scheduler_core.wording.pre_enqueue_words import pre_enqueue_sentence, pre_enqueue_words
from scheduler_core.wording.sentences import Clause, Sentence
from scheduler_core.wording.truncation import LONGEST_CAUSE, cut, listed_within, with_note
from scheduler_core.wording.volume_words import volumes_not_held

_NO_CERTIFICATE = {
    ProofObstacle.TOO_LONG: "the proof is too long",
    ProofObstacle.OTHER_FACTS: (
        "the proof needs facts that a certificate cannot express, such as pods of several shapes that leave gaps on nodes"
    ),
    ProofObstacle.VOLUMES: "the proof needs the volumes of the pods, or other facts that a certificate cannot express",
    ProofObstacle.DEVICES: "the proof needs more than the numbers of devices by node, or other facts that a certificate cannot express",
}
_NOTES = {
    AttemptNote.CONFLICTS_OVERLOOKED: (
        "kube-scheduler does not evict the pods in conflict with the group: in a group preemption it overlooks anti-affinity of"
        " running pods and ReadWriteOncePod claims in use; strategy complete evicts them"
    ),
    AttemptNote.FAILED_BEFORE_DEVICES: (
        f"kube-scheduler ends the attempt with an error instead: {attempt_words(AttemptResult.STATE_NOT_FOUND)}"
    ),
    AttemptNote.REST_POSTPONED: "waiting until the nominated pods of its root are placed",
}
_CLAUSES = (*get_args(PreEnqueueCause), PodsAwaitDevices, ReservationRefused)
"""Causes that are clauses of one sentence; others are sentences."""
_LISTS = (QuorumAwaited, MembersGated, MembersWithoutClaims)
"""Causes of a root that list its members, each with a limit of its own; together they can be too long."""
_Key = TypeVar("_Key")


def message(decision: Decision) -> str:
    """Return why the root of *decision* is not placed, and notes on the attempt; empty if there is nothing to say.

    What a root that is placed leaves over is stated by its groups; unless pods are evicted for it, so that nothing is placed yet.
    """
    return causes_words(message_causes(decision))


def message_causes(decision: Decision) -> tuple[Cause, ...]:
    """Return the causes that ``message`` states."""
    placed = decision.post_filter is None and any(each.group == decision.root and each.status is Status.SUCCESS for each in decision.groups)
    return tuple(each for each in decision.causes if not (placed and isinstance(each, PartlyPlaced)))


def pending(pods: Mapping[_Key, tuple[Cause, ...]]) -> dict[_Key, str]:
    """Return why each pod, or group, is not placed; those with the same causes share their text."""
    known: dict[tuple[int, ...], str] = {}
    texts = {}
    for pod, causes in pods.items():
        key = tuple(map(id, causes))
        if key not in known:
            known[key] = causes_words(causes)
        texts[pod] = known[key]
    return texts


def by_causes(pods: Iterable[tuple[_Key, tuple[Cause, ...]]]) -> dict[tuple[Cause, ...], list[_Key]]:
    """Return the pods with equal causes together, in the order of *pods*."""
    alike: dict[tuple[Cause, ...], list[_Key]] = {}
    known: dict[tuple[int, ...], list[_Key]] = {}
    for pod, causes in pods:
        key = tuple(map(id, causes))
        if key not in known:
            known[key] = alike.setdefault(causes, [])
        known[key].append(pod)
    return alike


def by_words(pods: Iterable[tuple[_Key, tuple[Cause, ...]]]) -> dict[str, list[_Key]]:
    """Return the pods whose causes have the same words together, in the order of *pods*: different causes can have them."""
    alike: dict[str, list[tuple[int, _Key]]] = {}
    for causes, numbered in by_causes(((number, pod), causes) for number, (pod, causes) in enumerate(pods)).items():
        alike.setdefault(causes_words(causes), []).extend(numbered)
    return {text: [pod for _, pod in sorted(numbered, key=operator.itemgetter(0))] for text, numbered in alike.items()}


def most_frequent(pods: Iterable[tuple[_Key, tuple[Cause, ...]]]) -> list[tuple[str, list[_Key]]]:
    """Return causes in words, each with its pods; those of the most pods first, then by text."""
    return sorted(by_words(pods).items(), key=lambda each: (-len(each[1]), each[0]))


def group_message(group: GroupDecision) -> str:
    """Return why a group is not placed, or not all of it."""
    return causes_words(group.causes)


def own_causes(group: GroupDecision) -> tuple[Cause, ...]:
    """Return the causes of a group; none if they say only that the group is unschedulable."""
    return tuple(cause for cause in group.causes if cause not in NOTHING_NEW)


def sentences(causes: Iterable[Cause]) -> Iterator[Sentence]:
    """Yield *causes* as sentences, for forms that select or list their clauses."""
    for is_clause, several in itertools.groupby(causes, key=lambda each: isinstance(each, (*_CLAUSES, *get_args(LiveCause)))):
        if is_clause:
            first, *rest = several
            own = _sentence(first)
            lead, clauses = (own.lead, own.clauses) if own.clauses or not rest else ("", (Clause(own.lead),))
            yield Sentence(lead, (*clauses, *(Clause(cause_words(each)) for each in rest)))
            continue
        for cause in several:
            yield from group_sentences(cause) if isinstance(cause, GroupCause) else (_sentence(cause),)


def _sentence(cause: Cause) -> Sentence:
    match cause:
        case PlacementMissed():
            return greedy_sentence(cause.limits)
        case QuorumAwaited() | InvalidTree():
            return pre_enqueue_sentence(cause)
        case SelectorsNotEvaluated():
            return Sentence("", tuple(Clause(selector_words(each)) for each in cause.unevaluated))
    return Sentence(cause_words(cause))


def causes_words(causes: Sequence[Cause]) -> str:
    """Return *causes* in words, one after the other; before causes of a live cluster, a long text is cut."""
    text = ""
    for is_live, several in itertools.groupby(causes, key=lambda each: isinstance(each, LiveCause)):
        if is_live:
            text = with_note(text, "; ".join(map(cause_words, several)))
        else:
            text = "; ".join(filter(None, (text, _joined([*several]))))
    return text


def _joined(causes: Sequence[Cause]) -> str:
    """Return causes in words, one after the other; of many violations of rules as many as fit."""
    if isinstance(causes[0], TreeViolation):
        return listed_within([cause_words(each) for each in causes])
    text = ""
    for before, each in zip((None, *causes[:-1]), causes, strict=True):
        words = cause_words(each)
        if text and words:
            is_clause = isinstance(each, _CLAUSES) and not isinstance(before, PodsLeftOut)
            words = f"{text}; {words}" if is_clause else f"{text.rstrip('.')}. {words}"
        text = words or text
    return cut(text) if isinstance(causes[0], _LISTS) else text


def cause_words(cause: Cause) -> str:  # noqa: C901, PLR0911 - one case for each union of causes
    """Return one cause in words."""
    match cause:
        case FitError():
            return fit_error(cause)
        case GroupUnschedulable(group=Name() as group):
            return pod_unschedulable(group)
        case GroupUnschedulable():
            return (
                f"{unschedulable(None)}, {cut(attempt_words(cause.reason), LONGEST_CAUSE)}"
                if cause.reason is not None
                else unschedulable(None)
            )
        case VolumesNotHeld():
            return volumes_not_held(cause)
        case AttemptNote():
            return _NOTES[cause]
        case NoPlacementExists():
            return "No placement exists (proved by complete search)"
        case SearchStopped():
            return f"The search stopped after {cause.explored} steps without a result: a placement may exist; try a larger budget"
        case PlacementMissed() | PlacementsSampled():
            return cut(greedy_sentence(cause.limits).text, LONGEST_CAUSE) if isinstance(cause, PlacementMissed) else _sampled(cause)
    if isinstance(cause, GroupCause):
        return group_words(cause)
    if isinstance(cause, PreEnqueueCause):
        return pre_enqueue_words(cause)
    if isinstance(cause, ClaimCause):
        return claim_words(cause)
    if isinstance(cause, LiveCause):
        return live_words(cause)
    return attempt_words(cause)


def _sampled(cause: PlacementsSampled) -> str:
    noun = counted(cause.feasible, level(cause.key) if cause.key else "placement")
    compared = "one" if cause.compared == 1 else str(cause.compared)
    return (
        f"{cause.group.kind} {cause.group.name} fits in {noun}, of which kube-scheduler compares only {compared}, chosen at random: it can choose"
        " another one; with percentageOfPlacementsToScore: 100 it compares all"
    )


def proof_missing_words(why: ProofMissing) -> str:
    """Return why there is no certificate."""
    return f"the proof was not found within {why.steps} steps" if isinstance(why, ProofNotFound) else _NO_CERTIFICATE[why]
