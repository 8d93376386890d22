"""Preemption of all users of claims to devices that the root itself names: then these claims are free, and get devices anew.

While a claim is allocated, the pods of the root that name it can run only where its devices can be used.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from kubeapi.base_structs import Record, record_field
from kubeapi.meta import replaced
from scheduler_core.causes.attempts import VictimsFound
from scheduler_core.cycle.device_holders import named_claims
from scheduler_core.cycle.effects import Effects
from scheduler_core.model.device_claims import name_of
from scheduler_core.model.devices import Allocation
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.result import ChosenUnits, Preemption, by_importance
from scheduler_core.preemption.units.preemption_units import Units

_MOST = 3
"""Number of claims up to which each set of them is tried; of more, each alone and all together."""
_FIRST_SERIAL = 2**42
"""Above the serials of all other shapes."""


class Attempted(Record, frozen=True):
    """Result of placing a root in a changed cluster.

    Attributes:
        status: Success if it fits there, at once or after the eviction of *victims*.
        nominations: nodes of its pods.
        victims: pods to evict.
        devices: new allocations of its claims, by key, if no pod must be evicted.

    """

    status: Status
    nominations: Mapping[str, int] = record_field(default_factory=dict)
    victims: tuple[PodRecord, ...] = ()
    devices: Mapping[str, Allocation] = record_field(default_factory=dict)


Attempt = Callable[[ClusterSnapshot, Entity], Attempted]
"""Places a root in a cluster."""


def allocated_claims(root: Entity, snapshot: ClusterSnapshot, kept: Collection[str]) -> list[str]:
    """Return the keys of the claims that waiting pods of *root* name and that others have allocated; *kept* stay allocated."""
    if snapshot.devices is None:
        return []
    named = named_claims(pod for leaf in root.leaves() for pod in leaf.waiting)
    return sorted(key for key in named.difference(kept) if key in snapshot.devices.allocated)


class ClaimReleases:
    """Evictions in *snapshot* of all users of some of *claims*, by key, so that *root* can place its pods elsewhere.

    The pods *being_evicted*, by key, are gone in any case.

    Attributes:
        users: the sets of units whose eviction frees some of the claims; all users have a lower priority than the root.
        tried: whether ``best`` has tried one of them.
        can_help: whether it is possible that one of them helps.

    """

    def __init__(
        self, root: Entity, snapshot: ClusterSnapshot, claims: Iterable[str], units: Units, being_evicted: AbstractSet[str]
    ) -> None:
        self._root, self._snapshot, self._units, self._being_evicted = root, snapshot, units, being_evicted
        self._keys = [pod.key for pod in units.pods]
        lower = frozenset(units.potential_victims(root.priority).units.tolist())
        single = [users for claim in claims if (users := self._users(claim)) and users <= lower]
        sizes = range(1, len(single) + 1) if len(single) <= _MOST else (1, len(single))
        sets = (frozenset[int]().union(*chosen) for size in sizes for chosen in itertools.combinations(single, size))
        self.users = tuple(dict.fromkeys(sets))
        self.tried = self.can_help = False

    def verified(self, preemption: Preemption[Any], attempt: Attempt) -> Preemption[Any] | None:
        """Return *preemption*; if it also frees claims, with the nodes and devices without the victims, or None if the root does not fit."""
        victims = self._numbers(pod.key for unit in preemption.units for pod in unit.pods)
        if not victims or not any(users <= victims | self._numbers(self._being_evicted) for users in self.users):
            return preemption
        attempted = attempt(*self._without(victims))
        if attempted.status is not Status.SUCCESS or attempted.victims:
            return None
        return dataclasses.replace(preemption, nominations=attempted.nominations, devices=attempted.devices)

    def best(self, other: Preemption[Any] | None, cost: PlanCost, attempt: Attempt, *, proved: bool) -> Preemption[None] | None:
        """Return the best preemption that costs less than *other*; None if there is none.

        *proved* says whether it is proved that the root does not fit without evictions.
        """
        known = other.units if other is not None else ()
        limit = cost.key(self._numbers(pod.key for unit in known for pod in unit.pods)) if known else None
        chosen: Preemption[None] | None = None
        for users in sorted(self.users, key=cost.key):
            if limit is not None and cost.key(users) >= limit:
                break
            attempted = attempt(*self._without(users))
            self.tried, self.can_help = True, self.can_help or attempted.status is not Status.UNRESOLVABLE
            numbers = users | self._numbers(pod.key for pod in attempted.victims)
            if attempted.status is not Status.SUCCESS or (limit is not None and cost.key(numbers) >= limit):
                continue
            if attempted.victims:
                attempted = attempt(*self._without(numbers))
            if attempted.status is Status.SUCCESS and not attempted.victims:
                limit = cost.key(numbers)
                chosen = self._preemption(numbers, cost, attempted, lower=int(proved))
        return chosen

    def _preemption(self, numbers: frozenset[int], cost: PlanCost, attempted: Attempted, *, lower: int) -> Preemption[None]:
        units = tuple(self._units.unit(number) for number in by_importance(numbers, self._units))
        chosen = ChosenUnits(units, cost.violations(numbers))
        single = self._root.name.kind == "Pod"
        found = VictimsFound(chosen.count, self._snapshot.nodes.names[next(iter(attempted.nominations.values()))] if single else "")
        split = chosen.split(self._being_evicted)
        preemption: Preemption[None] = Preemption(
            Status.SUCCESS, found, *split, units, chosen.violating, attempted.nominations, None, lower
        )
        return dataclasses.replace(preemption, devices=attempted.devices)

    def _without(self, users: Iterable[int]) -> tuple[ClusterSnapshot, Entity]:
        """Return the cluster without the pods of the units *users*, and the root with the needs that its pods then have."""
        evictions = Effects(self._snapshot.nodes)
        evictions.victims.update(self._being_evicted, (pod.key for number in users for pod in self._units.unit(number).pods))
        own = {pod.key for leaf in self._root.leaves() for pod in leaf.waiting}
        snapshot = one_by_one(evictions.apply(self._snapshot, evict=True), own)
        return snapshot, _with_pods(self._root, {pod.key: pod for pod in snapshot.pods if pod.node < 0})

    def _users(self, claim: str) -> frozenset[int]:
        """Return the units of all users of *claim*; none if others than running pods use it."""
        devices, (namespace, _) = self._snapshot.devices, name_of(claim)
        consumers = devices.claims[name_of(claim)].consumers if devices is not None else ()
        numbers = [self._numbers([f"{namespace}/{name}"] if kind == "pods" else ()) for kind, name in consumers]
        return frozenset().union(*numbers) if all(numbers) else frozenset()

    def _numbers(self, pods: Iterable[str]) -> frozenset[int]:
        """Return the units of running *pods*, by key."""
        at = [(key, bisect.bisect_left(self._keys, key)) for key in pods]
        return frozenset(int(self._units.unit_of[index]) for key, index in at if self._keys[index : index + 1] == [key])


def one_by_one(snapshot: ClusterSnapshot, own: Container[str]) -> ClusterSnapshot:
    """Return *snapshot* where no request of the pods *own*, by key, counts devices: rows need not know claims that were allocated before."""
    counted, serials = snapshot.nodes.counted, itertools.count(_FIRST_SERIAL)
    shapes: dict[int, PodShape] = {}
    pods = []
    for pod in snapshot.pods:
        if pod.key not in own or not any(need.allocates for need in pod.shape.devices):
            pods.append(pod)
            continue
        if (shape := shapes.get(pod.shape.serial)) is None:
            requests = tuple(each for each in pod.shape.requests if each[0] not in counted)
            shape = dataclasses.replace(pod.shape, serial=next(serials), requests=requests, picks_devices=True, counts_devices=False)
            shapes[pod.shape.serial] = shape
        pods.append(replaced(pod, shape=shape))
    return dataclasses.replace(snapshot, pods=tuple(pods))


def _with_pods(entity: Entity, pods: Mapping[str, PodRecord]) -> Entity:
    """Return *entity* with the records of its waiting pods in *pods*."""
    waiting = tuple(pods.get(pod.key, pod) for pod in entity.waiting)
    return dataclasses.replace(entity, waiting=waiting, children=tuple(_with_pods(child, pods) for child in entity.children))
