"""Base classes of plugins, by the inputs of their verdict on a node.

static       the pod's shape and the node: called once for each shape, for all nodes together
node-local   also the resources taken on that node: how many pods of a shape fit, and the score of the first, second, ... of them
ledger       also other things that the ledger counts on that node (host ports): called pod by pod
stateful     pods on any node: called pod by pod; informed of every pod that is assumed, removed or rewound

A filter returns a reason, in kube-scheduler's words, and the nodes that pass.  Every plugin declares which of its refusals preemption can
resolve, and which cluster events can make a refused node pass (kube-scheduler's EventsToRegister).
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import CPU_AND_MEMORY_ROWS, Bools, Ints, Nodes, NodeTable, ScoredRows
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.declared_values import NodeValue, PodValue
from scheduler_core.plugins.pod_counts import PodCounts

Floats = NDArray[np.float64]
Filters = list[tuple[str, Bools]]
"""(reason, mask of the nodes that pass), in kube-scheduler's order."""


class Refusal(NamedTuple):
    """Filter of a plugin that can refuse nodes: other plugins may have the same reason, so the reason alone identifies none."""

    plugin: str
    reason: str


NO_REFUSAL = Refusal("", "")
NamedFilter = tuple[Refusal, Bools]
"""(refusal, mask of the nodes that pass)"""


class ClusterEvent(enum.Enum):
    """Kind of cluster change that can make a refused node pass."""

    NODE = enum.auto()
    """A node was added or changed."""
    ROOM = enum.auto()
    """A pod was removed from a node, or requests less."""
    VOLUME = enum.auto()
    """A claim, volume or storage class was added or changed; on a live cluster, the pods that use it change with it."""
    DEVICE = enum.auto()
    """A ResourceClaim, ResourceSlice, DeviceClass or DeviceTaintRule was added or changed."""
    POD = enum.auto()
    """A pod was assigned to a node or removed from it, or its labels changed."""
    NAMESPACE = enum.auto()
    """A namespace was added or removed, or its labels changed."""


class Plugin(abc.ABC):
    """Plugin of the default profile."""

    name: ClassVar[str]
    """Name in a KubeSchedulerConfiguration."""
    weight: ClassVar[int] = 0
    """Weight of its score in the default profile; 0 without a score."""
    events: ClassVar[frozenset[ClusterEvent]]
    """Events that can make a refused node pass."""
    about_pods: ClassVar[bool] = True
    """True if the verdict can depend on running pods."""
    node_values: ClassVar[tuple[NodeValue[Any], ...]] = ()
    """Values that it keeps of each node."""
    pod_values: ClassVar[tuple[PodValue[Any], ...]] = ()
    """Values that it keeps of each pod, in the pod's shape."""
    unresolvable: ClassVar[frozenset[str]] = frozenset()
    """Reasons that no eviction can remove, of a plugin whose verdict depends on pods."""

    @classmethod
    def resolvable(cls, reason: str) -> bool:
        """Return whether evictions can make a node pass that was refused for *reason*; if not, it is UnschedulableAndUnresolvable."""
        return cls.about_pods and reason not in cls.unresolvable


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StaticScore:
    """Score by shape and node, normalised over the feasible nodes (DefaultNormalizeScore: scaled to 0-100 by the largest) or fixed.

    Attributes:
        raw: shape (all nodes,), 0 or more.
        weight: factor of the normalised score.
        reverse: True if the largest raw score is the worst.
        fixed: True if the raw score, 0-100, is not normalised.

    """

    raw: Ints
    weight: int
    reverse: bool = False
    fixed: bool = False

    def normalised(self, nodes: Nodes) -> Ints:
        """Return the normalised, unweighted scores of *nodes*: the indices of all feasible nodes."""
        return normalised(self.raw[nodes], reverse=self.reverse)


class StaticPlugin(Plugin):
    """Plugin whose verdict depends on the pod's shape and the node alone."""

    events = frozenset({ClusterEvent.NODE})
    about_pods = False
    last: ClassVar[bool] = False
    """True if it filters after the plugins of all other kinds."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes

    def pre_filter(self, shape: PodShape) -> str:  # noqa: ARG002 - if it excludes nodes one by one
        """Return the reason that excludes all nodes, in place of the reasons of all filters; empty if there is none."""
        return ""

    @abc.abstractmethod
    def filters(self, shape: PodShape) -> Filters:
        """Return the filters that can refuse a node to *shape*; masks have the shape (all nodes,)."""

    def score(self, shape: PodShape) -> StaticScore | None:  # noqa: ARG002 - if it only filters
        """Return the score of the nodes for *shape*; None if it does not distinguish nodes."""
        return None


class NodeLocalPlugin(Plugin):
    """Plugin whose verdict depends on the resources taken on the node: one instance per shape, over arrays of nodes and for one node.

    Attributes:
        rows: rows of NodeTable.resources that a pod requests.
        amounts: shape (rows, 1): how much of each, above 0.
        asked: shape (resources, 1): requests of the resources that scores count.
        wide: True if the total score of a node can exceed 16 bits.

    """

    rows: Ints
    amounts: Ints
    asked: Ints
    wide: bool = False

    @abc.abstractmethod
    def __init__(self, shape: PodShape, scored: ScoredRows = CPU_AND_MEMORY_ROWS) -> None:
        """Prepare for pods of *shape*; *scored* are the resources in the given arrays."""

    @abc.abstractmethod
    def ladder(self, capacity: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool = False) -> Ints:
        """Return the score of each node for the first, second, ... pod of the shape that is placed there.

        Args:
            capacity: shape (resources, nodes): allocatable amounts of the resources that scores count, as ``NodeTable.scored``.
            scored: shape (2, nodes): millicores and bytes of the pods there, as scores count them.
            used: shape (resources, nodes): requests of the pods there.
            depth: number of pods to look ahead.
            whole: True if every node has cpu and memory.

        Returns:
            Shape (nodes, depth), int64.

        """

    @abc.abstractmethod
    def score(self, capacity: Sequence[float], scored: Sequence[int], used: Sequence[int]) -> int:
        """Return the same for the first pod on one node, which has cpu and memory."""

    @abc.abstractmethod
    def holds(self, free: Sequence[int]) -> bool:
        """Return whether one more pod fits on a node; *free* is its free capacity by row."""

    @abc.abstractmethod
    def charge(self, free: list[int], scored: list[int], used: list[int]) -> None:
        """Record one more pod in the lists of one node."""


class LedgerPlugin(Plugin):
    """Plugin whose state is in the ledger, but not as resources; pods that it touches are placed one by one.

    The ledger versions this state, so the result of a domain is cached under the ledger's version of it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @classmethod
    @abc.abstractmethod
    def touches(cls, shape: PodShape) -> bool:
        """Return whether it can refuse a node to *shape*."""

    @abc.abstractmethod
    def filters(self, shape: PodShape, nodes: Nodes) -> Filters:
        """Return the filters for *shape*; masks have the shape of *nodes* (indices)."""

    @abc.abstractmethod
    def add_pod(self, shape: PodShape, node: int) -> None:
        """Record a pod of *shape* on *node* that is not in the ledger yet."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """Facts about nodes on which the verdicts of stateful plugins on some pods depend.

    The pods get equal verdicts in two placements whose nodes, in order, have equal values and share domains in the same way.  This holds
    also after the first of the pods were assumed there.

    Attributes:
        values: numbers by node, each of shape (all nodes,).
        keys: topology keys of which nodes share domains.

    """

    values: dict[Hashable, Ints] = dataclasses.field(default_factory=dict)
    keys: set[str] = dataclasses.field(default_factory=set)


class StatefulPlugin(Plugin):
    """Plugin whose verdict depends on pods on any node; pods that it touches are placed one by one, and results are not cached.

    *counts* holds the running and assumed pods.  StatefulPlugins rewinds by calling ``add_pod`` and ``remove_pod`` in reverse.
    ``claim_allocation.ClaimAllocation`` has more for plugins that give claims a volume or devices, ``spread_score.SpreadScoring`` for one
    whose scores are known for equal pods.
    """

    searched: ClassVar[bool] = False
    """True if complete search models it."""

    def __init__(self, counts: PodCounts) -> None:
        self.counts = counts

    @classmethod
    @abc.abstractmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether pods of *shape* can affect a verdict; while no such pod exists, the plugin is not called."""

    @abc.abstractmethod
    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* is placed one by one for it: by the terms of *pod* or by those of a known pod that select it."""

    @abc.abstractmethod
    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """Return the filters for *pod*, which is not counted as running; masks have the shape of *nodes* (indices).

        *within* are the nodes (ascending) whose pods and domains are counted; None for all nodes, as kube-scheduler.
        """

    def allowed(self, pod: PodRecord, nodes: Nodes) -> Bools | None:  # noqa: ARG002 - by default other pods may change that
        """Return which of *nodes* pass the filters that no pod assumed besides can make pass; None if there is no such filter."""
        return None

    def depends_on(self, pod: PodRecord, nodes: Nodes, found: Dependence) -> bool:  # noqa: ARG002 - by default it cannot say
        """Add to *found* what filters and scores of *pod* depend on; return whether that is all.  *nodes* are all nodes."""
        return False

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:  # noqa: ARG002 - if it only filters
        """Return the raw scores of *nodes*; called only if the plugin has a weight.  Arguments as for ``filters``."""
        return np.zeros(len(nodes), dtype=np.int64)

    def normalise(self, raw: Ints) -> Ints:
        """Return the raw scores of all feasible nodes normalised to 0-100."""
        return raw

    def skips(self, pod: PodRecord) -> bool:  # noqa: ARG002 - by default it does not depend on other pods
        """Return whether kube-scheduler's PreFilter skips *pod*: it filters no node now, and is not called when pods are added."""
        return False

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:  # noqa: ARG002 - by default assume that it can
        """Return whether the node of *pod* can change the verdict for *other*."""
        return True

    @property
    def keeps_state(self) -> bool:
        """Return whether it has state beyond the counts, so that every running pod must be added."""
        return False

    def add_pod(self, pod: PodRecord, node: int) -> None:
        """Record that *pod* runs or is assumed on *node* (PreFilterExtensions.AddPod)."""

    def remove_pod(self, pod: PodRecord, node: int) -> None:
        """Record that *pod* is no longer on *node* (PreFilterExtensions.RemovePod)."""


def normalised(scores: Ints, *, reverse: bool = False) -> Ints:
    """Return *scores*, which are not negative, scaled to 0-100 by the largest (DefaultNormalizeScore)."""
    scaled = scores * 100 // max(int(scores.max()), 1)
    return 100 - scaled if reverse else scaled
