"""Workloads that Kueue would preempt for a job: its classical preemption, without fair sharing.

Source: Kueue 0.17.0, ``pkg/scheduler/preemption``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

from expansion.kueue.assign_flavors import Mode, Possibility, borrows_by_preemption
from expansion.kueue.pending import PendingJob
from expansion.kueue.queues import Queue, Queues, Reserved
from expansion.kueue.quota_tree import FlavorResource, QuotaNode
from kubeapi.base_structs import Record

_NEVER = frozenset({"", "Never"})
_NEWER_EQUAL = "LowerOrNewerEqualPriority"


class _Variant(enum.Enum):
    """When a Workload can be preempted."""

    ALWAYS = enum.auto()
    WITHIN_NOMINAL = enum.auto()
    """Only if the queue uses no more than its own quota afterwards."""


class _Candidate(Record, frozen=True):
    workload: Reserved
    shared: QuotaNode | None
    """Lowest Cohort above both queues; None in the same queue."""
    variant: _Variant = _Variant.ALWAYS


Amounts = Mapping[FlavorResource, int]


class Preemption:
    """Preemption for *job* in *queue*; every trial leaves the usage of the queues as it was."""

    def __init__(self, queues: Queues, queue: Queue, job: PendingJob) -> None:
        self._queue, self._node, self._job = queue, queue.node, job
        self._by_node = {id(each.node): each for each in queues.queues.values()}

    def possibility(self, wanted: FlavorResource, needed: int) -> Possibility:
        """Return what preemption does for an amount of one resource."""
        targets = self.targets(frozenset((wanted,)), {wanted: needed})
        with_others = Mode.PREEMPTS if any(each.queue is self._node for each in targets) else Mode.RECLAIMS
        self._remove(targets)
        borrowing, _ = self._node.borrowing_height(wanted, needed)
        self._restore(targets)
        return Possibility(with_others if targets else Mode.WAITS, borrowing)

    def targets(self, short: frozenset[FlavorResource], requests: Amounts) -> list[Reserved]:
        """Return the Workloads to preempt so that there is enough for *requests*; *short* are the resources of which there is too little."""
        hierarchical, others = self._of_cohort(short, requests)
        own = [_Candidate(each, None) for each in self._of_queue(self._queue, short)]
        borrows = borrows_by_preemption(self._queue)
        under_nominal = all(self._node.usage[each] < self._node.quota(each).nominal for each in short)
        if (not hierarchical and not others) or (not borrows and not under_nominal):
            attempts: tuple[bool, ...] = (True,)
        else:
            attempts = (False, True) if not borrows and not hierarchical else (True, False)
        ordered = [*map(self._in_order, (hierarchical, others, own))]
        candidates = [each for evicted in (True, False) for part in ordered for each in part if each.workload.evicted is evicted]
        found = (self._attempt(candidates, short, requests, borrowing=each) for each in attempts)
        return next(filter(None, found), [])

    def _attempt(
        self, candidates: Iterable[_Candidate], short: frozenset[FlavorResource], requests: Amounts, *, borrowing: bool
    ) -> list[Reserved]:
        targets: list[Reserved] = []
        for each in candidates:
            if not self._is_valid(each, short, borrowing=borrowing):
                continue
            self._remove((each.workload,))
            targets.append(each.workload)
            if self._fits(requests, borrowing=borrowing):
                targets = self._without_needless(targets, requests, borrowing=borrowing)
                break
        else:
            self._restore(targets)
            return []
        self._restore(targets)
        return targets

    def _without_needless(self, targets: list[Reserved], requests: Amounts, *, borrowing: bool) -> list[Reserved]:
        """Return *targets* without those that can stay, which are put back."""
        for index in range(len(targets) - 2, -1, -1):
            self._restore((targets[index],))
            if self._fits(requests, borrowing=borrowing):
                targets[index] = targets[-1]
                targets.pop()
            else:
                self._remove((targets[index],))
        return targets

    def _fits(self, requests: Amounts, *, borrowing: bool) -> bool:
        node = self._node
        return all(
            (borrowing or not node.exceeds(each, amount)) and amount <= max(0, node.available(each)) for each, amount in requests.items()
        )

    def _is_valid(self, candidate: _Candidate, short: frozenset[FlavorResource], *, borrowing: bool) -> bool:
        """Return whether a candidate can be preempted after those before it: its queue, and its Cohorts, still use more than their quota."""
        if candidate.shared is None:
            return True
        if borrowing and candidate.variant is _Variant.WITHIN_NOMINAL:
            return False
        node: QuotaNode | None = candidate.workload.queue
        while node is not None and node is not candidate.shared:
            if node.is_within(short):
                return False
            node = node.parent
        return True

    def _of_queue(self, queue: Queue, short: frozenset[FlavorResource]) -> Iterator[Reserved]:
        """Yield the Workloads of a queue that use one of *short* and that the policy allows to preempt."""
        policies = self._queue.spec.preemption
        policy = policies.within_cluster_queue if queue is self._queue else policies.reclaim_within_cohort
        for each in queue.workloads if policy not in _NEVER else ():
            if not short.isdisjoint(each.amounts) and self._allows(policy, each):
                yield each

    def _allows(self, policy: str, candidate: Reserved) -> bool:
        if candidate.priority < self._job.priority:
            return policy in {"LowerPriority", _NEWER_EQUAL, "Any"}
        newer = candidate.priority == self._job.priority and self._job.created < candidate.created
        return policy == "Any" or (policy == _NEWER_EQUAL and newer)

    def _of_cohort(self, short: frozenset[FlavorResource], requests: Amounts) -> tuple[list[_Candidate], list[_Candidate]]:
        """Return the candidates of other queues: those from which the queue takes back its own, or that of a Cohort, and the others."""
        lists: dict[bool, list[_Candidate]] = {True: [], False: []}
        if self._queue.spec.preemption.reclaim_within_cohort in _NEVER:
            return lists[True], lists[False]
        has_advantage, rest = self._node.rest(requests)
        before: QuotaNode = self._node
        for cohort in self._node.path_to_root():
            for queue in self._borrowing_queues(cohort, before, short):
                found = self._of_queue(queue, short)
                lists[has_advantage] += (_Candidate(each, cohort, self._variant(each, advantage=has_advantage)) for each in found)
            fits, rest = cohort.rest(rest)
            has_advantage, before = has_advantage or fits, cohort
        return lists[True], lists[False]

    def _borrowing_queues(self, cohort: QuotaNode, besides: QuotaNode, short: frozenset[FlavorResource]) -> Iterator[Queue]:
        for child in cohort.cohorts:
            if child is not besides and not child.is_within(short):
                yield from self._borrowing_queues(child, besides, short)
        for child in cohort.queues:
            if child is not self._node and not child.is_within(short):
                yield self._by_node[id(child)]

    def _variant(self, candidate: Reserved, *, advantage: bool) -> _Variant:
        if advantage:
            return _Variant.ALWAYS
        most = self._queue.spec.preemption.borrow_within_cohort.max_priority_threshold
        too_high = candidate.priority >= self._job.priority or (most is not None and candidate.priority > most)
        return _Variant.WITHIN_NOMINAL if too_high or not borrows_by_preemption(self._queue) else _Variant.ALWAYS

    def _in_order(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Return *candidates* in the order in which they are preempted."""
        by_uid = sorted(candidates, key=lambda each: each.workload.uid)
        by_time = sorted(by_uid, key=lambda each: each.workload.since or "~", reverse=True)
        # Sorting keeps the order of equal ones; with reverse too.
        return sorted(by_time, key=lambda each: (not each.workload.evicted, each.workload.queue is self._node, each.workload.priority))

    def _remove(self, workloads: Iterable[Reserved]) -> None:
        for each in workloads:
            each.queue.remove(each.amounts)

    def _restore(self, workloads: Iterable[Reserved]) -> None:
        for each in workloads:
            each.queue.add(each.amounts)
