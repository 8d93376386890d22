"""Preemption plans: victims, dry run, second proof, evictions.

A plan is *proposed* while its evictions are in a dry run, and then its nominations are written.  Meanwhile its victims are assumed
deleted and its capacity is reserved, so no other root uses either.  It is *preempting* once it is proved again and its evictions are
sent: the nominations are in the cluster by then, so a restart does not forget them.  The root is not attempted before the last victim is
gone, and claims to devices are not reserved for it any more.

A plan can rely on victims of an earlier one.  So evictions are sent in the order of the plans, and if one is to be decided again, all
later ones are dropped.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Mapping

from scheduler_core.cycle.effects import held_nominations
from scheduler_core.model.conditions import DISRUPTION_TARGET
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.preemption.units.preemption_units import Units
from scheduler_core.queueing.trees import name_of
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.states import Preempting, PreemptionPlan, PreemptionProposed
from scheduler_core.sidecar.scheduling.binding import NORMAL
from scheduler_core.sidecar.scheduling.eviction_budgets import BlockedPreemption, blocked_preemption
from scheduler_core.sidecar.writes import Bind, Condition, Evict, EvictionMethod, Nominate, RecordEvent, Ref, SetCondition, Ungate, Write
from scheduler_core.wording.binding_words import pod_preempted_by, pods_preempted_by, preempted_by, preempting
from scheduler_core.wording.conditions import disruption_target

NOTHING: Mapping[str, str] = {}


class PreemptionPlans:
    """Creates plans from decisions, and the writes of plans."""

    def __init__(self, cache: Cache, assumed: AssumedPods, eviction_method: EvictionMethod, scheduler_name: str) -> None:
        self._cache, self._assumed = cache, assumed
        self._evicting, self._scheduler_name = eviction_method, scheduler_name
        self._cycle = -1, -1
        """Numbers of cluster changes before and after the last cycle that had an effect."""

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
        budgets = [budget for budget in self._cache.group_cache.budgets if budget.namespace in namespaces]
        return blocked_preemption(budgets, victims)

    def evictions(self, plan: PreemptionPlan) -> tuple[Evict, ...]:
        """Return the writes that evict the victims."""
        message = preempting(self._scheduler_name, plan.root.kind)
        return tuple(Evict(plan.victims[key], message, self._evicting) for key in sorted(plan.victims))

    def is_proved(self, plan: PreemptionPlan) -> bool:
        """Return whether nothing has changed since the proof, apart from other decisions of the same cycle, which take it into account."""
        before, after = self._cycle
        count = after if before < plan.change_count <= after else plan.change_count
        return count == self._cache.reporter.change_count

    def end_cycle(self, before: int) -> None:
        """Record that the decisions of a cycle are applied; *before* is the number of cluster changes at their time."""
        if before != self._cache.reporter.change_count:
            self._cycle = before, self._cache.reporter.change_count

    def release(self, plan: PreemptionPlan) -> None:
        """Drop *plan*: its victims are no longer assumed deleted, and its capacity is released."""
        for ref in plan.victims.values():
            self._assumed.cancel_deletion(ref)
        for pod in self._nominated(plan.nominations):
            self._assumed.assume_nomination(pod.ref, plan.replaced.get(pod.key, ""))

    def take_back(self, proposed: PreemptionProposed) -> tuple[Nominate, ...]:
        """Return the writes that take back the nominations of a plan that was dropped."""
        plan = proposed.plan
        sent = self._nominated(plan.nominations) if proposed.unwritten is not None else ()
        changed = ((pod, plan.replaced.get(pod.key, "")) for pod in sent)
        return tuple(Nominate(pod.ref, node) for pod, node in changed if node != plan.nominations[pod.key])

    def renew(self, plan: PreemptionPlan, decision: Decision) -> PreemptionPlan | None:
        """Return the released plan as proved again by *decision*; None if it needs no victims, or victims that are not in the plan."""
        victims = self.victims(decision)
        # The dry run does not cover a newer pod of the same name.
        return self._hold(decision, plan.since) if victims and victims <= {*plan.victims.values()} else None

    def nominate(self, nominations: Mapping[str, str], written: Mapping[str, str] = NOTHING) -> tuple[Nominate, ...]:
        """Return the writes of *nominations*, which are assumed, except those that the watch shows or that are *written*."""
        pods = (pod for pod in self._nominated(nominations) if pod.assumed_nomination is not None)
        return tuple(Nominate(pod.ref, node) for pod in pods if (node := nominations[pod.key]) != written.get(pod.key))

    def hold(self, decision: Decision) -> tuple[Nominate, ...]:
        """Reserve capacity for the nominations of *decision*, which needs no victims but those that terminate, and return the writes."""
        nominations = self._nominations(decision)
        moved = [pod for pod in self._nominated(nominations) if pod.nominated != nominations[pod.key]]
        for pod in moved:
            self._assumed.assume_nomination(pod.ref, nominations[pod.key])
        return tuple(Nominate(pod.ref, nominations[pod.key]) for pod in moved)

    def follow(self, binds: Iterable[Bind | Ungate]) -> None:
        """Let nominations of pods follow their *binds*, so that pods whose bind fails keep the capacity of victims."""
        for write in binds:
            if (pod := self._cache.pod(write.pod)) is not None and pod.nominated:
                self._assumed.assume_nomination(pod.ref, write.node)

    def begin(self, plan: PreemptionPlan, written: Mapping[str, str] = NOTHING) -> tuple[Preempting, tuple[Write, ...]]:
        """Return the state after approval of the plan, and its writes: nominations not yet *written*, conditions, evictions and events."""
        pods = [pod for ref in plan.victims.values() if (pod := self._cache.pod(ref)) is not None]
        message = preempting(self._scheduler_name, plan.root.kind)
        groups = self._disrupted(pods)
        condition = disruption_target(message)
        wanted = Condition(condition.type, condition.status, condition.reason, condition.message)
        root = Name(plan.root.kind, plan.root.namespace, plan.root.name)
        writes: tuple[Write, ...] = (
            *self.nominate(plan.nominations, written),
            *(SetCondition(target, wanted) for target in groups),
            *self.evictions(plan),
            *(RecordEvent(target, NORMAL, "Preempted", preempted_by(root)) for target in groups),
            *(
                RecordEvent(target, NORMAL, "Preempted", pods_preempted_by(root, count))
                for target, count in self._partially_preempted(pods, groups)
            ),
            *(RecordEvent(pod.ref, NORMAL, "Preempted", pod_preempted_by(root, self._cache.usage.node_of(pod))) for pod in pods),
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
        return remaining, tuple(SetCondition(group, Condition(DISRUPTION_TARGET, "", "", "")) for group in undisrupted)

    def prune(self, plan: PreemptionPlan) -> PreemptionPlan:
        """Return *plan* without the victims that are gone, as well as their reservations of claims to devices."""
        reserved = self._cache.devices.has_reservations
        victims = {key: ref for key, ref in plan.victims.items() if self._cache.pod(ref) is not None or reserved(ref.uid)}
        return dataclasses.replace(plan, victims=victims)

    def _nominations(self, decision: Decision) -> dict[str, str]:
        """Return the nominations of *decision* for which the plan reserves capacity; empty ones for other nominated pods of its root."""
        usage, nominated = self._cache.usage, decision.nominations

        def placed(group: Name) -> int:
            name = group.namespace, group.name
            placed = [pod for pod in usage.pods.members(*name) if pod.key in nominated or usage.node_of(pod)]
            return len(placed) + usage.pods.ended(*name)

        pods = (pod for key in nominated if (pod := usage.pods.pods.get(key)) is not None)
        groups = {pod.key: Name("PodGroup", pod.name[0], pod.parsed_pod.group) for pod in pods}
        tree = self._cache.tree(decision.root)
        names = [name for name in map(name_of, tree) if name.kind == "PodGroup"]
        members = (pod for name in names for pod in usage.pods.members(name.namespace, name.name))
        earlier = {pod.key: "" for pod in members if pod.nominated and not usage.node_of(pod)}
        return earlier | held_nominations(decision, tree, groups, placed)

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
        replaced = {pod.key: pod.nominated for pod in self._nominated(nominations)}
        for pod in self._nominated(nominations):
            self._assumed.assume_nomination(pod.ref, nominations[pod.key])
        return PreemptionPlan(
            decision.root, {pod.key: pod.ref for pod in pods}, nominations, since, self._cache.reporter.change_count, replaced
        )

    def _disrupted(self, pods: list[LivePod]) -> dict[Ref, frozenset[Ref]]:
        """Return the groups with disruption mode ``all`` that are evicted as a whole, by name, each with its pods among *pods*."""
        cache = self._cache
        snapshot = cache.snapshot({root for pod in pods if (root := cache.reporter.root(pod)) is not None})
        units = Units((), snapshot.groups, snapshot.priorities)
        groups: dict[Ref, set[Ref]] = {}
        for pod in pods:
            owner = units.inherited(pod.name[0], pod.parsed_pod.group).owner if pod.parsed_pod.group else None
            if owner is not None and (target := self._target(owner)) is not None:
                groups.setdefault(target, set()).add(pod.ref)
        ordered = sorted(groups, key=lambda target: (target.namespace, target.name, target.kind))
        return {target: frozenset(groups[target]) for target in ordered}

    def _partially_preempted(self, pods: list[LivePod], disrupted: Mapping[Ref, Collection[Ref]]) -> list[tuple[Ref, int]]:
        """Return the groups that lose single pods, by name, each with the number of these pods."""
        whole = {ref for victims in disrupted.values() for ref in victims}
        owners = [Name("PodGroup", pod.name[0], pod.parsed_pod.group) for pod in pods if pod.parsed_pod.group and pod.ref not in whole]
        return sorted(collections.Counter(filter(None, map(self._target, owners))).items(), key=lambda each: each[0].key)

    def _target(self, owner: Name) -> Ref | None:
        live = self._cache.group(owner.kind, owner.namespace, owner.name)
        return live.ref if live is not None else None
