"""Wording of missing resources: those of nodes, and those of ResourceQuotas."""

from __future__ import annotations

from typing import assert_never

from scheduler_core.causes.node_count import Amount
from scheduler_core.causes.quotas import ObjectsUncounted, QuotaCause, QuotaExceeded, QuotaRequiresAmounts
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
from scheduler_core.model.resource_names import COUNT, LIMITS, OF_DEVICE_CLASS, OF_STORAGE_CLASS, size, without_section
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


def quota_words(cause: QuotaCause) -> str:
    """Return *cause* in words."""
    quota = f"quota {cause.quota.namespace}/{cause.quota.name}"
    match cause:
        case QuotaExceeded():
            free, needed = (size(cause.resource, each) for each in (cause.free, cause.needed))
            words = f"{quota} leaves {free} {_quota_resource(cause.quota_resource)}, {needed} needed"
            return f"{words}, unless some of them exist already: they are not in the input" if cause.may_exist else words
        case QuotaRequiresAmounts():
            return f"{quota} refuses pods without {', '.join(cause.quota_resources)}"
        case ObjectsUncounted():
            return f"{quota} limits {_quota_resource(cause.quota_resource)}; how many its controller creates is not considered"
    assert_never(cause)


def _quota_resource(quota_resource: str) -> str:
    """Return the name of a resource in quotas, in words."""
    base, of_class = without_section(quota_resource), ""
    for marker in (OF_STORAGE_CLASS, OF_DEVICE_CLASS):
        if marker in quota_resource:
            name, _, base = quota_resource.partition(marker)
            base, of_class = without_section(base), f" of class {name}"
    base = base.removeprefix(COUNT)
    return f"{base} of limits" if quota_resource.startswith(LIMITS) else f"{base}{of_class}"
