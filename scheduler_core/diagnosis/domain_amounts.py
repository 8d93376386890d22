"""Amounts of a root's scarcest resource in every domain, when it was tried: what the figures of a page draw.

A demand is about groups with equal requests, in domains of one level.  Amounts are counted node by node and for every domain, which causes do
not have: they describe only the first domains, and with the rules about other pods, which amounts do not show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import NodesRefused, NodeStateCause
from scheduler_core.diagnosis.relaxed_filters import node_state
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Domain
from scheduler_core.model.nodes import PODS, Bools, Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement, Topology
from scheduler_core.placement.equal_pods import slots_of
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Refusal
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A topology constraint of a group: the key, and the nodes of running members, which determine the domain."""

    key: str
    pinned: frozenset[int]


Chain = tuple[Link, ...]
"""The levels around a group, the outermost first."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Pods that must fit in one domain.

    Attributes:
        group: the name of the group.
        whole: True if it is a composite, of which all groups together are meant.
        chain: the levels around it, its own last.
        shapes: the different shapes of the pods, by serial.
        required: the shape of each pod that is needed.

    """

    group: str
    whole: bool
    chain: Chain
    shapes: tuple[PodShape, ...]
    required: tuple[PodShape, ...]

    @property
    def pods(self) -> int:
        """Return the number of pods that must fit."""
        return len(self.required)

    def amount(self, row: int) -> int:
        """Return the amount of a resource that they request together."""
        return sum(dict(shape.requests).get(row, 0) for shape in self.required)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAmounts:
    """Free capacity of a node (or several): usable by whole pods, remainder, not usable by the pods."""

    fit: int
    over: int
    closed: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DomainAmounts:
    """One domain.

    Attributes:
        path: the domain of each level of the demand; empty for the cluster.
        nodes: indices of its nodes, ascending.
        capacity: number of pods that fit; None if they are not alike.
        free: free amount of the resource on nodes that the pods can use.
        closed: free amount on the other nodes.
        why: causes for which the pods cannot use the other nodes, by the first filter that refuses each.
        by_node: node by node, the largest capacity first; nodes without free capacity are left out.

    """

    path: tuple[Domain, ...]
    nodes: Ints
    capacity: int | None
    free: int
    closed: int
    why: tuple[NodeStateCause, ...]
    by_node: tuple[NodeAmounts, ...]


def demands(root: Entity) -> list[Demand]:
    """Return the demand of the whole root, if it has several groups and a level, and of each leaf that needs pods."""
    result = [_demand(leaf, chain, required) for leaf, chain in _leaves(root, ()) if (required := _needed(leaf))]
    if len(result) > 1 and root.key:
        result.insert(0, _demand(root, (_link(root),), _least(root)))
    return result


def amounts_by_domain(demand: Demand, free: Ints, topology: Topology, profile: Profile) -> tuple[int, list[DomainAmounts]]:
    """Return the row of the scarcest resource, and its amounts in each domain; no domains if there are none.

    *free* has the shape (resources, nodes): capacity for the root when it was tried.
    """
    places = [*_places(topology, topology.root, demand.chain)]
    if not places:
        return -1, []
    view = _View.of_demand(demand, free, profile)
    row = view.tightest([placement.nodes for _, placement in places])
    unit = dict(demand.shapes[0].requests).get(row, 0) if len(demand.shapes) == 1 else 0
    return row, [view.amounts(row, unit, path, placement.nodes) for path, placement in places]


def _demand(entity: Entity, chain: Chain, required: tuple[PodShape, ...]) -> Demand:
    shapes = {shape.serial: shape for shape in required}
    return Demand(entity.name.name, bool(entity.children), chain, tuple(shapes[serial] for serial in sorted(shapes)), required)


def _leaves(entity: Entity, chain: Chain) -> Iterator[tuple[Entity, Chain]]:
    if entity.key and entity.key not in {link.key for link in chain}:
        chain = (*chain, _link(entity))
    if entity.name.kind != "CompositePodGroup":
        yield entity, chain
    for child in entity.children:
        yield from _leaves(child, chain)


def _link(entity: Entity) -> Link:
    return Link(entity.key, frozenset(pod.node for leaf in entity.leaves() for pod in leaf.running))


def _needed(leaf: Entity) -> tuple[PodShape, ...]:
    """Return the shapes of the pods that a leaf must still place; one pod if it has its minimum."""
    count = max(leaf.minimum - len(leaf.running), 1)
    return tuple(pod.shape for pod in leaf.waiting[:count]) if len(leaf.waiting) >= count else ()


def _least(entity: Entity) -> tuple[PodShape, ...]:
    """Return the smallest set of pods with which an entity has its minimum."""
    if entity.name.kind != "CompositePodGroup":
        return _needed(entity)
    # A child that cannot reach its minimum is not counted.
    return tuple(shape for each in sorted(filter(None, map(_least, entity.children)), key=len)[: entity.minimum] for shape in each)


def _places(topology: Topology, parent: Placement, chain: Chain) -> Iterator[tuple[tuple[Domain, ...], Placement]]:
    """Yield the domains of the last key of *chain*, with their paths, inside domains of the earlier keys with all running members."""
    if not chain:
        yield (), parent
        return
    first, *rest = chain
    for domain in topology.divide(parent, first.key).domains:
        if first.pinned <= set(domain.nodes.tolist()):
            for path, placement in _places(topology, domain, tuple(rest)):
                yield (Domain(domain.key, domain.value), *path), placement


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Free capacity of the nodes for the pods of a demand."""

    demand: Demand
    free: Ints
    profile: Profile
    open: Bools
    """Shape (nodes,): True if one of the pod shapes can run."""
    slots: Ints | None
    """Shape (nodes,): number of pods that fit; None if they are not alike."""

    @classmethod
    def of_demand(cls, demand: Demand, free: Ints, profile: Profile) -> _View:
        usable: Bools = np.zeros(free.shape[1], dtype=bool)
        for shape in demand.shapes:
            mask = profile.compile(shape).mask
            usable |= True if mask is None else mask
        slots = None
        if len(demand.shapes) == 1:
            static = profile.compile(demand.shapes[0])
            slots = np.maximum(slots_of(free[static.rows], static.amounts, static.mask), 0)
        return cls(demand, free, profile, usable, slots)

    def tightest(self, places: Sequence[Ints]) -> int:
        """Return the row of the scarcest resource: the best place fits the fewest pods; of equal ones, a device first."""
        rows = sorted({row for shape in self.demand.shapes for row, _ in shape.requests})
        ranks = []
        for row in rows:
            whole = max(self.demand.amount(row), 1)
            free = np.where(self.open, self.free[row], 0)
            fitting = free // dict(self.demand.shapes[0].requests)[row] if self.slots is not None else free
            most = max(int(fitting[nodes].sum()) for nodes in places)
            ranks.append((most, max(int(free[nodes].sum()) for nodes in places) / whole, row == PODS, -row))
        return -min(ranks)[-1] if self.slots is not None else -min((ratio, pods, row) for _, ratio, pods, row in ranks)[-1]

    def amounts(self, row: int, unit: int, path: tuple[Domain, ...], nodes: Ints) -> DomainAmounts:
        """Return the amounts of a domain; *unit* is the amount for one pod, 0 if they are not alike."""
        usable, free = self.open[nodes], self.free[row, nodes]
        fitting = np.where(usable, free, 0) if self.slots is None else self.slots[nodes] * unit
        by_node = sorted(
            zip((-fitting).tolist(), (-np.where(usable, free - fitting, 0)).tolist(), (-np.where(usable, 0, free)).tolist(), strict=True)
        )
        return DomainAmounts(
            path=path,
            nodes=nodes,
            capacity=None if self.slots is None else int(self.slots[nodes].sum()),
            free=int(free[usable].sum()),
            closed=int(free[~usable].sum()),
            why=self._why(nodes[~usable & (free > 0)]),
            by_node=tuple(NodeAmounts(-fit, -over, -closed) for fit, over, closed in by_node if fit or over or closed),
        )

    def _why(self, nodes: Ints) -> tuple[NodeStateCause, ...]:
        """Return the first cause for each node that the pods cannot use."""
        remaining, causes, shape = nodes, list[NodeStateCause](), self.demand.shapes[0]
        unmodelled = self.profile.refused(shape.unmodelled)
        for plugin, reason, mask in self.profile.filters_by_plugin(shape) if len(nodes) else ():
            refused = remaining[~mask[remaining]]
            if len(refused):
                cause = node_state(shape, Refusal(plugin, reason), refused, len(nodes), self.profile.nodes)
                why = unmodelled if unmodelled is not None and (plugin, reason) == (UnmodelledFields.name, unmodelled.key) else reason
                named = "" if registry.is_of_kube_scheduler(plugin) else plugin
                causes.append(cause or NodesRefused(why, NodeCount(len(refused), len(nodes)), named))
                remaining = remaining[mask[remaining]]
        return tuple(causes)
