"""Pods on nodes, one by one, with backtracking, while their claims can be matched with volumes.

A partial assignment is given up if the pods that are left do not fit by slots or sums, or if no matching gives volumes to the claims of the
placed pods and, on the nodes that are left, to the other claims.  Nodes with equal capacity and equal volumes are exchangeable: only one is
tried, and no assignment is tried twice up to such exchanges.  Pods without volumes are packed last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.exact.packing.filled_nodes import Counts, FilledNodes, PodsWithVolumes
from scheduler_core.exact.packing.packing import EqualPods, Packed, pack
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.volumes.constraints import VolumeConstraints
from scheduler_core.exact.volumes.matching import Item, suffice
from scheduler_core.exact.volumes.storage_sums import StorageInUse
from scheduler_core.model.nodes import Ints, Nodes

_STATE_STEPS, _HOSTS = 10, 4
"""Steps for an assignment; nodes that are compared in one more step."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Host:
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
        coupled: Sequence[PodsWithVolumes],
        others: Sequence[EqualPods],
        nodes: Nodes,
        limit_rows: dict[int, int],
        budget: StepBudget,
    ) -> None:
        """Prepare; *limit_rows* gives the row of *free* for each row of a limit in the node table."""
        self._constraints = constraints
        self._coupled, self._others = coupled, others
        self._nodes: list[int] = nodes.tolist()
        self._budget = budget
        self._free = free
        self._left = [each.pods.count for each in coupled]
        self._needed = sum((each.amounts * each.count for each in (*others, *(one.pods for one in coupled))), np.zeros(len(free), np.int64))
        slots = np.array([each.slots for each in (*(one.pods for one in coupled), *others)])
        by_node: list[Counts] = [tuple(each) for each in slots[: len(coupled)].T.tolist()]
        self._filled = FilledNodes(constraints, free, coupled, by_node, self._nodes, limit_rows)
        self._stored = StorageInUse(constraints.sums)
        columns = np.concatenate((free, slots, constraints.node_classes()[nodes][None, :])).T.tolist()
        members: dict[tuple[int, ...], list[int]] = {}
        for node, column in enumerate(columns):
            members.setdefault(tuple(column), []).append(node)
        self._members = [each for each in members.values() if any(by_node[each[0]])]
        self._type_of = {node: number for number, each in enumerate(self._members) for node in each}
        self._next = [0] * len(self._members)
        self._contents: dict[int, Counts] = {}
        self._users: dict[int, dict[int, int]] = {}
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
        key = tuple(sorted((self._type_of[node], counts) for node, counts in self._contents.items()))
        if key in self._failed or self._stored.exceeded:
            return
        hosts = self._hosts()
        self._budget.step(_STATE_STEPS + len(hosts) * len(self._left) // _HOSTS)
        if not any(self._left):
            self._packed = self._pack_others() if suffice(self._items(hosts), self._budget) else None
            if self._packed is not None:
                yield True
        elif (demand := self._most_confined(hosts)) is not None and suffice(self._items(hosts), self._budget):
            for host in sorted(hosts, key=lambda host: (host.slots[demand], host.node)):
                if host.slots[demand]:
                    self._place(demand, host.node, 1)
                    yield True
                    self._place(demand, host.node, -1)
        self._failed.add(key)

    def _place(self, demand: int, node: int, amount: int) -> None:
        """Place one pod of *demand* on *node*, or (*amount* -1) take it away."""
        counts = list(self._contents.get(node) or [0] * len(self._left))
        counts[demand] += amount
        self._left[demand] -= amount
        kind = self._type_of[node]
        if any(counts):
            # Nodes of a type are used in their order, and left in the reverse order.
            self._next[kind] += node not in self._contents
            self._contents[node] = tuple(counts)
        else:
            del self._contents[node]
            self._next[kind] -= 1
        self._stored.add(self._coupled[demand].storage, self._nodes[node], amount)
        for claim in self._coupled[demand].demand.shared:
            users = self._users.setdefault(claim, {})
            users[node] = users.get(node, 0) + amount
            if not users[node]:
                del users[node]

    def _hosts(self) -> list[_Host]:
        """Return the nodes that differ."""
        seen: dict[tuple[int, Counts], tuple[int, int]] = {}
        for node, counts in self._contents.items():
            key = self._type_of[node], counts
            first, count = seen.get(key, (node, 0))
            seen[key] = first, count + 1
        empty = (0,) * len(self._left)
        for kind, members in enumerate(self._members):
            if unused := len(members) - self._next[kind]:
                seen[kind, empty] = members[self._next[kind]], unused
        in_use = self._claims_in_use()
        return [_Host(node, count, self._slots_on(node, key, in_use)) for key, (node, count) in seen.items()]

    def _claims_in_use(self) -> frozenset[int]:
        """Return the demands of which no more pods can be placed, because a ReadWriteOncePod claim is in use."""
        placed = {
            claim for number, each in enumerate(self._coupled) if self._left[number] < each.pods.count for claim in each.demand.single
        }
        return frozenset(number for number, each in enumerate(self._coupled) if not placed.isdisjoint(each.demand.single))

    def _slots_on(self, node: int, key: tuple[int, Counts], in_use: frozenset[int]) -> Counts:
        filled = self._filled.at(node, *key)
        return tuple(
            0 if not slots or number in in_use or not self._reaches_shared(number, node) else slots
            for number, slots in enumerate(filled.slots)
        )

    def _reaches_shared(self, demand: int, node: int) -> bool:
        """Return whether the claims of *demand* that placed pods use too can serve *node* as well."""
        for claim in self._coupled[demand].demand.shared:
            nodes = [self._nodes[each] for each in {*self._users.get(claim, ()), node}]
            if not self._constraints.common(claim, nodes) and not self._constraints.provisions(claim, nodes):
                return False
        return True

    def _most_confined(self, hosts: Sequence[_Host]) -> int | None:
        """Return the demand with the fewest slots beyond its pods; None if one has too few, so that there is no packing.

        Pods that share attached volumes come first: the check of these volumes is easiest on an empty node.
        """
        slots = [[(self._nodes[host.node], host.count * host.slots[number]) for host in hosts] for number in range(len(self._left))]
        totals = [self._stored.most(coupled.storage, each) for coupled, each in zip(self._coupled, slots, strict=True)]
        confined: tuple[int, int, int] | None = None
        for number, (left, total) in enumerate(zip(self._left, totals, strict=True)):
            if left > (min(total, 1) if self._coupled[number].demand.single else total):
                return None
            if left:
                urgency = -len(self._coupled[number].demand.attached), total - left, number
                confined = min(confined or urgency, urgency)
        return None if confined is None else confined[2]

    def _items(self, hosts: Sequence[_Host]) -> list[Item]:
        """Return the claims that need an existing volume, each with the volumes that it can have."""
        items = [item for node, counts in self._contents.items() for item in self._items_of_placed(node, counts)]
        for claim, users in self._users.items():
            nodes = [self._nodes[node] for node in users]
            if nodes and not self._constraints.provisions(claim, nodes):
                items.append(Item(1, ((self._constraints.common(claim, nodes), 1),)))
        for number, (left, each) in enumerate(zip(self._left, self._coupled, strict=True)):
            if left:
                items += [self._item_of_rest(number, left * count, claim, count, hosts) for claim, count in each.demand.own]
        return items

    def _items_of_placed(self, node: int, counts: Counts) -> Iterator[Item]:
        for count, each in zip(counts, self._coupled, strict=True):
            yield from self._constraints.items(each.demand, self._nodes[node], count)

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

    def _pack_others(self) -> Packed | None:
        """Return the packing of all pods, those with volumes as they are placed; None if the others do not fit."""
        free = self._free.copy()
        packed: Packed = [np.zeros(len(self._nodes), dtype=np.int64) for _ in self._coupled]
        for node, counts in self._contents.items():
            free[:, node] = self._filled.at(node, self._type_of[node], counts).free
            for number, count in enumerate(counts):
                packed[number][node] = count
        others = []
        for each in self._others:
            needed = each.amounts > 0
            slots = np.minimum(each.slots, (np.maximum(free[needed], 0) // each.amounts[needed][:, None]).min(axis=0))
            others.append(dataclasses.replace(each, slots=slots))
        rest = pack(free, others, self._budget)
        return None if rest is None else [*packed, *rest]
