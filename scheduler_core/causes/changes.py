"""Changes of a cluster that a remedy makes.  Two changes are equal if they are the same for a person."""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

from kubeapi.nodes import Taint
from kubeapi.problem import ProblemKind
from scheduler_core.causes.domains import PodRule
from scheduler_core.causes.node_count import Amount, NodeLabel
from scheduler_core.model.names import Domain, Name


@dataclasses.dataclass(frozen=True, slots=True)
class LoweredMinimum:
    """The minimum of one group, lowered from *before*."""

    group: Name
    before: int
    minimum: int
    path: str = ""
    """Field of the object of a person that sets it; empty if that is the field of the group's policy."""

    @property
    def field(self) -> str:
        """Return the field that has the minimum: that of the group's policy, unless *path* names another one."""
        return self.path or ("minCount" if self.group.kind == "PodGroup" else "minGroupCount")


@dataclasses.dataclass(frozen=True, slots=True)
class LoweredMinimums:
    """Groups need fewer pods, or fewer groups."""

    groups: tuple[LoweredMinimum, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class WidenedTopology:
    """Groups that are confined to one domain of a key of *before* are confined to one of *key*."""

    groups: tuple[Name, ...]
    before: str
    key: str


@dataclasses.dataclass(frozen=True, slots=True)
class DroppedTopology:
    """Groups are confined to no domain any more; *keys* are those of their constraints."""

    keys: tuple[str, ...]
    groups: tuple[Name, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AwaitedDeletions:
    """Pods that are being deleted already are gone; *pods* are sorted."""

    pods: tuple[Name, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MovedPod:
    """A running pod that is moved from the node *before* to the node *after*."""

    pod: Name
    before: str
    after: str


@dataclasses.dataclass(frozen=True, slots=True)
class MovedPods:
    """Running pods are moved to other nodes; *moves* are sorted by pod."""

    moves: tuple[MovedPod, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class EvictedUnits:
    """Whole trees and single pods are evicted, with *pods* running pods in all."""

    pods: int
    units: tuple[Name, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class UncordonedNodes:
    """Cordoned nodes accept new pods again; *nodes* are sorted."""

    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AddedNodes:
    """New nodes like an existing one.

    Attributes:
        count: number of nodes.
        domains: their domains, one of each key; none for nodes anywhere.
        like: the existing node.
        larger: amounts that *like* has too little of.

    """

    count: int
    domains: tuple[Domain, ...]
    like: str
    larger: tuple[Amount, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class AddedNodesByDomain:
    """New nodes in several domains."""

    parts: tuple[AddedNodes, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """The pods of *owner* tolerate a taint of nodes."""

    taint: Taint
    owner: Name


@dataclasses.dataclass(frozen=True, slots=True)
class DroppedSelectors:
    """The pods of *owner* lose their node selectors, their required node affinity, or both: those that some of them have."""

    owner: Name
    node_selector: bool
    node_affinity: bool


@dataclasses.dataclass(frozen=True, slots=True)
class DroppedPodRules:
    """The pods of *owner* require nothing of other pods; *rules* are those that some of them have: affinity, anti-affinity, spread."""

    owner: Name
    rules: tuple[PodRule, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RemovedGates:
    """The pods of *owner* have no scheduling gates."""

    owner: Name


@dataclasses.dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """An admission plugin of the API server is on when the pods are created; *stored* pods must be created again."""

    plugin: str
    stored: bool = False


Relaxation = ToleratedTaint | DroppedSelectors | DroppedPodRules | RemovedGates
"""Change of the spec of pending pods."""


@dataclasses.dataclass(frozen=True, slots=True)
class LocalVolumes:
    """New local volumes of one class; *size* in bytes, 0 if their claims request none."""

    count: int
    storage_class: str
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class AddedVolumes:
    """New local volumes on *nodes*, which are sorted; *domain* is None for the cluster."""

    volumes: tuple[LocalVolumes, ...]
    domain: Domain | None
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Raised:
    """A size in bytes that is raised; *before* is None if there was none."""

    before: int | None
    after: int


@dataclasses.dataclass(frozen=True, slots=True)
class RaisedCapacity:
    """Storage for a class on some nodes, which is raised or added.

    Attributes:
        storage_class: the class.
        nodes: its nodes; None for all.
        volume: size of the largest volume; None if it is large enough.
        capacity: the storage capacity; None if it is large enough.

    """

    storage_class: str
    nodes: NodeLabel | Domain | None
    volume: Raised | None
    capacity: Raised | None


@dataclasses.dataclass(frozen=True, slots=True)
class RaisedCapacities:
    """More storage for volumes that are provisioned."""

    capacities: tuple[RaisedCapacity, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AttachLimit:
    """Number of volumes of one driver that a node attaches."""

    node: str
    limit: int


@dataclasses.dataclass(frozen=True, slots=True)
class RaisedAttachLimits:
    """Nodes attach *more* volumes of *driver*; *before* are their limits, sorted by node."""

    driver: str
    before: tuple[AttachLimit, ...]
    more: int


@dataclasses.dataclass(frozen=True, slots=True)
class CreatedClassesLike:
    """New storage classes like an existing one."""

    classes: tuple[str, ...]
    like: str


@dataclasses.dataclass(frozen=True, slots=True)
class CreatedClasses:
    """New storage classes with a provisioner."""

    classes: tuple[str, ...]
    provisioner: str


@dataclasses.dataclass(frozen=True, slots=True)
class DroppedAllowedTopologies:
    """A storage class provisions volumes for all nodes."""

    storage_class: str


@dataclasses.dataclass(frozen=True, slots=True)
class SelectedNode:
    """Node for which the volume of a claim is being provisioned."""

    claim: Name
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class RemovedSelectedNodes:
    """Claims have no selected node any more; *claims* are sorted."""

    claims: tuple[SelectedNode, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AddedDevices:
    """New devices of a class on *nodes*, which are sorted; *domain* is None for the cluster."""

    count: int
    device_class: str
    domain: Domain | None
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RequestOfClaim:
    """A request of a claim to devices, or of its template."""

    request: str
    claim: Name


@dataclasses.dataclass(frozen=True, slots=True)
class ToleratedDeviceTaint:
    """A request tolerates a taint of devices."""

    taint: Taint
    request: RequestOfClaim


@dataclasses.dataclass(frozen=True, slots=True)
class DroppedDeviceSelectors:
    """A request selects all devices of its class."""

    request: RequestOfClaim


@dataclasses.dataclass(frozen=True, slots=True)
class ChangedDeviceClass:
    """A request is for devices of the class *after* instead of *before*."""

    request: RequestOfClaim
    before: str
    after: str


@dataclasses.dataclass(frozen=True, slots=True)
class DroppedDeviceConstraint:
    """The devices of a claim need not be equal, or different, in *attribute*."""

    attribute: str
    claim: Name


@dataclasses.dataclass(frozen=True, slots=True)
class DeletedBudgets:
    """PodDisruptionBudgets are deleted, so that victims are evicted.

    Attributes:
        budgets: the budgets, sorted.
        disruptions: number of disruptions that the only budget could allow instead; 0 if that is not enough.

    """

    budgets: tuple[Name, ...]
    disruptions: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Successive:
    """Two changes, one after the other."""

    first: Change
    second: Change


PodChange = AwaitedDeletions | MovedPods | EvictedUnits
"""Change of running pods."""
GroupChange = LoweredMinimums | WidenedTopology | DroppedTopology
"""Change of the spec of groups."""
NodeChange = UncordonedNodes | AddedNodes | AddedNodesByDomain
StorageChange = (
    AddedVolumes
    | RaisedCapacities
    | RaisedAttachLimits
    | CreatedClassesLike
    | CreatedClasses
    | DroppedAllowedTopologies
    | RemovedSelectedNodes
)
DeviceChange = AddedDevices | ToleratedDeviceTaint | DroppedDeviceSelectors | ChangedDeviceClass | DroppedDeviceConstraint
Change = PodChange | GroupChange | Relaxation | NodeChange | StorageChange | DeviceChange | DeletedBudgets | EnabledPlugin | Successive
"""Change of a cluster."""


@dataclasses.dataclass(frozen=True, slots=True)
class TakenAhead:
    """Reason why more nodes are added than a root needs: roots ahead of it in the queue use *nodes* of them.

    Attributes:
        first: the first of these roots.
        others: number of the others.
        nodes: number of nodes that they use.

    """

    first: Name
    others: int
    nodes: int


class SearchLimit(enum.Enum):
    """Limit that ended the search for remedies early."""

    TRIES = enum.auto()
    """The maximum number of tries is reached."""
    STEPS = enum.auto()
    """Some changes were not decided within the maximum number of search steps."""


@dataclasses.dataclass(frozen=True, slots=True)
class SearchedRoots:
    """Remedies were searched for *searched* of the *failed* roots that are not placed."""

    problem_kind: ClassVar = ProblemKind.REMEDIES_LIMITED
    searched: int
    failed: int


class Waste(enum.StrEnum):
    """Why pods need more nodes than the sum of their requests."""

    REST = "rest-of-new-nodes"
    """What pods leave of a new node is too small for one more."""
    PIECES = "pieces-on-present-nodes"
    """What is free on present nodes is too small for a pod."""
    ONE_BY_ONE = "one-by-one"
    """Pods without a group get a node one by one, not as close as they could be."""
    SIZES = "sizes"
    """What pods leave of a node is too small for pods of another size."""


@dataclasses.dataclass(frozen=True, slots=True)
class MoreThanSums:
    """Reason why more nodes are added than the sum of requests says.

    Attributes:
        nodes: number of nodes by the sums: what all pods request, less what is free, by what one node has; 0 if enough is free.
        waste: why these are not enough; None if *rules* are the reason.
        holds: number of pods that one of the nodes holds.
        rules: rules of the pods about other pods.

    """

    nodes: int
    waste: Waste | None
    holds: int
    rules: tuple[PodRule, ...] = ()
