"""Notes on jobs that Kueue queues: reasons why one is not admitted, and changes by its admission."""

from __future__ import annotations

import enum
from typing import ClassVar

from kubeapi.base_structs import Record
from kubeapi.names import Name
from kubeapi.problem import ProblemKind
from kubeapi.resource_names import Quantity


class Mismatch(enum.StrEnum):
    """Why pods cannot have the nodes of a flavor."""

    FLAVOR_MISSING = "flavor-missing"
    TAINT = "taint"
    LABELS = "labels"
    TOPOLOGY_REQUIRED = "topology-required"
    """The flavor has a Topology, and the pods request none."""
    TOPOLOGY_MISSING = "topology-missing"
    """The pods request a topology, and the flavor has none."""
    LEVEL_MISSING = "level-missing"
    """The Topology of the flavor lacks a level that the pods request."""


class QueueQuotaExceeded(Record, frozen=True):
    """Job that needs more of a resource than the quotas leave to a ClusterQueue.

    Attributes:
        cluster_queue: the ClusterQueue.
        flavor: the ResourceFlavor.
        resource: the resource.
        free: amount that it leaves, with what its cohort lends.
        needed: amount that the parts of the job need together, up to the first one for which there is too little.
        nominal: its own quota.
        used: amount that its Workloads have reserved.
        largest: amount that it would leave if nothing was reserved.
        cohort: name of its cohort; empty if it is in none.
        lent: amount of ``free`` that its cohort lends.
        preempted: the Workloads that Kueue preempts, so that there is enough.
        own: amount of ``used`` that other pods of the same object have, which are admitted by themselves.
        surge: whether it is needed for a pod that an update creates before it deletes another one.

    """

    problem_kind: ClassVar = ProblemKind.NOT_ADMITTED
    cluster_queue: Name
    flavor: str
    resource: str
    free: Quantity
    needed: Quantity
    nominal: Quantity
    used: Quantity
    largest: Quantity
    cohort: str = ""
    lent: Quantity = 0
    preempted: tuple[Name, ...] = ()
    own: Quantity = 0
    surge: bool = False


class FlavorUnsuitable(Record, frozen=True):
    """Job whose pods cannot have the nodes of a flavor of a ClusterQueue.

    Attributes:
        cluster_queue: the ClusterQueue.
        flavor: the ResourceFlavor.
        pod_set: the part of the job.
        mismatch: why not.

    """

    problem_kind: ClassVar = ProblemKind.NOT_ADMITTED
    cluster_queue: Name
    flavor: str
    pod_set: str
    mismatch: Mismatch


class ResourceNotCovered(Record, frozen=True):
    """Job that requests a resource of which a ClusterQueue has no quota."""

    problem_kind: ClassVar = ProblemKind.NOT_ADMITTED
    cluster_queue: Name
    resource: str


class QueueInactive(Record, frozen=True):
    """Job whose queue admits nothing.

    Attributes:
        queue: the LocalQueue or ClusterQueue.
        stopped: whether its stop policy holds it.
        terminating: whether it is being deleted.
        in_cycle: whether its cohort is its own ancestor.
        missing_objects: objects that it names and that do not exist.
        inactive_checks: AdmissionChecks that it names and that are not active.

    """

    problem_kind: ClassVar = ProblemKind.NOT_ADMITTED
    queue: Name
    stopped: bool = False
    terminating: bool = False
    in_cycle: bool = False
    missing_objects: tuple[Name, ...] = ()
    inactive_checks: tuple[Name, ...] = ()


class QueueMissing(Record, frozen=True):
    """Job whose queue does not exist; *similar* is the name of a similar one."""

    problem_kind: ClassVar = ProblemKind.NOT_ADMITTED
    queue: Name
    similar: str = ""


class NamespaceNotSelected(Record, frozen=True):
    """Job whose namespace the selector of a ClusterQueue does not match."""

    problem_kind: ClassVar = ProblemKind.NOT_ADMITTED
    cluster_queue: Name


class AdmittedByQueue(Record, frozen=True):
    """Job that Kueue admits.

    Attributes:
        cluster_queue: the ClusterQueue.
        flavors: the ResourceFlavors, whose node labels and tolerations its pods get.
        pods: number of pods with which it is admitted.
        of_pods: number of pods that it has.
        borrows: whether it uses quota of others.
        checks: the AdmissionChecks that must be ready too.

    """

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    cluster_queue: Name
    flavors: tuple[str, ...]
    pods: int
    of_pods: int
    borrows: bool = False
    checks: tuple[str, ...] = ()


class WorkloadsAhead(Record, frozen=True):
    """Job that Kueue tries after other Workloads of its ClusterQueue, which wait for quota: what they take is not considered.

    Attributes:
        cluster_queue: the ClusterQueue.
        workloads: the Workloads, in the order of the queue.
        blocking: whether the job waits until they are admitted, because the queue is strict.

    """

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    cluster_queue: Name
    workloads: tuple[Name, ...]
    blocking: bool = False


class QueueUnused(Record, frozen=True):
    """Object with a label for a queue, of a kind that Kueue does not manage, and whose pods have no such label.

    Attributes:
        local_queue: the LocalQueue.
        of_jobs: whether its Jobs can have the label.

    """

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    local_queue: Name
    of_jobs: bool = False


class FlavorsAssumed(Record, frozen=True):
    """ResourceFlavors that are not among the inputs, and are taken to have no labels, taints and topology."""

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    flavors: tuple[str, ...]


class TopologiesAssumed(Record, frozen=True):
    """Topologies of ResourceFlavors that are not among the inputs, and are taken to have the levels that pods request."""

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    topologies: tuple[str, ...]


class NamespaceLabelsUnknown(Record, frozen=True):
    """Namespace whose labels the selector of a ClusterQueue reads, and that is not among the inputs: it is taken to match."""

    problem_kind: ClassVar = ProblemKind.MISSING_NAMESPACE
    cluster_queue: Name


class RunsElsewhere(Record, frozen=True):
    """Job that Kueue starts in another cluster, by the AdmissionCheck *check* of MultiKueue."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    check: str


QueueNote = (
    QueueQuotaExceeded
    | FlavorUnsuitable
    | ResourceNotCovered
    | QueueInactive
    | QueueMissing
    | NamespaceNotSelected
    | AdmittedByQueue
    | WorkloadsAhead
    | QueueUnused
    | FlavorsAssumed
    | TopologiesAssumed
    | NamespaceLabelsUnknown
    | RunsElsewhere
)
"""What is said about jobs that Kueue queues."""
