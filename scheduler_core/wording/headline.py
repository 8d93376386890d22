"""Why a root is not placed, in one sentence with the amounts of the cause that decides."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.causes.cause import Cause
from scheduler_core.causes.device_refusals import InsufficientDevices
from scheduler_core.causes.domains import DomainCause
from scheduler_core.causes.groups import ChildrenDoNotFit, ChildrenInDomain, FailedGroup, PodsDoNotFit
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, UntoleratedTaint
from scheduler_core.causes.resources import FragmentedResource, InsufficientResource, NoneFree, RequestTooLarge, ResourceCause
from scheduler_core.model.nouns import SHOWN, counted, level, listed
from scheduler_core.model.resource_values import row_of
from scheduler_core.wording import phrases
from scheduler_core.wording.device_words import device_words
from scheduler_core.wording.phrases import size_of
from scheduler_core.wording.resource_words import COMPARED
from scheduler_core.wording.titles import domain_text


def headline(causes: Sequence[Cause], *, promised: bool = False) -> str:
    """Return why the pods of the first group that fails have no node; empty if another cause decides, or if its pods differ.

    Amounts are those of the domain that holds the most of them, on nodes that they can use.  *promised*: capacity for nominated pods of
    other roots is not free.
    """
    match _deciding(causes):
        case ChildrenInDomain(_, _, (first, *_), taken):
            return f"{first.path[-1].name} fits alone, but not together with {listed([each.group.name for each in taken], SHOWN)}"
        case PodsDoNotFit() as cause if cause.demand.requests and cause.domains[0].pods < cause.demand.wanted:
            text = _of_group(cause, " apart from the capacity for nominated pods" if promised else "")
            return text[:1].upper() + text[1:]
    return ""


def _deciding(causes: Sequence[Cause]) -> FailedGroup | ChildrenInDomain | None:
    """Return the first group that fails; or the children of which the first to fail fits alone, with what the others took."""
    cause: FailedGroup | None = next((each for each in causes if isinstance(each, PodsDoNotFit | ChildrenDoNotFit)), None)
    while isinstance(cause, ChildrenDoNotFit):
        first = cause.domains[0]
        if first.failing and first.taken:
            return first
        cause = first.failing[0] if first.failing else None
    return cause


def _of_group(cause: PodsDoNotFit, besides: str) -> str:
    best = cause.domains[0]
    shortage = best.decisive[0] if best.decisive else None
    if isinstance(shortage, ResourceCause) and (amounts := _amounts(cause, shortage, besides)):
        return amounts
    if not best.decisive and not best.pods and not cause.key:
        states = all(isinstance(each, Cordoned | NodeAffinityMismatch | UntoleratedTaint) for each in best.causes)
        return f"{_pods(cause)} can run on no node" if states else ""
    devices = next((each for each in best.causes if isinstance(each, InsufficientDevices) and each.together is not None), None)
    return f"{_held(cause, best)}{f': {device_words(devices)}' if devices is not None and not best.decisive else ''}"


def _amounts(cause: PodsDoNotFit, shortage: ResourceCause, besides: str) -> str:
    """Return the sentence about a resource that is short; empty if it is one about several resources."""
    best, name, alone = cause.domains[0], cause.path[-1].name, len(cause.path) == 1
    of_group, whose = ("", "its pods") if alone else (f" for {name}", f"the pods of {name}")
    match shortage:
        case NoneFree():
            return f"no {row_of(shortage.resource)} is free{besides}{_where(cause, best)}{of_group}"
        case RequestTooLarge():
            requested, largest = phrases.amount(shortage.resource, shortage.needed), size_of(shortage.resource, shortage.largest)
            return f"a pod{'' if alone else f' of {name}'} requests {requested}, more than {COMPARED[shortage.compared_nodes]} ({largest})"
        case InsufficientResource():
            where = _where(cause, best) + (f" on nodes that {whose} can use" if shortage.nodes < best.nodes else "")
            needed = (
                f"{size_of(shortage.resource, shortage.needed)} {phrases.is_or_are(shortage.resource, shortage.needed)} needed{of_group}"
            )
            if not shortage.free:
                return f"no {row_of(shortage.resource)} is free{besides}{where}; {needed}"
            free, verb = phrases.amount(shortage.resource, shortage.free), phrases.is_or_are(shortage.resource, shortage.free)
            return f"only {free} {verb} free{besides}{where}; {needed}"
        case FragmentedResource():
            free, verb = phrases.amount(shortage.resource, shortage.free), phrases.is_or_are(shortage.resource, shortage.free)
            needed, largest = size_of(shortage.resource, shortage.needed), size_of(shortage.resource, shortage.largest)
            more = f"{_held(cause, best)}: {free} more {verb}" if best.pods else f"{free} {verb}"
            return f"{more} free{besides}{_where(cause, best)}, but no node has {needed} for one pod{of_group} (at most {largest})"
    return ""


def _held(cause: PodsDoNotFit, best: DomainCause) -> str:
    """Return how many pods the best domain holds."""
    pods, noun = _pods(cause), level(cause.key)
    if noun:
        some = f"more than {best.pods} of " if best.pods else "even one of " if best.wanted > 1 else ""
        return f"no {noun} can hold {some}{pods}"
    if best.wanted == 1:
        return f"no node can hold {pods}"
    return f"the nodes can hold {f'only {best.pods}' if best.pods else 'none'} of {pods}"


def _pods(cause: PodsDoNotFit) -> str:
    number = counted(cause.demand.wanted, "pod") if cause.demand.wanted > 1 else "pod"
    return f"its {number}" if len(cause.path) == 1 else f"the {number} of {cause.path[-1].name}"


def _where(cause: PodsDoNotFit, best: DomainCause) -> str:
    """Return the domain of the amounts, if they are not those of all nodes."""
    if cause.own_node:
        return f" on its node {cause.own_node}"
    if not best.domain.key:
        return ""
    others = len(cause.domains) > 1 or cause.further is not None
    return f" {'on' if level(cause.key) == 'node' else 'in'} {domain_text(best.domain)}{', which can hold the most pods' if others and best.pods else ''}"
