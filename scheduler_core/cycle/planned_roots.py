"""Roots for which pods were evicted: their nominated pods come first, and none of them loses its place to other pods of the root."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.meta import replaced
from scheduler_core.causes.attempts import AttemptResult, PreemptionResult
from scheduler_core.causes.groups import VictimsAwaited
from scheduler_core.causes.searches import AttemptNote
from scheduler_core.cycle.claim_consumers import only
from scheduler_core.diagnosis import Diagnosis
from scheduler_core.model.decision import Decision, Search
from scheduler_core.model.entity import Entity
from scheduler_core.model.nominations import Nominations
from scheduler_core.model.status import Status
from scheduler_core.placement.outcome import PlacementOutcome, assigned
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.preemption.result import Preemption


def keeps_plan(request: PlacementRequest, outcome: PlacementOutcome, nominations: Nominations) -> bool:
    """Return whether *outcome* places at least as many pods of each group as have *nominations*."""
    planned = nominations.numbers(request.entity)
    if not planned:
        return True
    placed = {pod.key for pod, _ in assigned(request, outcome)}
    return all(sum(pod.key in placed for pod in leaf.waiting) >= planned.get(leaf.name, 0) for leaf in request.entity.leaves())


def planned_part(entity: Entity, nominations: Nominations) -> Entity | None:
    """Return *entity* with only the pods of groups that have *nominations*; None if that is all."""
    kept = {pod.key for leaf in entity.leaves() if nominations.own(leaf) for pod in leaf.waiting}
    return only(entity, kept) if len(kept) < sum(len(leaf.waiting) for leaf in entity.leaves()) else None


def with_rest_postponed(decision: Decision, entity: Entity, part: Entity) -> Decision:
    """Return *decision* on *part* of *entity* as the decision on *entity*, whose other pods are placed in a later cycle."""
    kept = {pod.key for leaf in part.leaves() for pod in leaf.waiting}
    rest = {pod.key: (AttemptNote.REST_POSTPONED,) for leaf in entity.leaves() for pod in leaf.waiting if pod.key not in kept}
    decided = {each.name for each in entity.walk() if not kept.isdisjoint(pod.key for leaf in each.leaves() for pod in leaf.waiting)}
    groups = tuple(each for each in decision.groups if each.group in decided)
    return dataclasses.replace(decision, pending={**decision.pending, **rest}, groups=groups)


def awaiting(request: PlacementRequest, outcome: PlacementOutcome) -> tuple[PlacementOutcome, Preemption[None], Diagnosis, Search]:
    """Return the results for a root of which *outcome* places a part: the rest is placed when pods on its nodes have terminated."""
    cause = VictimsAwaited()
    pods = dict.fromkeys((pod.key for leaf in request.entity.leaves() for pod in leaf.waiting), cause)
    failed = dataclasses.replace(outcome, status=Status.UNSCHEDULABLE, reason=AttemptResult.VICTIMS_AWAITED, loads=(), placed=0)
    return failed, ongoing(request.entity), Diagnosis(cause, pods=pods), Search("complete", "not-searched")


def ongoing(entity: Entity) -> Preemption[None]:
    """Return the preemption of *entity* while it waits for the victims of an earlier one."""
    nominations = {pod.key: pod.nominated for leaf in entity.leaves() for pod in leaf.waiting if pod.nominated >= 0}
    return Preemption(Status.SUCCESS, PreemptionResult.ONGOING, nominations=nominations)


def with_placed(entity: Entity, nodes: Mapping[str, int]) -> Entity:
    """Return *entity* with its pods in *nodes*, by key, running on these nodes, by index."""
    placed = tuple(replaced(pod, node=nodes[pod.key], nominated=-1) for pod in entity.waiting if pod.key in nodes)
    waiting = tuple(pod for pod in entity.waiting if pod.key not in nodes)
    children = tuple(with_placed(child, nodes) for child in entity.children)
    return dataclasses.replace(entity, waiting=waiting, running=(*entity.running, *placed), children=children)


def without_nominations(entity: Entity) -> Entity:
    """Return *entity* without nominations: they count as an earlier preemption."""
    if not any(pod.nominated >= 0 for leaf in entity.leaves() for pod in leaf.waiting):
        return entity
    waiting = tuple(replaced(pod, nominated=-1) for pod in entity.waiting)
    return dataclasses.replace(entity, waiting=waiting, children=tuple(map(without_nominations, entity.children)))
