"""Why a root is not placed, in one sentence with the amounts of the cause that decides."""

from __future__ import annotations

from collections.abc import Sequence

from kubeapi.base_structs import Record
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.device_refusals import InsufficientDevices
from scheduler_core.causes.domains import DomainCause
from scheduler_core.causes.groups import ChildrenInDomain, FailedGroup, Path, PodsDoNotFit, PodsLeftOver, failing_groups
from scheduler_core.causes.node_count import Amount
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, UntoleratedTaint
from scheduler_core.causes.resources import FragmentedResource, InsufficientResource, NoneFree, RequestTooLarge, ResourceCause
from scheduler_core.wording import phrases
from scheduler_core.wording.device_words import device_words
from scheduler_core.wording.nouns import SHOWN, counted, level, listed
from scheduler_core.wording.phrases import size_of
from scheduler_core.wording.resource_words import COMPARED
from scheduler_core.wording.titles import domain_place


def headline(causes: Sequence[Cause], *, promised: bool = False) -> str:
    """Return ``shortage`` as a heading."""
    text = shortage(causes, promised=promised)
    # The name of a group keeps its letters.
    is_named = isinstance(next((cause for cause, _ in failing_groups(causes)), None), ChildrenInDomain)
    return text if is_named else text[:1].upper() + text[1:]


def shortage(causes: Sequence[Cause], *, promised: bool = False) -> str:
    """Return why pods of the first group that fails have no node; empty if another cause decides.

    Amounts are those of the domain that holds the most of them, on nodes that they can use.  *promised*: capacity for nominated pods of
    other roots is not free.
    """
    cause = next((cause for cause, _ in failing_groups(causes)), None)
    match cause:
        case ChildrenInDomain(_, _, (first, *_), taken):
            return f"{first.path[-1].name} fits alone, but not together with {listed([each.group.name for each in taken], SHOWN)}"
    group = _failing(cause)
    return _of_group(group, " apart from the capacity for nominated pods" if promised else "") if group is not None else ""


def partial_capacity(causes: Sequence[Cause]) -> str:
    """Return for how many pods of the first group that fails there is capacity.

    It is empty if there is none, if a pod requests more than any node has, or if another cause decides.
    """
    group = _failing(next((cause for cause, _ in failing_groups(causes)), None))
    if group is None or not group.best.pods or isinstance(next(iter(group.best.decisive), None), RequestTooLarge):
        return ""
    return _held(group)


def _failing(cause: FailedGroup | PodsLeftOver | ChildrenInDomain | None) -> _Group | None:
    """Return the group, or single pod, that *cause* is about; None if it is about no domain that is too small."""
    match cause:
        case PodsDoNotFit():
            others = len(cause.domains) > 1 or cause.further is not None
            group = _Group(cause.path, cause.demand.requests, cause.domains[0], level(cause.key), others, cause.own_node)
        case PodsLeftOver():
            group = _Group(cause.path, cause.requests, cause.domain, is_rest=True)
        case _:
            return None
    return group if group.best.pods < group.best.wanted else None


class _Group(Record, frozen=True):
    """Group, or single pod, that fails.

    Attributes:
        path: its name after those of its parents.
        requests: requests of each of its pods; empty if they differ.
        best: the domain that holds the most of them.
        noun: the level of that domain; empty without a constraint.
        others: True if there are other domains.
        own_node: the only node of a single pod.
        is_rest: True if its minimum has nodes, and other pods have none.

    """

    path: Path
    requests: tuple[Amount, ...]
    best: DomainCause
    noun: str = ""
    others: bool = False
    own_node: str = ""
    is_rest: bool = False

    @property
    def of_name(self) -> str:
        """Return the end of ``the pods of a``; empty for a root, which is known."""
        return f" of {self.path[-1].name}" if len(self.path) > 1 else ""

    @property
    def pods(self) -> str:
        """Return the pods that need a node: ``its 4 pods``, ``1 more pod of a``."""
        if self.is_rest:
            return f"{counted(self.best.wanted, 'more pod')}{self.of_name}"
        return f"{'the' if self.of_name else 'its'} {counted(self.best.wanted, 'pod') if self.best.wanted > 1 else 'pod'}{self.of_name}"

    @property
    def where(self) -> str:
        """Return the domain, and which of its nodes, the amounts are of; empty for the whole cluster."""
        if self.own_node:
            return f" on its node {self.own_node}"
        return f" {domain_place(self.best.domain)}" if self.best.domain.key else ""

    @property
    def order(self) -> str:
        """Return the order in which its pods are placed, if another order can place more."""
        return " in the order of the queue" if self.best.in_order else ""


def _of_group(group: _Group, besides: str) -> str:
    best = group.best
    shortage = best.decisive[0] if best.decisive else None
    if isinstance(shortage, ResourceCause) and (amounts := _amounts(group, shortage, besides)):
        return amounts
    if not best.decisive and not best.pods and not group.noun:
        states = all(isinstance(each, Cordoned | NodeAffinityMismatch | UntoleratedTaint) for each in best.causes)
        # Of pods that differ, the cause is about the first that is refused.
        some = "one of " if not group.requests and best.wanted > 1 else ""
        return f"{some}{group.pods} can run on no node{group.where}" if states or some else ""
    devices = next((each for each in best.causes if isinstance(each, InsufficientDevices) and each.together is not None), None)
    return f"{_held(group)}{f': {device_words(devices)}' if devices is not None and not best.decisive else ''}"


def _amounts(group: _Group, shortage: ResourceCause, besides: str) -> str:
    """Return the sentence about a resource that is short; empty if it is one about several resources."""
    best, needing = group.best, f" for {group.path[-1].name}" if group.of_name else ""
    match shortage:
        case NoneFree():
            return f"no {phrases.noun_of(shortage.resource, 1)} is free{group.where}{besides}{needing}"
        case RequestTooLarge():
            requested, largest = phrases.amount(shortage.resource, shortage.needed), size_of(shortage.resource, shortage.largest)
            return f"a pod{group.of_name} requests {requested}, more than {COMPARED[shortage.compared_nodes]} ({largest})"
        case InsufficientResource():
            usable = (
                f" on nodes that {'the' if group.of_name else 'its'} pods{group.of_name} can use" if shortage.nodes < best.nodes else ""
            )
            if usable:
                # It names the group.
                needing, besides = "", besides and f",{besides}"
            needed = f"{size_of(shortage.resource, shortage.needed)} {phrases.is_or_are(shortage.resource, shortage.needed)} needed"
            pods = f"more pods{group.order}" if best.pods else "any pod" if group.requests else "the first one"
            more = f", and no {group.noun} can hold {pods}" if group.others else ""
            return f"{_free(shortage)} free{group.where}{usable}{besides}; {needed}{needing}{more}"
        case FragmentedResource():
            free, verb = phrases.amount(shortage.resource, shortage.free), phrases.is_or_are(shortage.resource, shortage.free)
            needed, largest = size_of(shortage.resource, shortage.needed), size_of(shortage.resource, shortage.largest)
            more = f"{_held(group)}: {free} more {verb}" if best.pods else f"{free} {verb}"
            return f"{more} free{group.where}{besides}, but no node has {needed} for one pod{group.of_name} (at most {largest})"
    return ""


def _free(shortage: InsufficientResource) -> str:
    if not shortage.free:
        return f"no {phrases.noun_of(shortage.resource, 1)} is"
    return f"only {phrases.amount(shortage.resource, shortage.free)} {phrases.is_or_are(shortage.resource, shortage.free)}"


def _held(group: _Group) -> str:
    """Return for how many pods the best domain has capacity."""
    best = group.best
    if group.noun:
        if best.pods:
            return f"no {group.noun} has capacity for more than {best.pods} of {group.pods}{group.order}"
        some = ("even one of " if group.requests else "the first of ") if best.wanted > 1 else ""
        return f"no {group.noun} has capacity for {some}{group.pods}"
    if best.wanted == 1:
        return f"no node has capacity for {group.pods}"
    return f"the nodes have capacity for {f'only {best.pods}' if best.pods else 'none'} of {group.pods}{group.order}"
