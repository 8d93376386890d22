"""Claims to devices that wait for the end of victims: nominated pods get devices for them, or get their devices.

They follow from the nominations, and from the terminating pods and reservations that the cache shows, so they are known after a restart too.
They end with the nominations of a root, and when it fails without new ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence

from scheduler_core.causes.live import ClaimsAwaited, ClaimsUnreleased
from scheduler_core.exact.nominated_devices import nominate
from scheduler_core.loading.released_claims import with_released_claims
from scheduler_core.model import selectors
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import KnownClaim, claim_of, name_of
from scheduler_core.model.devices import Allocation
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.devices.assumed_claims import AssumedClaims
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.eviction_budgets import with_note, with_noted_groups

_Users = dict[str, list[PodRecord]]
"""Pods by key of a claim that they name."""
_FAILED = frozenset({Status.UNSCHEDULABLE, Status.UNRESOLVABLE})


class AwaitedClaims:
    """Claims that the nominated pods of roots await, and devices that they are to have for claims of their own which victims have."""

    def __init__(self, cache: Cache, awaits: Callable[[Name], bool]) -> None:
        """*awaits* returns whether a root waits for its victims, or is attempted after them."""
        self._cache, self._nodes = cache, cache.usage.placement_state().nodes
        self._pods: dict[Name, list[PodRecord]] = {}
        for _, pod in sorted(cache.usage.pods.nominated.items()):
            if pod.parsed_pod.device_claims and (root := cache.reporter.root(pod)) is not None and awaits(root):
                self._pods.setdefault(root, []).append(cache.usage.record(pod))

    def for_root(self, entity: Entity) -> frozenset[str]:
        """Return by key the claims of *entity* that other roots of at least its priority await."""
        pods = [pod for root, each in self._pods.items() if root != entity.name for pod in each if pod.priority >= entity.priority]
        if not pods:
            return frozenset()
        users = _users(pods)
        return frozenset(
            key for key in _users(pod for leaf in entity.leaves() for pod in leaf.waiting) if self._is_awaited(key, users, pods)
        )

    def hold_devices(self, state: PlacementState) -> None:
        """Let all nominations of *state* hold the devices that their pods are to have, if victims have devices of some of their claims."""
        allocated, own = self._cache.devices.claimed.allocated, set[str]()
        for pods in self._pods.values():
            users = _users(pods)
            own |= {key for key in users if key in allocated and self._is_awaited(key, users, pods)}
        if own:
            claims = ((f"{namespace}/{name}", known) for (namespace, name), known in self._cache.devices.claims.items())
            freed = [key for key, known in claims if known.allocation is not None and _is_to_be_free(self._cache, key, known)]
            nominated = state.nominations.pods()
            nominate(state, nominated, _planned_devices(self._cache.lazy_snapshot(), [pod for pod, _ in nominated], own, freed))

    def settled(self, decision: Decision) -> Decision:
        """Return *decision*, which ends what its root awaits unless the root has nominations.

        If it fails because victims that are gone still have reservations, it gets no other victims: the nominated pods wait until the
        resourceclaim controller has removed these reservations.
        """
        claims = self._unreleased(decision.root) if decision.status in _FAILED else []
        if claims:
            decision = dataclasses.replace(
                with_note(decision, ClaimsUnreleased(tuple(map(claim_of, claims)))),
                victims=(),
                preemption=None,
                nominations={pod.key: self._nodes.names[pod.nominated] for pod in self._pods[decision.root]},
            )
        if not decision.nominations:
            self._pods.pop(decision.root, None)
        return decision

    def explained(self, decision: Decision, claims: Collection[str]) -> Decision:
        """Return *decision* on a root some of whose pods use *claims*, with the cause in the notes of its groups too."""
        return with_noted_groups(decision, ClaimsAwaited(tuple(map(claim_of, sorted(claims))))) if claims else decision

    def _is_awaited(self, key: str, users: _Users, pods: Sequence[PodRecord]) -> bool:
        """Return whether nominated *pods* await the claim *key*, or its devices."""
        claimed = self._cache.devices.claimed
        if key not in claimed.allocated:
            return key in users
        if (known := self._cache.devices.claims.get(name_of(key))) is None or claimed.is_held(name_of(key)):
            return False
        return _is_to_be_free(self._cache, key, known) and self._is_needed(known, users.get(key, ()), pods)

    def _is_needed(self, claim: KnownClaim, users: Sequence[PodRecord], pods: Sequence[PodRecord]) -> bool:
        """Return whether nominated *pods*, of which *users* name *claim*, need that it is free: it, or its devices, are for them then."""
        if users:
            # They can share the claim as it is, unless they are nominated where its devices are not.
            return not all(_is_usable(self._cache, claim.allocation, pod) for pod in users)
        return any(_is_usable(self._cache, claim.allocation, pod) and _allocates(self._cache, pod) for pod in pods)

    def _unreleased(self, root: Name) -> list[str]:
        """Return the claims that are reserved only for pods that are gone, and that the nominated pods of *root* need to be free."""
        pods = self._pods.get(root, ())
        users = _users(pods)
        known = ((f"{namespace}/{name}", claim) for (namespace, name), claim in (self._cache.devices.claims.items() if pods else ()))
        return sorted(
            key
            for key, claim in known
            if claim.allocation is not None
            and _is_to_be_free(self._cache, key, claim, gone=True)
            and self._is_needed(claim, users.get(key, ()), pods)
        )


def _planned_devices(
    snapshot: ClusterSnapshot, pods: Sequence[PodRecord], named: Collection[str], freed: Iterable[str]
) -> dict[str, Allocation]:
    """Return the devices that the nominated *pods* can have, by key of the claim, when the claims *named* and others, all *freed*, have none.

    Pods get devices in their order.
    """
    if snapshot.devices is None:
        return {}
    before = snapshot.devices.allocated
    freed = [key for key in freed if key in before]
    left = dataclasses.replace(snapshot.devices, allocated={key: each for key, each in before.items() if key not in {*freed}})
    claims = AssumedClaims(snapshot.nodes, left, exact=False)
    for key in freed:
        claims.found.usage.remove_allocation(before[key])
    found: dict[str, Allocation] = {}
    for pod in with_released_claims(dataclasses.replace(snapshot, pods=tuple(pods)), named).pods:
        claims.assume(pod, pod.nominated)
        found |= {claim.key: allocation for claim, allocation in claims.allocations(pod)}
    return found


def _is_to_be_free(cache: Cache, key: str, claim: KnownClaim, *, gone: bool = False) -> bool:
    """Return whether all consumers of *claim* are pods that terminate or are gone; only those that are *gone*, if so."""
    namespace, pods = name_of(key)[0], cache.usage.pods.pods
    for kind, name in claim.consumers:
        user = pods.get(f"{namespace}/{name}") if kind == "pods" else None
        exists = kind != "pods" or (user is not None and user.stamp.uid in claim.users)
        if exists and (gone or user is None or not (user.parsed_pod.terminating or user.deletion_assumed)):
            return False
    return bool(claim.consumers)


def _allocates(cache: Cache, pod: PodRecord) -> bool:
    """Return whether the nominated *pod* gets devices for a claim that is not allocated by then."""
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
        known = cache.devices.claims.get(name_of(claim.key)) if need.allocated is not None else None
        if need.allocates or (
            known is not None and not _is_usable(cache, known.allocation, pod) and _is_to_be_free(cache, claim.key, known)
        ):
            return True
    return False


def _is_usable(cache: Cache, allocation: Allocation | None, pod: PodRecord) -> bool:
    """Return whether *pod* can use the devices of *allocation* on its nominated node."""
    if allocation is None or allocation.nodes is None:
        return True
    return bool(selectors.node_mask(allocation.nodes, cache.usage.placement_state().nodes)[pod.nominated])


def _users(pods: Iterable[PodRecord]) -> _Users:
    """Return *pods* by the claims that they name and that exist."""
    users: _Users = {}
    for pod in pods:
        for claim in pod.device_claims:
            if claim.exists:
                users.setdefault(claim.key, []).append(pod)
    return users
