"""Wording of missing resources of nodes."""

from __future__ import annotations

from typing import assert_never

from scheduler_core.causes.node_count import Amount
from scheduler_core.causes.resources import (
    ComparedNodes,
    FragmentedResource,
    FragmentedResources,
    InsufficientOnNodes,
    InsufficientResource,
    NoneFree,
    RequestTooLarge,
    ResourceCause,
)
from scheduler_core.wording import phrases
from scheduler_core.wording.phrases import size_of

_SHOWN = 3
"""Maximum number of resources in a list."""
COMPARED = {
    ComparedNodes.OWN: "its node has",
    ComparedNodes.ALL: "any node has",
    ComparedNodes.USABLE: "any node that it can use has",
}


def resource_words(cause: ResourceCause) -> str:
    """Return *cause* in words: ``short of 2 cpu: 6 free, 8 needed``."""
    match cause:
        case NoneFree():
            return f"no {phrases.noun_of(cause.resource, 1)} is free"
        case RequestTooLarge():
            requested, largest = phrases.amount(cause.resource, cause.needed), size_of(cause.resource, cause.largest)
            return f"a pod requests {requested}, more than {COMPARED[cause.compared_nodes]} ({largest})"
        case InsufficientResource():
            sums = f"{size_of(cause.resource, cause.free)} free, {size_of(cause.resource, cause.needed)} needed"
            return f"short of {phrases.amount(cause.resource, cause.needed - cause.free)}: {sums}"
        case InsufficientOnNodes():
            return f"{phrases.verb(cause.nodes, 'has', 'have')} less than {_listed(cause.amounts)} free"
        case FragmentedResources():
            return f"fragmented: no node has {_listed(cause.amounts)} free together"
        case FragmentedResource():
            verb = phrases.is_or_are(cause.resource, cause.free)
            free = f"{phrases.amount(cause.resource, cause.free)} {'more ' if cause.others_fit else ''}{verb} free"
            needed, largest = size_of(cause.resource, cause.needed), size_of(cause.resource, cause.largest)
            return f"fragmented: {free}, but no node has {needed} (at most {largest})"
    assert_never(cause)


def _listed(amounts: tuple[Amount, ...]) -> str:
    return phrases.amounts(amounts, _SHOWN)
