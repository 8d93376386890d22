"""Free capacity at the time of a root's cycle, for the figures of roots that were not placed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from kubeapi.meta import replaced
from muster.render.answer import Answer
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, queued
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status

_TRIED = (Status.UNSCHEDULABLE, Status.UNRESOLVABLE)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One attempt to place a root.

    Attributes:
        decision: the result.
        entity: the root with its pending pods.
        free: shape (resources, nodes): capacity without running, placed, and nominated pods that take precedence.
        promised: True if nominated pods reduce the capacity.

    """

    decision: Decision
    entity: Entity
    free: Ints
    promised: bool


def attempts(snapshot: ClusterSnapshot, answer: Answer, options: CycleOptions, roots: Collection[Name]) -> Iterator[Attempt]:
    """Yield the last attempt of each of *roots* that was tried and not placed, in their order."""
    latest = {decision.root: decision for decision in answer.decisions if decision.root in roots}
    waiting = {root for root, decision in latest.items() if decision.status in _TRIED}
    if not waiting:
        return
    effective = apply_feature_gates(snapshot, options.gates, options.ignored)
    entities = {entity.name: entity for entity in queued(effective, options)}
    for cycle in answer.cycles():
        table = _Table(snapshot)
        # A root that the order names can be missing in later cycles.
        attempted_decisions = attempted(cycle, effective, dataclasses.replace(options, order=()))
        changing = {decision.root for decision in attempted_decisions}
        for decision in cycle:
            entity = entities.get(decision.root)
            if entity is not None and decision.root in waiting and latest[decision.root] is decision:
                yield Attempt(decision, _remaining(entity, table.node_of), *table.free_for(entity))
                waiting.discard(decision.root)
                if not waiting:
                    return
            if decision.root in changing:
                table.assume_decision(decision)
        snapshot = table.effects.apply(snapshot, evict=True)


class _Table:
    """Resources taken on the nodes, updated from decision to decision."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self.effects = Effects(snapshot.nodes)
        self._pods = {pod.key: pod for pod in snapshot.pods}
        self.node_of = {pod.key: pod.node for pod in snapshot.pods if pod.node >= 0}
        self._nominated = {pod.key for pod in snapshot.pods if pod.node < 0 <= pod.nominated and not pod.terminating}
        self._free: Ints = snapshot.nodes.allocatable.copy()
        for (shape, node), count in Counter((self._pods[key].shape, node) for key, node in self.node_of.items()).items():
            self._add(self._free, shape, node, -count)

    def assume_decision(self, decision: Decision) -> None:
        self.effects.record(decision)
        for key in decision.assignments:
            self.node_of[key] = self.effects.placed[key]
            self._add(self._free, self._pods[key].shape, self.node_of[key], -1)

    def free_for(self, entity: Entity) -> tuple[Ints, bool]:
        """Return the free capacity for a root.  Nominations of its own pods and of pods with lower priority are not subtracted."""
        free, promised = self._free.copy(), False
        own = {pod.key for leaf in entity.leaves() for pod in leaf.waiting}
        for pod in (self._pods[key] for key in (self._nominated | self.effects.nominated.keys()) - own):
            if pod.priority >= entity.priority and (node := self.effects.nomination(pod)) >= 0:
                self._add(free, pod.shape, node, -1)
                promised = True
        return np.maximum(free, 0), promised

    @staticmethod
    def _add(free: Ints, shape: PodShape, node: int, count: int) -> None:
        for row, amount in shape.requests:
            free[row, node] += count * amount


def _remaining(entity: Entity, node_of: dict[str, int]) -> Entity:
    """Return the root at its attempt: pods placed in an earlier cycle run, evicted pods do not."""
    members = (*entity.waiting, *entity.running)
    return dataclasses.replace(
        entity,
        children=tuple(_remaining(child, node_of) for child in entity.children),
        waiting=tuple(pod for pod in members if pod.key not in node_of and pod.node < 0),
        running=tuple(replaced(pod, node=node_of[pod.key]) for pod in members if pod.key in node_of),
    )
