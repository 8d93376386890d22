"""Amounts of a resource in every domain, when a root was tried: what the figures of a page draw.

A demand is about groups with equal requests, in domains of one level.  The resource, the number of pods and the amounts of the domains that
the cause of a group describes are those of the cause.  What it does not state is counted: amounts node by node, and those of other domains.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.domains import DomainCause
from scheduler_core.causes.groups import FailingGroup, PodsDoNotFit, PodsLeftOver, failing_groups
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import NodesRefused, NodeStateCause
from scheduler_core.causes.resources import FragmentedResource, InsufficientResource, NoneFree, RequestTooLarge
from scheduler_core.diagnosis.relaxed_filters import node_states
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Domain
from scheduler_core.model.nodes import PODS, Bools, Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.resource_values import Resource
from scheduler_core.model.topology import Placement, Topology
from scheduler_core.placement.equal_pods import slots_of
from scheduler_core.plugins import registry
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields

_OF_ONE_RESOURCE = (FragmentedResource, InsufficientResource, NoneFree, RequestTooLarge)


class Link(Record, frozen=True):
    """A topology constraint of a group: the key, and the nodes of running members, which determine the domain."""

    key: str
    pinned: frozenset[int]


Chain = tuple[Link, ...]
"""The levels around a group, the outermost first."""


class StatedDomain(Record, frozen=True):
    """Domain as a cause describes it: pods that it holds, and what is free there with those pods; None if that is not stated."""

    path: tuple[Domain, ...]
    pods: int
    free: int | None


class CauseAmounts(Record, frozen=True):
    """Amounts and domains that the cause of a group states.

    Attributes:
        resource: the resource that is short; None if the cause is another one, or several together.
        needed: amount of it that the pods need together; None if it is not stated.
        around: the domains of the group's parents in which it fails.
        domains: the domains that are described, the best one first; empty if only the resource is known.
        most: the most pods that another domain holds.
        after_siblings: True if what the children of its parent took before is not free.

    """

    resource: Resource | None
    needed: int | None = None
    around: tuple[Domain, ...] = ()
    domains: tuple[StatedDomain, ...] = ()
    most: int = 0
    after_siblings: bool = False

    @classmethod
    def by_cause(cls, group: FailingGroup) -> CauseAmounts | None:
        """Return what the cause of *group* states; None if it does not describe domains."""
        cause, around = group
        match cause:
            case PodsDoNotFit():
                described, further = cause.domains, cause.further
                most = described[0].pods if further is None or further.most is None else further.most
                alike = bool(cause.demand.requests)
            case PodsLeftOver():
                described, most, alike = (cause.domain,), 0, bool(cause.requests)
            case _:
                return None
        first = next(iter(described[0].decisive), None)
        resource = first.resource if isinstance(first, _OF_ONE_RESOURCE) else None
        needed = first.needed if isinstance(first, InsufficientResource) else None
        domains = tuple(
            StatedDomain(_inside(around, each.domain), each.pods, _stated_free(each, resource, alike=alike)) for each in described
        )
        return cls(resource, needed, around, domains, most, len(cause.path) > 1)

    def about(self, path: tuple[Domain, ...]) -> StatedDomain:
        """Return what is stated about the domain at *path*."""
        known = (each for each in self.domains if path[len(path) - len(each.path) :] == each.path)
        return next(known, StatedDomain(path, self.most, None))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Pods that must fit in one domain.

    Attributes:
        group: the name of the group.
        whole: True if it is a composite, of which all groups together are meant.
        chain: the levels around it, its own last.
        shapes: the different shapes of the pods, by serial.
        required: the shape of each pod that is needed.
        stated: what the cause of the group states; for a whole composite only the resource; None if the group has no cause.

    """

    group: str
    whole: bool
    chain: Chain
    shapes: tuple[PodShape, ...]
    required: tuple[PodShape, ...]
    stated: CauseAmounts | None = None

    @property
    def pods(self) -> int:
        """Return the number of pods that must fit."""
        return len(self.required)

    def amount(self, row: int) -> int:
        """Return the amount of a resource that they request together."""
        return sum(dict(shape.requests).get(row, 0) for shape in self.required)


class NodeAmounts(Record, frozen=True):
    """Free capacity of a node (or several): usable by whole pods, remainder too small for one, not usable by the pods."""

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


def demands(root: Entity, causes: Sequence[Cause]) -> list[Demand]:
    """Return the demand of the whole root, if it has several groups and a level, and of each leaf that needs pods.

    *causes* are those of the root; its first group that fails decides which resource the demand of the whole root shows.
    """
    failing = list(failing_groups(causes))
    stated = {group[0].path[-1]: group for group in failing if isinstance(group[0], PodsDoNotFit | PodsLeftOver)}
    result = []
    for leaf, chain in _leaves(root, ()):
        group = stated.get(leaf.name)
        if required := _needed(leaf, group):
            result.append(_demand(leaf, chain, required, CauseAmounts.by_cause(group) if group is not None else None))
    if len(result) > 1 and root.key:
        decides = CauseAmounts.by_cause(failing[0]) if failing else None
        result.insert(0, _demand(root, (_link(root),), _least(root), decides and CauseAmounts(decides.resource)))
    return result


def amounts_by_domain(demand: Demand, free: Ints, topology: Topology, profile: Profile) -> tuple[int, list[DomainAmounts]]:
    """Return the row of the resource, and its amounts in each domain; no domains if there are none, or if amounts do not show the cause.

    *free* has the shape (resources, nodes): capacity for the root when it was tried.
    """
    stated = demand.stated
    places = [each for each in _places(topology, topology.root, demand.chain) if stated is None or set(stated.around) <= set(each[0])]
    if not places:
        return -1, []
    view = _View.of_demand(demand, free, profile)
    rows = (row for shape in demand.shapes for row, _ in shape.requests if stated and topology.nodes.resource(row) == stated.resource)
    row = next(rows, -1)
    if row < 0:
        row = view.tightest([placement.nodes for _, placement in places])
    unit = dict(demand.shapes[0].requests).get(row, 0) if len(demand.shapes) == 1 else 0
    domains = [view.amounts(row, unit, path, placement.nodes) for path, placement in places]
    described = stated if stated is not None and stated.domains else None
    if (demand.whole or (described is not None and described.resource is None)) and any(_is_refuted(each, demand, row) for each in domains):
        return row, []
    return row, domains if described is None else [_as_stated(each, described, unit) for each in domains]


def _is_refuted(domain: DomainAmounts, demand: Demand, row: int) -> bool:
    """Return whether more pods are counted than the domain holds: inner levels, rules about other pods, devices or volumes keep them out."""
    if domain.capacity is None:
        return domain.free >= demand.amount(row)
    return domain.capacity > (demand.pods - 1 if demand.whole or demand.stated is None else demand.stated.about(domain.path).pods)


def _as_stated(domain: DomainAmounts, stated: CauseAmounts, unit: int) -> DomainAmounts:
    """Return a domain with the amounts and the number of pods that the cause states; if others are counted, not node by node."""
    known = stated.about(domain.path)
    pods = domain.capacity
    if pods is not None:
        pods = known.pods if any(each is known for each in stated.domains) else min(pods, known.pods)
    used = (pods or 0) * unit
    free = known.free
    if free is None:
        free = domain.free if pods == domain.capacity else used
    if (pods, free) == (domain.capacity, domain.free):
        return domain
    closed = domain.closed + (0 if stated.after_siblings else max(domain.free - free, 0))
    # With room for a pod in sum, the rest is not known to be in parts too small for one.
    over = free - used if free - used < unit else 0
    segment = NodeAmounts(used, over, closed + free - used - over) if unit else NodeAmounts(free, 0, closed)
    why = domain.why if closed == domain.closed else ()
    return dataclasses.replace(domain, capacity=pods, free=free, closed=closed, why=why, by_node=(segment,) if free or closed else ())


def _inside(around: tuple[Domain, ...], domain: Domain) -> tuple[Domain, ...]:
    return (*around, domain) if domain.key and domain not in around else around


def _stated_free(cause: DomainCause, resource: Resource | None, *, alike: bool) -> int | None:
    """Return the amount of *resource* that is free in a domain together with that of the pods that it holds; None if it is not stated.

    *alike*: the pods have equal requests.
    """
    for each in cause.decisive:
        match each:
            case NoneFree() if each.resource == resource:
                return 0
            case InsufficientResource() if each.resource == resource:
                return each.free
            case FragmentedResource() if each.resource == resource and (alike or not cause.pods):
                return each.free + cause.pods * each.needed
    return None


def _demand(entity: Entity, chain: Chain, required: tuple[PodShape, ...], stated: CauseAmounts | None) -> Demand:
    shapes = {shape.serial: shape for shape in required}
    return Demand(entity.name.name, bool(entity.children), chain, tuple(shapes[serial] for serial in sorted(shapes)), required, stated)


def _leaves(entity: Entity, chain: Chain) -> Iterator[tuple[Entity, Chain]]:
    if entity.key and entity.key not in {link.key for link in chain}:
        chain = (*chain, _link(entity))
    if entity.name.kind != "CompositePodGroup":
        yield entity, chain
    for child in entity.children:
        yield from _leaves(child, chain)


def _link(entity: Entity) -> Link:
    return Link(entity.key, frozenset(pod.node for leaf in entity.leaves() for pod in leaf.running))


def _needed(leaf: Entity, group: FailingGroup | None = None) -> tuple[PodShape, ...]:
    """Return the shapes of the pods that a leaf must still place: those that its cause counts; one pod if it has its minimum."""
    match group and group[0]:
        case PodsDoNotFit() as cause:
            count = cause.demand.wanted
        case PodsLeftOver() as cause:
            count = cause.domain.wanted
        case _:
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
        # With room for a pod left, another resource is short there.
        over = np.where(usable & (free - fitting < unit), free - fitting, 0)
        by_node = sorted(zip((-fitting).tolist(), (-over).tolist(), (fitting + over - free).tolist(), strict=True))
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
        for refusal, mask in self.profile.filters_by_plugin(shape) if len(nodes) else ():
            refused = remaining[~mask[remaining]]
            if len(refused):
                states = node_states(shape, refusal, refused, len(nodes), self.profile.nodes)
                why = unmodelled if unmodelled is not None and refusal == (UnmodelledFields.name, unmodelled.key) else refusal.reason
                named = "" if registry.is_of_kube_scheduler(refusal.plugin) else refusal.plugin
                causes += states or (NodesRefused(why, NodeCount(len(refused), len(nodes)), named),)
                remaining = remaining[mask[remaining]]
        return tuple(causes)
