"""Pods on nodes, one by one, with backtracking, while their claims can be matched with volumes.

A partial assignment is given up if the pods that are left do not fit by slots or sums, or if no matching gives volumes to the claims of the
placed pods and, on the nodes that are left, to the other claims.  Nodes with equal capacity and equal volumes are exchangeable: only one is
tried, and no assignment is tried twice up to such exchanges.  Pods without volumes are packed last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.exact.packing.filled_nodes import Counts, CoupledPods, PackingInput
from scheduler_core.exact.packing.packing import EqualPods, Packed
from scheduler_core.exact.packing.placed_pods import PlacedPods
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.volumes.constraints import VolumeConstraints
from scheduler_core.exact.volumes.matching import Item, suffice
from scheduler_core.exact.volumes.storage_sums import StorageInUse
from scheduler_core.model.nodes import Bools, Ints, Nodes

_STATE_STEPS, _HOSTS = 10, 4
"""Steps for an assignment; nodes that are compared in one more step."""


class _Host(Record, frozen=True):
    """One of *count* equal nodes: *node* is the first of them."""

    node: int
    count: int
    slots: Counts


class PodSearch:
    """Search for one packing of *coupled* and *others* into *free*, shape (rows, nodes); *nodes* are indices of the node table."""

    def __init__(
        self,
        constraints: VolumeConstraints,
        free: Ints,
        coupled: Sequence[CoupledPods],
        others: Sequence[EqualPods],
        nodes: Nodes,
        limit_rows: Mapping[int, int],
        budget: StepBudget,
    ) -> None:
        """Prepare; *limit_rows* gives the row of *free* for each row of a limit in the node table."""
        self._constraints = constraints
        self._coupled, self._others = coupled, others
        self._nodes: list[int] = nodes.tolist()
        self._budget = budget
        self._free = free
        self._needed = sum((each.amounts * each.count for each in (*others, *(one.pods for one in coupled))), np.zeros(len(free), np.int64))
        slots = np.array([each.slots for each in (*(one.pods for one in coupled), *others)])
        columns = np.concatenate((free, slots, constraints.node_classes()[nodes][None, :])).T.tolist()
        numbers: dict[tuple[int, ...], int] = {}
        self._kinds = [numbers.setdefault(tuple(column), len(numbers)) for column in columns]
        self._members: list[list[int]] = [[] for _ in numbers]
        usable: Bools = np.any(slots[: len(coupled)], axis=0)
        for node, kind in enumerate(self._kinds):
            self._members[kind] += [node] if usable[node] else []
        self._next = [0] * len(self._members)
        self._placed = PlacedPods(PackingInput(constraints, free, coupled, self._nodes, limit_rows), self._kinds)
        self._failed: set[object] = set()
        self._packed: Packed | None = None

    def run(self) -> Packed | None:
        """Return the number of pods of each demand on each node, first those of *coupled*; None if there is no packing.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        if (self._needed > self._free.sum(axis=1)).any():
            return None
        # An explicit stack: there may be more pods than Python has stack frames.
        stack = [self._try_pod()]
        while stack:
            if not next(stack[-1], False):
                stack.pop()
            elif self._packed is not None:
                return self._packed
            else:
                stack.append(self._try_pod())
        return None

    def _try_pod(self) -> Iterator[bool]:
        """Yield once for each node of the next pod, which is placed there while the caller continues."""
        placed, stored = self._placed, self._placed.stored
        key = tuple(sorted(map(placed.state, placed.contents)))
        if key in self._failed or stored is None or stored.exceeded or not placed.attachable(self._budget):
            return
        hosts = self._hosts()
        self._budget.step(_STATE_STEPS + len(hosts) * len(placed.left) // _HOSTS)
        if not any(placed.left):
            self._packed = placed.packed_with(self._others, self._budget) if suffice(self._items(hosts), self._budget) else None
            if self._packed is not None:
                yield True
        elif (demand := self._most_confined(hosts, stored)) is not None and suffice(self._items(hosts), self._budget):
            for host in sorted(hosts, key=lambda host: (host.slots[demand], host.node)):
                if host.slots[demand]:
                    self._place(demand, host.node, 1)
                    yield True
                    self._place(demand, host.node, -1)
        self._failed.add(key)

    def _place(self, demand: int, node: int, amount: int) -> None:
        """Place one pod of *demand* on *node*, or (*amount* -1) take it away."""
        contents, before = self._placed.contents, len(self._placed.contents)
        self._placed.place(demand, node, amount)
        # Nodes of a kind are used in their order, and left in the reverse order.
        self._next[self._kinds[node]] += len(contents) - before

    def _hosts(self) -> list[_Host]:
        """Return the nodes that differ."""
        seen: dict[tuple[int, Counts], tuple[int, int]] = {}
        for node in self._placed.contents:
            key = self._placed.state(node)
            first, count = seen.get(key, (node, 0))
            seen[key] = first, count + 1
        for kind, members in enumerate(self._members):
            if unused := len(members) - self._next[kind]:
                node = members[self._next[kind]]
                seen[self._placed.state(node)] = node, unused
        demands = range(len(self._placed.left))
        return [_Host(node, count, tuple(self._placed.slots(node, each) for each in demands)) for node, count in seen.values()]

    def _most_confined(self, hosts: Sequence[_Host], stored: StorageInUse) -> int | None:
        """Return the demand with the fewest slots beyond its pods; None if one has too few, so that there is no packing.

        Pods with the most attached volumes come first: they confine the orders of the pods of a node.
        """
        slots = [[(self._nodes[host.node], host.count * host.slots[number]) for host in hosts] for number in range(len(self._placed.left))]
        totals = [stored.most(coupled.storage, each) for coupled, each in zip(self._coupled, slots, strict=True)]
        confined: tuple[int, int, int] | None = None
        for number, (left, total) in enumerate(zip(self._placed.left, totals, strict=True)):
            if left > (min(total, 1) if self._coupled[number].demand.single else total):
                return None
            if left:
                urgency = -len(self._coupled[number].demand.attached), total - left, number
                confined = min(confined or urgency, urgency)
        return None if confined is None else confined[2]

    def _items(self, hosts: Sequence[_Host]) -> list[Item]:
        """Return the claims that need an existing volume, each with the volumes that it can have."""
        items = [*self._placed.items()]
        for number, (left, each) in enumerate(zip(self._placed.left, self._coupled, strict=True)):
            if left:
                items += [self._item_of_rest(number, left * count, claim, count, hosts) for claim, count in each.demand.own]
        return items

    def _item_of_rest(self, number: int, needed: int, claim: int, own: int, hosts: Sequence[_Host]) -> Item:
        """Return the claims of pods without a node, as far as they need volumes that several nodes reach."""
        volumes, several = self._constraints.claims[claim], self._constraints.several
        limits: dict[int, int] = {}
        for host in hosts:
            if slots := host.count * host.slots[number] * own:
                name = self._nodes[host.node]
                mask = volumes.on(name)
                # Volumes of one node are counted by the slots.
                local = host.count * min(host.slots[number] * own, (mask & ~several).bit_count())
                needed -= slots if volumes.provisioned[name] else local
                if mask & several:
                    limits[mask & several] = limits.get(mask & several, 0) + slots
        return Item(max(0, needed), tuple(limits.items()))
