"""Results of a group in every domain of a topology level; only domains that changed are evaluated again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Division, Placement
from scheduler_core.placement import equal_domains, equal_pods_by_domain, placement_score
from scheduler_core.placement.infeasible_domains import DeviceBound, LowerBound, countable, reachable
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.placement_score import PlacementScore, amounts_of_pod, proposed_amounts
from scheduler_core.placement.pod_group import succeeded
from scheduler_core.placement.state import PlacementState

_AT_ONCE = 8
"""Number of changed domains from which evaluating them together is cheaper."""

_COUNTED_AT_ONCE = 4
"""Likewise, if only the number of pods that fit is evaluated."""

_SEVERAL = 2
"""Number of changed domains from which ruling some out by free capacity first is cheaper."""


class DomainCache:
    """Results of one group over the domains of one division.

    Attributes:
        able: shape (domains,): True if the group's minimum is met there.
        failed: shape (domains,): True if the evaluation ended in an error, which ends the cycle of the root.
        tight: shape (domains,): use of the domain in percent, the group included.
        counts: shape (domains,): pods of the group there, running and proposed.
        holds: shape (domains,): True if desiredCount fits as well; None for a group without desiredCount.

    """

    def __init__(
        self,
        request: PlacementRequest,
        division: Division,
        state: PlacementState,
        attempt: Callable[[PlacementRequest, Placement], PlacementOutcome],
    ) -> None:
        size = len(division.domains)
        self.division = division
        self.able: Bools = np.zeros(size, dtype=bool)
        self.failed: Bools = np.zeros(size, dtype=bool)
        self.tight: Ints = np.zeros(size, dtype=np.int64)
        self.counts: Ints = np.zeros(size, dtype=np.int64)
        self.holds: Bools | None = np.zeros(size, dtype=bool) if request.entity.desired else None
        self._state = state
        self._attempt = attempt
        self._seen: Ints = np.full(size, -1, dtype=np.int64)
        self._outcomes: list[PlacementOutcome | None] = [None] * size
        self._picks: list[Nodes | None] = [None] * size
        self._at: list[tuple[int, ...]] = [()] * size
        self._fitting: Ints = np.full(size, -1, dtype=np.int64)
        """Number of pods that fit, without a limit, as of the last refresh; -1 if it was not counted."""
        self._taken: Ints = np.zeros((2, size), dtype=np.int64)
        """Millicores and bytes in use there, as scores count them."""
        self._least: LowerBound | None = None
        self._devices: DeviceBound | None = None
        self._reachable = reachable(request, division.members, state)
        self._running = sum(len(leaf.running) for leaf in request.entity.leaves())
        self.score = PlacementScore.of_group(request.entity, state.nodes.scored)
        self._capacities = division.capacities
        if not isinstance(state.nodes.scored.rows, slice):
            allocatable = state.nodes.allocatable[state.nodes.scored.rows]
            self._capacities = np.array([allocatable[:, domain.nodes].sum(axis=1) for domain in division.domains], dtype=np.int64).T

    def refresh(self, request: PlacementRequest) -> None:
        """Evaluate the domains that changed; those that static filters exclude are evaluated only when their result is requested."""
        first = self.division.first
        self._state.ledger.grow()
        now = self._state.ledger.versions[first : first + len(self._seen)]
        changed = now != self._seen
        if self._reachable is not None:
            for row in (changed & ~self._reachable).nonzero()[0].tolist():
                self._outcomes[row] = None
            changed &= self._reachable
        stale = changed.nonzero()[0]
        if len(stale) and is_counted(request):
            self._count(request, stale)
        elif len(stale) >= _AT_ONCE and self._is_simple(request):
            self._all_at_once(request, stale)
        else:
            for first, *others in equal_domains.grouped(request, self.division, self._worth_trying(request, stale), self._state):
                self._record(first, self._attempt(request, self.division.domains[first]), request.versions)
                self._repeat(first, others)
        self._seen[:] = now

    def outcome(self, request: PlacementRequest, row: int) -> PlacementOutcome:
        """Return the result of the group in the domain *row*, as of the last refresh."""
        if (found := self._outcomes[row]) is None or self._at[row] != request.versions:
            domain, picks = self.division.domains[row], self._picks[row]
            found = succeeded(request, domain, picks, self._state) if picks is not None else self._attempt(request, domain)
            self._outcomes[row] = found
            self._at[row] = request.versions
        return found

    def _worth_trying(self, request: PlacementRequest, stale: Ints) -> list[int]:
        """Return those of *stale* that the lower bound does not rule out; the rest is evaluated when its result is requested."""
        rows: list[int] = stale.tolist()
        if len(rows) < _SEVERAL or not request.leaf:
            return rows
        if countable(request):
            self._least = self._least or LowerBound(request)
            short = self._least.short(self.division, stale, self._state)
        else:
            self._devices = self._devices or DeviceBound(request)
            if not self._devices.applies:
                return rows
            short = self._devices.short(self.division, stale, self._state)
        for row, without in zip(rows, short.tolist(), strict=True):
            if without:
                self.able[row] = self.failed[row] = False
                self._outcomes[row] = self._picks[row] = None
        return [row for row, without in zip(rows, short.tolist(), strict=True) if not without]

    def _record(self, row: int, outcome: PlacementOutcome, versions: tuple[int, ...] = ()) -> None:
        self._outcomes[row] = outcome
        self._at[row] = versions
        self.able[row] = outcome.success
        self.failed[row] = outcome.status is Status.ERROR
        if not outcome.success:
            return
        if self.score.weights is None:
            self._record_tightness(row, outcome)
        else:
            proposed = proposed_amounts(outcome.loads, self._state.nodes.scored)
            self.tight[row] = self.score.tightness_at(self.division.domains[row].nodes, proposed, self._state.ledger)
        self.counts[row] = self._running + outcome.placed
        if self.holds is not None:
            self.holds[row] = outcome.holds

    def _repeat(self, first: int, others: list[int]) -> None:
        """Record for the domains *others* the result in *first*; their nodes are determined when the outcome is requested."""
        for each in (self.able, self.failed, self.tight, self.counts, *(() if self.holds is None else (self.holds,))):
            each[others] = each[first]
        for row in others:
            self._outcomes[row] = self._picks[row] = None

    def _record_tightness(self, row: int, outcome: PlacementOutcome) -> None:
        """Record the use of cpu and memory with the pods of *outcome*."""
        cpu, memory = self._state.ledger.scored.take(self.division.domains[row].nodes, axis=1).sum(axis=1).tolist()
        for load in outcome.loads:
            cpu += load.shape.rated[0] * len(load.nodes)
            memory += load.shape.rated[1] * len(load.nodes)
        self.tight[row] = placement_score.tightness_of(self.division.capacity(row), (cpu, memory))

    def _is_simple(self, request: PlacementRequest) -> bool:
        """Return whether the group has equal pods whose scores need no normalisation."""
        return _has_equal_pods(request) and self._state.profile.compile(request.runs[0].shape).plain

    def _all_at_once(self, request: PlacementRequest, stale: Ints) -> None:
        state, run, entity = self._state, request.runs[0], request.entity
        profile, members = state.profile.compile(run.shape), self.division.members[stale]
        least = run.count if state.options.every_pod else entity.minimum - len(entity.running)
        filled = equal_pods_by_domain.fill_domains(run, profile, members, state.ledger, state.capacity, whole=state.whole, least=least)
        self._record_number(request, stale, filled.placed)
        self._record_all_tightness(run, stale, filled.placed, filled.scored)
        for row, nodes, possible in zip(stale.tolist(), filled.nodes, self.able[stale].tolist(), strict=True):
            self._outcomes[row] = None
            self._picks[row] = nodes if possible else None
            self._at[row] = request.versions

    def _count(self, request: PlacementRequest, stale: Ints) -> None:
        """Record how many pods fit; their nodes are determined when the outcome is requested."""
        state, run, rows = self._state, request.runs[0], stale.tolist()
        profile = state.profile.compile(run.shape)
        if len(rows) < _COUNTED_AT_ONCE and self.score.weights is None:
            for row in rows:
                self._count_again(request, run, row)
        else:
            fitting, taken = equal_pods_by_domain.count_in_domains(profile, self.division.members[stale], state.ledger)
            self._fitting[stale], self._taken[:, stale] = fitting, taken[:2]
            placed = np.minimum(fitting, run.count)
            self._record_number(request, stale, placed)
            self._record_all_tightness(run, stale, placed, taken)
        for row in rows:
            self._outcomes[row] = None

    def _count_again(self, request: PlacementRequest, run: Run, row: int) -> None:
        """Do the same for one domain: if only its last outcome has changed it, by what that took."""
        ledger, outcome = self._state.ledger, self._outcomes[row]
        serial = self.division.first + row
        if (
            outcome is not None
            and self._fitting[row] >= 0
            and ledger.version_after(serial, int(self._seen[row]), outcome.cause) == ledger.versions[serial]
        ):
            fitting = int(self._fitting[row]) - outcome.placed
            cpu, memory = self._taken[:, row].tolist()
            for load in outcome.loads:
                cpu += load.shape.scored[0] * len(load.nodes)
                memory += load.shape.scored[1] * len(load.nodes)
        else:
            nodes = self.division.domains[row].nodes
            fitting = equal_pods_by_domain.count_in_domain(self._state.profile.compile(run.shape), nodes, ledger)
            cpu, memory = ledger.scored.take(nodes, axis=1).sum(axis=1).tolist()
        self._fitting[row], self._taken[:, row] = fitting, (cpu, memory)
        placed = min(fitting, run.count)
        self._record_number(request, row, placed)
        taken = cpu + placed * run.shape.rated[0], memory + placed * run.shape.rated[1]
        self.tight[row] = placement_score.tightness_of(self.division.capacity(row), taken)

    def _record_number(self, request: PlacementRequest, at: Ints | int, placed: Ints | int) -> None:
        """Record that so many pods fit in the domain or the domains *at*."""
        run, entity = request.runs[0], request.entity
        scheduled = placed + len(entity.running)
        self.able[at] = (scheduled >= entity.minimum) & ((placed == run.count) | (not self._state.options.every_pod))
        self.counts[at] = scheduled

    def _record_all_tightness(self, run: Run, stale: Ints, placed: Ints, scored: Ints) -> None:
        """Do the same as ``_record_tightness``; *scored* are the amounts that are taken before, shape (resources, stale)."""
        proposed = amounts_of_pod(run.shape, self._state.nodes.scored)[:, None] * placed
        self.tight[stale] = self.score.tightness(self._capacities[:, stale], scored + proposed, proposed)


def is_counted(request: PlacementRequest) -> bool:
    """Return whether the group has equal pods with topology spread: scores decide their nodes, not how many of them fit."""
    return bool(request.counts) and _has_equal_pods(request)


def _has_equal_pods(request: PlacementRequest) -> bool:
    """Return whether the group has equal pods that need not be placed one by one, so that only their number matters to a domain."""
    return request.leaf and request.memorable and not request.special and len(request.runs) == 1 and not request.entity.desired
