"""Kinds of nodes that can be added to a domain: those in it, those elsewhere, and as a last resort a larger one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.loading.label_suggestions import misspelt_resources
from scheduler_core.model.names import HOSTNAME, Domain
from scheduler_core.model.pods import PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.node_edits import MoreNodes
from scheduler_core.whatif.edits.node_templates import Content
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity
from scheduler_core.whatif.trial.subject import Subject

_MOST = 2
"""Maximum number of kinds tried in a domain; twice as many if the pods have rules about other pods of a topology domain."""
_OF_EVERY_NODE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_EXAMINED = 8
"""Maximum number of nodes of different kinds examined for their DaemonSet and static pods."""


class NodeKind(Record, frozen=True):
    """Nodes that can be added.

    Attributes:
        like: an existing node of this kind.
        slots: how many of the root's pods one holds when empty.
        domains: as in MoreNodes.
        labels: as in MoreNodes.
        larger: as in MoreNodes.
        companions: as in MoreNodes.

    """

    like: str
    slots: int
    domains: tuple[Domain, ...]
    labels: Mapping[str, str]
    larger: Mapping[str, int]
    companions: tuple[Content, ...] = ()

    def more(self, count: int) -> MoreNodes:
        """Return the edit that adds *count* of them."""
        return MoreNodes(count, self.like, self.domains, self.labels, self.larger, self.companions)


def kinds(capacity: PresentCapacity, area: DomainCapacity, shape: PodShape | None = None) -> list[NodeKind]:
    """Return the kinds for *area* that hold at least one of the root's pods, largest capacity first; a larger one if none does.

    DaemonSet and static pods use part of a new node's capacity.  *shape*: the shape of the pods; by default their most frequent one.
    """
    nodes, subject = capacity.snapshot.nodes, capacity.subject
    domains = tuple(filter(None, (area.domain,)))
    slots = capacity.slots(shape or subject.shape, nodes.allocatable)
    if not len(area.nodes) or not capacity.fits_new_nodes or any(each.key == HOSTNAME for each in domains):
        # A node has the domain of its host name for itself.
        return []
    keys = _related_keys(shape or subject.shape)
    if own := [*_kinds_like(capacity, _distinct_kinds(capacity.snapshot, slots.tolist(), area.nodes.tolist(), keys), domains, {}, shape)]:
        return own[: 2 * _MOST if keys else _MOST]
    labels = {key: value for key in subject.keys if key != HOSTNAME and (value := nodes.labels[int(area.nodes[0])].get(key)) is not None}
    if elsewhere := [
        *_kinds_like(capacity, _distinct_kinds(capacity.snapshot, slots.tolist(), range(len(nodes)), ()), domains, labels, shape)
    ]:
        return elsewhere[:1]
    return _larger(capacity, area, domains)


def kinds_by_labels(capacity: PresentCapacity, keys: Sequence[str]) -> list[NodeKind]:
    """Return the kind with the largest capacity for each combination of values of the labels *keys*, sorted by these values."""
    nodes = capacity.snapshot.nodes
    slots = capacity.slots(capacity.subject.shape, nodes.allocatable).tolist()
    by_values: dict[tuple[str, ...], list[int]] = {}
    for node in _distinct_kinds(capacity.snapshot, slots, range(len(nodes)), keys):
        labels = nodes.labels[node]
        if all(key in labels for key in keys):
            by_values.setdefault(tuple(labels[key] for key in keys), []).append(node)
    found: list[NodeKind] = []
    for values, like in sorted(by_values.items()):
        domains = tuple(map(Domain, keys, values))
        found += itertools.islice(_kinds_like(capacity, like, domains, {}, None), 1)
    return found


def _kinds_like(
    capacity: PresentCapacity, like: Sequence[int], domains: tuple[Domain, ...], labels: Mapping[str, str], shape: PodShape | None
) -> Iterator[NodeKind]:
    """Return kinds like the nodes *like* that have capacity left after their DaemonSet and static pods."""
    nodes = capacity.snapshot.nodes
    for node in like[:_EXAMINED]:
        companions, companion_requests = capacity.companions(node)
        free = nodes.allocatable.copy()
        free[:, node] -= companion_requests
        if slots := int(capacity.slots(shape or capacity.subject.shape, free)[node]):
            yield NodeKind(nodes.names[node], slots, domains, labels, {}, companions)


def _distinct_kinds(snapshot: ClusterSnapshot, slots: list[int], candidates: Iterable[int], keys: Sequence[str]) -> list[int]:
    """Return a node for each kind, by allocatable, taints and values of the labels *keys*, on which the root's pods can run."""
    nodes = snapshot.nodes
    first_of_kind: dict[object, int] = {}
    for node in candidates:
        if slots[node] > 0 and not nodes.unschedulable[node]:
            values = tuple(nodes.labels[node].get(key) for key in keys)
            first_of_kind.setdefault((nodes.allocatable[:, node].tobytes(), nodes.taints[node], values), node)
    return sorted(first_of_kind.values(), key=lambda node: (-slots[node], nodes.names[node]))


def _related_keys(shape: PodShape) -> tuple[str, ...]:
    """Return the topology keys of the required rules of *shape* about other pods, except that each node is a domain."""
    affinity = shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    terms = [term for side in sides if side for term in side.required_during_scheduling_ignored_during_execution or ()]
    spread = [each.topology_key for each in shape.spread if each.when_unsatisfiable == "DoNotSchedule"]
    return tuple(sorted({*spread, *(term.topology_key for term in terms)} - {HOSTNAME}))


def _larger(capacity: PresentCapacity, area: DomainCapacity, domains: tuple[Domain, ...]) -> list[NodeKind]:
    """Return a node of *area* that is large enough for the largest request of each resource."""
    nodes, subject = capacity.snapshot.nodes, capacity.subject
    if not misspelt_resources(nodes).keys().isdisjoint(row for row, _ in _all_requests(subject)):
        # The name is to be corrected; no node will ever have it.
        return []
    requested = {row: max(dict(pod.shape.requests).get(row, 0) for pod in subject.waiting) for row, _ in _all_requests(subject)}
    enough = nodes.allocatable.copy()
    for row, amount in requested.items():
        enough[row] = np.maximum(enough[row], amount)
    slots = capacity.slots(subject.shape, enough)
    suitable = [node for node in area.nodes.tolist() if slots[node] > 0 and not nodes.unschedulable[node]]
    # A node gets no accelerators of which other nodes have some: the pods need one of those nodes.
    special = [row for row in requested if nodes.resources[row] not in _OF_EVERY_NODE and nodes.allocatable[row].any()]
    suitable = [node for node in suitable if all(nodes.allocatable[row, node] for row in special)]
    if not suitable:
        return []
    fixed = nodes.limit_rows.keys() | nodes.counted
    if any(nodes.allocatable[row, suitable[0]] < amount for row, amount in requested.items() if row in fixed):
        # The size of a node does not change how many volumes its drivers attach, or how many devices it has.
        return []
    companions, companion_requests = capacity.companions(suitable[0])
    total = {row: amount + int(companion_requests[row]) for row, amount in requested.items()}
    increased = {nodes.resources[row]: amount for row, amount in total.items() if nodes.allocatable[row, suitable[0]] < amount}
    return [NodeKind(nodes.names[suitable[0]], 1, domains, {}, increased, companions)]


def _all_requests(subject: Subject) -> list[tuple[int, int]]:
    return sorted({each for pod in subject.waiting for each in pod.shape.requests})
