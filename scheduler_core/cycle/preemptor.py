"""Placement as needed for the selection of victims: trial placement of a root, interaction of pods, feasibility checks."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.causes.attempts import AttemptReason
from scheduler_core.exact.complete import Complete, searchable
from scheduler_core.exact.needs import lacking, satisfied, selections
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.tree.tree_search import TreeSearch
from scheduler_core.exact.volumes.named_pods import counted
from scheduler_core.model.decision import Eviction
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import PODS, Bools, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.candidate_placements import PinError, pinned_domain
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, assigned, pods_with_nodes
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState, free_of
from scheduler_core.preemption.bounds.shortage import GroupDemand
from scheduler_core.preemption.minimal.trials import RootRequirements
from scheduler_core.preemption.plans.required_pods import RequiredPods
from scheduler_core.preemption.result import Preemption
from scheduler_core.preemption.victims.node_ranks import NodeRanks, RankedNodes

_WAYS = 1_000
"""Maximum number of ways to choose the pods of a group with several shapes for which the best victims are searched."""
_TRIAL = 2_000
"""Search steps for one trial."""


class _TooManyWaysError(Exception):
    """There are more ways to choose the pods of a group."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Result of placing a root without the potential victims."""

    outcome: PlacementOutcome
    assigned: Sequence[tuple[PodRecord, int]]

    @property
    def status(self) -> Status:
        """Return the status; Success if the root got what it needs."""
        return self.outcome.status

    @property
    def reason(self) -> AttemptReason | None:
        """Return the reason for a failure."""
        return self.outcome.reason


class Preemptor:
    """Placement engine as used by ``preemption``."""

    def __init__(
        self,
        greedy: Greedy,
        pods_to_nominate: Callable[[PlacementRequest, PlacementOutcome], Sequence[tuple[PodRecord, int]]] = pods_with_nodes,
        ranks: NodeRanks | None = None,
    ) -> None:
        """Place with *greedy*; with *ranks*, a root without its potential victims gets the nodes that cost least.

        *pods_to_nominate* returns the pods for which victims are evicted.
        """
        self._greedy = greedy
        self._ranks = ranks
        self._pods_to_nominate = pods_to_nominate
        self._stateful = greedy.state.stateful
        self._skipped: dict[str, frozenset[str]] = {}
        self.overlooks = False
        """True if a unit was reprieved although a proposed pod conflicts with it, because kube-scheduler 1.37.1 does not see the conflict."""

    def place(self, entity: Entity) -> Proposal:
        """Place *entity* on the present ledger; as in kube-scheduler with capacity held for its own nominations, unless options are sparing."""
        ledger = self._greedy.state.ledger
        mark = ledger.mark()
        if not self._greedy.state.options.sparing:
            own = (pod for leaf in entity.leaves() for pod in leaf.waiting if pod.priority >= entity.priority)
            self._greedy.state.nominations.hold_again(own)
        greedy = self._greedy if self._ranks is None else self._ranked(self._ranks)
        request = greedy.request(entity)
        outcome = greedy.place(request)
        ledger.rewind(mark)
        # By default as kube-scheduler: victims are selected for all pods that got a node, including those of a failed child.
        proposed = self._pods_to_nominate(request, outcome) if outcome.success else []
        self._skipped = self._plugins_skipped(proposed)
        return Proposal(outcome, proposed)

    def _ranked(self, ranks: NodeRanks) -> Greedy:
        """Return the placement engine that places pods on the nodes that cost the least victims."""
        state = self._greedy.state
        return Greedy(dataclasses.replace(state, ranking=RankedNodes(ranks, state.ledger.used[PODS].copy())))

    def _plugins_skipped(self, proposed: Sequence[tuple[PodRecord, int]]) -> dict[str, frozenset[str]]:
        """Return the plugins that kube-scheduler 1.37.1 does not call for a proposed pod when units are reprieved, by pod.

        It keeps the result of their PreFilter, with the pods before it, from the placement without the potential victims.
        """
        mark = self._stateful.mark()
        skipped = {}
        for pod, node in proposed if self._stateful.active and self._greedy.state.options.overlooks else ():
            skipped[pod.key] = self._stateful.skipped(pod)
            self._stateful.assume(pod, node)
        self._stateful.rewind(mark)
        return skipped

    def resolvable(self, pod: PodRecord) -> Nodes:
        """Return the nodes where *pod* failed for a reason that eviction can remove.

        Such reasons are NodePorts, anti-affinity, topology spread, attach limits, and NodeResourcesFit if the node is large enough.
        """
        state = self._greedy.state
        profile = state.profile.compile(pod.shape)
        devices = np.isin(profile.rows, list(state.nodes.counted))
        resources = ~np.isin(profile.rows, list(state.nodes.limit_rows)) & ~devices
        rows, amounts = profile.rows[resources], profile.amounts[resources]
        allowed: Bools = np.array((state.nodes.allocatable[rows] >= amounts).all(axis=0))
        if not state.options.sparing:
            # kube-scheduler frees no device when it tries an eviction.
            allowed &= (free_of(state, profile.rows[devices]) >= profile.amounts[devices]).all(axis=0)
        if profile.mask is not None:
            allowed &= profile.mask
        nodes = allowed.nonzero()[0]
        return self._stateful.resolvable(pod, nodes) if self._stateful.touches(pod) else nodes

    def may_affect(self, pods: Sequence[PodRecord], proposed: Sequence[tuple[PodRecord, int]]) -> bool:
        """Return whether *pods* can affect *proposed* by more than the resources they take."""
        if not self._stateful.active or not pods:
            return False
        # Most proposed pods are equal: check one of each kind.
        kinds = {
            (other.shape.serial, other.namespace, frozenset(other.labels.items()), other.named_volumes): other for other, _ in proposed
        }
        return any(self._stateful.bind(pod, other) for other in kinds.values() for pod in pods)

    def move(self, pods: Sequence[PodRecord], *, away: bool) -> None:
        """Remove the running *pods* from their nodes (*away*), or add them again."""
        if not self._stateful.active:
            return
        for pod in pods:
            if away:
                self._stateful.remove(pod, pod.node)
            else:
                self._stateful.assume(pod, pod.node)

    def passes_filters(self, proposed: Sequence[tuple[PodRecord, int]]) -> bool:
        """Return whether the *proposed* pods pass the filters on their nodes, one after the other."""
        mark, overlooks = self._stateful.mark(), False
        try:
            for pod, node in proposed:
                filters = self._stateful.filters_by_plugin(pod, np.array([node], dtype=np.int64))
                refused = {refusal.plugin for refusal, mask in filters if not mask.all()}
                if refused - self._skipped.get(pod.key, frozenset()):
                    return False
                overlooks |= bool(refused)
                self._stateful.assume(pod, node)
        finally:
            self._stateful.rewind(mark)
        self.overlooks |= overlooks
        return True


class Proving(Preemptor):
    """Complete search as used by ``preemption.minimal``, for one root."""

    def __init__(self, complete: Complete, root: Entity) -> None:
        super().__init__(complete, assigned)
        self._state = complete.state
        self._request = request = complete.request(root)
        # Inside a given domain the root's own topology key is satisfied.
        self._inside = dataclasses.replace(request, entity=dataclasses.replace(request.entity, key=""))

    @functools.cached_property
    def requirements(self) -> RootRequirements:
        """Return what the root demands; only a search for other victims asks for it."""
        return self._question()

    @property
    def explored(self) -> int:
        """Return the steps of the search in the last ``place``."""
        return self._greedy.search.explored

    def is_feasible(self, placement: Placement) -> tuple[bool | None, int]:
        """Return whether the root's minimum fits in *placement* on the present ledger, None if the budget ended; and the steps."""
        budget = StepBudget(_TRIAL)
        try:
            feasible = TreeSearch(self._state, self._inside, budget).plan(placement) is not None
        except StepsSpentError:
            return None, budget.explored
        return feasible, budget.explored

    def _plugins_skipped(self, proposed: Sequence[tuple[PodRecord, int]]) -> dict[str, frozenset[str]]:  # noqa: ARG002
        """Return nothing: all plugins are called."""
        return {}

    def _question(self) -> RootRequirements:
        state, request = self._state, self._request
        exact = searchable(request) and counted(request) and not satisfied(request) and not state.plugins
        try:
            domains = self._greedy.placements(request, state.topology.root) if exact else (state.topology.root,)
        except PinError:
            exact, domains = False, (state.topology.root,)
        demand = _demand(request)
        required = None
        with contextlib.suppress(_TooManyWaysError):
            required = _required_pods(self._inside, state) if exact else None
        return RootRequirements(state, domains, dataclasses.replace(demand, key="") if exact else demand, exact, required)


def _required_pods(request: PlacementRequest, state: PlacementState) -> RequiredPods | None:
    """Return the pods of *request* that must be placed, if its minimum is not met; None if that is impossible.

    Raises:
        _TooManyWaysError: there are too many ways to choose the pods of a group.

    """
    value = None
    if request.entity.key and request.pinned:
        try:
            value = pinned_domain(state, request)
        except PinError:
            return None
    if request.leaf:
        ways = tuple(itertools.islice(selections(request), _WAYS + 1))
        if len(ways) > _WAYS:
            raise _TooManyWaysError
        return RequiredPods(request.number, request.entity.key, value, ways) if ways else None
    missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
    required_children = [_required_pods(child, state) for child in request.children if not satisfied(child)]
    feasible = tuple(child for child in required_children if child is not None)
    return RequiredPods(request.number, request.entity.key, value, (), missing, feasible) if len(feasible) >= missing else None


def _demand(request: PlacementRequest) -> GroupDemand:
    """Return the part of *request* that every plan must place."""
    counts, amounts = _least(request)
    shapes = {run.shape.serial: run.shape for leaf in request.leaves() for run in leaf.runs}
    missing = (
        request.entity.minimum - sum(satisfied(child) for child in request.children) if not request.leaf and not satisfied(request) else 0
    )
    children = tuple(_demand(child) for child in request.children if not satisfied(child)) if missing else ()
    return GroupDemand(
        tuple((shapes[serial], count) for serial, count in sorted(counts.items()) if count),
        tuple(sorted((row, amount) for row, amount in amounts.items() if amount)),
        request.entity.key,
        children,
        missing,
    )


def _least(request: PlacementRequest) -> tuple[Counter[int], Counter[int]]:
    """Return the fewest pods of each shape (by serial), and the least amounts of each resource (by row)."""
    if satisfied(request):
        return Counter(), Counter()
    if request.leaf:
        return _least_of_leaf(request)
    missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
    least_of_children = [_least(child) for child in request.children if not satisfied(child)]
    sums = []
    for part in (0, 1):
        kinds = {kind for each in least_of_children for kind in each[part]}
        sums.append(Counter({kind: sum(sorted(each[part][kind] for each in least_of_children)[:missing]) for kind in kinds}))
    return sums[0], sums[1]


def _least_of_leaf(request: PlacementRequest) -> tuple[Counter[int], Counter[int]]:
    needed, waiting = lacking(request), len(request.entity.waiting)
    counts, requests = Counter[int](), list[tuple[Mapping[int, int], int]]()
    for run in request.runs:
        counts[run.shape.serial] += run.count
        requests.append((dict(run.shape.requests), run.count))
    fewest = Counter({serial: max(0, needed - (waiting - count)) for serial, count in counts.items()})
    rows = {row for each, _ in requests for row in each}
    return fewest, Counter({row: _least_sum([(each.get(row, 0), count) for each, count in requests], needed) for row in rows})


def _least_sum(amounts: Iterable[tuple[int, int]], number: int) -> int:
    """Return the sum of the *number* least amounts, of which each is there as often as its second number says."""
    total = 0
    for amount, count in sorted(amounts):
        taken = min(count, number)
        total += taken * amount
        number -= taken
    return total


def eviction_quality(preemption: Preemption[Proposal] | Preemption[None] | None) -> Eviction | None:
    """Return the quality of the victims, if their minimality was examined."""
    if preemption is None or not preemption.victims or not preemption.lower:
        return None
    return Eviction(len(preemption.units), preemption.lower, preemption.violating, preemption.proved)
