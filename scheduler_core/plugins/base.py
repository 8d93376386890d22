"""The kinds of plugin of kube-scheduler's default profile, by what their verdict on a node depends on.

static       the pod's shape and the node alone: asked for all nodes at once, once for each shape
node-local   besides, the pods on that one node: how many pods of a shape it holds, and the score of the first, second, ... of them
ledger       likewise, but counted in other terms than resources: asked pod by pod
stateful     pods anywhere: asked pod by pod, and told of every pod that is assumed, removed or taken back

A refusal is a reason, in kube-scheduler's words, and the nodes that pass.  Every plugin says which of its refusals preemption can
resolve, and which changes of the cluster could make a node pass that it has refused (kube-scheduler's EventsToRegister).
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Bools, Ints, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.pod_counts import PodCounts

Floats = NDArray[np.float64]
Filters = list[tuple[str, Bools]]
"""Reason, and where a pod passes: the filters that refuse or may refuse some node, in upstream's order."""


class ClusterEvent(enum.Enum):
    """What changes in a cluster, as far as it can make a node pass."""

    NODE = "a node came or changed"
    ROOM = "a pod left a node, or takes less there"
    POD = "a pod took or left a node, or changed its labels there"


class Plugin(abc.ABC):
    """A plugin of the default profile."""

    name: ClassVar[str]
    """As in a KubeSchedulerConfiguration."""
    weight: ClassVar[int] = 0
    """Of its score in the default profile; 0 where it has none."""
    events: ClassVar[frozenset[ClusterEvent]]
    """Changes that can make a node pass which it has refused."""
    about_pods: ClassVar[bool] = True
    """Whether it can depend on pods that run."""
    unresolvable: ClassVar[frozenset[str]] = frozenset()
    """Reasons that no eviction removes though they are about pods."""

    @classmethod
    def resolvable(cls, reason: str) -> bool:
        """Whether evicting pods can make a node pass that was refused for *reason*.

        Where it cannot, kube-scheduler's status is UnschedulableAndUnresolvable.
        """
        return cls.about_pods and reason not in cls.unresolvable


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StaticScore:
    """A score that is normalised over the feasible nodes: scaled to 0 to 100 by the largest, as upstream's DefaultNormalizeScore.

    Attributes:
        raw: shape (all nodes,), 0 or more.
        weight: what the normalised score is multiplied by.
        reverse: whether the largest is the worst.

    """

    raw: Ints
    weight: int
    reverse: bool = False

    def normalised(self, nodes: Nodes) -> Ints:
        """On *nodes* (indices), which are all that are feasible, without the weight; shape of *nodes*."""
        return normalised(self.raw[nodes], reverse=self.reverse)


class StaticPlugin(Plugin):
    """Its verdict depends on the pod's shape and on the node alone."""

    events = frozenset({ClusterEvent.NODE})
    about_pods = False

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes

    @abc.abstractmethod
    def filters(self, shape: PodShape) -> Filters:
        """The filters that keep *shape* off some node; masks have the shape (all nodes,)."""

    def score(self, shape: PodShape) -> StaticScore | None:  # noqa: ARG002 - one that only filters
        """What makes some nodes better for *shape* than others; None where nothing does."""
        return None


class NodeLocalPlugin(Plugin):
    """Its verdict on a node depends on the pods of that node alone: made for one shape, as arrays over nodes and for one node.

    Attributes:
        rows: rows of NodeTable.resources that a pod takes of.
        amounts: shape (rows, 1): how much of each, above 0.

    """

    rows: Ints
    amounts: Ints

    @abc.abstractmethod
    def __init__(self, shape: PodShape) -> None:
        """For pods of *shape*."""

    @abc.abstractmethod
    def ladder(self, room: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool = False) -> Ints:
        """The score of each node for the first, second, ... pod of the shape that is put there.

        Args:
            room: shape (2, nodes): allocatable millicores and bytes.
            scored: shape (2, nodes): what runs there, as scores count it.
            used: shape (2, nodes): what runs there, as requested.
            depth: how many pods to look ahead.
            whole: promises that no node is without cpu or memory.

        Returns:
            Shape (nodes, depth), int64.

        """

    @abc.abstractmethod
    def score(self, room: Sequence[float], scored: Sequence[int], used: Sequence[int]) -> int:
        """The same for the first pod on one node that has cpu and memory, in the same arithmetic."""

    @abc.abstractmethod
    def holds(self, free: Sequence[int]) -> bool:
        """Whether a node where *free*, by row, is left takes one more."""

    @abc.abstractmethod
    def charge(self, free: list[int], scored: list[int], used: list[int]) -> None:
        """One more pod is on a node, of which these are the lists."""


class LedgerPlugin(Plugin):
    """Its verdict on a node depends on what the ledger keeps of the pods there beside resources; pods that it touches are placed one by one.

    The ledger assumes, rewinds and versions it, so what came of a domain is remembered by the ledger's version of it.  One is made
    for each attempt to place pods one by one, and told of those that are not in the ledger yet.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @classmethod
    @abc.abstractmethod
    def touches(cls, shape: PodShape) -> bool:
        """Whether it can refuse a node to *shape*."""

    @abc.abstractmethod
    def filters(self, shape: PodShape, nodes: Nodes) -> Filters:
        """The filters that bind *shape*; masks have the shape of *nodes* (indices)."""

    @abc.abstractmethod
    def add_pod(self, shape: PodShape, node: int) -> None:
        """A pod of *shape* is on *node*, which the ledger does not know yet."""


class StatefulPlugin(Plugin):
    """Its verdict depends on pods on any node; pods that it touches are placed one by one, and what came of them is not remembered.

    *counts* has the pods that run or are assumed, and is kept up to date.  A plugin that keeps more of them defines ``add_pod`` and
    ``remove_pod``: marks and rewinding are made of these two.
    """

    def __init__(self, counts: PodCounts) -> None:
        self.counts = counts

    @classmethod
    @abc.abstractmethod
    def speaks(cls, shape: PodShape) -> bool:
        """Whether pods of *shape* say anything that the plugin filters or scores by; while no pod does it is not asked."""

    @abc.abstractmethod
    def touches(self, pod: PodRecord) -> bool:
        """Whether it can refuse a node to *pod*, or score it: by what *pod* says, or by what others that are known say about it."""

    @abc.abstractmethod
    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """The filters that bind *pod*; masks have the shape of *nodes*.

        Args:
            pod: the pod that comes; it must not count as running.
            nodes: indices of the candidates.
            within: the only nodes (ascending) whose pods and domains count; None for all of the snapshot, as upstream.

        """

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:  # noqa: ARG002 - one that only filters
        """What it makes of each of *nodes*, before ``normalise``; shape of *nodes*.  Arguments as for ``filters``.

        It is asked of plugins that have a weight.
        """
        return np.zeros(len(nodes), dtype=np.int64)

    def normalise(self, raw: Ints) -> Ints:
        """Scores of all feasible nodes brought to 0 to 100."""
        return raw

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:  # noqa: ARG002 - one that cannot tell
        """Whether it can decide where *other* may run that *pod* is where it is."""
        return True

    def add_pod(self, pod: PodRecord, node: int) -> None:
        """*pod* runs on *node*, or is assumed there (PreFilterExtensions.AddPod)."""

    def remove_pod(self, pod: PodRecord, node: int) -> None:
        """*pod* is on *node* no longer (PreFilterExtensions.RemovePod)."""


def normalised(scores: Ints, *, reverse: bool = False) -> Ints:
    """Scaled to 0 to 100 by the largest, as upstream's DefaultNormalizeScore."""
    largest = int(scores.max())
    if not largest:
        return np.full_like(scores, 100) if reverse else scores
    scaled = scores * 100 // largest
    return 100 - scaled if reverse else scaled
