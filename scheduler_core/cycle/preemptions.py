"""Preemption for the roots of a cycle, one after the other."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

import numpy as np

from scheduler_core.cycle.claim_release import Attempted, ClaimReleases, allocated_claims
from scheduler_core.cycle.device_decisions import chosen_devices
from scheduler_core.cycle.device_holders import DeviceHolders, keep_claims, named_claims
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.planned_roots import ongoing, without_nominations
from scheduler_core.cycle.preemptor import Preemptor, Proposal, Proving
from scheduler_core.exact.complete import Complete
from scheduler_core.exact.nominated_devices import devices_of_nominated
from scheduler_core.model.devices import Allocation
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.placement.extension_points import PluginFailedError
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, assigned, pods_with_nodes
from scheduler_core.plugins.devices.evicted_users import held_claims
from scheduler_core.preemption.minimal.minimal_plans import fewest_victims
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.result import Preemption
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import Units, lowest_priority
from scheduler_core.preemption.victims.default_preemption import PodPreemption
from scheduler_core.preemption.victims.node_ranks import NodeRanks
from scheduler_core.preemption.victims.reprieve import ReprieveCapacity
from scheduler_core.preemption.victims.workload_aware import select_victims

Chosen = Preemption[Proposal] | Preemption[None]


class Preemptions:
    """Victims among the pods of *snapshot* after *effects*; *searching* returns the search in another cluster.

    Attributes:
        awaited: keys of the claims that get devices for nominated pods, or that are to be free for them, when the victims are gone.

    """

    def __init__(
        self, greedy: Greedy, snapshot: ClusterSnapshot, effects: Effects, searching: Callable[[ClusterSnapshot], Complete]
    ) -> None:
        self._greedy, self._snapshot, self._effects, self._searching = greedy, snapshot, effects, searching
        self._ledger = greedy.state.ledger
        self._holders = DeviceHolders(freed=greedy.state.options.sparing)
        self._known_units: tuple[tuple[int, frozenset[str]], Units] | None = None
        self._of_pods: tuple[Units, PodPreemption] | None = None
        self._placed_claims: set[str] = set()
        self._nominated_claims = self.awaited = frozenset[str]()

    def keep_claims(self, pods: Iterable[PodRecord]) -> None:
        """Let the claims of *pods*, which were placed, keep their devices."""
        self._placed_claims.update(named_claims(pods))

    @property
    def _used_claims(self) -> frozenset[str]:
        """Claims of pods that were placed or nominated."""
        return self._nominated_claims | self._placed_claims

    def await_claims(self, pods: Iterable[PodRecord]) -> None:
        """Let the claims of the nominated *pods* keep their devices, and others that they depend on wait for the end of their victims."""
        if (devices := self._snapshot.devices) is None:
            return
        pods = [*pods]
        named = named_claims(pods)
        self._nominated_claims |= named
        self.awaited |= frozenset(key for key in named if key not in devices.allocated)
        if any(need.allocates for pod in pods for need in pod.shape.devices):
            self.awaited |= self._freed(self._effects.victims, self._used_claims)

    def _freed(self, victims: AbstractSet[str], kept: AbstractSet[str]) -> frozenset[str]:
        """Return the claims, except *kept*, that no pod uses without *victims*."""
        devices = self._snapshot.devices
        held = () if devices is None else held_claims(devices)
        return frozenset(each.key for each in held if each.key not in kept and each.users <= victims)

    def run(self, entity: Entity, outcome: PlacementOutcome, *, proved: bool) -> tuple[PlacementOutcome, Chosen | None]:
        """Return the result of *entity*, and the preemption for it; None if there is none.

        Without a preemption the result is *outcome*.  If it is a failure, *proved* says whether it is proved.
        """
        preemption = None
        if not self._may_preempt(entity):
            return outcome, None
        if outcome.success or outcome.status is Status.UNSCHEDULABLE:
            preemption = self.preempt(entity, fewest=not outcome.success)
            outcome = _or_error(outcome, preemption)
        ongoing = preemption is not None and preemption.status is Status.SUCCESS and not preemption.units
        if ongoing or outcome.status not in (Status.UNSCHEDULABLE, Status.UNRESOLVABLE):
            return outcome, preemption
        outcome, preemption = self._with_releases(entity, outcome, preemption, proved=proved)
        return outcome, None if preemption is not None and self._robs(preemption) else preemption

    def _robs(self, preemption: Chosen) -> bool:
        """Return whether *preemption* would free a claim whose devices the nominated pods of an earlier root are to use."""
        before = self._effects.victims
        victims = before | {pod.key for pod in preemption.victims}
        freed = self._freed(victims, self._placed_claims) - self._freed(before, self._placed_claims)
        return self._greedy.state.options.sparing and bool(freed & self._nominated_claims)

    def awaits_victims(self, entity: Entity) -> bool:
        """Return whether the nominated pods of *entity* fit on their nodes when pods of lower priority that terminate there are gone."""
        own = [(pod, pod.nominated) for leaf in entity.leaves() for pod in leaf.waiting if pod.nominated >= 0]
        if not (own and entity.preempts and all(self._is_allowed(pod, node) for pod, node in own)):
            return False
        units = self.units(entity)
        lower = units.potential_victims(entity.priority).pods
        there = lower[np.isin(units.nodes[lower], [node for _, node in own])].tolist()
        leaving = [pod for pod in map(units.pods.__getitem__, there) if pod.terminating or pod.key in self._effects.victims]
        if not leaving:
            return False
        mark = self._ledger.mark()
        self._greedy.state.nominations.release_for(entity)
        loads = tuple(PodLoad(pod.shape, np.array([pod.node], dtype=np.int64)) for pod in leaving)
        self._ledger.release(loads, self._ledger.fresh())
        fits = not ReprieveCapacity(own, self._ledger).overfull
        self._ledger.rewind(mark)
        return fits

    def _is_allowed(self, pod: PodRecord, node: int) -> bool:
        """Return whether static filters allow *node* for *pod*: not if it is cordoned or unreachable, and its pods may never be gone."""
        mask = self._greedy.state.profile.compile(pod.shape).mask
        return mask is None or bool(mask[node])

    def _may_preempt(self, entity: Entity) -> bool:
        """Return whether *entity* may preempt, and, for a single pod, whether any pod can have a lower priority."""
        if entity.name.kind != "Pod":
            return entity.profile.preempts_groups
        return entity.profile.preempts_pods and entity.priority > self._lowest_priority

    def _with_releases(
        self, entity: Entity, outcome: PlacementOutcome, preemption: Chosen | None, *, proved: bool
    ) -> tuple[PlacementOutcome, Chosen | None]:
        """Return *outcome* and *preemption*, or those of a better preemption that frees claims which *entity* itself names."""
        claims = (
            allocated_claims(entity, self._snapshot, self._used_claims) if entity.preempts and isinstance(self._greedy, Complete) else []
        )
        if not claims:
            return outcome, preemption
        units, victims = self.units(entity), self._effects.victims
        releases = ClaimReleases(entity, self._effects.apply(self._snapshot), claims, units, victims)
        preemption = preemption and releases.verified(preemption, self._attempt)
        cost = PlanCost(units, units.potential_victims(entity.priority), self.budgets, victims)
        better = releases.best(preemption, cost, self._attempt, proved=proved)
        if better is not None:
            self.awaited |= self._freed(victims | {pod.key for unit in better.units for pod in unit.pods}, self._used_claims)
        if releases.can_help and outcome.status is Status.UNRESOLVABLE:
            outcome = dataclasses.replace(outcome, status=Status.UNSCHEDULABLE)
        if better is None and preemption is not None and releases.tried:
            # The evictions that were tried need not be the best ones.
            preemption = dataclasses.replace(preemption, lower=min(preemption.lower, 1), proved=False)
        return outcome, better or preemption

    def _attempt(self, snapshot: ClusterSnapshot, entity: Entity) -> Attempted:
        """Return whether *entity* fits in *snapshot*, at once or after evictions."""
        other = Preemptions(self._searching(snapshot), snapshot, Effects(snapshot.nodes), self._searching)
        return other.attempt(entity)

    def attempt(self, entity: Entity) -> Attempted:
        """Return whether *entity* fits, at once or after evictions."""
        greedy = self._greedy
        greedy.state.nominations.release_for(entity)
        request = greedy.request(entity)
        try:
            outcome = greedy.place(request)
            if outcome.success:
                pods = assigned(request, outcome)
                greedy.assume(request, outcome)
                given = chosen_devices(pods, greedy.state.stateful.plugins)
                before = self._snapshot.devices.allocated if self._snapshot.devices is not None else {}
                devices = {claim.key: each for claim, each in given.items() if claim.key not in before}
                return Attempted(Status.SUCCESS, {pod.key: node for pod, node in pods}, (), devices)
            if outcome.status is Status.UNSCHEDULABLE and greedy.search.outcome != "budget":
                preemption = self.preempt(entity, fewest=True)
                if preemption.victims:
                    return Attempted(Status.SUCCESS, preemption.nominations, preemption.victims)
        except PluginFailedError:
            return Attempted(Status.ERROR)
        return Attempted(outcome.status)

    def preempt(self, entity: Entity, *, fewest: bool) -> Chosen:
        """Return the victims for *entity*, while the claims that it names keep their devices; with *fewest* as few as possible."""
        if self._greedy.state.options.sparing:
            if self.awaits_victims(entity):
                return ongoing(entity)
            entity = without_nominations(entity)
        mark = self._ledger.mark()
        keep_claims(self._greedy.state.stateful.plugins, self._kept_claims(entity))
        self._greedy.state.nominations.release_own(entity)
        if isinstance(self._greedy, Complete) and fewest:
            preemption = self._fewest(entity, self._greedy)
        else:
            preemption = self._select(entity, self._preemptor(entity))
        if self._greedy.state.options.sparing and preemption.nominations:
            preemption = dataclasses.replace(preemption, devices=self._devices(entity, preemption))
        self._ledger.rewind(mark)
        return preemption

    def _preemptor(self, entity: Entity) -> Preemptor:
        """Return the placement engine for *entity*, as kube-scheduler's."""
        state = self._greedy.state
        nominated = assigned if state.behavior.spares_failed_groups else pods_with_nodes
        # A search that has no decision to make about victims places a pod as cheap as it can in other ways.
        if not state.behavior.chooses_cheap_nodes or state.options.sparing or entity.name.kind == "Pod":
            return Preemptor(self._greedy, nominated)
        units = self.units(entity)
        return Preemptor(self._greedy, nominated, NodeRanks(units, units.potential_victims(entity.priority), self.budgets))

    def _devices(self, entity: Entity, preemption: Chosen) -> dict[str, Allocation]:
        """Return the devices that the nominated pods of *entity* get without the victims, by key of the claim."""
        placed = preemption.outcome.assigned if preemption.outcome is not None else ()
        order = {pod.key: number for number, (pod, _) in enumerate(placed)}
        pods = [pod for leaf in entity.leaves() for pod in leaf.waiting if pod.key in preemption.nominations]
        pods.sort(key=lambda pod: order.get(pod.key, len(order)))
        victims = {pod.key for unit in preemption.units for pod in unit.pods} | self._effects.victims
        left = [pod for pod in self.units(entity).pods if pod.terminating or pod.key in victims]
        planned = preemption.outcome.outcome.devices if preemption.outcome is not None else {}
        return devices_of_nominated(self._greedy.state, [(pod, preemption.nominations[pod.key]) for pod in pods], left, planned)

    def _fewest(self, entity: Entity, complete: Complete) -> Chosen:
        proving = Proving(complete, entity)
        first = self._select(entity, proving)
        return fewest_victims(entity, first, proving, self._units_to_evict(entity), self.budgets, self._effects.victims)

    def _select(self, entity: Entity, preemptor: Preemptor) -> Chosen:
        units = self._units_to_evict(entity)
        if entity.name.kind != "Pod":
            selected = select_victims(entity, units, self.budgets, self._ledger, preemptor, self._effects.victims)
            return dataclasses.replace(selected, overlooks=True) if preemptor.overlooks else selected
        pod = entity.waiting[0]
        resolvable = preemptor.resolvable(pod)
        interactions = preemptor if self._greedy.state.stateful.touches(pod) else None
        if self._of_pods is None or self._of_pods[0] is not units:
            self._of_pods = units, PodPreemption(units, self.budgets, self._ledger)
        return self._of_pods[1].select_victims(pod, resolvable, interactions, self._effects.victims)

    def units(self, entity: Entity) -> Units:
        """Return the preemption units of all pods that run at present, for the root *entity*."""
        at = len(self._effects.placed), self._kept_claims(entity)
        if self._known_units is None or self._known_units[0] != at:
            self._known_units = at, Units.from_snapshot(self._holders.reshaped(self._effects.apply(self._snapshot), at[1]))
        return self._known_units[1]

    def _kept_claims(self, entity: Entity) -> frozenset[str]:
        """Return the allocated claims that stay allocated when their users are evicted, because pods without a node are to use them."""
        if (devices := self._snapshot.devices) is None:
            return frozenset()
        named = self._used_claims | named_claims(pod for leaf in entity.leaves() for pod in leaf.waiting)
        return frozenset(key for key in named if key in devices.allocated)

    def _units_to_evict(self, entity: Entity) -> Units:
        """Return the units among which the victims of *entity* are: none if none can have a lower priority."""
        return self.units(entity) if entity.priority > self._lowest_priority else Units((), (), {}, self._snapshot.behavior)

    @functools.cached_property
    def _lowest_priority(self) -> int:
        return lowest_priority(self._snapshot)

    @functools.cached_property
    def budgets(self) -> DisruptionBudgets:
        """Disruption budgets of the snapshot."""
        return DisruptionBudgets(self._snapshot.budgets, self._snapshot.behavior)


def _or_error(outcome: PlacementOutcome, preemption: Chosen) -> PlacementOutcome:
    """Return *outcome*, or the error of placing the root without its victims: it becomes the result of the whole cycle."""
    failed = preemption.outcome
    if outcome.success or failed is None or failed.status is not Status.ERROR:
        return outcome
    return failed.outcome
