"""Strategy ``complete``: greedy first; if greedy leaves pods without a node, a search for the minimum, then optional pods.

The minimum comes first, so an optional pod never takes capacity that a sibling needs (KEP-6012, Resource stealing under greedy
evaluation).  Of several domains of the root the one with most placed pods is chosen, then the best by greedy's scores, then the first
by name.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Mapping

import numpy as np

from scheduler_core.causes.attempts import AttemptResult
from scheduler_core.exact.claims_of_plan import ClaimsOfPlan
from scheduler_core.exact.completion import Completion, LimitedCompletion, is_met
from scheduler_core.exact.needs import satisfied
from scheduler_core.exact.packing.optional_pods import PlannedGroup
from scheduler_core.exact.step_budget import DEFAULT, StepBudget, StepsSpentError
from scheduler_core.exact.tree.tree_search import TreeSearch
from scheduler_core.exact.volumes.constraints import volume_constraints
from scheduler_core.exact.volumes.named_pods import NamedPods, counted
from scheduler_core.model.decision import IN_ORDER, MOST_PODS, Search
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement import placement_score
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, assigned
from scheduler_core.placement.placement_request import PlacementRequest, Signatures
from scheduler_core.placement.pod_group import succeeded
from scheduler_core.placement.state import PlacementState

_OPTIONAL_SHARE = 2
"""Divisor of the budget: half of it may be spent on pods beyond the minimum."""
_COMPLETION_STEPS = 400
"""Steps to complete a plan."""


class Complete(Greedy):
    """Placement by search of roots that greedy does not place whole.

    Of a root without a placement, the result says whether an empty cluster has one, unless *explains* is false: that takes a second search.
    """

    def __init__(self, state: PlacementState, steps: int = DEFAULT, signatures: Signatures | None = None, *, explains: bool = True) -> None:
        super().__init__(state, signatures)
        self._steps, self._explains = steps, explains
        self.search = Search("complete", "not-searched")
        self._named_pods = NamedPods()
        self._shapes_alone = Signatures()
        self._possible_when_empty: dict[int, bool] = {}

    def place(self, request: PlacementRequest) -> PlacementOutcome:
        """Return the result of a root; ``search`` describes the search."""
        greedy = self._within_storage(request, super().place(request))
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        self.search = Search.placed("complete", leaf=request.leaf) if greedy.success else Search("complete", "not-searched")
        whole = greedy.success and greedy.placed == waiting
        if whole or greedy.status is Status.ERROR:
            return greedy
        if not self.searches(request):
            return greedy
        if greedy.status is Status.UNRESOLVABLE:
            # Too few members, or no domain at all: the count is a proof.
            self.search = Search("complete", "infeasible")
            return greedy
        budget = StepBudget(self._steps)
        try:
            outcome = self._search(request, budget)
        except StepsSpentError:
            spent = Search("complete", "budget", self._steps)
            self.search = Search.placed("complete", self._steps, leaf=request.leaf) if greedy.success else spent
            return greedy
        if outcome is None:
            self.search = Search("complete", "infeasible", budget.explored)
            return self._refuted_outcome(request, greedy) if self._explains else greedy
        as_greedy = greedy.success and greedy.placed >= outcome.placed
        self.search = Search.placed("complete", budget.explored, IN_ORDER if as_greedy else MOST_PODS, leaf=request.leaf)
        return greedy if as_greedy else outcome

    def _within_storage(self, request: PlacementRequest, greedy: PlacementOutcome) -> PlacementOutcome:
        """Return *greedy*, or another result if its claims need more storage together than there is; kube-scheduler compares each alone.

        That is a failure if a search follows; otherwise the pods for which the storage is enough, in their order.
        """
        if not greedy.success or not any(run.shape.volumes for leaf in request.leaves() for run in leaf.runs):
            return greedy
        volumes = volume_constraints(self.state, {pod.shape: pod for leaf in request.leaves() for pod in leaf.entity.waiting}.values())
        if volumes is None or volumes.sums.holds(assigned(request, greedy)):
            return greedy
        if not self.searches(request):
            ledger, stateful = self.state.ledger, self.state.stateful
            mark, counts = ledger.mark(), stateful.mark()
            limited = LimitedCompletion(self, self._assume, {}, {}, volumes.sums, (), lambda *_: None).completed(request, greedy.placement)
            stateful.rewind(counts)
            ledger.rewind(mark)
            if limited.placed and is_met(request, limited):
                return limited
        return dataclasses.replace(greedy, status=Status.UNSCHEDULABLE, reason=AttemptResult.STORAGE_EXCEEDED, loads=(), placed=0)

    def searches(self, request: PlacementRequest) -> bool:
        """Return whether the search serves a root that greedy does not place whole; else the result of greedy is final."""
        return not satisfied(request) and searchable(request) and not self._is_unmodelled(request)

    def _is_unmodelled(self, request: PlacementRequest) -> bool:
        """Return whether a filter refuses a pod because one of its fields is not modelled: such a refusal is no proof."""
        own = any(self.state.profile.refused(run.shape.unmodelled) for run in request.runs)
        return own or any(self._is_unmodelled(child) for child in request.children)

    def _refuted_outcome(self, request: PlacementRequest, greedy: PlacementOutcome) -> PlacementOutcome:
        """Return the result of a root without a placement.  If an empty cluster has none either, no eviction can help."""
        possible = self._possible_when_empty.get(request.number)
        if possible is None:
            possible = self._is_possible_when_empty(request)
            if request.memorable:
                self._possible_when_empty[request.number] = possible
        return greedy if possible else dataclasses.replace(greedy, status=Status.UNRESOLVABLE)

    def _is_possible_when_empty(self, request: PlacementRequest) -> bool:
        """Return whether an empty cluster has a placement of *request*, or whether that is not known."""
        try:
            search = TreeSearch(self.state, self._to_search(request), StepBudget(self._steps), empty=True)
            return search.plan(self.state.topology.root) is not None
        except StepsSpentError:
            return True

    def _search(self, request: PlacementRequest, budget: StepBudget) -> PlacementOutcome | None:
        """Return the completed plan of the best domain of the root; None if no domain has a plan.

        Raises:
            StepsSpentError: the budget is spent before any plan is known.

        """
        best: PlacementOutcome | None = None
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        # This method selects the domain of the root, so that domains are compared by all pods that fit in them.
        whole = dataclasses.replace(request, entity=dataclasses.replace(request.entity, key="")) if request.entity.key else request
        search = TreeSearch(self.state, self._to_search(whole), budget, share=self._steps // _OPTIONAL_SHARE)
        domains = self._root_domains(request)
        search.compare(domains)
        queue = deque((placement, False) for placement in domains)
        while queue and (best is None or best.placed < waiting):
            placement, postponed = queue.popleft()
            if best is not None and search.limit(placement) < best.placed:
                continue
            try:
                # A domain that needs many steps is postponed until the other domains have been tried.
                with budget.part(budget.left // 2 if queue and not postponed else budget.left):
                    plan = search.plan(placement)
            except StepsSpentError:
                if budget.left and not postponed:
                    queue.append((placement, True))
                    continue
                if best is None:
                    raise
                break
            if plan is not None:
                outcome = self._outcome_of(whole, placement, plan, search, budget)
                best = outcome if best is None or self._rank(whole, outcome) > self._rank(whole, best) else best
                budget.step(min(_COMPLETION_STEPS, budget.left))
        return best

    def _to_search(self, request: PlacementRequest) -> PlacementRequest:
        """Return *request* for the search: if its pods depend on others by volumes, their shapes say all that they demand."""
        return request if counted(request) else self._shapes_alone.request(self._named_pods.distinguished(request.entity))

    def _root_domains(self, request: PlacementRequest) -> list[Placement]:
        """Return the domains of a root, the tightest with all its waiting pods first, then by name."""
        if not request.entity.key:
            return [self.state.topology.root]
        domains = self.placements(request, self.state.topology.root)
        if not domains:
            return []
        scored = self.state.nodes.scored
        pods: Ints = np.zeros(len(scored.position), dtype=np.int64)
        for shape, count in Counter(pod.shape for leaf in request.entity.leaves() for pod in leaf.waiting).items():
            pods += count * placement_score.amounts_of_pod(shape, scored)
        score = placement_score.PlacementScore.of_group(request.entity, scored)
        tight = score.tightness_of_each([domain.nodes for domain in domains], pods, self.state.ledger)
        return [domains[number] for number in (-tight).argsort(kind="stable").tolist()]

    def _rank(self, request: PlacementRequest, outcome: PlacementOutcome) -> tuple[int, int]:
        scored = self.state.nodes.scored
        score = placement_score.PlacementScore.of_group(request.entity, scored)
        proposed = placement_score.proposed_amounts(outcome.loads, scored)
        return outcome.placed, score.tightness_at(outcome.placement.nodes, proposed, self.state.ledger)

    def _outcome_of(
        self, request: PlacementRequest, placement: Placement, plan: list[PlannedGroup], search: TreeSearch, budget: StepBudget
    ) -> PlacementOutcome:
        """Return the outcome of *plan* with as many more pods as fit; ledger and stateful plugins are unchanged afterwards."""
        ledger, stateful, volumes = self.state.ledger, self.state.stateful, search.capacity.volumes
        mark, counts = ledger.mark(), stateful.mark()
        minimum = self._minimum(request, plan, search)
        planned, claims = leaves_with(request, minimum), ClaimsOfPlan(self.state, search.capacity, budget)
        for leaf, outcome in claims.chosen(planned):
            self._assume(leaf, outcome)
        domains = {each.request.entity.name: each.domain for each in plan}
        placement = domains.get(request.entity.name, placement)
        begun, counted_pods = ledger.mark(), stateful.mark()
        outcome = Completion(self, self._assume, domains, minimum).completed(request, placement)
        if volumes is not None and not volumes.sums.holds(assigned(request, outcome)):
            stateful.rewind(counted_pods)
            ledger.rewind(begun)

            placed = [pair for leaf, each in planned for pair in assigned(leaf, each)]

            def searched(child: PlacementRequest, inside: Placement) -> PlacementOutcome | None:
                return self._child_outcome(child, inside, budget)

            limited = LimitedCompletion(self, self._assume, domains, minimum, volumes.sums, placed, searched)
            outcome = limited.completed(request, placement)
        outcome = claims.taken(request, outcome)
        stateful.rewind(counts)
        ledger.rewind(mark)
        return claims.with_counted_devices(request, outcome)

    def _child_outcome(self, child: PlacementRequest, placement: Placement, budget: StepBudget) -> PlacementOutcome | None:
        """Return the outcome of a search for *child*, an optional group, within *placement*; None without a plan within the budget."""
        try:
            search = TreeSearch(self.state, self._to_search(child), budget)
            plan = search.plan(placement)
            return None if plan is None else self._outcome_of(child, placement, plan, search, budget)
        except StepsSpentError:
            return None

    def _assume(self, request: PlacementRequest, outcome: PlacementOutcome) -> None:
        """Assume *outcome* in the ledger, and in the stateful plugins unless no pod depends on others."""
        if counted(request):
            self.state.ledger.assume(outcome.loads, outcome.cause)
        else:
            self.assume(request, outcome)

    def _minimum(self, request: PlacementRequest, plan: list[PlannedGroup], search: TreeSearch) -> dict[Name, PlacementOutcome]:
        """Return an outcome with exactly the planned pods for each leaf of *plan*."""
        demands = [(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts]
        assignment = search.capacity.assignment(demands) if demands else {}
        nodes_left = {at: nodes.tolist() for at, nodes in assignment.items()}
        own = {leaf.entity.name: leaf for leaf in request.leaves()}
        outcomes = {}
        for chosen in plan:
            if chosen.request.leaf:
                selected = {
                    shape.serial: [nodes_left[shape.serial, chosen.domain.serial].pop(0) for _ in range(count)]
                    for shape, count in chosen.counts
                }
                name = chosen.request.entity.name
                outcomes[name] = succeeded(own[name], chosen.domain, _in_order(chosen.request, selected), self.state)
        return outcomes


def searchable(request: PlacementRequest) -> bool:
    """Return whether the search models all constraints of the pods: no relations to other pods except volumes, no host ports."""
    return request.only_searched and all(map(searchable, request.children))


def leaves_with(request: PlacementRequest, outcomes: Mapping[Name, PlacementOutcome]) -> list[tuple[PlacementRequest, PlacementOutcome]]:
    """Return the leaves of *request* that have an outcome, with it."""
    return [(leaf, outcomes[leaf.entity.name]) for leaf in request.leaves() if leaf.entity.name in outcomes]


def _in_order(request: PlacementRequest, selected: dict[int, list[int]]) -> Nodes:
    """Return the node of each waiting pod, -1 without one; *selected* lists nodes by shape for the first pods of that shape."""
    nodes = []
    for pod in request.entity.waiting:
        shape_nodes = selected.get(pod.shape.serial)
        nodes.append(shape_nodes.pop(0) if shape_nodes else -1)
    return np.array(nodes, dtype=np.int64)
