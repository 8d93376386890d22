"""Greedy placement as in kube-scheduler: evaluates every placement, never moves a sibling (KEP-6012, CompositePodGroup Scheduling
Algorithm).

The result of a group on a placement depends only on its signature and on the pods there.  So results are cached by signature and version
of the placement.  After pods are assumed, only domains that changed are evaluated again, also for the next group with the same signature.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from scheduler_core.causes.attempts import AttemptReason, AttemptResult, ChildFailed, PlacementsUnavailable, PluginReason
from scheduler_core.model.decision import Search
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, only_rows
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Division, Placement
from scheduler_core.placement import candidate_placements
from scheduler_core.placement.domain_cache import DomainCache, is_counted
from scheduler_core.placement.feasibility import CompositeProgress, inadmissible
from scheduler_core.placement.outcome import AssignedLeaf, PlacementOutcome, assigned, assigned_by_leaf
from scheduler_core.placement.placement_request import PlacementRequest, Signatures
from scheduler_core.placement.placement_score import PlacementScore, proposed_amounts
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState

_CACHED_RESULTS = 100_000
_CACHED_DOMAINS = 256


class Greedy:
    """Greedy placement of entities; the placement state is unchanged afterwards."""

    def __init__(self, state: PlacementState, signatures: Signatures | None = None) -> None:
        self.state = state
        self.search = Search("greedy", "not-searched")
        self._signatures = signatures or _signatures(state)
        self._root: PlacementRequest | None = None
        self._results: dict[tuple[int, int, int, tuple[int, ...]], PlacementOutcome] = {}
        self._domain_caches: dict[tuple[int, int, tuple[int, ...]], DomainCache] = {}
        self._generated: dict[tuple[str, str, bytes], Placement] = {}
        # Facts about the whole cycle, read once.
        behavior, sparing = state.behavior, state.options.sparing
        self._nominated_first = behavior.tries_nominated_first and not sparing
        self._samples = behavior.limits_placements and not sparing

    def request(self, entity: Entity) -> PlacementRequest:
        """Return *entity* prepared for ``place``."""
        return self._signatures.request(entity)

    def place(self, request: PlacementRequest) -> PlacementOutcome:
        """Return the result of a root.  A root whose minimum is met already and that can place no new pod is Unschedulable."""
        self._root = request
        outcome = self.evaluate(request, self.state.topology.root)
        if outcome.success and not outcome.placed:
            # A group without a topology constraint has one placement.
            nominated = self._nominated_first and not request.entity.key and self._nominated_row(request, (self.state.topology.root,)) == 0
            reason = PlacementsUnavailable(1, AttemptResult.NONE_PENDING_PLACED) if nominated else AttemptResult.NOTHING_NEW
            outcome = dataclasses.replace(outcome, status=Status.UNSCHEDULABLE, reason=reason)
        self.search = Search.placed("greedy", leaf=request.leaf) if outcome.success else Search("greedy", "not-searched")
        return outcome

    def assume(self, request: PlacementRequest, outcome: PlacementOutcome, placed: Iterable[AssignedLeaf] | None = None) -> None:
        """Assume the pods that *outcome*, a success of *request*, places; *placed* are these pods if they are known already."""
        self.state.ledger.assume(outcome.loads, outcome.cause)
        planned = bool(outcome.volumes or outcome.devices)
        if planned:
            self.state.stateful.plan_claims(outcome.volumes, outcome.devices)
        if self.state.stateful.active or self.state.ledger.holding:
            for cause, pods in assigned_by_leaf(request, outcome) if placed is None else placed:
                self.state.stateful.assume_all(pods, cause)
                self.state.nominations.release_all_until_rewind(pods)
        # Other placements of these pods do not follow the plan.
        if planned:
            self.state.stateful.plan_claims({}, {})

    def evaluate(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        """Return the best result of *request* inside *placement*."""
        key = request.entity.key
        if self.state.plugins.generators or (self.state.plugins and key):
            return self._best_generated(request, placement)
        if not key:
            return self.attempt(request, placement)
        if request.pinned:
            return self._in_pinned_domain(request, placement, key)
        division = self.state.topology.divide(placement, key)
        if not division.domains:
            return self._no_placement(placement)
        return self._best(request, placement, division)

    def placements(self, request: PlacementRequest, placement: Placement) -> tuple[Placement, ...]:
        """Return the candidate placements of *request* inside *placement*, by name; *placement* alone if nothing divides it.

        Raises:
            candidate_placements.PinError: running members are not all in one domain.

        """
        key = request.entity.key
        if self.state.plugins.generators or (self.state.plugins and key):
            found = candidate_placements.merged(candidate_placements.parts(self.state, request, placement))
            return tuple(self._generated_placement(key, name, nodes) for name, nodes in sorted(found.items()))
        if not key:
            return (placement,)
        domains = self.state.topology.divide(placement, key).domains
        if not request.pinned:
            return domains
        value = candidate_placements.pinned_domain(self.state, request)
        return tuple(domain for domain in domains if domain.value == value)

    def attempt(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        """Return the result of *request* on *placement* itself, from the cache if possible."""
        if not request.memorable:
            return self._try(request, placement)
        self.state.ledger.grow()
        at = (request.number, placement.serial, int(self.state.ledger.versions[placement.serial]), request.versions)
        if (found := self._results.get(at)) is None:
            if len(self._results) >= _CACHED_RESULTS:
                self._results.clear()
            found = self._results[at] = self._try(request, placement)
        return found

    def _try(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        outcome = try_leaf(request, placement, self.state) if request.leaf else self._try_children(request, placement)
        return self._checked(request, outcome) if self.state.plugins.checks else outcome

    def _in_pinned_domain(self, request: PlacementRequest, placement: Placement, key: str) -> PlacementOutcome:
        try:
            value = candidate_placements.pinned_domain(self.state, request)
        except candidate_placements.PinError as error:
            return PlacementOutcome(Status.ERROR, placement, 0, error.reason)
        domain = candidate_placements.in_domain(self.state.topology, placement, key, value)
        if domain is None:
            return self._no_placement(placement)
        outcome = self.attempt(request, domain)
        if outcome.success and not outcome.placed and self._nominated_first and self._nominated_row(request, (domain,)) == 0:
            return _infeasible_outcome(1, _none_pending_placed(outcome))
        return outcome if outcome.success or outcome.status is Status.ERROR else _infeasible_outcome(1, outcome)

    def _best(self, request: PlacementRequest, placement: Placement, division: Division) -> PlacementOutcome:
        cache = self._domain_cache(request, division)
        cache.refresh(request)
        first = self._nominated_row(request, division.domains) if self._nominated_first else -1
        if first >= 0 and self._is_final(cache.outcome(request, first)):
            return cache.outcome(request, first)
        if cache.failed.any():
            return cache.outcome(request, int(cache.failed.argmax()))
        feasible = cache.able.nonzero()[0]
        if first >= 0:
            feasible = feasible[feasible != first]
        self.state.evaluated.add(len(division.domains), len(feasible), composite=not request.leaf)
        if not len(feasible):
            return self._infeasible(len(division.domains), lambda row: cache.outcome(request, row), first)
        number = len(feasible)
        feasible = self._considered(request, division.domains, feasible)
        row = cache.score.choose(feasible, cache.tight, cache.counts, cache.holds)
        if row < 0:
            return PlacementOutcome(Status.ERROR, placement, 0, AttemptResult.NOT_COMPARABLE)
        outcome = cache.outcome(request, row)
        return self._noted(request, division.domains, number, outcome) if self._samples else outcome

    def _nominated_row(self, request: PlacementRequest, places: Sequence[Placement]) -> int:
        """Return the index of the only placement with a nominated node of a PodGroup that is a root; -1 if it is not evaluated first."""
        if request is not self._root or not request.leaf:
            return -1
        nominated = [pod.nominated for pod in request.entity.waiting if pod.nominated >= 0]
        rows = [row for row, place in enumerate(places) if np.isin(nominated, place.nodes).any()] if nominated else []
        return rows[0] if len(rows) == 1 else -1

    def _is_final(self, outcome: PlacementOutcome) -> bool:
        """Return whether no placement is evaluated after the one of the nominated nodes, which has *outcome*."""
        return outcome.status is Status.ERROR or (outcome.success and outcome.placed > 0)

    def _noted(self, request: PlacementRequest, places: Sequence[Placement], feasible: int, outcome: PlacementOutcome) -> PlacementOutcome:
        """Return *outcome* of the best of the *feasible* placements, with their numbers if kube-scheduler compares only a part of them."""
        percentage = self.state.options.percentage_of_placements
        if percentage is None:
            percentage = request.entity.profile.percentage_of_placements
        compared = candidate_placements.enough(percentage, places)
        return dataclasses.replace(outcome, sampled=(feasible, compared)) if compared < feasible else outcome

    def _infeasible(self, count: int, outcome: Callable[[int], PlacementOutcome], first: int) -> PlacementOutcome:
        """Return the result of a group without a feasible placement: the first one, or the first that preemption could help.

        The placement *first* is evaluated before all others; -1 if there is no such one.
        """
        chosen = 0
        if first >= 0:
            found = outcome(first)
            return _infeasible_outcome(count, _none_pending_placed(found) if found.success else found)
        if self.state.options.four_statuses:
            chosen = next((row for row in range(count) if outcome(row).status is Status.UNSCHEDULABLE), 0)
        return _infeasible_outcome(count, outcome(chosen))

    def _considered(self, request: PlacementRequest, places: Sequence[Placement], feasible: Ints) -> Ints:
        """Return the feasible placements to compare: all, unless the options limit them."""
        options = self.state.options
        if options.nominated_first and (nominated := {pod.nominated for leaf in request.entity.leaves() for pod in leaf.waiting} - {-1}):
            holding = [row for row in feasible.tolist() if nominated <= set(places[row].nodes.tolist())]
            if holding:
                return np.array(holding[:1], dtype=np.int64)
        if options.percentage_of_placements is not None and not self.state.behavior.limits_placements:
            return feasible[: candidate_placements.enough(options.percentage_of_placements, places)]
        return feasible

    def _best_generated(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        """Do the same as ``_best`` with placement plugins."""
        try:
            parts = candidate_placements.parts(self.state, request, placement)
        except candidate_placements.PinError as error:
            return PlacementOutcome(Status.ERROR, placement, 0, error.reason)
        found = candidate_placements.merged(parts)
        if not found:
            return self._no_placement(placement)
        places = [self._generated_placement(request.entity.key, name, nodes) for name, nodes in sorted(found.items())]
        return self._best_of(request, placement, places, [self.attempt(request, place) for place in places])

    def _best_of(
        self, request: PlacementRequest, placement: Placement, places: Sequence[Placement], outcomes: Sequence[PlacementOutcome]
    ) -> PlacementOutcome:
        first = self._nominated_row(request, places) if self._nominated_first else -1
        if first >= 0 and self._is_final(outcomes[first]):
            return outcomes[first]
        if (failed := next((each for each in outcomes if each.status is Status.ERROR), None)) is not None:
            return failed
        able = np.array([number for number, outcome in enumerate(outcomes) if outcome.success and number != first], dtype=np.int64)
        self.state.evaluated.add(len(places), len(able), composite=not request.leaf)
        if not len(able):
            return self._infeasible(len(outcomes), outcomes.__getitem__, first)
        feasible = self._considered(request, places, able).tolist()
        row = self._choose_scored(request, [places[number] for number in feasible], [outcomes[number] for number in feasible])
        if row < 0:
            return PlacementOutcome(Status.ERROR, placement, 0, AttemptResult.NOT_COMPARABLE)
        outcome = outcomes[feasible[row]]
        return self._noted(request, places, len(able), outcome) if self._samples else outcome

    def _choose_scored(self, request: PlacementRequest, places: list[Placement], outcomes: list[PlacementOutcome]) -> int:
        """Return the index of the best feasible placement by built-in and plugin scores; -1 if they cannot be compared."""
        nodes, score = self.state.nodes, PlacementScore.of_group(request.entity, self.state.nodes.scored)
        tight: Ints = np.zeros(len(places), dtype=np.int64)
        for row, (place, outcome) in enumerate(zip(places, outcomes, strict=True)):
            tight[row] = score.tightness_at(place.nodes, proposed_amounts(outcome.loads, nodes.scored), self.state.ledger)
            pods = assigned(request, outcome)
            tight[row] += self.state.plugins.score(request.entity, place.nodes, pods, nodes)
        running = sum(len(leaf.running) for leaf in request.entity.leaves())
        counts = np.array([running + outcome.placed for outcome in outcomes])
        holds = np.array([outcome.holds for outcome in outcomes]) if request.entity.desired else None
        return score.choose(np.arange(len(places)), tight, counts, holds)

    def _generated_placement(self, key: str, name: str, nodes: Nodes) -> Placement:
        at = (key, name, nodes.tobytes())
        if (made := self._generated.get(at)) is None:
            made = self._generated[at] = self.state.topology.add(key, name, nodes)
        return made

    def _checked(self, request: PlacementRequest, outcome: PlacementOutcome) -> PlacementOutcome:
        """Return *outcome* after the feasibility checks of plugins."""
        if outcome.success and (reason := self.state.plugins.refusal(request.entity, assigned(request, outcome), self.state.nodes)):
            return dataclasses.replace(outcome, status=Status.UNSCHEDULABLE, reason=PluginReason(reason), loads=(), placed=0)
        return outcome

    def _no_placement(self, placement: Placement) -> PlacementOutcome:
        status = Status.UNRESOLVABLE if self.state.options.four_statuses else Status.UNSCHEDULABLE
        return PlacementOutcome(status, placement, 0, AttemptResult.NO_PLACEMENT)

    def _domain_cache(self, request: PlacementRequest, division: Division) -> DomainCache:
        if not request.memorable:
            return DomainCache(request, division, self.state, self.attempt)
        at = (request.number, division.first, () if is_counted(request) else request.versions)
        cache = self._domain_caches.pop(at, None) or DomainCache(request, division, self.state, self.attempt)
        # The least recently used cache is dropped.
        self._domain_caches[at] = cache
        if len(self._domain_caches) > _CACHED_DOMAINS:
            del self._domain_caches[next(iter(self._domain_caches))]
        return cache

    def _try_children(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        by_document = self.state.options.four_statuses
        progress = CompositeProgress(request.entity.minimum, len(request.children), by_document)
        outcomes: list[PlacementOutcome | None] = [None] * len(request.children)
        if by_document:
            self._skip_inadmissible(request, placement, progress, outcomes)
        ledger, stateful = self.state.ledger, self.state.stateful
        mark, counted = ledger.mark(), stateful.mark()
        last = len(request.children) - 1
        error: AttemptReason | None = None
        for number, child in enumerate(request.children):
            if progress.judged().hopeless:
                break
            if outcomes[number] is not None:
                continue
            outcomes[number] = outcome = self.evaluate(child, placement)
            if outcome.status is Status.ERROR:
                error = outcome.reason
                if error is not None and self.state.behavior.names_ancestors:
                    error = ChildFailed(request.entity.name, child.entity.name, error)
                break
            progress.add(outcome)
            if outcome.success and number < last:
                # The last child need not be assumed: no child follows.
                self.assume(child, outcome)
                if self.state.nodes.storage is not None and not self.state.options.sparing:
                    _free_volumes(self.state, outcome, (pod for pod, _ in assigned(child, outcome)))
        ledger.rewind(mark)
        stateful.rewind(counted)
        return self._composite_outcome(placement, outcomes, progress, error)

    def _skip_inadmissible(
        self, request: PlacementRequest, placement: Placement, progress: CompositeProgress, outcomes: list[PlacementOutcome | None]
    ) -> None:
        for number, child in enumerate(request.children):
            if reason := inadmissible(child):
                outcomes[number] = PlacementOutcome(Status.UNRESOLVABLE, placement, 0, reason)
                progress.skip()

    def _composite_outcome(
        self, placement: Placement, outcomes: list[PlacementOutcome | None], progress: CompositeProgress, error: AttemptReason | None
    ) -> PlacementOutcome:
        if error is not None:
            return PlacementOutcome(Status.ERROR, placement, 0, error, children=tuple(outcomes))
        judged = progress.judged()
        if not judged.success:
            return PlacementOutcome(judged.status, placement, 0, judged, children=tuple(outcomes))
        good = [outcome for outcome in outcomes if outcome is not None and outcome.success]
        return PlacementOutcome(
            Status.SUCCESS,
            placement,
            self.state.ledger.fresh(),
            children=tuple(outcomes),
            loads=tuple(load for outcome in good for load in outcome.loads),
            placed=sum(outcome.placed for outcome in good),
        )


def _signatures(state: PlacementState) -> Signatures:
    # The verdict of a placement plugin can depend on anything, and ranks depend on all pods of the root: nothing is cached.
    unlike = bool(state.plugins) or state.ranking is not None
    return Signatures(lambda _: True) if unlike else Signatures(stateful=state.stateful if state.stateful.active else None)


def _infeasible_outcome(tried: int, first: PlacementOutcome) -> PlacementOutcome:
    """Return the result without a feasible placement, with the reason of *first*."""
    return dataclasses.replace(first, reason=PlacementsUnavailable(tried, first.reason), tried=tried)


def _none_pending_placed(outcome: PlacementOutcome) -> PlacementOutcome:
    """Return *outcome*, a success without a placed pod, as the failure that it is for the placement of the nominated nodes."""
    return dataclasses.replace(outcome, status=Status.UNSCHEDULABLE, reason=AttemptResult.NONE_PENDING_PLACED)


def _free_volumes(state: PlacementState, outcome: PlacementOutcome, pods: Iterable[PodRecord]) -> None:
    """Free the existing volumes of *pods*, which *outcome* places and which are assumed already.

    kube-scheduler 1.37.1 reserves the pods of a child a second time before it places the next children, and the second time it does not hold
    their volumes: the next children can take the same volumes.
    """
    rows = state.nodes.volume_rows
    loads = [PodLoad(volumes, load.nodes) for load in outcome.loads if (volumes := only_rows(load.shape, rows)) is not None]
    if loads:
        state.ledger.release(tuple(loads), outcome.cause)
    if state.stateful.active:
        for pod in pods:
            state.stateful.free_volumes(pod)
