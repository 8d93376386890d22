"""Victims of a proved plan: chosen, tried dry, proved once more, told to leave, awaited.

A plan is *proposed* while its evictions are tried dry; its victims count as leaving and its room is kept meanwhile, so that no
other root counts on either.  It is *under way* once it was proved again and the evictions are sent; until the last victim is
gone the root is left alone.
"""

from __future__ import annotations

import dataclasses

from scheduler_core.conditions import disruption_target
from scheduler_core.decision import Decision, Name
from scheduler_core.preemption.units import Units
from scheduler_core.sidecar.assumed import Assumed
from scheduler_core.sidecar.place import NORMAL
from scheduler_core.sidecar.pods_live import LivePod
from scheduler_core.sidecar.store import Store
from scheduler_core.sidecar.writes import Condition, Evict, Evicting, Nominate, Ref, SetCondition, Tell, Write


@dataclasses.dataclass(slots=True, eq=False)
class Plan:
    """Who is to leave for a root, and where its pods go then."""

    root: Name
    victims: dict[str, Ref]
    """By key."""
    nominations: dict[str, str]
    since: float
    under_way: bool = False
    changes: int = -1
    """How many changes there had been when it was last proved."""


class Preempting:
    """Makes plans of decisions, and the writes of plans."""

    def __init__(self, store: Store, assumed: Assumed, evicting: Evicting, told_by: str) -> None:
        self._store, self._assumed = store, assumed
        self._evicting, self._told_by = evicting, told_by

    def plan(self, decision: Decision, now: float) -> Plan | None:
        """The plan that *decision* has; None where there is none, or where the API server would refuse it.

        Evictions that break a disruption budget are refused, so that a plan with such a one would evict in vain.
        """
        pods = self._victims(decision)
        if not pods or not self.is_allowed(decision):
            return None
        plan = Plan(decision.root, {pod.key: pod.ref for pod in pods}, dict(decision.nominations), now)
        self._hold(plan)
        return plan

    def victims(self, decision: Decision) -> frozenset[Ref]:
        """Who is to leave."""
        return frozenset(pod.ref for pod in self._victims(decision))

    def is_allowed(self, decision: Decision) -> bool:
        """Whether the API server would let all victims leave, as far as the decision tells."""
        return self._evicting is not Evicting.EVICT or decision.preemption is None or not decision.preemption.violating

    def evictions(self, plan: Plan) -> tuple[Evict, ...]:
        """What makes the victims leave."""
        message = f"{self._told_by}: preempting to accommodate a higher priority {plan.root.kind.lower()}"
        return tuple(Evict(plan.victims[key], message, self._evicting) for key in sorted(plan.victims))

    def is_proved(self, plan: Plan) -> bool:
        """Whether nothing has changed since it was proved."""
        return plan.changes == self._store.report.changes

    def release(self, plan: Plan) -> None:
        """The plan does not come about: its victims stay, and its room is kept no more."""
        for ref in plan.victims.values():
            self._assumed.stay(ref)
        for pod in self._nominated(plan):
            self._assumed.unpromise(pod.ref)

    def renew(self, plan: Plan, decision: Decision) -> bool:
        """Take over what *decision*, which proved it again, leaves of a plan that was released; False if nothing is left of it."""
        pods = self._victims(decision)
        if not pods or not {pod.key for pod in pods} <= plan.victims.keys():
            return False
        plan.victims = {pod.key: pod.ref for pod in pods}
        plan.nominations = dict(decision.nominations)
        self._hold(plan)
        return True

    def begin(self, plan: Plan) -> tuple[Write, ...]:
        """What is written once the plan stands: where the root's pods will go, who is disrupted, and who leaves."""
        plan.under_way = True
        pods = [pod for ref in plan.victims.values() if (pod := self._store.pod(ref)) is not None]
        message = f"{self._told_by}: preempting to accommodate a higher priority {plan.root.kind.lower()}"
        groups = [target for owner in self._owners(pods) if (target := self._target(owner)) is not None]
        condition = disruption_target(message)
        wanted = Condition(condition.type, condition.status, condition.reason, condition.message)
        by = f"Preempted by {plan.root.kind} {plan.root.namespace}/{plan.root.name}"
        return (
            *(Nominate(pod.ref, plan.nominations[pod.key]) for pod in self._nominated(plan)),
            *(SetCondition(target, wanted) for target in groups),
            *self.evictions(plan),
            *(Tell(target, NORMAL, "Preempted", by) for target in groups),
            *(Tell(pod.ref, NORMAL, "Preempted", f"{by} on node {self._store.standing.place_of(pod)}") for pod in pods),
        )

    def prune(self, plan: Plan) -> bool:
        """Leave out the victims that are gone; whether none is left."""
        plan.victims = {key: ref for key, ref in plan.victims.items() if self._store.pod(ref) is not None}
        return not plan.victims

    def _victims(self, decision: Decision) -> list[LivePod]:
        pods = self._store.standing.pods.pods
        return [pods[key] for key in decision.victims if key in pods]

    def _nominated(self, plan: Plan) -> list[LivePod]:
        pods = self._store.standing.pods.pods
        return [pods[key] for key in sorted(plan.nominations) if key in pods]

    def _hold(self, plan: Plan) -> None:
        for ref in plan.victims.values():
            self._assumed.leave(ref, evicted=True)
        for pod in self._nominated(plan):
            self._assumed.promise(pod.ref, plan.nominations[pod.key])
        plan.changes = self._store.report.changes

    def _owners(self, pods: list[LivePod]) -> list[Name]:
        """The groups of disruption mode ``all`` that leave as a whole with *pods*."""
        store = self._store
        snapshot = store.snapshot({root for pod in pods if (root := store.report.root(pod)) is not None})
        units = Units((), snapshot.groups, snapshot.priorities)
        found = {units.tie(pod.name[0], pod.draft.group).owner for pod in pods if pod.draft.group}
        return sorted((owner for owner in found if owner is not None), key=lambda owner: (owner.namespace, owner.name, owner.kind))

    def _target(self, owner: Name) -> Ref | None:
        live = self._store.group(owner.kind, owner.namespace, owner.name)
        return Ref(*live.key, live.uid) if live is not None else None
