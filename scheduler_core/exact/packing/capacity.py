"""Free capacity for the pods of a root, and packing of several demands at once."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.exact.devices.device_constraints import DeviceConstraints
from scheduler_core.exact.packing.device_search import DeviceSearch
from scheduler_core.exact.packing.filled_nodes import CoupledPods
from scheduler_core.exact.packing.packing import EqualPods, Packed, pack
from scheduler_core.exact.packing.pod_search import PodSearch
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.volumes.constraints import VolumeConstraints
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Division, Placement
from scheduler_core.placement.state import PlacementState

Demand = tuple[PodShape, Placement, int]
"""A number of pods of one shape within a placement."""
Assigned = dict[tuple[int, int], Nodes]
"""One node for each pod, by the serials of shape and placement."""


class Capacity:
    """Free capacity of a cluster for the pods of a root.

    With *members* only these running pods use capacity.

    Attributes:
        volumes: constraints of volumes that requests do not count; None if there are none.
        devices: the same of devices.
        rows: resources that a shape requests, as rows of the nodes' allocatable.
        free: shape (rows, nodes): allocatable minus requests, at least 0.
        nothing: shape (rows,): zeros.

    """

    def __init__(
        self,
        state: PlacementState,
        shapes: Sequence[PodShape],
        budget: StepBudget,
        members: Sequence[PodRecord] | None = None,
        volumes: VolumeConstraints | None = None,
        devices: DeviceConstraints | None = None,
    ) -> None:
        self._state = state
        self._budget = budget
        self.volumes = volumes
        self.devices = devices
        self._coupled = volumes is not None or devices is not None
        rows = {row for shape in shapes for row, _ in shape.requests}
        self.rows = np.array(sorted(rows if volumes is None else rows | volumes.rows()), dtype=np.int64)
        taken = state.ledger.used[self.rows] + state.ledger.held[self.rows] if members is None else self._taken(members)
        if volumes is not None:
            taken += np.array([volumes.attached(row) for row in self.rows.tolist()])
        self.free: Ints = np.maximum(state.nodes.allocatable[self.rows] - taken, 0)
        self._amounts = {shape.serial: self._requests(shape) for shape in shapes}
        self._shapes = shapes
        self.nothing: Ints = np.zeros(len(self.rows), dtype=np.int64)
        self._columns: Ints | None = None
        self._free_in: dict[int, Ints] = {}
        self._free_by_domain: dict[int, Ints] = {}
        self._slots_by_domain: dict[tuple[int, int], Ints] = {}
        self._slots_by_node: dict[int, Ints] = {}
        self._slots: dict[tuple[int, int], Ints] = {}
        self._slots_in: dict[tuple[int, int], int] = {}
        self._masks: dict[int, int] = {}
        self._packed: dict[tuple[frozenset[tuple[int, int, int]], bool], Assigned | None] = {}

    def relaxed(self) -> Capacity:
        """Return the same capacity for pods whose volumes do not depend on each other: all that fits here fits there."""
        if not self._coupled:
            return self
        relaxed = copy.copy(self)
        vars(relaxed).update(_coupled=False, _packed={})
        return relaxed

    def coupled(self, shape: PodShape) -> bool:
        """Return whether the volumes or devices of pods of *shape* depend on those of other pods, wherever these are."""
        return self._coupled and any(each.couples(shape) for each in (self.volumes, self.devices) if each is not None)

    def slots(self, shape: PodShape, placement: Placement) -> Ints:
        """Return the number of pods of *shape* that each node of *placement* holds; shape (nodes of *placement*,)."""
        key = (shape.serial, placement.serial)
        if (slots := self._slots.get(key)) is None:
            slots = self._slots[key] = self.slots_by_node(shape)[placement.nodes]
        return slots

    def slots_in(self, shape: PodShape, placement: Placement) -> int:
        """Return the number of pods of *shape* that fit in *placement*."""
        key = (shape.serial, placement.serial)
        if (count := self._slots_in.get(key)) is None:
            count = self._slots_in[key] = int(self.slots(shape, placement).sum())
        return count

    def fits(self, demands: Sequence[Demand], *, thorough: bool = True) -> bool:
        """Return whether *demands* fit together; if not *thorough*, False also if no packing is known after a quick search.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        return self._pack_together(demands, thorough=thorough) is not None

    def assignment(self, demands: Sequence[Demand]) -> Assigned:
        """Return one node for each pod of *demands*, by the serials of shape and placement.

        Raises:
            ValueError: the demands do not fit together.
            StepsSpentError: the budget is spent before the answer is known.

        """
        assignment = self._pack_together(demands, thorough=True)
        if assignment is None:
            raise ValueError("the demands do not fit together")
        return assignment

    def profile(self, placement: Placement) -> bytes:
        """Return the free amounts of the nodes of *placement* and their slots of each shape, sorted so that node names do not matter."""
        if self._columns is None:
            classes = [each.node_classes()[None, :] for each in (self.volumes, self.devices) if each is not None]
            self._columns = np.concatenate((self.free, *(self.slots_by_node(shape)[None, :] for shape in self._shapes), *classes))
        columns = self._columns[:, placement.nodes]
        return columns.tobytes() if len(placement) == 1 else columns[:, np.lexsort(columns)].tobytes()

    def amounts(self, shape: PodShape) -> Ints:
        """Return the requests of a pod of *shape*; shape (rows,)."""
        return self._amounts[shape.serial]

    def free_in(self, placement: Placement) -> Ints:
        """Return the free amounts of *placement*; shape (rows,)."""
        if (free := self._free_in.get(placement.serial)) is None:
            free = self._free_in[placement.serial] = self.free[:, placement.nodes].sum(axis=1)
        return free

    def free_by_domain(self, division: Division) -> Ints:
        """Return the free amounts of each domain; shape (rows, domains)."""
        if (free := self._free_by_domain.get(division.first)) is None:
            free = self._free_by_domain[division.first] = _by_domain(self.free, division)
        return free

    def slots_by_domain(self, division: Division, shape: PodShape) -> Ints:
        """Return the number of pods of *shape* that each domain holds; shape (domains,)."""
        key = (division.first, shape.serial)
        if (slots := self._slots_by_domain.get(key)) is None:
            slots = self._slots_by_domain[key] = _by_domain(self.slots_by_node(shape)[None, :], division)[0]
        return slots

    def _pack_together(self, demands: Sequence[Demand], *, thorough: bool) -> Assigned | None:
        counts: dict[tuple[int, int], int] = {}
        by_key: dict[tuple[int, int], Demand] = {}
        for demand in demands:
            key = (demand[0].serial, demand[1].serial)
            counts[key] = counts.get(key, 0) + demand[2]
            by_key[key] = demand
        assigned: Assigned = {}
        for part in self._independent_parts([(by_key[key][0], by_key[key][1], counts[key]) for key in sorted(counts)]):
            part_key = frozenset((shape.serial, placement.serial, count) for shape, placement, count in part)
            question = part_key, thorough or len(part) == 1 or any(self.coupled(shape) for shape, _, _ in part)
            if question not in self._packed:
                self._packed[question] = self._pack(part, thorough=question[1])
            if (packed := self._packed[question]) is None:
                return None
            # A packing is also an answer to the thorough search.
            self._packed[part_key, True] = packed
            assigned |= packed
        return assigned

    def _independent_parts(self, demands: Sequence[Demand]) -> list[list[Demand]]:
        """Split *demands* into parts that share neither a node nor volumes."""
        parts: list[tuple[int, list[Demand]]] = []
        for demand in demands:
            # The lowest bit means that volumes depend on other pods.
            mask, joined = self._mask(demand[1]) << 1 | self.coupled(demand[0]), [demand]
            separate = []
            for other, members in parts:
                if other & mask:
                    mask |= other
                    joined = [*members, *joined]
                else:
                    separate.append((other, members))
            parts = [*separate, (mask, joined)]
        return [members for _, members in parts]

    def _mask(self, placement: Placement) -> int:
        """Return the nodes of *placement* as bits."""
        if (mask := self._masks.get(placement.serial)) is None:
            inside: Bools = np.zeros(len(self._state.nodes), dtype=bool)
            inside[placement.nodes] = True
            mask = self._masks[placement.serial] = int.from_bytes(np.packbits(inside).tobytes())
        return mask

    def _pack(self, demands: Sequence[Demand], *, thorough: bool) -> Assigned | None:
        inside: Bools = np.zeros(len(self._state.nodes), dtype=bool)
        for _, placement, _ in demands:
            inside[placement.nodes] = True
        nodes = inside.nonzero()[0]
        equal_pods = []
        for shape, placement, count in demands:
            slots = np.zeros(len(nodes), dtype=np.int64)
            slots[np.searchsorted(nodes, placement.nodes)] = self.slots(shape, placement)
            equal_pods.append(EqualPods(self._amounts[shape.serial], count, slots))
        coupled = [number for number, (shape, _, _) in enumerate(demands) if self.coupled(shape)]
        packed: Packed | None
        if coupled:
            packed = self._pack_coupled(nodes, demands, equal_pods, coupled)
        else:
            packed = pack(self.free[:, nodes], equal_pods, self._budget, thorough=thorough)
        if packed is None:
            return None
        return {
            (shape.serial, placement.serial): np.repeat(nodes, taken) for (shape, placement, _), taken in zip(demands, packed, strict=True)
        }

    def _pack_coupled(self, nodes: Nodes, demands: Sequence[Demand], pods: list[EqualPods], coupled: list[int]) -> Packed | None:
        """Return the packing of *pods* on *nodes*, those with the indices *coupled* one by one; None if there is none."""
        if any(int(each.slots.sum()) < each.count for each in pods):
            return None
        free, others = self.free[:, nodes], [number for number in range(len(pods)) if number not in coupled]
        rest, one_by_one = [pods[number] for number in others], [*self._coupled_pods(demands, pods, coupled)]
        rows = {row: position for position, row in enumerate(self.rows.tolist())}
        search: DeviceSearch | PodSearch
        if self.devices is not None and any(self.devices.couples(demands[number][0]) for number in coupled):
            search = DeviceSearch(self.devices, free, one_by_one, rest, nodes, self._budget, self.volumes, rows)
        elif self.volumes is not None:
            search = PodSearch(self.volumes, free, one_by_one, rest, nodes, rows, self._budget)
        else:
            return None
        return None if (found := search.run()) is None else _in_order(found, coupled, others)

    def _coupled_pods(self, demands: Sequence[Demand], pods: Sequence[EqualPods], coupled: Sequence[int]) -> Iterator[CoupledPods]:
        # Different demands can have the same shape.
        first = 0
        for number in coupled:
            shape, equal = demands[number][0], pods[number]
            records: list[PodRecord] = []
            if self.devices is not None and self.devices.couples(shape):
                records = [self.devices.pod(shape, first + each) for each in range(equal.count)]
            if self.volumes is None:
                yield CoupledPods(equal, records=records)
            else:
                yield CoupledPods(equal, self.volumes.demand(shape), self.volumes.sums.demand(shape), records)
            first += equal.count

    def _taken(self, members: Sequence[PodRecord]) -> Ints:
        taken: Ints = np.zeros((len(self.rows), len(self._state.nodes)), dtype=np.int64)
        for pod in members:
            taken[:, pod.node] += self._requests(pod.shape)
        return taken

    def _requests(self, shape: PodShape) -> Ints:
        requests = dict(shape.requests)
        return np.array([requests.get(row, 0) for row in self.rows.tolist()], dtype=np.int64)

    def slots_by_node(self, shape: PodShape) -> Ints:
        """Return the number of pods of *shape* that each node holds by itself; shape (nodes,)."""
        if (slots := self._slots_by_node.get(shape.serial)) is None:
            amounts = self._amounts[shape.serial]
            needed = amounts > 0
            slots = (self.free[needed] // amounts[needed][:, None]).min(axis=0)
            # Profiles are kept between searches, which number the variants of shapes anew.
            mask = self._state.profile.compile(shape.variant_of or shape).mask
            if mask is not None:
                slots = np.where(mask, slots, 0)
            for each in (self.volumes, self.devices):
                if each is not None and (most := each.most(shape)) is not None:
                    slots = np.minimum(slots, most)
            self._slots_by_node[shape.serial] = slots
        return slots


def _in_order(packed: Packed, *numbers: list[int]) -> Packed:
    """Return *packed* in the order of the demands; *numbers* are those of its entries."""
    by_number = dict(zip([each for some in numbers for each in some], packed, strict=True))
    return [by_number[number] for number in range(len(packed))]


def _by_domain(amounts: Ints, division: Division) -> Ints:
    """Return the sums of *amounts*, shape (rows, nodes), over the nodes of each domain."""
    nodes = np.concatenate([domain.nodes for domain in division.domains])
    begins = np.cumsum([0, *(len(domain) for domain in division.domains[:-1])])
    sums: Ints = np.add.reduceat(amounts[:, nodes], begins, axis=1)
    return sums
