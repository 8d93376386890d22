"""Pods that a search has placed so far: what their nodes have left, and the volumes, claims and storage that they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from kubeapi.base_structs import replaced
from scheduler_core.exact.packing.attach_orders import AttachOrders
from scheduler_core.exact.packing.filled_nodes import Counts, CoupledPods, FilledNodes, PackingInput
from scheduler_core.exact.packing.packing import EqualPods, Packed, pack
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.volumes.matching import Item
from scheduler_core.exact.volumes.storage_sums import StorageInUse
from scheduler_core.model.volumes import ClaimName


class PlacedPods:
    """Pods of *coupled* on nodes with the amounts *free*, shape (rows, nodes).

    Nodes of one kind (*kinds*, by node) can be exchanged while they are empty.

    Attributes:
        contents: number of pods of each demand by node, without nodes that have none.
        left: number of pods of each demand that have no node.
        stored: storage in use; None if pods compete for no volumes.

    """

    def __init__(self, given: PackingInput, kinds: Sequence[int]) -> None:
        self._volumes, self._free, self._coupled, self._nodes = given.volumes, given.free, given.coupled, given.nodes
        self._kinds = kinds
        self._filled = FilledNodes(given)
        self._orders = None if given.volumes is None else AttachOrders(given.volumes, given)
        self._empty: Counts = (0,) * len(given.coupled)
        self._users: dict[int, dict[int, int]] = {}
        self._single: Counter[ClaimName] = Counter()
        self.contents: dict[int, Counts] = {}
        self.left = [each.pods.count for each in given.coupled]
        self.stored = None if given.volumes is None else StorageInUse(given.volumes.sums)

    def place(self, demand: int, node: int, amount: int) -> None:
        """Place one pod of *demand* on *node*, or (*amount* -1) take it away."""
        counts = list(self.contents.get(node, self._empty))
        counts[demand] += amount
        self.left[demand] -= amount
        if any(counts):
            self.contents[node] = tuple(counts)
        else:
            del self.contents[node]
        if self.stored is not None:
            self._use(self._coupled[demand], node, amount)

    def _use(self, placed: CoupledPods, node: int, amount: int) -> None:
        if self.stored is not None:
            self.stored.add(placed.storage, self._nodes[node], amount)
        for single in placed.demand.single:
            self._single[single] += amount
        for claim in placed.demand.shared:
            users = self._users.setdefault(claim, {})
            users[node] = users.get(node, 0) + amount
            if not users[node]:
                del users[node]

    def state(self, node: int) -> tuple[int, Counts]:
        """Return kind and pods of *node*: nodes that agree in both can be exchanged."""
        return self._kinds[node], self.contents.get(node, self._empty)

    def slots(self, node: int, demand: int) -> int:
        """Return an upper bound of the pods of *demand* that can be added on *node*."""
        slots = self._filled.at(node, *self.state(node)).slots[demand]
        return slots if slots and not self._is_in_use(demand) and self._reaches_shared(demand, node) else 0

    def _is_in_use(self, demand: int) -> bool:
        """Return whether a ReadWriteOncePod claim of *demand* has its user."""
        return any(self._single[claim] for claim in self._coupled[demand].demand.single)

    def _reaches_shared(self, demand: int, node: int) -> bool:
        """Return whether the claims of *demand* that placed pods use too can serve *node* as well."""
        for claim in self._coupled[demand].demand.shared:
            nodes = [self._nodes[each] for each in {*self._users.get(claim, ()), node}]
            if self._volumes is not None and not self._volumes.common(claim, nodes) and not self._volumes.provisions(claim, nodes):
                return False
        return True

    def attachable(self, budget: StepBudget) -> bool:
        """Return whether the pods of each node can come in an order in which attach limits refuse none of them.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        orders = self._orders
        return orders is None or all(orders.exist(node, *self.state(node), self.left, budget) for node in self.contents)

    def items(self) -> Iterator[Item]:
        """Yield the claims of the pods that need an existing volume, each with the volumes that it can have."""
        if self._volumes is None:
            return
        for node, counts in self.contents.items():
            for count, each in zip(counts, self._coupled, strict=True):
                yield from self._volumes.items(each.demand, self._nodes[node], count)
        for claim, users in self._users.items():
            nodes = [self._nodes[node] for node in users]
            if nodes and not self._volumes.provisions(claim, nodes):
                yield Item(1, ((self._volumes.common(claim, nodes), 1),))

    def packed_with(self, others: Sequence[EqualPods], budget: StepBudget) -> Packed | None:
        """Return the packing of all pods, these where they are; None if the *others* do not fit.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        free = self._free.copy()
        packed: Packed = [np.zeros(len(self._nodes), dtype=np.int64) for _ in self._coupled]
        for node, counts in self.contents.items():
            free[:, node] = self._filled.at(node, *self.state(node)).free
            for number, count in enumerate(counts):
                packed[number][node] = count
        rest = []
        for each in others:
            needed = each.amounts > 0
            slots = np.minimum(each.slots, (np.maximum(free[needed], 0) // each.amounts[needed][:, None]).min(axis=0))
            rest.append(replaced(each, slots=slots))
        found = pack(free, rest, budget)
        return None if found is None else [*packed, *found]
