"""Pods and groups beyond the minimum of a plan, added by greedy placement in the domains of the plan.

Greedy placement compares each claim with a whole storage capacity.  If the claims need more together, the additions are made one by one,
on nodes whose storage is enough.  No pod or group that is left out then fits in addition to the placed ones, unless the budget of a
search ends first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from scheduler_core.exact.needs import satisfied
from scheduler_core.exact.volumes.storage_sums import StorageInUse, StorageSums
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, assigned
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import succeeded, try_leaf

Assume = Callable[[PlacementRequest, PlacementOutcome], None]
Searched = Callable[[PlacementRequest, Placement], PlacementOutcome | None]


class Completion:
    """Completion of a plan with the *domains* of its groups; the pods of *minimum* are assumed already, by leaf."""

    def __init__(self, greedy: Greedy, assume: Assume, domains: Mapping[Name, Placement], minimum: Mapping[Name, PlacementOutcome]) -> None:
        self._greedy = greedy
        self._assume = assume
        self._domains = domains
        self._minimum = minimum

    def completed(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        """Return *request* on *placement* with its minimum and more pods, which are assumed here."""
        if request.leaf:
            return self._leaf_completed(request, placement)
        outcomes: dict[int, PlacementOutcome | None] = {}
        for number, child in enumerate(request.children):
            if child.entity.name in self._domains:
                outcomes[number] = self.completed(child, self._domains[child.entity.name])
        for number, child in enumerate(request.children):
            if number not in outcomes:
                outcomes[number] = self._added_child(child, placement)
        children = tuple(outcomes[number] for number in range(len(request.children)))
        good = [outcome for outcome in children if outcome is not None and outcome.success]
        return PlacementOutcome(
            Status.SUCCESS,
            placement,
            self._greedy.state.ledger.fresh(),
            children=children,
            loads=tuple(load for outcome in good for load in outcome.loads),
            placed=sum(outcome.placed for outcome in good),
        )

    def _leaf_completed(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        needed = self._minimum.get(request.entity.name)
        nodes: Nodes = (
            np.full(len(request.entity.waiting), -1, dtype=np.int64) if needed is None or needed.nodes is None else needed.nodes.copy()
        )
        rest = (nodes < 0).nonzero()[0]
        if len(rest):
            nodes[rest] = self._added_pods(request, rest, placement)
        return succeeded(request, placement, nodes, self._greedy.state)

    def _added_pods(self, request: PlacementRequest, numbers: Ints, placement: Placement) -> Nodes:
        """Add waiting pods of a leaf by their *numbers*; return their nodes, -1 for none."""
        waiting = tuple(request.entity.waiting[number] for number in numbers.tolist())
        others = self._greedy.request(dataclasses.replace(request.entity, waiting=waiting, minimum=0))
        outcome = try_leaf(others, placement, self._greedy.state)
        # The nodes of a failure are for the diagnosis only.
        if not outcome.success or outcome.nodes is None:
            return np.full(len(numbers), -1, dtype=np.int64)
        self._assume(others, outcome)
        return outcome.nodes

    def _added_child(self, child: PlacementRequest, placement: Placement) -> PlacementOutcome | None:
        """Add a group beyond the minimum and return its outcome."""
        outcome = self._greedy.evaluate(child, placement)
        if outcome.success:
            self._assume(child, outcome)
        return outcome


def is_met(request: PlacementRequest, outcome: PlacementOutcome) -> bool:
    """Return whether *outcome*, a completion of *request*, has its minimum."""
    if request.leaf:
        return len(request.entity.running) + outcome.placed >= request.entity.minimum
    return sum(each is not None and each.success for each in outcome.children) >= request.entity.minimum


class LimitedCompletion(Completion):
    """Completion within a storage capacity, by node and by claim.

    Groups for which greedy has too little storage are placed by *searched*.
    """

    def __init__(
        self,
        greedy: Greedy,
        assume: Assume,
        domains: Mapping[Name, Placement],
        minimum: Mapping[Name, PlacementOutcome],
        storage: StorageSums,
        placed: Iterable[tuple[PodRecord, int]],
        searched: Searched,
    ) -> None:
        """Prepare; *placed* are the pods of the minimum."""
        super().__init__(greedy, assume, domains, minimum)
        self._storage = storage
        self._in_use = StorageInUse(storage)
        self._in_use.add_pods(placed)
        self._searched = searched
        self._failed: set[tuple[Name, int]] = set()

    def _added_pods(self, request: PlacementRequest, numbers: Ints, placement: Placement) -> Nodes:
        return np.array(
            [self._added_pod(request, request.entity.waiting[number], placement) for number in numbers.tolist()], dtype=np.int64
        )

    def _added_pod(self, request: PlacementRequest, pod: PodRecord, placement: Placement) -> int:
        """Add *pod* on a node with enough storage; return the node, -1 for none."""
        kind = request.entity.name, pod.shape.serial
        if kind in self._failed:
            return -1
        nodes = placement.nodes[self._in_use.suffices(self._storage.demand_of(pod), placement.nodes)]
        # Results on a part of a placement are not cached, so it needs no number of its own.
        part = Placement(placement.serial, placement.key, placement.value, nodes)
        one = self._greedy.request(dataclasses.replace(request.entity, waiting=(pod,), minimum=0))
        outcome = try_leaf(one, part, self._greedy.state)
        node = int(outcome.nodes[0]) if outcome.success and outcome.nodes is not None else -1
        if node >= 0:
            self._assume(one, outcome)
            self._in_use.add_pods([(pod, node)])
        elif not self._greedy.state.stateful.touches(pod) and not any(need.request and need.request.shared for need in pod.shape.volumes):
            # No capacity is released here, so an equal pod does not fit later.
            self._failed.add(kind)
        return node

    def _added_child(self, child: PlacementRequest, placement: Placement) -> PlacementOutcome | None:
        ledger, stateful = self._greedy.state.ledger, self._greedy.state.stateful
        mark, counts = ledger.mark(), stateful.mark()
        outcome = super()._added_child(child, placement)
        if outcome is not None and outcome.success:
            if self._in_use.add_pods(assigned(child, outcome)):
                return outcome
            stateful.rewind(counts)
            ledger.rewind(mark)
            if child.leaf or satisfied(child):
                # Running pods confine it to this domain; otherwise another domain is searched.
                part = self.completed(child, outcome.placement)
                if is_met(child, part):
                    return part
                for pod, node in assigned(child, part):
                    self._in_use.add(self._storage.demand_of(pod), node, -1)
                stateful.rewind(counts)
                ledger.rewind(mark)
        provisioned, used = self._greedy.state.provisioned, self._in_use.by_node()
        provisioned.update(used)
        try:
            found = self._searched(child, placement)
        finally:
            provisioned.subtract(used)
        if found is None:
            return outcome if outcome is None or not outcome.success else None
        self._assume(child, found)
        self._in_use.add_pods(assigned(child, found))
        return found
