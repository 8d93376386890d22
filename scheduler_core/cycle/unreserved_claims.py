"""Claims to devices that are allocated but reserved for nobody: they can be deallocated for a pod that does not fit with these devices.

kube-scheduler 1.37.1 does so after a failed attempt (PostFilter and PodGroupPostFilter of DynamicResources), and tries the pod again.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from scheduler_core.causes.attempts import FitError
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import ClaimsDeallocated
from scheduler_core.cycle.claim_release import one_by_one
from scheduler_core.cycle.device_holders import named_claims
from scheduler_core.loading.released_claims import with_released_claims
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import claim_of, name_of
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.plugins.dynamic_resources import DEVICES_UNAVAILABLE
from scheduler_core.queueing.trees import name_of as name_of_group

_FEW, _MANY = 3, 16
_FAILED = (Status.UNSCHEDULABLE, Status.UNRESOLVABLE)


def unreserved_claims(snapshot: ClusterSnapshot, decisions: Iterable[Decision]) -> frozenset[str]:
    """Return the keys of these claims that only pods name which *decisions* leave without a node."""
    if (devices := snapshot.devices) is None:
        return frozenset()
    decisions = [*decisions]
    failed = {pod for each in decisions if each.status in _FAILED for pod in each.pending}
    placed = {pod for each in decisions for pod in each.assignments}
    named = named_claims(pod for pod in snapshot.pods if pod.key in failed)
    used = named_claims(pod for pod in snapshot.pods if pod.key in placed or pod.node >= 0)
    known = (key for key in named - used if key in devices.allocated)
    return frozenset(key for key in known if name_of(key) in devices.claims and not devices.claims[name_of(key)].consumers)


def sets_to_deallocate(claims: Collection[str]) -> Iterator[frozenset[str]]:
    """Yield the sets of *claims* to try: all sets of up to three claims; of up to 16, each claim and all of them; of more, only all."""
    every = [len(claims)] if len(claims) > _MANY else [1, len(claims)]
    sizes = range(1, len(claims) + 1) if len(claims) <= _FEW else every
    for size in sizes:
        yield from map(frozenset, itertools.combinations(sorted(claims), size))


def post_filtered(snapshot: ClusterSnapshot, decisions: Sequence[Decision]) -> dict[Name, list[str]]:
    """Return the claims that kube-scheduler 1.37.1 deallocates after *decisions*, by key and root: one for each pod of a single pod or group.

    The group must not have a topology constraint.  A claim must have devices that a node cannot use which passes the filters before.
    kube-scheduler chooses one of several claims of a pod at random; here it is the first.
    """
    free = unreserved_claims(snapshot, decisions)
    pods = {pod.key: pod for pod in snapshot.pods if pod.node < 0 and any(claim.key in free for claim in pod.device_claims)} if free else {}
    confined = {name_of_group(each) for each in snapshot.groups if each.spec.scheduling_constraints is not None}
    found: dict[Name, list[str]] = {}
    for decision in decisions if pods else ():
        if decision.root.kind != "CompositePodGroup" and decision.root not in confined and decision.status in _FAILED:
            refused = [pods[key] for key, causes in sorted(decision.pending.items()) if key in pods and _lacks_devices(causes)]
            if chosen := dict.fromkeys(claim for pod in refused for claim in _unavailable(pod, free)[:1]):
                found[decision.root] = [*chosen]
    return found


def _unavailable(pod: PodRecord, free: Collection[str]) -> list[str]:
    """Return the claims of *pod* among *free* that some node cannot use, by key."""
    claims = zip(pod.device_claims, pod.shape.devices, strict=False)
    return [
        claim.key
        for claim, need in claims
        if claim.key in free and (need.unavailable or (need.allocated is not None and need.allocated.nodes is not None))
    ]


def without_allocations(snapshot: ClusterSnapshot, claims: Collection[str]) -> ClusterSnapshot:
    """Return *snapshot* in which *claims*, by key, are not allocated."""
    if snapshot.devices is None or not claims:
        return snapshot
    released = with_released_claims(dataclasses.replace(snapshot, devices=snapshot.devices.without_allocations(claims)), claims)
    return one_by_one(released, {pod.key for pod in snapshot.pods if pod.node < 0})


def deallocated(decisions: Sequence[Decision], before: ClusterSnapshot, claims: Collection[str]) -> tuple[Decision, ...]:
    """Return *decisions*, made while *claims* of *before* were not allocated; the causes name those whose devices, or new ones, are used."""
    allocated = before.devices.allocated if before.devices is not None else {}
    devices = {claim: {each.id for each in allocated[claim].devices} for claim in sorted(claims)}
    explained = []
    for decision in decisions:
        taken = {given.id for each in decision.devices.values() for given in each.devices}
        own = {claim.key for claim in decision.devices}
        explained.append(_explained(decision, [claim for claim, held in devices.items() if claim in own or held & taken]))
    return tuple(explained)


def deallocated_afterwards(decisions: Sequence[Decision], claims: Mapping[Name, Sequence[str]]) -> tuple[Decision, ...]:
    """Return *decisions*, after which kube-scheduler deallocates *claims*, by root; the causes say so."""
    return tuple(_explained(each, claims.get(each.root, ()), afterwards=True) for each in decisions)


def _explained(decision: Decision, claims: Sequence[str], *, afterwards: bool = False) -> Decision:
    if not claims:
        return decision
    return dataclasses.replace(decision, causes=(*decision.causes, ClaimsDeallocated(tuple(map(claim_of, claims)), afterwards)))


def _lacks_devices(causes: Iterable[Cause]) -> bool:
    """Return whether some node refuses a pod because it cannot use the devices of its claim."""
    errors = [each for each in causes if isinstance(each, FitError)]
    return any((reason.plugin, reason.message) == DEVICES_UNAVAILABLE for each in errors for reason in each.reasons)
