"""Kinds of nodes that may be added to a domain: those it has, those that are elsewhere, and as a last resort a larger one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_core.model.nodes import BUILT_IN, CPU
from scheduler_core.model.pods import PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.node_edits import MoreNodes
from scheduler_core.whatif.edits.node_templates import HOSTNAME, Content
from scheduler_core.whatif.remedies import candidates
from scheduler_core.whatif.trial.nearly_room import NearlyRoom, RoomInDomain
from scheduler_core.whatif.trial.subject import Subject

_MOST = 2
"""Kinds tried in a domain."""
_LOOKED_AT = 8
"""Nodes, each of another kind, that are looked at for what they run from the start."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes that may be added.

    Attributes:
        like: the node that stands for them.
        slots: how many of the root's pods one holds when empty.
        where: their domain in words.
        labels: as in MoreNodes.
        larger: as in MoreNodes.
        companions: as in MoreNodes.

    """

    like: str
    slots: int
    where: str
    labels: Mapping[str, str]
    larger: Mapping[str, str]
    companions: tuple[Content, ...] = ()

    def more(self, count: int) -> MoreNodes:
        """So many of them."""
        return MoreNodes(count, self.like, self.where, self.labels, self.larger, self.companions)


def kinds(room: NearlyRoom, area: RoomInDomain, shape: PodShape | None = None) -> list[NodeKind]:
    """The kinds for *area* that hold at least one of the root's pods, those with most room first; a larger one where none does.

    What a fresh node runs from the start takes its room.  *shape*: of the pods, where it is not that of most of them.
    """
    nodes, subject = room.snapshot.nodes, room.subject
    where = candidates.named(area) if area.key else ""
    slots = room.slots(shape or subject.shape, nodes.allocatable)
    if not len(area.nodes):
        return []
    if own := [*_made(room, _told_apart(room.snapshot, slots.tolist(), area.nodes.tolist()), where, {}, shape)]:
        return own[:_MOST]
    labels = {key: value for key in subject.keys if key != HOSTNAME and (value := nodes.labels[int(area.nodes[0])].get(key)) is not None}
    if elsewhere := [*_made(room, _told_apart(room.snapshot, slots.tolist(), range(len(nodes))), where, labels, shape)]:
        return elsewhere[:1]
    return _larger(room, area, where)


def _made(room: NearlyRoom, like: Sequence[int], where: str, labels: Mapping[str, str], shape: PodShape | None) -> Iterator[NodeKind]:
    """Kinds like the nodes *like*, as far as they still have room beside what they run from the start."""
    nodes = room.snapshot.nodes
    for node in like[:_LOOKED_AT]:
        companions, taken = room.companions(node)
        left = nodes.allocatable.copy()
        left[:, node] -= taken
        if slots := int(room.slots(shape or room.subject.shape, left)[node]):
            yield NodeKind(nodes.names[node], slots, where, labels, {}, companions)


def _told_apart(snapshot: ClusterSnapshot, slots: list[int], among: Iterable[int]) -> list[int]:
    """A node for each kind, by what it has and its taints, where the root's pods may run."""
    nodes = snapshot.nodes
    found: dict[object, int] = {}
    for node in among:
        if slots[node] > 0 and not nodes.unschedulable[node]:
            found.setdefault((nodes.allocatable[:, node].tobytes(), nodes.taints[node]), node)
    return sorted(found.values(), key=lambda node: (-slots[node], nodes.names[node]))


def _larger(room: NearlyRoom, area: RoomInDomain, where: str) -> list[NodeKind]:
    """A node of *area* with all that the largest of the root's pods asks for."""
    nodes, subject = room.snapshot.nodes, room.subject
    wanted = {row: max(dict(pod.shape.requests).get(row, 0) for pod in subject.waiting) for row, _ in _all(subject)}
    enough = nodes.allocatable.copy()
    for row, amount in wanted.items():
        enough[row] = np.maximum(enough[row], amount)
    slots = room.slots(subject.shape, enough)
    able = [node for node in area.nodes.tolist() if slots[node] > 0 and not nodes.unschedulable[node]]
    if not able:
        return []
    companions, taken = room.companions(able[0])
    whole = {row: amount + int(taken[row]) for row, amount in wanted.items()}
    lacking = {nodes.resources[row]: _written(row, amount) for row, amount in whole.items() if nodes.allocatable[row, able[0]] < amount}
    return [NodeKind(nodes.names[able[0]], 1, where, {}, lacking, companions)]


def _all(subject: Subject) -> list[tuple[int, int]]:
    return sorted({each for pod in subject.waiting for each in pod.shape.requests})


def _written(row: int, amount: int) -> str:
    """As a quantity."""
    if row == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if row < len(BUILT_IN) and amount % 2**20 == 0:
        return f"{amount // 2**20}Mi"
    return str(amount)
