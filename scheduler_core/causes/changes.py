"""Changes of a cluster that a remedy makes.  Two changes are equal if they are the same for a person."""

from __future__ import annotations

import enum
from typing import ClassVar

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from kubeapi.problem import ProblemKind
from scheduler_core.causes.domains import PodRule
from scheduler_core.causes.node_count import Amount, NodeLabel
from scheduler_core.model.names import Domain, Name


class LoweredMinimum(Record, frozen=True):
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


class LoweredMinimums(Record, frozen=True):
    """Groups need fewer pods, or fewer groups."""

    groups: tuple[LoweredMinimum, ...]


class WidenedTopology(Record, frozen=True):
    """Groups that are confined to one domain of a key of *before* are confined to one of *key*."""

    groups: tuple[Name, ...]
    before: str
    key: str


class DroppedTopology(Record, frozen=True):
    """Groups are confined to no domain any more; *keys* are those of their constraints."""

    keys: tuple[str, ...]
    groups: tuple[Name, ...]


class AwaitedDeletions(Record, frozen=True):
    """Pods that are being deleted already are gone; *pods* are sorted."""

    pods: tuple[Name, ...]


class MovedPod(Record, frozen=True):
    """A running pod that is moved from the node *before* to the node *after*."""

    pod: Name
    before: str
    after: str


class MovedPods(Record, frozen=True):
    """Running pods are moved to other nodes; *moves* are sorted by pod."""

    moves: tuple[MovedPod, ...]


class EvictedUnits(Record, frozen=True):
    """Whole trees and single pods are evicted, with *pods* running pods in all."""

    pods: int
    units: tuple[Name, ...]


class UncordonedNodes(Record, frozen=True):
    """Cordoned nodes accept new pods again; *nodes* are sorted."""

    nodes: tuple[str, ...]


class AddedNodes(Record, frozen=True):
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


class AddedNodesByDomain(Record, frozen=True):
    """New nodes in several domains."""

    parts: tuple[AddedNodes, ...]


class ToleratedTaint(Record, frozen=True):
    """The pods of *owner* tolerate a taint of nodes."""

    taint: Taint
    owner: Name


class DroppedSelectors(Record, frozen=True):
    """The pods of *owner* lose their node selectors, their required node affinity, or both: those that some of them have."""

    owner: Name
    node_selector: bool
    node_affinity: bool


class DroppedPodRules(Record, frozen=True):
    """The pods of *owner* require nothing of other pods; *rules* are those that some of them have: affinity, anti-affinity, spread."""

    owner: Name
    rules: tuple[PodRule, ...]


class RemovedGates(Record, frozen=True):
    """The pods of *owner* have no scheduling gates."""

    owner: Name


class EnabledPlugin(Record, frozen=True):
    """An admission plugin of the API server is on when the pods are created; *stored* pods must be created again."""

    plugin: str
    stored: bool = False


Relaxation = ToleratedTaint | DroppedSelectors | DroppedPodRules | RemovedGates
"""Change of the spec of pending pods."""


class LocalVolumes(Record, frozen=True):
    """New local volumes of one class; *size* in bytes, 0 if their claims request none."""

    count: int
    storage_class: str
    size: int


class AddedVolumes(Record, frozen=True):
    """New local volumes on *nodes*, which are sorted; *domain* is None for the cluster."""

    volumes: tuple[LocalVolumes, ...]
    domain: Domain | None
    nodes: tuple[str, ...]


class Raised(Record, frozen=True):
    """A size in bytes that is raised; *before* is None if there was none."""

    before: int | None
    after: int


class RaisedCapacity(Record, frozen=True):
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


class RaisedCapacities(Record, frozen=True):
    """More storage for volumes that are provisioned."""

    capacities: tuple[RaisedCapacity, ...]


class AttachLimit(Record, frozen=True):
    """Number of volumes of one driver that a node attaches."""

    node: str
    limit: int


class RaisedAttachLimits(Record, frozen=True):
    """Nodes attach *more* volumes of *driver*; *before* are their limits, sorted by node."""

    driver: str
    before: tuple[AttachLimit, ...]
    more: int


class CreatedClassesLike(Record, frozen=True):
    """New storage classes like an existing one."""

    classes: tuple[str, ...]
    like: str


class CreatedClasses(Record, frozen=True):
    """New storage classes with a provisioner."""

    classes: tuple[str, ...]
    provisioner: str


class DroppedAllowedTopologies(Record, frozen=True):
    """A storage class provisions volumes for all nodes."""

    storage_class: str


class SelectedNode(Record, frozen=True):
    """Node for which the volume of a claim is being provisioned."""

    claim: Name
    node: str


class RemovedSelectedNodes(Record, frozen=True):
    """Claims have no selected node any more; *claims* are sorted."""

    claims: tuple[SelectedNode, ...]


class AddedDevices(Record, frozen=True):
    """New devices of a class on *nodes*, which are sorted; *domain* is None for the cluster."""

    count: int
    device_class: str
    domain: Domain | None
    nodes: tuple[str, ...]


class RequestOfClaim(Record, frozen=True):
    """A request of a claim to devices, or of its template."""

    request: str
    claim: Name


class ToleratedDeviceTaint(Record, frozen=True):
    """A request tolerates a taint of devices."""

    taint: Taint
    request: RequestOfClaim


class DroppedDeviceSelectors(Record, frozen=True):
    """A request selects all devices of its class."""

    request: RequestOfClaim


class ChangedDeviceClass(Record, frozen=True):
    """A request is for devices of the class *after* instead of *before*."""

    request: RequestOfClaim
    before: str
    after: str


class DroppedDeviceConstraint(Record, frozen=True):
    """The devices of a claim need not be equal, or different, in *attribute*."""

    attribute: str
    claim: Name


class DeletedBudgets(Record, frozen=True):
    """PodDisruptionBudgets are deleted, so that victims are evicted.

    Attributes:
        budgets: the budgets, sorted.
        disruptions: number of disruptions that the only budget could allow instead; 0 if that is not enough.

    """

    budgets: tuple[Name, ...]
    disruptions: int = 0


class Successive(Record, frozen=True):
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


class TakenAhead(Record, frozen=True):
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


class SearchedRoots(Record, frozen=True):
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


class MoreThanSums(Record, frozen=True):
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
