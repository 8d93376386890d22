"""Strategy ``complete``: greedy first; where that leaves pods out, the minimum by search, and then what is optional beside it.

Minimum first, then elastic (KEP-6012, Resource stealing under greedy evaluation: a non-greedy pass, then a greedy one): no optional
pod ever takes what a sibling needs.  Of several domains for the root the one that takes most pods is chosen, then the best by the
scores of greedy, then the first by name.
"""

from __future__ import annotations

import dataclasses
from collections import deque

import numpy as np

from scheduler_core.exact.needs import satisfied
from scheduler_core.exact.packing.optional_pods import PlannedGroup
from scheduler_core.exact.step_budget import DEFAULT, StepBudget, StepsSpentError
from scheduler_core.exact.tree.tree_search import TreeSearch
from scheduler_core.model.decision import Search, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.topology import Placement
from scheduler_core.placement import placement_score
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest, Signatures
from scheduler_core.placement.pod_group import succeeded, try_leaf
from scheduler_core.placement.state import PlacementState

_SHARE = 2
"""The part of the budget that may go into more pods than must be placed: half of it."""
_CARRYING = 400
"""Steps to carry out a plan."""


class Complete(Greedy):
    """Places entities by search where greedy does not place them whole."""

    def __init__(self, state: PlacementState, steps: int = DEFAULT, signatures: Signatures | None = None) -> None:
        super().__init__(state, signatures)
        self._steps = steps
        self.search = Search("complete", "not-searched")

    def place(self, request: PlacementRequest) -> PlacementOutcome:
        """What comes of a root; ``search`` tells how it was found."""
        greedy = super().place(request)
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        self.search = Search("complete", "placed" if greedy.success else "not-searched")
        whole = greedy.success and greedy.placed == waiting
        if whole or greedy.status is Status.ERROR or not self.searches(request):
            return greedy
        if greedy.status is Status.UNRESOLVABLE:
            # Too few members, or no domain at all: counting has refuted it.
            self.search = Search("complete", "infeasible")
            return greedy
        budget = StepBudget(self._steps)
        try:
            found = self._search(request, budget)
        except StepsSpentError:
            self.search = Search("complete", "placed" if greedy.success else "budget", self._steps)
            return greedy
        self.search = Search("complete", "placed" if found else "infeasible", budget.explored)
        if found is None:
            return self._refuted(request, greedy)
        return greedy if greedy.success and greedy.placed >= found.placed else found

    def searches(self, request: PlacementRequest) -> bool:
        """Whether a root is searched for that greedy does not place whole; of others greedy has the last word."""
        return not satisfied(request) and searchable(request) and not self._refuses(request)

    def _refuses(self, request: PlacementRequest) -> bool:
        """Whether a pod is not placed because a field of it is not modelled: that is no proof of anything."""
        here = any(self.state.profile.refused(run.shape.unmodelled) for run in request.runs)
        return here or any(self._refuses(child) for child in request.children)

    def _refuted(self, request: PlacementRequest, greedy: PlacementOutcome) -> PlacementOutcome:
        """No placement exists.  If none did on an empty cluster either, no eviction can help."""
        try:
            search = TreeSearch(self.state, request, StepBudget(self._steps), empty=True)
            possible = search.plan(self.state.topology.root) is not None
        except StepsSpentError:
            return greedy
        return greedy if possible else dataclasses.replace(greedy, status=Status.UNRESOLVABLE)

    def _search(self, request: PlacementRequest, budget: StepBudget) -> PlacementOutcome | None:
        """The best plan for the root: the best found in each of its domains, completed; None if there is none.

        Raises:
            StepsSpentError: the budget is spent before any plan is found.

        """
        best: PlacementOutcome | None = None
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        # The root's own key chooses here, so that its domains can be compared by all that fits in them.
        top = dataclasses.replace(request, entity=dataclasses.replace(request.entity, key="")) if request.entity.key else request
        search = TreeSearch(self.state, top, budget, share=self._steps // _SHARE)
        ahead = deque((placement, False) for placement in self._tops(request))
        while ahead and (best is None or best.placed < waiting):
            placement, again = ahead.popleft()
            if best is not None and search.limit(placement) < best.placed:
                continue
            try:
                # A domain that takes long waits until the others have been looked at.
                with budget.part(budget.left // 2 if ahead and not again else budget.left):
                    plan = search.plan(placement)
            except StepsSpentError:
                if budget.left and not again:
                    ahead.append((placement, True))
                    continue
                if best is None:
                    raise
                break
            if plan is not None:
                outcome = self._carry_out(top, placement, plan, search)
                best = outcome if best is None or self._rank(outcome) > self._rank(best) else best
                budget.step(min(_CARRYING, budget.left))
        return best

    def _tops(self, request: PlacementRequest) -> list[Placement]:
        """The domains of a root; the first of those that would take all its pods is the best by the scores, then by name."""
        if not request.entity.key:
            return [self.state.topology.root]
        found = self.placements(request, self.state.topology.root)
        scored = [pod.shape.scored for leaf in request.entity.leaves() for pod in leaf.waiting]
        pods = np.array([sum(cpu for cpu, _ in scored), sum(memory for _, memory in scored)])
        order = sorted(range(len(found)), key=lambda number: -self._tightness(found[number], pods))
        return [found[number] for number in order]

    def _tightness(self, placement: Placement, scored: Ints) -> int:
        room = self.state.nodes.allocatable[:2, placement.nodes].sum(axis=1)
        taken = self.state.ledger.scored[:, placement.nodes].sum(axis=1) + scored
        return int(placement_score.tightness(room[:, None], taken[:, None])[0])

    def _rank(self, outcome: PlacementOutcome) -> tuple[int, int]:
        return outcome.placed, self._tightness(outcome.placement, np.array(outcome.scored))

    def _carry_out(self, request: PlacementRequest, placement: Placement, plan: list[PlannedGroup], search: TreeSearch) -> PlacementOutcome:
        """The outcome of *plan* with all that can be added to it; the ledger is as before."""
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
        """An outcome for each leaf of *plan*: exactly the pods that it needs."""
        wishes = [(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts]
        together = search.capacity.assignment(wishes) if wishes else {}
        left = {at: nodes.tolist() for at, nodes in together.items()}
        found = {}
        for chosen in plan:
            if chosen.request.leaf:
                taken = {
                    shape.serial: [left[shape.serial, chosen.domain.serial].pop(0) for _ in range(count)] for shape, count in chosen.counts
                }
                found[chosen.request.entity] = succeeded(chosen.request, chosen.domain, _in_order(chosen.request, taken), self.state)
        return found

    def _completed(
        self, request: PlacementRequest, placement: Placement, domains: dict[Entity, Placement], minimum: dict[Entity, PlacementOutcome]
    ) -> PlacementOutcome:
        """*request* on *placement* with its minimum, which is assumed, and what can be added; what is added is assumed as well."""
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
            # The nodes of a failure are for the diagnosis: nothing is taken there.
            if outcome.success and outcome.nodes is not None:
                nodes[rest] = outcome.nodes
                self.state.ledger.assume(outcome.loads, outcome.cause)
        return succeeded(request, placement, nodes, self.state)


def searchable(request: PlacementRequest) -> bool:
    """Whether the search models all that constrains the pods: not where other pods do, nor ports, nor a promised node."""
    return request.memorable and not request.special and all(searchable(child) for child in request.children)


def _in_order(request: PlacementRequest, taken: dict[int, list[int]]) -> Nodes:
    """The node of each pod in its order, the first pods of each shape having them."""
    nodes = []
    for pod in request.entity.waiting:
        there = taken.get(pod.shape.serial)
        nodes.append(there.pop(0) if there else -1)
    return np.array(nodes, dtype=np.int64)
