"""Objects of Kueue, and the names of its labels, annotations and scheduling gates.

The structs have the fields that decide whether a job is admitted.  Of fields that were renamed, each has the older name too
(``cohort`` until v1beta1, ``parent`` of Cohorts until v1alpha1).  Source: Kueue 0.17.0, ``apis/kueue``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from kubeapi.meta import Condition, DatedName, Int32, NamespacedName, Struct
from kubeapi.nodes import Taint
from kubeapi.pods import Toleration
from kubeapi.quantity import Amount, Amounts
from kubeapi.redaction import Labels, Mark, Name, Names
from kubeapi.selectors import LabelSelector

API_GROUP = "kueue.x-k8s.io"
_PREFIX = f"{API_GROUP}/"
POD_GROUP = f"{_PREFIX}pod-group-name"
"""Label with the name of a pod's group."""
POD_GROUP_TOTAL = f"{_PREFIX}pod-group-total-count"
"""Annotation with the number of pods of the group."""
WORKLOAD = f"{_PREFIX}workload"
"""Annotation of a pod with the name of its Workload of Kueue."""
POD_GROUP_INDEX = f"{_PREFIX}pod-group-pod-index"
"""Label with the index of a pod in its group."""
PODSET = f"{_PREFIX}podset"
"""Label of a pod of an admitted job with the name of its part; the pod has what the flavors of the part give it."""
QUEUE = f"{_PREFIX}queue-name"
"""Label of a job, or annotation in older versions, with the name of its LocalQueue."""
PRIORITY_CLASS = f"{_PREFIX}priority-class"
"""Label of a job with the name of its WorkloadPriorityClass."""
MIN_PARALLELISM = f"{_PREFIX}job-min-parallelism"
"""Annotation of a Job with the number of pods with which it can be admitted too."""

ResourceName = Annotated[str, Mark.RESOURCE]


def is_gate(name: str) -> bool:
    """Return whether a scheduling gate is one of Kueue, which alone removes it."""
    return name.startswith(_PREFIX)


class ResourceQuota(Struct, frozen=True, gc=False):
    """Quota of one resource of a flavor."""

    name: ResourceName = ""
    nominal_quota: Amount = "0"
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None


class FlavorQuotas(Struct, frozen=True, gc=False):
    """Quotas of a ResourceFlavor."""

    name: Name = ""
    resources: tuple[ResourceQuota, ...] | None = None


class ResourceGroup(Struct, frozen=True, gc=False):
    """Resources that a job gets from one and the same flavor, and these flavors in the order in which they are tried."""

    covered_resources: tuple[ResourceName, ...] | None = None
    flavors: tuple[FlavorQuotas, ...] | None = None


class FlavorFungibility(Struct, frozen=True, gc=False):
    """Policy of trying a further flavor where one could be borrowed, or freed by preemption."""

    when_can_borrow: str = ""
    when_can_preempt: str = ""
    preference: str = ""


class BorrowWithinCohort(Struct, frozen=True, gc=False):
    """Policy of preempting Workloads of other queues in order to use more than the own quota."""

    policy: str = ""
    max_priority_threshold: Int32 | None = None


class ClusterQueuePreemption(Struct, frozen=True, gc=False):
    """Policies of the Workloads that are preempted."""

    reclaim_within_cohort: str = ""
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    within_cluster_queue: str = ""


class AdmissionCheckRule(Struct, frozen=True, gc=False):
    """AdmissionCheck of a ClusterQueue; without flavors, it is for all of them."""

    name: Name = ""
    on_flavors: Names | None = None


class AdmissionChecksStrategy(Struct, frozen=True, gc=False):
    """AdmissionChecks of a ClusterQueue."""

    admission_checks: tuple[AdmissionCheckRule, ...] | None = None


class ClusterQueueSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ClusterQueue."""

    resource_groups: tuple[ResourceGroup, ...] | None = None
    cohort_name: Name = ""
    cohort: Name = ""
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    admission_checks: Names | None = None
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    stop_policy: str = ""
    queueing_strategy: str = ""


class ResourceUsage(Struct, frozen=True, gc=False):
    """Reserved amount of one resource of a flavor."""

    name: ResourceName = ""
    total: Amount = "0"


class FlavorUsage(Struct, frozen=True, gc=False):
    """Reserved amounts of a flavor."""

    name: Name = ""
    resources: tuple[ResourceUsage, ...] | None = None


class ClusterQueueStatus(Struct, frozen=True, gc=False):
    """``status`` of a ClusterQueue."""

    flavors_reservation: tuple[FlavorUsage, ...] | None = None


class DeletableName(NamespacedName, frozen=True, gc=False):
    """``metadata`` of an object of which only the name and the deletion are read."""

    deletion_timestamp: str | None = None


class ClusterQueue(Struct, frozen=True, gc=False):
    """Quotas for the jobs of LocalQueues."""

    metadata: DeletableName = DeletableName()
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


class CohortSpec(Struct, frozen=True, gc=False):
    """``spec`` of a Cohort."""

    parent_name: Name = ""
    parent: Name = ""
    resource_groups: tuple[ResourceGroup, ...] | None = None


class Cohort(Struct, frozen=True, gc=False):
    """ClusterQueues, and Cohorts, that lend each other what they do not use."""

    metadata: NamespacedName = NamespacedName()
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(Struct, frozen=True, gc=False):
    """``spec`` of a LocalQueue."""

    cluster_queue: Name = ""
    stop_policy: str = ""


class LocalQueue(Struct, frozen=True, gc=False):
    """Queue of a namespace, for jobs that name it."""

    metadata: NamespacedName = NamespacedName()
    spec: LocalQueueSpec = LocalQueueSpec()


class ResourceFlavorSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceFlavor."""

    node_labels: Labels | None = None
    node_taints: tuple[Taint, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_name: Name = ""


class ResourceFlavor(Struct, frozen=True, gc=False):
    """Nodes of one kind, by labels and taints."""

    metadata: NamespacedName = NamespacedName()
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class TopologyLevel(Struct, frozen=True, gc=False):
    """Level of a Topology, by the label of its domains' nodes."""

    node_label: str = ""


class TopologySpec(Struct, frozen=True, gc=False):
    """``spec`` of a Topology."""

    levels: tuple[TopologyLevel, ...] | None = None


class Topology(Struct, frozen=True, gc=False):
    """Levels of domains of the nodes of a flavor, from the widest to the narrowest."""

    metadata: NamespacedName = NamespacedName()
    spec: TopologySpec = TopologySpec()


class PodSetAssignment(Struct, frozen=True, gc=False):
    """Reservation of a part of a job: the flavor and the amount of each resource."""

    name: Name = ""
    flavors: dict[ResourceName, Name] | None = None
    resource_usage: Amounts | None = None
    count: Int32 | None = None


class Admission(Struct, frozen=True, gc=False):
    """Reservation of a job."""

    cluster_queue: Name = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] | None = None


class PodSetCount(Struct, frozen=True, gc=False):
    """Number of pods of a part of a job."""

    name: Name = ""
    count: Int32 = 1


class WorkloadMeta(DatedName, frozen=True, gc=False):
    """``metadata`` of a Workload."""

    uid: Name = ""
    owner_references: tuple[WorkloadOwner, ...] | None = None


class WorkloadOwner(Struct, frozen=True, gc=False):
    """Job of a Workload."""

    kind: str = ""
    name: Name = ""


class KueueWorkloadSpec(Struct, frozen=True, gc=False):
    """``spec`` of a Workload."""

    queue_name: Name = ""
    priority: Int32 | None = None
    active: bool | None = None
    pod_sets: tuple[PodSetCount, ...] | None = None


class WorkloadStatus(Struct, frozen=True, gc=False):
    """``status`` of a Workload."""

    admission: Admission | None = None
    conditions: tuple[WorkloadCondition, ...] | None = None
    reclaimable_pods: tuple[PodSetCount, ...] | None = None


class WorkloadCondition(Condition, frozen=True, gc=False):
    """Condition of a Workload, of which the time of its last change orders preemption."""

    last_transition_time: str | None = None


class KueueWorkload(Struct, frozen=True, gc=False):
    """Job as Kueue queues and admits it; not to be confused with the Workload of ``scheduling.k8s.io``."""

    metadata: WorkloadMeta = WorkloadMeta()
    spec: KueueWorkloadSpec = KueueWorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    def has(self, condition: str) -> bool:
        """Return whether a condition is true."""
        return any(each.type == condition and each.status == "True" for each in self.status.conditions or ())


class WorkloadPriorityClass(Struct, frozen=True, gc=False):
    """Priority of jobs in queues."""

    metadata: NamespacedName = NamespacedName()
    value: Int32 = 0


class AdmissionCheckSpec(Struct, frozen=True, gc=False):
    """``spec`` of an AdmissionCheck."""

    controller_name: str = ""


class AdmissionCheckStatus(Struct, frozen=True, gc=False):
    """``status`` of an AdmissionCheck."""

    conditions: tuple[Condition, ...] | None = None


class AdmissionCheck(Struct, frozen=True, gc=False):
    """Further condition for the admission of a job."""

    metadata: NamespacedName = NamespacedName()
    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: AdmissionCheckStatus = AdmissionCheckStatus()


KINDS: Mapping[str, type[Struct]] = {
    "ClusterQueue": ClusterQueue,
    "Cohort": Cohort,
    "LocalQueue": LocalQueue,
    "ResourceFlavor": ResourceFlavor,
    "Topology": Topology,
    "Workload": KueueWorkload,
    "WorkloadPriorityClass": WorkloadPriorityClass,
    "AdmissionCheck": AdmissionCheck,
}
"""The kinds that are read."""
