"""The cluster as a root finds it: what was decided on the roots before it stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from scheduler_core.cycle.run_cycle import CycleOptions, queued
from scheduler_core.model.decision import Decision, Status
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot

_TRIED = frozenset({Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE})
"""What a root comes to that was tried."""


def tried(decisions: Sequence[Decision], snapshot: ClusterSnapshot, options: CycleOptions) -> list[Decision]:
    """Those of *decisions* on roots that had a turn; the others leave all as it was.  *snapshot* is as its feature gates leave it."""
    ready = frozenset[object]()
    if any(each.status is Status.ERROR for each in decisions):
        # A root is in error before its turn or in it.
        ready = frozenset(entity.name for entity in queued(snapshot, options))
    return [each for each in decisions if each.status in _TRIED or each.root in ready]


def standing(snapshot: ClusterSnapshot, decisions: Sequence[Decision]) -> ClusterSnapshot:
    """*snapshot* once *decisions*, on roots that had a turn, were made: what they place runs, and what they promise is nominated.

    Of what they leave pending, what is promised nothing any more is left out.
    """
    index = snapshot.nodes.index
    bound = {pod: index[node] for each in decisions for pod, node in each.assignments.items()}
    promised = {pod: index[node] for each in decisions for pod, node in each.nominations.items()}
    pending = {pod: each for each in decisions for pod in each.pending}
    if not bound and not promised and not pending:
        return snapshot

    def after() -> Iterator[PodRecord]:
        for pod in snapshot.pods:
            if pod.key in bound:
                yield dataclasses.replace(pod, node=bound[pod.key], nominated=-1)
            elif pod.key in promised:
                yield dataclasses.replace(pod, nominated=promised[pod.key])
            elif pod.key not in pending or _keeps_its_promise(pod, pending[pod.key]):
                yield pod

    return dataclasses.replace(snapshot, pods=tuple(after()))


def _keeps_its_promise(pod: PodRecord, decision: Decision) -> bool:
    """Whether *pod*, which *decision* leaves pending and promises nothing, is still promised what it was before, if anything.

    A failure without a preemption takes the promises from all pods of a root, but for a pod by itself that may not preempt; see
    ``Decider``.
    """
    if pod.nominated < 0:
        return False
    preempts = bool(decision.nominations)
    return decision.status is Status.SUCCESS or preempts or (decision.root.kind == "Pod" and not pod.preempts)
