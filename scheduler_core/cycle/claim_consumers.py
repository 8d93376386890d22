"""Consumers of claims to devices: ``status.reservedFor`` of a ResourceClaim has at most 256 pods and PodGroups."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from scheduler_core.causes.claims import ClaimFull, DevicesAwaited, PodsLeftOut
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import Consumer, claim_of, name_of
from scheduler_core.model.devices import MOST_CONSUMERS
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord

if TYPE_CHECKING:
    from scheduler_core.model.snapshot import ClusterSnapshot

_FEW = MOST_CONSUMERS // 2
"""Number of consumers up to which pods that run without a reservation do not matter."""


class ClaimConsumers:
    """Consumers of the claims of a snapshot: those in ``reservedFor``, pods that run, and pods that were placed."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot
        self._consumers: dict[str, set[Consumer]] = {}

    def within_limit(self, entity: Entity) -> tuple[Entity, dict[str, ClaimFull]]:
        """Return *entity* without the pods for which a claim has no place, and their reasons.

        The places are for the minimum of each group first, then for other pods in their order.
        """
        leaves = [*entity.leaves()]
        used = self._crowded(leaf.waiting for leaf in leaves)
        if not used:
            return entity, {}
        kept = {pod.key for leaf in leaves for pod in _minimum(leaf, used)}
        for pod in (pod for leaf in leaves for pod in leaf.waiting if pod.key not in kept):
            if _reserve(pod, used):
                kept.add(pod.key)
        reasons = {pod.key: _reason(pod, used) for leaf in leaves for pod in leaf.waiting if pod.key not in kept}
        return (only(entity, kept), reasons) if reasons else (entity, {})

    def beyond_limit(self, pods: Iterable[PodRecord]) -> dict[str, str]:
        """Return the claim without a place for a pod, by key of the pod, if *pods* are bound in their order."""
        pods = [*pods]
        used = self._crowded([pods])
        return {pod.key: next(_full(pod, used)) for pod in pods if not _reserve(pod, used)} if used else {}

    def record(self, decision: Decision, pods: Iterable[PodRecord]) -> None:
        """Count the *pods* that *decision* places."""
        for pod in pods:
            if pod.device_claims and (pod.key in decision.assignments or pod.key in decision.nominations):
                for key, consumer in _uses(pod):
                    self._known(key).add(consumer)

    def _known(self, key: str) -> set[Consumer]:
        """Return the consumers so far of the claim with *key*, which exists."""
        if (consumers := self._consumers.get(key)) is None:
            devices = self._snapshot.devices
            claim = None if devices is None else devices.claims.get(name_of(key))
            consumers = self._consumers[key] = {*claim.consumers} if claim is not None else set()
        return consumers

    def _crowded(self, groups: Iterable[Iterable[PodRecord]]) -> dict[str, set[Consumer]]:
        """Return the consumers of the claims that would have too many with the pods in *groups*."""
        pods = [pod for group in groups for pod in group if pod.device_claims]
        keys = {claim.key for pod in pods for claim in pod.device_claims if claim.exists}
        if not any(len(pods) + len(self._known(key)) > _FEW for key in keys):
            return {}
        wanted: dict[str, set[Consumer]] = {}
        for key, consumer in (use for pod in pods for use in _uses(pod)):
            wanted.setdefault(key, set()).add(consumer)
        many = {key for key, each in wanted.items() if len(each) + len(self._known(key)) > _FEW}
        running = (pod for pod in self._snapshot.pods if pod.node >= 0 and pod.device_claims) if many else ()
        for key, consumer in (use for pod in running for use in _uses(pod)):
            if key in many:
                self._known(key).add(consumer)
        known = {key: {*self._known(key)} for key in many}
        return {key: each for key, each in known.items() if len(each | wanted[key]) > MOST_CONSUMERS}


def without_users(entity: Entity, claims: Collection[str]) -> tuple[Entity, dict[str, DevicesAwaited]]:
    """Return *entity* without the pods that use *claims*, which wait for the end of the victims of an earlier root, and their reasons."""
    if not claims:
        return entity, {}
    waiting = (pod for leaf in entity.leaves() for pod in leaf.waiting)
    used = {pod.key: next((key for key, _ in _uses(pod) if key in claims), "") for pod in waiting}
    reasons = {pod: DevicesAwaited(claim_of(key)) for pod, key in used.items() if key}
    return (only(entity, used.keys() - reasons.keys()), reasons) if reasons else (entity, {})


def are_alike(entity: Entity) -> bool:
    """Return whether the waiting pods of *entity* are alike, so that each can replace any other one."""
    return not entity.children and len({pod.shape.serial for pod in entity.waiting}) <= 1


def lacks_members(entity: Entity) -> bool:
    """Return whether *entity*, without pods that were left out, has too few pods for its minimum."""
    if entity.children:
        return sum(not lacks_members(child) for child in entity.children) < entity.minimum
    return len(entity.waiting) + len(entity.running) < entity.minimum


def only(entity: Entity, kept: Collection[str]) -> Entity:
    """Return *entity* with only those waiting pods that are *kept*."""
    return dataclasses.replace(
        entity,
        children=tuple(only(child, kept) for child in entity.children),
        waiting=tuple(pod for pod in entity.waiting if pod.key in kept),
    )


def with_refused(decision: Decision, reasons: Mapping[str, ClaimFull | DevicesAwaited]) -> Decision:
    """Return *decision* with the pods that were left out for *reasons*."""
    if not reasons:
        return decision
    left_out = PodsLeftOut(len(reasons), tuple(dict.fromkeys(reasons.values())))
    causes = (left_out,) if decision.root.kind == "Pod" else (left_out, *decision.causes)
    return dataclasses.replace(decision, causes=causes, pending={**decision.pending, **{pod: (why,) for pod, why in reasons.items()}})


def _uses(pod: PodRecord) -> Iterator[tuple[str, Consumer]]:
    """Yield the claims of *pod* that exist, each with the consumer that they are reserved for."""
    for claim in pod.device_claims:
        if claim.exists:
            yield claim.key, claim.consumer(pod.name, pod.group)


def _full(pod: PodRecord, used: Mapping[str, set[Consumer]]) -> Iterator[str]:
    """Yield the claims that have no place for *pod*."""
    for key, consumer in _uses(pod):
        if key in used and consumer not in used[key] and len(used[key]) >= MOST_CONSUMERS:
            yield key


def _reserve(pod: PodRecord, used: Mapping[str, set[Consumer]]) -> bool:
    """Reserve the claims of *pod*, and return whether each has a place for it."""
    if any(_full(pod, used)):
        return False
    for key, consumer in _uses(pod):
        if key in used:
            used[key].add(consumer)
    return True


def _minimum(leaf: Entity, used: dict[str, set[Consumer]]) -> list[PodRecord]:
    """Reserve claims for as many pods as *leaf* lacks, and return them; none if there are too few places."""
    needed = leaf.minimum - len(leaf.running)
    kept = [pod for pod in leaf.waiting if not any(key in used for key, _ in _uses(pod))]
    before = {key: {*each} for key, each in used.items()}
    for pod in leaf.waiting:
        if len(kept) < needed and any(key in used for key, _ in _uses(pod)) and _reserve(pod, used):
            kept.append(pod)
    if len(kept) < needed:
        used.update(before)
        return []
    return kept


def _reason(pod: PodRecord, used: Mapping[str, set[Consumer]]) -> ClaimFull:
    return ClaimFull(claim_of(next(_full(pod, used))), Name("PodGroup", pod.namespace, pod.group) if pod.group else None)
