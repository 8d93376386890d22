"""From a ClusterSnapshot to the queue: the roots in the order of their cycles, and those that are not tried.

Sources: KEP-6012, Scheduling Queue Support for CPGs; the queue of kube-scheduler 1.37.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import chain

from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision, Name, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.queueing.pre_enqueue import decision, gated, refusal, stray
from scheduler_core.queueing.queue_order import Order, OrderError, Place, spellings
from scheduler_core.queueing.trees import Trees, name_of, pod_entity
from validators.gates import Gates

__all__ = ["Forest", "OrderError", "QueueOptions", "build"]


@dataclasses.dataclass(frozen=True, slots=True)
class QueueOptions:
    """What the queue is asked for.

    Attributes:
        scheduler_name: decide only on roots with pending pods for this scheduler; None for every scheduler.
        order: names of roots, as ``name``, ``namespace/name`` or ``Kind/namespace/name``, in the order of their cycles; the
            roots not named come after, by priority, age and name.
        gates: the feature gates that are mirrored.

    """

    scheduler_name: str | None = None
    order: tuple[str, ...] = ()
    gates: Gates = dataclasses.field(default_factory=Gates)

    def wants(self, pod: PodRecord) -> bool:
        """Whether a pending pod is one to be placed."""
        return self.scheduler_name is None or pod.scheduler == self.scheduler_name


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """What is to be tried, what is not, and why."""

    roots: tuple[Entity | Decision, ...]
    """Roots with pending pods in the order of their cycles: those to be tried, and the decision on those that are invalid, wait or
    are in error."""
    pending: tuple[tuple[str, str], ...]
    """Pods that belong to no root, as ``namespace/name``, and why."""
    conditions: Conditions
    """What the groups say of themselves already, for the decisions still to come."""

    @property
    def ready(self) -> tuple[Entity, ...]:
        """The roots that are to be tried."""
        return tuple(root for root in self.roots if isinstance(root, Entity))

    def roots_before(self, name: Name) -> tuple[Entity, ...]:
        """The roots that are to be tried before the turn of the root *name*, itself tried or not; none where there is no such root."""
        names = [root.root if isinstance(root, Decision) else root.name for root in self.roots]
        first = self.roots[: names.index(name)] if name in names else ()
        return tuple(root for root in first if isinstance(root, Entity))

    @property
    def refused(self) -> tuple[Decision, ...]:
        """The decisions on those that are not."""
        return tuple(root for root in self.roots if isinstance(root, Decision))


def build(snapshot: ClusterSnapshot, options: QueueOptions) -> Forest:
    """The queue of *snapshot*; only roots with pending pods that are not being deleted are in it.

    Raises:
        OrderError: ``options.order`` names something that is no root.

    """
    trees, conditions = Trees(snapshot), Conditions(snapshot.groups)
    order = Order(options.order, _roots(trees), lambda name: _instead(name, trees)) if options.order else Order()
    found = [*_groups(trees, order, options, conditions), *_pods(trees, order, options)]
    found.sort(key=lambda placed: placed[0])
    return Forest(
        roots=tuple(root for _, root in found),
        pending=tuple((pod.key, stray(pod, trees)) for pod in trees.strays if _is_pending(pod) and options.wants(pod)),
        conditions=conditions,
    )


def _groups(trees: Trees, order: Order, options: QueueOptions, conditions: Conditions) -> Iterator[tuple[Place, Entity | Decision]]:
    for tree in trees.all:
        if any(options.wants(pod) for pod in trees.waiting(tree)):
            top = tree.top.group
            place = order.place(tree.name, trees.priority(top), top.metadata.creation_timestamp)
            why = refusal(tree, trees, options.gates)
            yield place, trees.entity(tree, options.gates) if why is None else decision(tree, trees, why, conditions)


def _pods(trees: Trees, order: Order, options: QueueOptions) -> Iterator[tuple[Place, Entity | Decision]]:
    for pod in trees.alone:
        if _is_pending(pod) and options.wants(pod):
            entity = pod_entity(pod)
            why = gated(pod)
            waits = Decision(entity.name, Status.WAIT, why, pending={pod.key: why}) if why else None
            yield order.place(entity.name, pod.priority, pod.created), waits or entity


def _is_pending(pod: PodRecord) -> bool:
    return pod.node < 0 and not pod.terminating


def _roots(trees: Trees) -> Iterator[Name]:
    yield from (tree.name for tree in trees.all)
    yield from (_named(pod) for pod in trees.alone)


def _named(pod: PodRecord) -> Name:
    return Name("Pod", pod.namespace, pod.name)


def _instead(name: str, trees: Trees) -> str:
    """What it is that an order names in place of a root; empty if there is nothing of that name."""
    for tree in trees.all:
        for node in tree.nodes[1:]:
            if name in spellings(name_of(node.group)):
                return f'which is no root but a {node.group.kind} in the tree of "{tree.name.name}"'
        for pod in chain(trees.waiting(tree), trees.running(tree)):
            if name in spellings(_named(pod)):
                return f'which is no root but a pod of PodGroup "{pod.group}", whose root is "{tree.name.name}"'
    for pod in trees.strays:
        if name in spellings(_named(pod)):
            return f'which is no root but a pod of PodGroup "{pod.group}", which is not there'
    return ""
