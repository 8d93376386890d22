"""Wording of causes of groups: the group that fails first, by domain, then its parents, level by level."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import assert_never

from kubeapi.base_structs import replaced
from scheduler_core.causes.groups import (
    AttemptError,
    ChildFails,
    ChildrenDoNotFit,
    ChildrenInDomain,
    DeletionsAwaited,
    FailedGroup,
    FitsAlone,
    GroupCause,
    InsufficientCapacity,
    LeavingPod,
    LeavingPodsLeftOut,
    MinimumOutOfReach,
    NoDomain,
    NoPlacement,
    NotTried,
    PartlyPlaced,
    Path,
    PodDemand,
    PodsDoNotFit,
    PodsLeftOver,
    SiblingPlacement,
    StorageExceeded,
    TooFewMembers,
    VictimsAwaited,
)
from scheduler_core.causes.node_count import Amount
from scheduler_core.causes.plugin_failures import PluginFailed
from scheduler_core.wording import phrases, volume_words
from scheduler_core.wording.domain_words import domain_clauses, domains_words, rest_clause
from scheduler_core.wording.filter_words import attempt_ended_words, failure_words
from scheduler_core.wording.itself import ITSELF
from scheduler_core.wording.kube_scheduler import STORAGE_EXCEEDED, VICTIMS_AWAITED, attempt_words
from scheduler_core.wording.nouns import SHOWN, counted, level, listed, preposition
from scheduler_core.wording.sentences import Clause, ClauseDomains, Sentence
from scheduler_core.wording.titles import domain_place, domain_text
from scheduler_core.wording.truncation import LONGEST_CAUSE, cut, whole_within

_JOINT = ". "
_Leaf = TooFewMembers | NoPlacement | NoDomain | MinimumOutOfReach | InsufficientCapacity | ChildFails
"""Causes whose sentence begins with the name of the group."""


def group_words(cause: GroupCause) -> str:
    """Return *cause* in words, the innermost group first."""
    text = _JOINT.join(each.text for each in sentences(cause))
    return text if isinstance(cause, PluginFailed | StorageExceeded) else cut(text, LONGEST_CAUSE)


def stated(cause: GroupCause) -> Iterator[GroupCause]:
    """Yield the causes of groups inside *cause* that ``group_words`` states in full."""
    several = sentences(cause)
    for sentence in several[: whole_within([each.text for each in several], _JOINT, LONGEST_CAUSE)]:
        if sentence.cause is not None:
            yield sentence.cause


def sentences(cause: GroupCause) -> list[Sentence]:
    """Return the sentences about a group."""
    match cause:
        case PartlyPlaced():
            reasons = [sentence for each in cause.groups for sentence in sentences(each)]
            if more := len(reasons[SHOWN:]):
                reasons[SHOWN:] = [Sentence(f"{counted(more, 'more group')} {'has' if more == 1 else 'have'} pods without a node")]
            return reasons
        case ChildrenDoNotFit():
            return [*_first_domain(cause), replaced(_by_domain(cause), cause=cause)]
        case PluginFailed():
            ended = [] if cause.ended is None else [Sentence(attempt_ended_words(cause.ended))]
            return [Sentence(failure_words(cause.failure)), *ended]
        case PodsDoNotFit():
            return [Sentence(f"{_subject(cause.path)} {_head(cause)}", tuple(_domains(cause)), cause)]
        case PodsLeftOver():
            return [Sentence(f"{_subject(cause.path)} {_left_over(cause)}", tuple(domain_clauses(cause.domain)), cause)]
    return [Sentence(_deletions(cause) if isinstance(cause, DeletionsAwaited | LeavingPodsLeftOut) else _statement(cause), cause=cause)]


_Stated = (
    TooFewMembers
    | NoPlacement
    | NoDomain
    | MinimumOutOfReach
    | InsufficientCapacity
    | ChildFails
    | StorageExceeded
    | AttemptError
    | VictimsAwaited
    | FitsAlone
    | NotTried
)
"""Causes that one sentence states."""


def _statement(cause: _Stated) -> str:
    match cause:
        case StorageExceeded():
            figures = volume_words.storage_exceeded(cause.classes)
            return f"{_subject(cause.path)} does not fit: {STORAGE_EXCEEDED}{figures and ': '}{figures}"
        case AttemptError():
            return f"{_subject(cause.path)}: {attempt_words(cause.reason)}"
        case VictimsAwaited():
            return VICTIMS_AWAITED
        case FitsAlone():
            where = f" {domain_place(cause.domain)}" if cause.domain is not None else ""
            return f"fits by itself{where}, but {f'group {cause.sibling.name}' if cause.sibling is not None else 'its parent'} does not"
        case NotTried():
            return f"not tried: {cause.because.path[-1].name} {_predicate(cause.because)}"
    return f"{_subject(cause.path)} {_predicate(cause)}"


def _deletions(cause: DeletionsAwaited | LeavingPodsLeftOut) -> str:
    leaving = _leaving(cause.leaving)
    if isinstance(cause, LeavingPodsLeftOut):
        return f"Counted as gone: {leaving}"
    return f"{_subject(cause.path)} fits when {leaving} {'is' if len(cause.leaving) == 1 else 'are'} gone"


def _leaving(pods: Sequence[LeavingPod]) -> str:
    """Return pods that are being deleted: ``1 pod that is being deleted (default/a on n1)``."""
    named = listed([f"{each.pod.namespace}/{each.pod.name} on {each.node}" for each in pods])
    return f"{counted(len(pods), 'pod')} that {'is' if len(pods) == 1 else 'are'} being deleted ({named})"


def _predicate(cause: _Leaf) -> str:
    """Return the rest of a sentence that begins with the name of a group or pod."""
    match cause:
        case TooFewMembers():
            return f"has {cause.available} of the {counted(cause.minimum, _members(cause))} that it needs"
        case NoPlacement():
            return "has no candidate placement: the plugins generate none"
        case NoDomain():
            return _no_domain(cause)
        case MinimumOutOfReach():
            return f"can no longer place {_groups(cause.children, cause.minimum)}"
        case InsufficientCapacity():
            where = f" {preposition(cause.key)} one {level(cause.key)}" if cause.key else ""
            ordered = ", placed in the order of the queue" if cause.in_order else ""
            return f"has capacity for {cause.pods} of {counted(cause.wanted, 'pod')}{where}{ordered}"
        case ChildFails():
            return "fails"
    assert_never(cause)


def _brief(cause: FailedGroup, above: int) -> str:
    """Return the cause of a child in one domain in short; the first *above* groups of its path are not named."""
    match cause:
        case TooFewMembers():
            return f"{_subject(cause.path[above:])} has {cause.available} of {counted(cause.minimum, _members(cause))}"
        case NoPlacement() | NoDomain():
            key = cause.key if isinstance(cause, NoDomain) else ""
            return f"{_subject(cause.path[above:])} has no candidate {level(key) or 'placement'}"
        case InsufficientCapacity() | ChildFails():
            return f"{_subject(cause.path[above:])} {_predicate(cause)}"
        case PodsDoNotFit() | ChildrenDoNotFit():
            # Further domains have short causes only.
            return group_words(cause)
    assert_never(cause)


def _subject(path: Path) -> str:
    """Return the name of the group in a sentence: ``group decode of serve``, ``pod web-0``, ``it``."""
    names = [each.name for each in reversed(path) if each != ITSELF]
    return f"{_noun(path)} {' of '.join(names)}" if names else ITSELF.name


def _noun(path: Path) -> str:
    return "pod" if path[-1].kind == "Pod" else "group"


def _members(cause: TooFewMembers) -> str:
    return "group" if cause.path[-1].kind == "CompositePodGroup" else "pod"


def _no_domain(cause: NoDomain) -> str:
    noun, where = level(cause.key), domain_text(cause.inside)
    if cause.pinned:
        return f"must stay {preposition(cause.key)} the {noun} where its members run, but {where} has no node of that {noun}"
    if cause.empty_values:
        nodes = f"{cause.empty_values} {'node of' if cause.empty_values == 1 else 'nodes of'} {where}"
        return f"has no candidate {noun}: the label {cause.key} of {nodes} is empty, which is no {noun} in this version of Kubernetes"
    what = "reaches devices with one value of the attribute" if cause.device_attribute else "has the label"
    return f"has no candidate {noun}: no node of {where} {what} {cause.key}"


def _head(cause: PodsDoNotFit) -> str:
    inside = f" {domain_place(cause.inside)}"
    if _noun(cause.path) == "pod":
        requests = _requests(cause.demand.requests, 1)
        where = (
            f"on its node {cause.own_node}"
            if cause.own_node
            else f"on any node{inside}"
            if preposition(cause.inside.key) == "in"
            else inside.strip()
        )
        return f"{f'({requests}) ' if requests else ''}does not fit {where}"
    noun = level(cause.key)
    where = f" {preposition(cause.key)} any {noun}" if noun else ""
    return f"does not fit{where}{inside if cause.inside.key or not cause.key else ''} ({_demand(cause.demand)})"


def _demand(demand: PodDemand) -> str:
    noun = "pending pod" if demand.running else "pod"
    some = f"{demand.wanted} of its {demand.pending} {noun}s" if demand.wanted < demand.pending else counted(demand.wanted, noun)
    requests = _requests(demand.requests, demand.wanted)
    running = f"; {demand.running} running" if demand.running else ""
    return f"{some}{f' with {requests}' if requests else ''}{running}"


def _requests(requests: Sequence[Amount], pods: int) -> str:
    """Return the requests of each of *pods* equal pods: ``8 cpu, 4 nvidia.com/gpu each``; empty if the pods differ."""
    shown = ", ".join(phrases.amount(each.resource, each.amount) for each in requests[:SHOWN])
    return f"{shown}{' each' if pods > 1 else ''}" if shown else ""


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _domains(cause: PodsDoNotFit) -> list[Clause]:
    """Return a clause for each domain, and one about the domains that are not described."""
    alone = cause.undivided and not cause.domains[0].pods
    clauses = domain_clauses(cause.domains[0], own_node=bool(cause.own_node)) if alone else domains_words(cause.domains, cause.key)
    if cause.further is not None:
        clauses.append(rest_clause(ClauseDomains(cause.further.number, cause.key, cause.further.most)))
    elsewhere = [Clause(volume_words.elsewhere(cause.elsewhere, _noun(cause.path)))] if cause.elsewhere is not None else []
    return [*elsewhere, *clauses]


def _left_over(cause: PodsLeftOver) -> str:
    more = f"{counted(cause.domain.wanted, 'more pod')}{_in_brackets(_requests(cause.requests, cause.domain.wanted))}"
    return f"has its minimum, but no node for {more} {domain_place(cause.domain.domain)}"


def _first_domain(cause: ChildrenDoNotFit) -> list[Sentence]:
    """Return sentences about the domain in which the most children fit: the child that fails first, and its siblings."""
    first = cause.domains[0]
    if not first.failing:
        return [Sentence(f"{_subject(cause.path)}: {attempt_words(cause.failure.reason) if cause.failure is not None else ''}")]
    reasons = sentences(first.failing[0])
    if first.taken:
        reasons.append(Sentence(f"It would fit by itself, but earlier {_taken(first.taken)}"))
    if others := [each.path[-1].name for each in first.failing[1:]]:
        reasons.append(Sentence(f"{listed(others)} {'does' if len(others) == 1 else 'do'} not fit either"))
    return reasons


def _by_domain(cause: ChildrenDoNotFit) -> Sentence:
    """Return how many children of a composite fit in each domain."""
    name, groups, first = cause.path[-1].name, _groups(cause.children, cause.minimum), cause.domains[0]
    if not cause.key:
        return Sentence(f"{name} needs {groups}", (Clause(f"{first.fitting or 'none'} {'fits' if first.fitting <= 1 else 'fit'}"),))
    reasons = ["", *(_brief(each.failing[0], len(cause.path)) if each.failing else "" for each in cause.domains[1:])]
    clauses = []
    pairs: zip[tuple[ChildrenInDomain, str]] = zip(cause.domains, reasons, strict=True)
    for (fitting, why), equal in itertools.groupby(pairs, key=lambda pair: (pair[0].fitting, pair[1])):
        alike = [each.domain for each, _ in equal]
        clauses.append(Clause(phrases.holds_phrase(alike, fitting) + _in_brackets(why), domains=ClauseDomains(len(alike), cause.key)))
    if cause.further is not None:
        clauses.append(rest_clause(ClauseDomains(cause.further.number, cause.key)))
    return Sentence(f"{name} needs {groups} {preposition(cause.key)} one {level(cause.key)}", tuple(clauses))


def _groups(total: int, minimum: int) -> str:
    if minimum < total:
        return f"{minimum} of its {total} groups"
    return {1: "its group", 2: "both of its groups"}.get(total, f"all {total} of its groups")


def _taken(siblings: Sequence[SiblingPlacement]) -> str:
    """Return what earlier siblings took: ``g1 and g2 took rack r1, g3 placed 7 pods, 3 more than it needs``."""
    parts = []
    for where, equal in itertools.groupby(siblings, key=_where):
        parts.append(f"{listed([each.group.name for each in equal])} {where}")
    return listed(parts)


def _where(sibling: SiblingPlacement) -> str:
    place = f"took {domain_text(sibling.domain)}" if sibling.domain is not None else ""
    placed = f"placed {counted(sibling.pods, 'pod')}"
    if not sibling.extra:
        return place or placed
    more = f"{placed}, {sibling.extra} more than it needs"
    return f"{place} and {more}" if place else more
