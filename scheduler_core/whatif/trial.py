"""A root tried on changed clusters, until the number of tries is used up."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from scheduler_core.cycle import CycleOptions, prepared, run_cycle
from scheduler_core.decision import Status, Step
from scheduler_core.gated import gated
from scheduler_core.queueing.order import OrderError
from scheduler_core.snapshot import ClusterSnapshot
from scheduler_core.whatif.changes import applied
from scheduler_core.whatif.subject import Subject

_MOST, _WORK = 160, 1_000_000
"""So many tries, or so many nodes and pods looked at in all, where that is less."""


_NODES_ADDED = 3
"""Tries that one with other nodes counts as: all that is known of nodes is worked out anew."""


def allowed(snapshot: ClusterSnapshot) -> int:
    """How often a root may be tried for its remedies; a try counts those before it in the queue where these are tried with it."""
    return max(1, min(_MOST, _WORK // max(1, len(snapshot.nodes) + len(snapshot.pods))))


class SpentError(Exception):
    """All tries are used up."""


class Trial:
    """Tries one root.

    The roots before it are decided on once; changes are tried where those stand as they were placed, and what works there
    is tried again with all of them.  Without roots before it the two are the same.
    """

    def __init__(self, snapshot: ClusterSnapshot, options: CycleOptions, subject: Subject, tries: int = 0) -> None:
        self.root = subject.root
        self._others = any(pod.node < 0 and pod.key not in subject.own for pod in snapshot.pods)
        self.left = tries or allowed(snapshot)
        self._options = dataclasses.replace(options, progress=None)
        self._whole = snapshot
        self._first = dataclasses.replace(self._options, order=())
        self.base, self._before = self._frozen()

    def placed(self, steps: Sequence[Step]) -> dict[str, str] | None:
        """The nodes of the root's pods, by ``namespace/name``, with *steps* applied; None where it is not placed.

        Raises:
            SpentError: all tries are used up.

        """
        adds = any(step.apply is not None and step.apply.get("kind") == "Node" for step in steps)
        self._take(_NODES_ADDED if adds else 1)
        return self.tried(applied(self.base, steps))

    def tried(self, snapshot: ClusterSnapshot) -> dict[str, str] | None:
        """The same on a changed ``base``; does not count."""
        snapshot = gated(snapshot, self._first.gates)
        decider, ready = prepared(snapshot, self._first)
        entity = next((each for each in ready if each.name == self.root), None)
        pods = None if entity is None else decider.fitting(entity)
        return None if pods is None else {pod.key: snapshot.nodes.names[node] for pod, node in pods}

    def works(self, steps: Sequence[Step]) -> bool:
        """Whether the root is placed in a whole cycle with *steps* applied.

        Raises:
            SpentError: all tries are used up.

        """
        self._take(1 + self._before)
        snapshot = applied(self._whole, steps)
        try:
            if self._options.evict or self._options.placing.preempt_for_leftovers:
                decisions = run_cycle(snapshot, self._options).decisions
                return (
                    any(each.root == self.root for each in decisions)
                    and [each.status for each in decisions if each.root == self.root][-1] is Status.SUCCESS
                )
            return self._in_turn(gated(snapshot, self._options.gates))
        except OrderError:
            return False

    def _in_turn(self, snapshot: ClusterSnapshot) -> bool:
        decider, ready = prepared(snapshot, self._options)
        for entity in ready:
            if entity.name == self.root:
                return decider.fitting(entity) is not None
            decider.decide(entity)
        return False

    @property
    def crowded(self) -> bool:
        """Whether what is placed by itself must be tried again in a whole cycle."""
        return self._others or self._options.evict or self._options.placing.preempt_for_leftovers

    def take(self) -> None:
        """Count a try.  Raises SpentError."""
        self._take(1)

    def _take(self, number: int) -> None:
        if self.left < number:
            raise SpentError
        self.left -= number

    def _frozen(self) -> tuple[ClusterSnapshot, int]:
        """The snapshot as the root finds it, and how many roots are before it."""
        snapshot = self._whole
        decider, ready = prepared(gated(snapshot, self._options.gates), self._options)
        place = next((number for number, each in enumerate(ready) if each.name == self.root), 0)
        bound: dict[str, int] = {}
        lost: set[str] = set()
        for entity in ready[:place]:
            decision = decider.decide(entity)
            bound |= {pod: snapshot.nodes.index[node] for pod, node in decision.assignments.items()}
            lost |= set(decision.pending).difference(decision.nominations)
        if not place:
            return snapshot, 0
        pods = (dataclasses.replace(pod, node=bound[pod.key], nominated=-1) if pod.key in bound else pod for pod in snapshot.pods)
        return dataclasses.replace(snapshot, pods=tuple(pod for pod in pods if pod.key not in lost)), place
