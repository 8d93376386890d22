"""Preemption plans: victims, dry run, second proof, evictions.

A plan is *proposed* while its evictions are in a dry run.  Meanwhile its victims are assumed deleted and its capacity is reserved, so
no other root uses either.  It is *preempting* once it is proved again and its evictions are sent.  The root is not attempted before
the last victim is gone, and claims to devices are not reserved for it any more.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Mapping

from scheduler_core.cycle.effects import held_nominations
from scheduler_core.model.conditions import disruption_target
from scheduler_core.model.decision import Decision, Name
from scheduler_core.preemption.units.preemption_units import Units
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.states import Preempting, PreemptionPlan
from scheduler_core.sidecar.scheduling.binding import NORMAL
from scheduler_core.sidecar.scheduling.eviction_budgets import BlockedPreemption, blocked_preemption
from scheduler_core.sidecar.writes import Condition, Evict, EvictionMethod, Nominate, RecordEvent, Ref, SetCondition, Write


class PreemptionPlans:
    """Creates plans from decisions, and the writes of plans."""

    def __init__(self, cache: Cache, assumed: AssumedPods, eviction_method: EvictionMethod, scheduler_name: str) -> None:
        self._cache, self._assumed = cache, assumed
        self._evicting, self._scheduler_name = eviction_method, scheduler_name

    def plan(self, decision: Decision, now: float) -> PreemptionPlan | None:
        """Return the plan of *decision*; None if it has no victims."""
        return self._hold(decision, now) if self._victims(decision) else None

    def victims(self, decision: Decision) -> frozenset[Ref]:
        """Return the victims."""
        return frozenset(pod.ref for pod in self._victims(decision))

    def blocked(self, decision: Decision) -> BlockedPreemption | None:
        """Return why disruption budgets forbid the evictions of *decision*, as far as the cache shows; None if they allow them."""
        if self._evicting is not EvictionMethod.EVICT:
            return None
        victims = [self._cache.usage.record(pod) for pod in self._victims(decision)]
        namespaces = {pod.namespace for pod in victims}
        budgets = [budget for budget in self._cache.group_cache.budgets.values() if budget.namespace in namespaces]
        return blocked_preemption(budgets, victims)

    def evictions(self, plan: PreemptionPlan) -> tuple[Evict, ...]:
        """Return the writes that evict the victims."""
        message = f"{self._scheduler_name}: preempting to accommodate a higher priority {plan.root.kind.lower()}"
        return tuple(Evict(plan.victims[key], message, self._evicting) for key in sorted(plan.victims))

    def is_proved(self, plan: PreemptionPlan) -> bool:
        """Return whether nothing has changed since the proof."""
        return plan.change_count == self._cache.reporter.change_count

    def release(self, plan: PreemptionPlan) -> None:
        """Drop *plan*: its victims are no longer assumed deleted, and its capacity is released."""
        for ref in plan.victims.values():
            self._assumed.cancel_deletion(ref)
        for pod in self._nominated(plan.nominations):
            self._assumed.forget_nomination(pod.ref)

    def renew(self, plan: PreemptionPlan, decision: Decision) -> PreemptionPlan | None:
        """Return the released plan as proved again by *decision*; None if it needs no victims, or victims that are not in the plan."""
        victims = self.victims(decision)
        # The dry run does not cover a newer pod of the same name.
        return self._hold(decision, plan.since) if victims and victims <= {*plan.victims.values()} else None

    def begin(self, plan: PreemptionPlan) -> tuple[Preempting, tuple[Write, ...]]:
        """Return the state after approval of the plan, and its writes: nominations, conditions, evictions and events."""
        pods = [pod for ref in plan.victims.values() if (pod := self._cache.pod(ref)) is not None]
        message = f"{self._scheduler_name}: preempting to accommodate a higher priority {plan.root.kind.lower()}"
        groups = self._disrupted(pods)
        condition = disruption_target(message)
        wanted = Condition(condition.type, condition.status, condition.reason, condition.message)
        by = f"Preempted by {plan.root.kind} {plan.root.namespace}/{plan.root.name}"
        writes: tuple[Write, ...] = (
            *(Nominate(pod.ref, plan.nominations[pod.key]) for pod in self._nominated(plan.nominations)),
            *(SetCondition(target, wanted) for target in groups),
            *self.evictions(plan),
            *(RecordEvent(target, NORMAL, "Preempted", by) for target in groups),
            *(
                RecordEvent(target, NORMAL, "Preempted", f"{by}: {count} of its pods")
                for target, count in self._partially_preempted(pods, groups)
            ),
            *(RecordEvent(pod.ref, NORMAL, "Preempted", f"{by} on node {self._cache.usage.node_of(pod)}") for pod in pods),
        )
        return Preempting(plan, groups), writes

    def keep_victim(self, preempting: Preempting, ref: Ref) -> tuple[Preempting, tuple[Write, ...]]:
        """Return the state and the writes after the eviction of *ref* failed: groups without further victims lose DisruptionTarget."""
        victims = {key: victim for key, victim in preempting.plan.victims.items() if victim != ref}
        disrupted = {group: victims - {ref} for group, victims in preempting.disrupted.items()}
        undisrupted = sorted(group for group, victims in disrupted.items() if not victims)
        remaining = Preempting(
            dataclasses.replace(preempting.plan, victims=victims), {group: victims for group, victims in disrupted.items() if victims}
        )
        return remaining, tuple(SetCondition(group, Condition(disruption_target("").type, "", "", "")) for group in undisrupted)

    def prune(self, plan: PreemptionPlan) -> PreemptionPlan:
        """Return *plan* without the victims that are gone, as well as their reservations of claims to devices."""
        reserved = self._cache.devices.has_reservations
        victims = {key: ref for key, ref in plan.victims.items() if self._cache.pod(ref) is not None or reserved(ref.uid)}
        return dataclasses.replace(plan, victims=victims)

    def _nominations(self, decision: Decision) -> dict[str, str]:
        """Return the nominations of *decision* for which the plan reserves capacity."""
        usage, nominated = self._cache.usage, decision.nominations

        def placed(group: Name) -> int:
            name = group.namespace, group.name
            placed = [pod for pod in usage.pods.members(*name) if pod.key in nominated or usage.node_of(pod)]
            return len(placed) + usage.pods.ended(*name)

        pods = (pod for key in nominated if (pod := usage.pods.pods.get(key)) is not None)
        groups = {pod.key: Name("PodGroup", pod.name[0], pod.draft.group) for pod in pods}
        return held_nominations(decision, self._cache.tree(decision.root), groups, placed)

    def _victims(self, decision: Decision) -> list[LivePod]:
        pods = self._cache.usage.pods.pods
        return [pods[key] for key in decision.victims if key in pods]

    def _nominated(self, nominations: Iterable[str]) -> list[LivePod]:
        pods = self._cache.usage.pods.pods
        return [pods[key] for key in sorted(nominations) if key in pods]

    def _hold(self, decision: Decision, since: float) -> PreemptionPlan:
        """Assume that the victims of *decision* are deleted, and reserve capacity for its nominations."""
        pods, nominations = self._victims(decision), self._nominations(decision)
        for pod in pods:
            self._assumed.expect_deletion(pod.ref, evicted=True)
        for pod in self._nominated(nominations):
            self._assumed.assume_nomination(pod.ref, nominations[pod.key])
        return PreemptionPlan(decision.root, {pod.key: pod.ref for pod in pods}, nominations, since, self._cache.reporter.change_count)

    def _disrupted(self, pods: list[LivePod]) -> dict[Ref, frozenset[Ref]]:
        """Return the groups with disruption mode ``all`` that are evicted as a whole, by name, each with its pods among *pods*."""
        cache = self._cache
        snapshot = cache.snapshot({root for pod in pods if (root := cache.reporter.root(pod)) is not None})
        units = Units((), snapshot.groups, snapshot.priorities)
        groups: dict[Ref, set[Ref]] = {}
        for pod in pods:
            owner = units.inherited(pod.name[0], pod.draft.group).owner if pod.draft.group else None
            if owner is not None and (target := self._target(owner)) is not None:
                groups.setdefault(target, set()).add(pod.ref)
        ordered = sorted(groups, key=lambda target: (target.namespace, target.name, target.kind))
        return {target: frozenset(groups[target]) for target in ordered}

    def _partially_preempted(self, pods: list[LivePod], disrupted: Mapping[Ref, Collection[Ref]]) -> list[tuple[Ref, int]]:
        """Return the groups that lose single pods, by name, each with the number of these pods."""
        whole = {ref for victims in disrupted.values() for ref in victims}
        owners = [Name("PodGroup", pod.name[0], pod.draft.group) for pod in pods if pod.draft.group and pod.ref not in whole]
        return sorted(collections.Counter(filter(None, map(self._target, owners))).items(), key=lambda each: each[0].key)

    def _target(self, owner: Name) -> Ref | None:
        live = self._cache.group(owner.kind, owner.namespace, owner.name)
        return Ref(*live.key, live.uid) if live is not None else None
