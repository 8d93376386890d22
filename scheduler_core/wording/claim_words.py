"""Wording of causes about claims to devices."""

from __future__ import annotations

from typing import assert_never

from scheduler_core.causes.claims import (
    BindingConditionsAwaited,
    BoundOtherwise,
    ClaimCause,
    ClaimFull,
    ClaimsDeallocated,
    DevicesAwaited,
    DevicesExchanged,
    PodsAwaitDevices,
    PodsLeftOut,
    ReservationRefused,
    SelectorNotEvaluated,
    SelectorsNotEvaluated,
    SharedClaims,
)
from scheduler_core.model.devices import MOST_CONSUMERS, selector_error
from scheduler_core.model.names import NamedClaim
from scheduler_core.wording.filter_words import ADVICE
from scheduler_core.wording.truncation import Enumeration, listed_within


def claim_words(cause: ClaimCause) -> str:  # noqa: PLR0911 - one case for each kind of cause
    """Return *cause* in words."""
    match cause:
        case ClaimFull():
            own = (
                f"; list it in spec.resourceClaims of PodGroup {cause.pod_group.name}, which is then its only consumer"
                if cause.pod_group
                else ""
            )
            return f"claim {cause.claim.full_name} can have at most {MOST_CONSUMERS} consumers in status.reservedFor{own}"
        case DevicesAwaited():
            return f"claim {cause.claim.full_name} gets its devices when the pods that an earlier root evicts are gone"
        case PodsLeftOut():
            return claim_enumeration(cause).text
        case BoundOtherwise():
            return f"kube-scheduler binds this otherwise: {'; '.join(map(_fault, cause.faults))}"
        case SelectorsNotEvaluated():
            return "; ".join(map(selector_words, cause.unevaluated))
        case BindingConditionsAwaited():
            return f"waiting for binding conditions for device on node {cause.node}"
        case PodsAwaitDevices():
            return claim_enumeration(cause).text
        case ReservationRefused():
            return f"add reservation to claim {cause.claim.full_name}: {_too_many(cause.claim) if cause.too_many else _UNTIMED}"
        case ClaimsDeallocated():
            then = "kube-scheduler deallocates it now, and tries again" if cause.afterwards else "it is deallocated first"
            return "; ".join(f"claim {claim.full_name} is allocated, but reserved for nobody: {then}" for claim in cause.claims)
    assert_never(cause)


def claim_enumeration(cause: PodsLeftOut | PodsAwaitDevices) -> Enumeration:
    """Return *cause* with the causes of pods that its message lists."""
    match cause:
        case PodsLeftOut():
            lead = f"{cause.pods} {'pod is' if cause.pods == 1 else 'pods are'} left out: "
            return Enumeration(lead, tuple((each, claim_words(each)) for each in cause.reasons))
        case PodsAwaitDevices():
            awaited = ((pod, BindingConditionsAwaited(node)) for pod, node in cause.waiting_pods)
            return Enumeration("", tuple((each, f"pod {pod}: {claim_words(each)}") for pod, each in awaited), longest=400)
    assert_never(cause)


def selector_words(selector: SelectorNotEvaluated) -> str:
    """Return the error of a selector because of which a device was left out, and what to do."""
    owner = f"class {selector.device_class}" if selector.claim is None else f"claim {selector.claim.label}"
    error = selector_error(selector.index, selector.device, selector.error)
    return f"{owner}{error} (the device is left out; {ADVICE[selector.advice]})"


_UNTIMED = "status.allocation: field cannot be modified once set: another scheduler has allocated the claim without allocationTimestamp"
"""Answer of the API server to the reservation of a claim that was allocated without the time."""


def _too_many(claim: NamedClaim) -> str:
    """Return the answer of the API server to the reservation of *claim* for one consumer too many."""
    limit = MOST_CONSUMERS
    too_many = f"status.reservedFor: Too many: {limit + 1}: must have at most {limit} items"
    return f'ResourceClaim.resource.k8s.io "{claim.short_name}" is invalid: {too_many}'


def _fault(fault: DevicesExchanged | SharedClaims) -> str:
    match fault:
        case DevicesExchanged():
            listed_first = "because a claim that the pod shares is listed before a new one"
            return f"claims of pod {fault.pod.rpartition('/')[2]} get the devices of each other, {listed_first}"
        case SharedClaims():
            names = listed_within([each.short_name for each in fault.claims], joint=", ", longest=200)
            claims = f"claim{'s' if len(fault.claims) > 1 else ''} {names}"
            return f"of the pods that share {claims}, the first is bound at once, and the others one by one after a failed attempt"
    assert_never(fault)
