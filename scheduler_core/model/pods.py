"""Pods of a snapshot: constraints and requests (a shape, shared by equal pods), identity and state (a record)."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Container, Hashable, Mapping

from kubeapi.affinity import Affinity
from kubeapi.meta import Struct
from kubeapi.pods import Toleration, TopologySpreadConstraint
from scheduler_core.model.device_claims import DeviceClaim, DeviceNeed
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile
from scheduler_core.model.volume_users import NO_NAMED_VOLUMES, NamedVolumes
from scheduler_core.model.volumes import BoundClaim, VolumeNeed


class Health(enum.Enum):
    """Health of a bound pod, by which disruption budgets protect it."""

    STARTING = enum.auto()
    """Its phase is Pending: no budget protects it."""
    UNREADY = enum.auto()
    READY = enum.auto()


Port = tuple[str, str, int]
"""Protocol, host address (``0.0.0.0``: all), port."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodShape:
    """All of a pod's spec that decides where it can run and how much it takes on a node.

    Pods that agree in it share one PodShape object, so that identity is equality.
    """

    serial: int
    """Number in the order of first appearance among the pods sorted by name."""
    requests: tuple[tuple[int, int], ...]
    """(row of NodeTable.resources, amount); amounts above 0 only, rows ascending; the row PODS is always present with 1."""
    scored: tuple[int, int]
    """Millicores and bytes that scores count: 100m and 200 MB for a container that does not request them."""
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[TopologySpreadConstraint, ...] = ()
    ports: tuple[Port, ...] = ()
    kept: tuple[tuple[str, Hashable], ...] = ()
    """Names and values that plugins keep of its pods; a value that most pods have is not there."""
    images: tuple[str, ...] = ()
    """Images of the pod, sorted; empty text for each that no node reports; nothing if no node reports any."""
    unmodelled: tuple[str, ...] = ()
    """Fields that can constrain a node but are not modelled, such as ``spec.volumes[0].ephemeral``."""
    volumes: tuple[VolumeNeed, ...] = ()
    """Requirements of persistent volume claims, in the order of the pod's volumes."""
    picks_volumes: bool = False
    """True if its volumes depend on the volumes that other pods take, so that its pods are placed one by one."""
    counts_volumes: bool = True
    """True if its requests say exactly how many volumes it needs, so that it makes no difference which pod takes which."""
    named_volumes: bool = False
    """True if its pods have volumes whose names matter."""
    devices: tuple[DeviceNeed, ...] = ()
    """Requirements of claims to devices, in the order of the pod's claims."""
    picks_devices: bool = False
    """True if its devices depend on the devices that other pods take, so that its pods are placed one by one."""
    counts_devices: bool = True
    """True if its requests say exactly how many devices it needs."""
    unchecked: tuple[tuple[int, int], ...] = ()
    """Requests that count on a node but that no filter checks, as ``requests``."""
    profile: SchedulerProfile = DEFAULT_PROFILE
    """Profile that schedules the pod."""
    containers_scored: tuple[int, int] | None = None
    """What NodeResourcesFit counts for the pod that it rates a node for, if this is not ``scored``: without pod-level requests."""
    variant_of: PodShape | None = None
    """The shape of the pods for which a search uses this one, which differs in its number alone: filters by node agree."""

    @property
    def rated(self) -> tuple[int, int]:
        """Return the millicores and bytes that NodeResourcesFit counts for the pod itself."""
        return self.containers_scored or self.scored

    @property
    def charges(self) -> tuple[tuple[int, int], ...]:
        """Return all requests that count on a node, checked or not."""
        return self.requests + self.unchecked if self.unchecked else self.requests


class PodRecord(Struct, frozen=True, gc=False, eq=False):
    """One pod; a struct, of which a cluster has hundreds of thousands."""

    key: str
    """``namespace/name``."""
    namespace: str
    shape: PodShape
    labels: Mapping[str, str]
    priority: int
    node: int
    """Index of the node it is bound to; -1 while pending."""
    group: str
    """Name of its PodGroup, in its namespace; empty if none."""
    scheduler: str
    preempts: bool
    """True if its preemptionPolicy allows preemption."""
    created: str
    """Creation timestamp as written (RFC 3339 in UTC sorts as text); empty if unknown."""
    started: str
    """Start time as written; empty if unknown, which counts as now."""
    terminating: bool
    gates: tuple[str, ...]
    nominated: int
    """Index of its nominated node; -1 if none."""
    preempted: bool = False
    """True if it is terminating because of a preemption: condition DisruptionTarget, reason PreemptionByScheduler."""
    health: Health = Health.READY
    bound_claims: tuple[BoundClaim, ...] = ()
    """Its bound claims that restrict nodes."""
    delayed_claims: tuple[str, ...] = ()
    """Its claims that wait for their first consumer, in the order of the requirements in its shape."""
    picked: tuple[str, ...] = ()
    """The volume of each delayed claim, empty for one that is provisioned, once a decision has placed the pod."""
    named_volumes: NamedVolumes = NO_NAMED_VOLUMES
    """Its volumes whose names matter."""
    device_claims: tuple[DeviceClaim, ...] = ()
    """Its claims to devices, in the order of the requirements in its shape."""
    held: str = ""
    """The reason of the plugin DynamicResources to keep the pod out of the scheduling queue; empty if there is none."""
    controller: tuple[str, str] = ("", "")
    """Kind and name of its controller if that is a ReplicationController, ReplicaSet or StatefulSet."""
    uid: str = ""
    """Its uid if it has a node, and if kube-scheduler compares uids of victims; else empty."""

    @property
    def name(self) -> str:
        """Return its name, which is in the key: a second text would take as much memory as other fields together."""
        return self.key.partition("/")[2]


def only_rows(shape: PodShape, rows: Container[int]) -> PodShape | None:
    """Return a shape that requests of *rows* what *shape* requests of them; None if that is nothing."""
    requests = tuple((row, amount) for row, amount in shape.requests if row in rows)
    # Shapes of pods have numbers from 0.
    return PodShape(-1 - shape.serial, requests, (0, 0)) if requests else None
