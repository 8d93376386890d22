"""Strategy ``complete``: greedy first; if greedy leaves pods without a node, a search for the minimum, then optional pods.

The minimum comes first, so an optional pod never takes capacity that a sibling needs (KEP-6012, Resource stealing under greedy
evaluation).  Of several domains of the root the one with most placed pods is chosen, then the best by greedy's scores, then the first
by name.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque

import numpy as np

from scheduler_core.exact.needs import satisfied
from scheduler_core.exact.packing.optional_pods import PlannedGroup
from scheduler_core.exact.shared_claims import SharedClaims
from scheduler_core.exact.step_budget import DEFAULT, StepBudget, StepsSpentError
from scheduler_core.exact.tree.tree_search import TreeSearch
from scheduler_core.model.decision import IN_ORDER, MOST_PODS, Search, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.topology import Placement
from scheduler_core.placement import placement_score
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest, Signatures
from scheduler_core.placement.pod_group import succeeded, try_leaf
from scheduler_core.placement.state import PlacementState

_OPTIONAL_SHARE = 2
"""Divisor of the budget: half of it may be spent on pods beyond the minimum."""
_COMPLETION_STEPS = 400
"""Steps to complete a plan."""


class Complete(Greedy):
    """Placement by search of roots that greedy does not place whole."""

    def __init__(self, state: PlacementState, steps: int = DEFAULT, signatures: Signatures | None = None) -> None:
        super().__init__(state, signatures)
        self._steps = steps
        self.search = Search("complete", "not-searched")
        self._shared_claims = SharedClaims(state)

    def place(self, request: PlacementRequest) -> PlacementOutcome:
        """Return the result of a root; ``search`` describes the search."""
        greedy = super().place(request)
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        self.search = Search.placed("complete", leaf=request.leaf) if greedy.success else Search("complete", "not-searched")
        whole = greedy.success and greedy.placed == waiting
        if whole or greedy.status is Status.ERROR:
            return greedy
        if not self.searches(request):
            return self._with_shared_claim(request, greedy)
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
            return self._refuted_outcome(request, greedy)
        as_greedy = greedy.success and greedy.placed >= outcome.placed
        self.search = Search.placed("complete", budget.explored, IN_ORDER if as_greedy else MOST_PODS, leaf=request.leaf)
        return greedy if as_greedy else outcome

    def _with_shared_claim(self, request: PlacementRequest, greedy: PlacementOutcome) -> PlacementOutcome:
        """Return the result of a root that is searched only if the node of a claim that its pods share is given."""
        shared, entity = self._shared_claims, request.entity
        nodes = None if satisfied(request) or self._is_unmodelled(request) else shared.nodes(entity)
        if nodes is None or not searchable(self.request(shared.pinned(entity, 0))):
            return greedy
        budget, best = StepBudget(self._steps), None
        waiting = sum(len(leaf.waiting) for leaf in entity.leaves())
        try:
            for node in nodes:
                outcome = self._search(self.request(shared.pinned(entity, node)), budget)
                if outcome is not None and (best is None or self._rank(request, outcome) > self._rank(request, best)):
                    best = outcome
                if best is not None and best.placed == waiting:
                    break
        except StepsSpentError:
            if best is None and not greedy.success:
                self.search = Search("complete", "budget", self._steps)
        else:
            if best is None and not greedy.success:
                self.search = Search("complete", "infeasible", budget.explored)
                return self._refuted_outcome(request, greedy)
        if best is None or (greedy.success and greedy.placed >= best.placed):
            return greedy
        self.search = Search.placed("complete", budget.explored, MOST_PODS, leaf=request.leaf)
        return best

    def searches(self, request: PlacementRequest) -> bool:
        """Return whether the search serves a root that greedy does not place whole; else the result of greedy is final."""
        return not satisfied(request) and searchable(request) and not self._is_unmodelled(request)

    def _is_unmodelled(self, request: PlacementRequest) -> bool:
        """Return whether a filter refuses a pod because one of its fields is not modelled: such a refusal is no proof."""
        own = any(self.state.profile.refused(run.shape.unmodelled) for run in request.runs)
        return own or any(self._is_unmodelled(child) for child in request.children)

    def _refuted_outcome(self, request: PlacementRequest, greedy: PlacementOutcome) -> PlacementOutcome:
        """Return the result of a root without a placement.  If an empty cluster has none either, no eviction can help."""
        try:
            search = TreeSearch(self.state, request, StepBudget(self._steps), empty=True)
            possible = search.plan(self.state.topology.root) is not None
        except StepsSpentError:
            return greedy
        return greedy if possible else dataclasses.replace(greedy, status=Status.UNRESOLVABLE)

    def _search(self, request: PlacementRequest, budget: StepBudget) -> PlacementOutcome | None:
        """Return the completed plan of the best domain of the root; None if no domain has a plan.

        Raises:
            StepsSpentError: the budget is spent before any plan is known.

        """
        best: PlacementOutcome | None = None
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        # This method selects the domain of the root, so that domains are compared by all pods that fit in them.
        whole = dataclasses.replace(request, entity=dataclasses.replace(request.entity, key="")) if request.entity.key else request
        search = TreeSearch(self.state, whole, budget, share=self._steps // _OPTIONAL_SHARE)
        queue = deque((placement, False) for placement in self._root_domains(request))
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
                outcome = self._outcome_of(whole, placement, plan, search)
                best = outcome if best is None or self._rank(whole, outcome) > self._rank(whole, best) else best
                budget.step(min(_COMPLETION_STEPS, budget.left))
        return best

    def _root_domains(self, request: PlacementRequest) -> list[Placement]:
        """Return the domains of a root, the tightest with all its waiting pods first, then by name."""
        if not request.entity.key:
            return [self.state.topology.root]
        domains = self.placements(request, self.state.topology.root)
        scored = self.state.nodes.scored
        pods: Ints = np.zeros(len(scored.position), dtype=np.int64)
        for shape, count in Counter(pod.shape for leaf in request.entity.leaves() for pod in leaf.waiting).items():
            pods += count * placement_score.amounts_of_pod(shape, scored)
        order = sorted(range(len(domains)), key=lambda number: -self._tightness(request, domains[number], pods))
        return [domains[number] for number in order]

    def _tightness(self, request: PlacementRequest, placement: Placement, proposed: Ints) -> int:
        score = placement_score.PlacementScore.of_group(request.entity, self.state.nodes.scored)
        return score.tightness_at(placement.nodes, proposed, self.state.ledger)

    def _rank(self, request: PlacementRequest, outcome: PlacementOutcome) -> tuple[int, int]:
        proposed = placement_score.proposed_amounts(outcome.loads, self.state.nodes.scored)
        return outcome.placed, self._tightness(request, outcome.placement, proposed)

    def _outcome_of(
        self, request: PlacementRequest, placement: Placement, plan: list[PlannedGroup], search: TreeSearch
    ) -> PlacementOutcome:
        """Return the outcome of *plan* with as many more pods as fit; the ledger is unchanged afterwards."""
        ledger = self.state.ledger
        mark = ledger.mark()
        minimum = self._minimum(plan, search)
        for outcome in minimum.values():
            ledger.assume(outcome.loads, outcome.cause)
        domains = {chosen.request.entity: chosen.domain for chosen in plan}
        outcome = self._completed(request, placement, domains, minimum)
        ledger.rewind(mark)
        return outcome

    def _minimum(self, plan: list[PlannedGroup], search: TreeSearch) -> dict[Entity, PlacementOutcome]:
        """Return an outcome with exactly the planned pods for each leaf of *plan*."""
        demands = [(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts]
        assignment = search.capacity.assignment(demands) if demands else {}
        nodes_left = {at: nodes.tolist() for at, nodes in assignment.items()}
        outcomes = {}
        for chosen in plan:
            if chosen.request.leaf:
                selected = {
                    shape.serial: [nodes_left[shape.serial, chosen.domain.serial].pop(0) for _ in range(count)]
                    for shape, count in chosen.counts
                }
                outcomes[chosen.request.entity] = succeeded(chosen.request, chosen.domain, _in_order(chosen.request, selected), self.state)
        return outcomes

    def _completed(
        self, request: PlacementRequest, placement: Placement, domains: dict[Entity, Placement], minimum: dict[Entity, PlacementOutcome]
    ) -> PlacementOutcome:
        """Return *request* on *placement* with its minimum, which is assumed already, and further pods, which are assumed here."""
        if request.leaf:
            return self._leaf_completed(request, placement, minimum)
        outcomes: dict[int, PlacementOutcome] = {}
        for number, child in enumerate(request.children):
            if child.entity in domains:
                outcomes[number] = self._completed(child, domains[child.entity], domains, minimum)
        for number, child in enumerate(request.children):
            if number not in outcomes:
                outcomes[number] = outcome = self.evaluate(child, placement)
                if outcome.success:
                    self.state.ledger.assume(outcome.loads, outcome.cause)
        children = tuple(outcomes[number] for number in range(len(request.children)))
        good = [outcome for outcome in children if outcome.success]
        return PlacementOutcome(
            Status.SUCCESS,
            placement,
            self.state.ledger.fresh(),
            children=children,
            loads=tuple(load for outcome in good for load in outcome.loads),
            placed=sum(outcome.placed for outcome in good),
            scored=(sum(outcome.scored[0] for outcome in good), sum(outcome.scored[1] for outcome in good)),
        )

    def _leaf_completed(self, request: PlacementRequest, placement: Placement, minimum: dict[Entity, PlacementOutcome]) -> PlacementOutcome:
        needed = minimum.get(request.entity)
        nodes: Nodes = (
            np.full(len(request.entity.waiting), -1, dtype=np.int64) if needed is None or needed.nodes is None else needed.nodes.copy()
        )
        rest = (nodes < 0).nonzero()[0]
        if len(rest):
            waiting = tuple(request.entity.waiting[number] for number in rest.tolist())
            more = self.request(dataclasses.replace(request.entity, waiting=waiting, minimum=0))
            outcome = try_leaf(more, placement, self.state)
            # The nodes of a failure are for the diagnosis only.
            if outcome.success and outcome.nodes is not None:
                nodes[rest] = outcome.nodes
                self.state.ledger.assume(outcome.loads, outcome.cause)
        return succeeded(request, placement, nodes, self.state)


def searchable(request: PlacementRequest) -> bool:
    """Return whether the search models all constraints of the pods: no relations to other pods, no host ports, no nominated node.

    Volumes that requests count are no relation.
    """
    return request.counted and not request.special and all(searchable(child) for child in request.children)


def _in_order(request: PlacementRequest, selected: dict[int, list[int]]) -> Nodes:
    """Return the node of each waiting pod, -1 without one; *selected* lists nodes by shape for the first pods of that shape."""
    nodes = []
    for pod in request.entity.waiting:
        shape_nodes = selected.get(pod.shape.serial)
        nodes.append(shape_nodes.pop(0) if shape_nodes else -1)
    return np.array(nodes, dtype=np.int64)
