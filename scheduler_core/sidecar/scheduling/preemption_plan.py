"""Victims of a proved plan: chosen, tried dry, proved once more, told to leave, awaited.

A plan is *proposed* while its evictions are tried dry; its victims count as leaving and its room is kept meanwhile, so that no
other root counts on either.  It is *under way* once it was proved again and the evictions are sent; until the last victim is
gone the root is left alone.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Mapping

from scheduler_core.cycle.effects import held_nominations
from scheduler_core.model.conditions import disruption_target
from scheduler_core.model.decision import Decision, Name
from scheduler_core.preemption.units.units import Units
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.states import Preempting, PreemptionPlan
from scheduler_core.sidecar.scheduling.binding import NORMAL
from scheduler_core.sidecar.writes import Condition, Evict, EvictionMethod, Nominate, RecordEvent, Ref, SetCondition, Write


class PreemptionPlans:
    """Makes plans of decisions, and the writes of plans."""

    def __init__(self, store: Cache, assumed: AssumedPods, eviction_method: EvictionMethod, scheduler_name: str) -> None:
        self._store, self._assumed = store, assumed
        self._evicting, self._scheduler_name = eviction_method, scheduler_name

    def plan(self, decision: Decision, now: float) -> PreemptionPlan | None:
        """The plan that *decision* has; None where there is none, or where the API server would refuse it.

        Evictions that break a disruption budget are refused, so that a plan with such a one would evict in vain.
        """
        if not self._victims(decision) or not self.is_allowed(decision):
            return None
        return self._hold(decision, now)

    def victims(self, decision: Decision) -> frozenset[Ref]:
        """Return the victims."""
        return frozenset(pod.ref for pod in self._victims(decision))

    def is_allowed(self, decision: Decision) -> bool:
        """Return whether disruption budgets allow all evictions, as far as the decision knows."""
        return self._evicting is not EvictionMethod.EVICT or decision.preemption is None or not decision.preemption.violating

    def evictions(self, plan: PreemptionPlan) -> tuple[Evict, ...]:
        """Return the writes that evict the victims."""
        message = f"{self._scheduler_name}: preempting to accommodate a higher priority {plan.root.kind.lower()}"
        return tuple(Evict(plan.victims[key], message, self._evicting) for key in sorted(plan.victims))

    def is_proved(self, plan: PreemptionPlan) -> bool:
        """Return whether nothing has changed since the proof."""
        return plan.change_count == self._store.reporter.change_count

    def release(self, plan: PreemptionPlan) -> None:
        """The plan does not come about: its victims stay, and its room is kept no more."""
        for ref in plan.victims.values():
            self._assumed.cancel_deletion(ref)
        for pod in self._nominated(plan.nominations):
            self._assumed.forget_nomination(pod.ref)

    def renew(self, plan: PreemptionPlan, decision: Decision) -> PreemptionPlan | None:
        """Return what *decision*, which proved it again, leaves of a plan that was released; None if nothing is left of it."""
        victims = self.victims(decision)
        # A pod of the same name made since is another, whose eviction was not tried.
        return self._hold(decision, plan.since) if victims and victims <= {*plan.victims.values()} else None

    def begin(self, plan: PreemptionPlan) -> tuple[Preempting, tuple[Write, ...]]:
        """Return what is under way once the plan is approved, and its writes.

        They say where the root's pods will go, who is disrupted, and who leaves.
        """
        pods = [pod for ref in plan.victims.values() if (pod := self._store.pod(ref)) is not None]
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
            *(RecordEvent(pod.ref, NORMAL, "Preempted", f"{by} on node {self._store.usage.node_of(pod)}") for pod in pods),
        )
        return Preempting(plan, groups), writes

    def keep_victim(self, preempting: Preempting, ref: Ref) -> tuple[Preempting, tuple[Write, ...]]:
        """Return what is under way, and written, now that the victim *ref* stays: a group of which nobody leaves is not disrupted."""
        victims = {key: victim for key, victim in preempting.plan.victims.items() if victim != ref}
        disrupted = {group: victims - {ref} for group, victims in preempting.disrupted.items()}
        undisrupted = sorted(group for group, victims in disrupted.items() if not victims)
        remaining = Preempting(
            dataclasses.replace(preempting.plan, victims=victims), {group: victims for group, victims in disrupted.items() if victims}
        )
        return remaining, tuple(SetCondition(group, Condition(disruption_target("").type, "", "", "")) for group in undisrupted)

    def prune(self, plan: PreemptionPlan) -> PreemptionPlan:
        """Return *plan* without the victims that are gone."""
        victims = {key: ref for key, ref in plan.victims.items() if self._store.pod(ref) is not None}
        return dataclasses.replace(plan, victims=victims)

    def _nominations(self, decision: Decision) -> dict[str, str]:
        """Return the nominations of *decision* that the plan holds capacity for."""
        usage, nominated = self._store.usage, decision.nominations

        def placed(group: Name) -> int:
            name = group.namespace, group.name
            placed = [pod for pod in usage.pods.members(*name) if pod.key in nominated or usage.node_of(pod)]
            return len(placed) + usage.pods.ended(*name)

        pods = (pod for key in nominated if (pod := usage.pods.pods.get(key)) is not None)
        groups = {pod.key: Name("PodGroup", pod.name[0], pod.draft.group) for pod in pods}
        return held_nominations(decision, self._store.tree(decision.root), groups, placed)

    def _victims(self, decision: Decision) -> list[LivePod]:
        pods = self._store.usage.pods.pods
        return [pods[key] for key in decision.victims if key in pods]

    def _nominated(self, nominations: Iterable[str]) -> list[LivePod]:
        pods = self._store.usage.pods.pods
        return [pods[key] for key in sorted(nominations) if key in pods]

    def _hold(self, decision: Decision, since: float) -> PreemptionPlan:
        """Have the victims of *decision* count as leaving, and hold capacity for its nominations."""
        pods, nominations = self._victims(decision), self._nominations(decision)
        for pod in pods:
            self._assumed.expect_deletion(pod.ref, evicted=True)
        for pod in self._nominated(nominations):
            self._assumed.assume_nomination(pod.ref, nominations[pod.key])
        return PreemptionPlan(decision.root, {pod.key: pod.ref for pod in pods}, nominations, since, self._store.reporter.change_count)

    def _disrupted(self, pods: list[LivePod]) -> dict[Ref, frozenset[Ref]]:
        """The groups of disruption mode ``all`` that leave as a whole, in the order of their names, each with those of *pods* in it."""
        store = self._store
        snapshot = store.snapshot({root for pod in pods if (root := store.reporter.root(pod)) is not None})
        units = Units((), snapshot.groups, snapshot.priorities)
        found: dict[Ref, set[Ref]] = {}
        for pod in pods:
            owner = units.inherited(pod.name[0], pod.draft.group).owner if pod.draft.group else None
            if owner is not None and (target := self._target(owner)) is not None:
                found.setdefault(target, set()).add(pod.ref)
        ordered = sorted(found, key=lambda target: (target.namespace, target.name, target.kind))
        return {target: frozenset(found[target]) for target in ordered}

    def _partially_preempted(self, pods: list[LivePod], disrupted: Mapping[Ref, Collection[Ref]]) -> list[tuple[Ref, int]]:
        """The groups whose pods leave one by one, in the order of their names, each with how many of *pods* do."""
        whole = {ref for victims in disrupted.values() for ref in victims}
        owners = [Name("PodGroup", pod.name[0], pod.draft.group) for pod in pods if pod.draft.group and pod.ref not in whole]
        return sorted(collections.Counter(filter(None, map(self._target, owners))).items(), key=lambda each: each[0].key)

    def _target(self, owner: Name) -> Ref | None:
        live = self._store.group(owner.kind, owner.namespace, owner.name)
        return Ref(*live.key, live.uid) if live is not None else None
