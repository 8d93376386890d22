"""ClusterSnapshot -> scheduling queue: the roots in the order of their cycles, and those that are not tried.

Sources: KEP-6012, Scheduling Queue Support for CPGs; the queue of kube-scheduler 1.37.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import chain

from kubeapi.base_structs import Record, record_field, replaced
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.pre_enqueue import GroupBeingDeleted, NotARoot
from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILES, SchedulerProfiles
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.queueing import quorum
from scheduler_core.queueing.pre_enqueue import decision, gate_causes, refusal, stray
from scheduler_core.queueing.queue_order import Order, OrderError, Place, spellings
from scheduler_core.queueing.trees import Trees, name_of, pod_entity
from validators.gates import Gates

__all__ = ["Forest", "OrderError", "QueueOptions", "build"]


class QueueOptions(Record, frozen=True):
    """Options of the queue.

    Attributes:
        scheduler_name: decide only on roots with pending pods for this scheduler; None for every scheduler.
        order: names of roots, as ``name``, ``namespace/name`` or ``Kind/namespace/name``, in the order of their cycles; all other
            roots follow, by priority, age and name.
        gates: feature gates of the API server.
        profiles: profiles by scheduler; pods of a scheduler without a profile are not placed.

    """

    scheduler_name: str | None = None
    order: tuple[str, ...] = ()
    gates: Gates = record_field(default_factory=Gates)
    profiles: SchedulerProfiles = DEFAULT_PROFILES

    def wants(self, pod: PodRecord) -> bool:
        """Return whether a pending pod is to be placed."""
        return self.profiles.schedules(pod.scheduler) and (self.scheduler_name is None or pod.scheduler == self.scheduler_name)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Roots to try, and roots that are not tried, with the reason."""

    roots: tuple[Entity | Decision, ...]
    """Roots with pending pods in the order of their cycles: entities to try, and decisions on roots with status Invalid, Wait or Error."""
    pending: tuple[tuple[str, tuple[Cause, ...]], ...]
    """Pods that belong to no root, as ``namespace/name``, and the causes."""
    conditions: Conditions
    """Present conditions of the groups, for decisions still to come."""
    deleted: Mapping[Name, tuple[GroupBeingDeleted, ...]] = dataclasses.field(default_factory=dict)
    """Groups that are being deleted, by their root."""

    @property
    def ready(self) -> tuple[Entity, ...]:
        """Return the roots to try."""
        return tuple(root for root in self.roots if isinstance(root, Entity))

    def roots_before(self, name: Name) -> tuple[Entity, ...]:
        """Return the roots to try before the root *name*, which may be refused itself; empty if there is no such root."""
        names = [root.root if isinstance(root, Decision) else root.name for root in self.roots]
        first = self.roots[: names.index(name)] if name in names else ()
        return tuple(root for root in first if isinstance(root, Entity))

    @property
    def refused(self) -> tuple[Decision, ...]:
        """Return the decisions on roots that are not tried."""
        return tuple(root for root in self.roots if isinstance(root, Decision))


def build(snapshot: ClusterSnapshot, options: QueueOptions) -> Forest:
    """Return the queue of *snapshot*; it contains only roots with pending pods that are not being deleted.

    Raises:
        OrderError: ``options.order`` contains a name that is not a root.

    """
    trees, conditions = Trees(snapshot), Conditions(snapshot.groups)
    options = replaced(options, profiles=snapshot.profiles)
    order = Order(options.order, _roots(trees), lambda name: _non_root(name, trees)) if options.order else Order()
    entries = [*_groups(trees, order, options, conditions), *_pods(trees, order, options)]
    entries.sort(key=lambda placed: placed[0])
    return Forest(
        roots=tuple(root for _, root in entries),
        pending=tuple((pod.key, stray(pod, trees)) for pod in trees.strays if _is_pending(pod) and options.wants(pod)),
        conditions=conditions,
        deleted={tree.name: deleted for tree in trees.all if (deleted := quorum.being_deleted(tree))},
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
            why = gate_causes(pod)
            waits = Decision(entity.name, Status.WAIT, why, pending={pod.key: why}, behavior=trees.snapshot.behavior)
            refused = waits if why else None
            yield order.place(entity.name, pod.priority, pod.created), refused or entity


def _is_pending(pod: PodRecord) -> bool:
    return pod.node < 0 and not pod.terminating


def _roots(trees: Trees) -> Iterator[Name]:
    yield from (tree.name for tree in trees.all)
    yield from (_named(pod) for pod in trees.alone)


def _named(pod: PodRecord) -> Name:
    return Name("Pod", pod.namespace, pod.name)


def _non_root(name: str, trees: Trees) -> NotARoot | None:
    """Return the object that has this name but is not a root; None if there is none."""
    for tree in trees.all:
        for node in tree.nodes[1:]:
            if name in spellings(own := name_of(node.group)):
                return NotARoot(name, own, root=tree.name)
        for pod in chain(trees.waiting(tree), trees.running(tree)):
            if name in spellings(_named(pod)):
                return NotARoot(name, _named(pod), _group_of(pod), tree.name)
    for pod in trees.strays:
        if name in spellings(_named(pod)):
            return NotARoot(name, _named(pod), _group_of(pod))
    return None


def _group_of(pod: PodRecord) -> Name:
    return Name("PodGroup", pod.namespace, pod.group)
