"""Pods on nodes, one by one, with backtracking over nodes and over the devices of their claims.

Pods are tried in the order of their demands, on each node that differs, with each way to give them devices that uses other kinds of devices.
Nodes with equal capacity and exchangeable devices are exchangeable while they are empty.  No state is tried again up to such exchanges.  Pods
whose devices are counted are packed last.  If pods also compete for volumes, each state must leave volumes for the claims of all placed pods.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler_core.exact.devices.device_constraints import DeviceConstraints
from scheduler_core.exact.packing.filled_nodes import CoupledPods, PackingInput
from scheduler_core.exact.packing.packing import EqualPods, Packed
from scheduler_core.exact.packing.placed_pods import PlacedPods
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.volumes.constraints import VolumeConstraints
from scheduler_core.exact.volumes.matching import suffice
from scheduler_core.model.devices import Allocation
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord

if TYPE_CHECKING:
    from scheduler_core.plugins.devices.assumed_claims import PodAllocations

_NOTHING: Ints = np.zeros(0, dtype=np.int64)
_STATE_STEPS, _HOST_STEPS, _TRIED = 10, 4, 4
"""Steps for a state and for each node in it; devices that are tried in one more step."""


class DeviceSearch:
    """Search for one packing of *coupled* pods and *others* into *free*, shape (rows, nodes); *nodes* are indices of the node table.

    Attributes:
        devices: devices of the packing, by key of the claim.

    """

    def __init__(
        self,
        constraints: DeviceConstraints,
        free: Ints,
        coupled: Sequence[CoupledPods],
        others: Sequence[EqualPods],
        nodes: Nodes,
        budget: StepBudget,
        volumes: VolumeConstraints | None = None,
        limit_rows: Mapping[int, int] | None = None,
    ) -> None:
        """Prepare; *limit_rows* gives the row of *free* for each row of a limit in the node table."""
        self._constraints = constraints
        self._volumes = volumes
        # The most confined pods first: later pods get the remaining devices.  Attached volumes confine the orders of the pods of a node.
        urgency = [(-len(each.demand.attached), int(each.pods.slots.sum()) - each.pods.count) for each in coupled]
        self._order = sorted(range(len(coupled)), key=lambda number: (urgency[number], number))
        self._coupled = [coupled[number] for number in self._order]
        self._others = others
        self._nodes: list[int] = nodes.tolist()
        self._budget = budget
        self._pods: list[tuple[int, PodRecord | None]] = [
            (demand, pod) for demand, each in enumerate(self._coupled) for pod in each.records or (None,) * each.pods.count
        ]
        self._kinds = self._node_kinds(free)
        self._placed = PlacedPods(PackingInput(volumes, free, self._coupled, self._nodes, limit_rows or {}), self._kinds)
        self._members: dict[int, list[int]] = {}
        for node, kind in enumerate(self._kinds):
            self._members.setdefault(kind, []).append(node)
        self._failed: set[Hashable] = set()
        self._tried = constraints.devices_tried
        self._unfinished = False
        self._packed: Packed | None = None
        self._given: list[tuple[PodRecord, PodAllocations]] = []
        self.devices: dict[str, Allocation] = {}

    def run(self) -> Packed | None:
        """Return the number of pods of each demand on each node, first those of *coupled*; None if there is no packing.

        Raises:
            StepsSpentError: the budget is spent before the answer is known, or there are too many ways to give devices to a pod.

        """
        # An explicit stack: there may be more pods than Python has stack frames.
        stack = [self._try_pod(0)]
        try:
            while stack:
                if not next(stack[-1], False):
                    stack.pop()
                elif self._packed is not None:
                    return self._packed
                else:
                    stack.append(self._try_pod(len(stack)))
        finally:
            # What the pods have taken is given back in reverse order.
            while stack:
                stack.pop().close()
        if self._unfinished:
            raise StepsSpentError
        return None

    def _try_pod(self, index: int) -> Generator[bool, None, None]:
        """Yield once for each node, and way to give devices, of the pod *index*, which is placed there while the caller continues."""
        key = self._state(index)
        if key in self._failed:
            return
        self._budget.step(_STATE_STEPS)
        if index == len(self._pods):
            self._packed = self._all_packed()
            if self._packed is not None:
                self.devices = {pod.device_claims[at].key: each for pod, allocations in self._given for at, each in allocations}
                yield True
        else:
            demand, pod = self._pods[index]
            for node in self._hosts(demand):
                yield from self._try_node(demand, pod, node)
        self._failed.add(key)

    def _try_node(self, demand: int, pod: PodRecord | None, node: int) -> Iterator[bool]:
        self._placed.place(demand, node, 1)
        try:
            if self._placed.attachable(self._budget) and self._has_volumes():
                yield from self._try_devices(pod, node) if pod is not None else (True,)
        finally:
            self._placed.place(demand, node, -1)

    def _has_volumes(self) -> bool:
        """Return whether there are volumes and storage for the claims of all placed pods."""
        stored = self._placed.stored
        return stored is None or (not stored.exceeded and suffice([*self._placed.items()], self._budget))

    def _try_devices(self, pod: PodRecord, node: int) -> Iterator[bool]:
        ways, finished = self._constraints.ways(pod, self._nodes[node])
        self._unfinished |= not finished
        tried = self._constraints.devices_tried
        self._budget.step(_HOST_STEPS + (tried - self._tried) // _TRIED)
        self._tried = tried
        for allocations in ways:
            self._constraints.assume(pod, self._nodes[node], allocations)
            self._given.append((pod, allocations))
            try:
                yield True
            finally:
                self._given.pop()
                self._constraints.forget(pod)

    def _hosts(self, demand: int) -> Iterator[int]:
        """Yield the nodes that differ and have capacity for one more pod of *demand*, those with pods first."""
        seen: set[Hashable] = set()
        contents = self._placed.contents
        unused = (next((node for node in members if node not in contents), -1) for members in self._members.values())
        for node in [*contents, *(each for each in unused if each >= 0)]:
            state = self._node_state(node)
            if state not in seen and self._placed.slots(node, demand):
                seen.add(state)
                yield node

    def _state(self, index: int) -> Hashable:
        """Return a key of the state: with equal keys, the search for the pods from *index* on has the same result."""
        touched = sorted(map(self._node_state, self._placed.contents), key=repr)
        return index, tuple(touched), self._constraints.pending()

    def _node_state(self, node: int) -> Hashable:
        return self._placed.state(node), self._constraints.use(self._nodes[node]) if node in self._placed.contents else None

    def _node_kinds(self, free: Ints) -> list[int]:
        """Return equal numbers for nodes that can be exchanged while they are empty."""
        slots = np.array([each.slots for each in (*(one.pods for one in self._coupled), *self._others)])
        classes = [] if self._volumes is None else [self._volumes.node_classes()[self._nodes][None, :]]
        columns = np.concatenate((free, slots, *classes)).T.tolist()
        numbers: dict[Hashable, int] = {}
        keys = ((tuple(column), self._constraints.reach(node)) for column, node in zip(columns, self._nodes, strict=True))
        return [numbers.setdefault(key, len(numbers)) for key in keys]

    def _all_packed(self) -> Packed | None:
        """Return the packing of all pods: pods with uncounted devices keep their nodes; None if the other pods do not fit."""
        if (packed := self._placed.packed_with(self._others, self._budget)) is None:
            return None
        by_number = dict(zip(self._order, packed, strict=False))
        return [*(by_number[number] for number in range(len(self._coupled))), *packed[len(self._coupled) :]]


def choose_devices(
    constraints: DeviceConstraints, pods: Sequence[tuple[PodRecord, int]], budget: StepBudget
) -> dict[str, Allocation] | None:
    """Return the devices of the claims of *pods* on their nodes, by key of the claim; None if that is impossible.

    Raises:
        StepsSpentError: as ``DeviceSearch.run``.

    """
    nodes = np.array(sorted({node for _, node in pods}), dtype=np.int64)
    together: dict[tuple[int, int], list[PodRecord]] = {}
    for pod, node in pods:
        together.setdefault((node, pod.shape.serial), []).append(pod)
    coupled = [
        CoupledPods(EqualPods(_NOTHING, len(equal), (nodes == node).astype(np.int64) * len(equal)), records=tuple(equal))
        for (node, _), equal in sorted(together.items(), key=lambda each: (each[0][0], -_depth(each[1][0]), each[0][1]))
    ]
    search = DeviceSearch(constraints, np.zeros((0, len(nodes)), dtype=np.int64), coupled, [], nodes, budget)
    return None if search.run() is None else search.devices


def _depth(pod: PodRecord) -> int:
    """Return how many requests count the devices of a pod: more for a pod that few devices match."""
    return len(pod.shape.requests)
