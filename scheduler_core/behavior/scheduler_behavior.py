"""Behavior of kube-scheduler by version.

Sources: kube-scheduler 1.37.1 and 1.38.0-beta.0.  The versions are those in which a kube-scheduler can place groups.
"""

from __future__ import annotations

import dataclasses

from kubeapi.versions import kubernetes_releases


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerBehavior:
    """Facts about one version of kube-scheduler, by which it differs from another version.

    Attributes:
        minor: minor version of Kubernetes 1.
        reads_policy_gate: the feature gate PodGroupPreemptionPolicy decides whether groups have a preemptionPolicy; else they always have.
        validates_trees: every cycle validates the whole tree, with ``CompositePodGroupError`` and ``PodGroupError`` as the reasons of its
            groups.  Else only pods are compared with the root.
        empty_value_is_domain: nodes whose topology label has an empty value form a domain.
        tries_nominated_first: the domain of the nominated nodes of a PodGroup without parent is evaluated first, and is taken if a pod
            fits there.
        limits_placements: ``percentageOfPlacementsToScore`` exists; by default only some of the feasible placements are compared.
        has_feasibility_point: ``plugins.placementFeasible`` is an extension point, that of GangScheduling; else GangScheduling has permit.
        combines_generators: several plugins of placementGenerate can be enabled; else one.
        reserves_for_preemption: DefaultPreemption has the extension point reserve.
        defaults_all_arguments: plugins that are enabled only at podGroupPostFilter have default arguments; else none.
        scores_pod_requests: NodeResourcesFit rates a node for a pod by its pod-level requests; else by those of its containers.
        counts_by_empty_selector: a topology spread constraint with the ``labelSelector`` ``{}`` counts all pods; else none.
        compares_exact_capacity: a CSIStorageCapacity is compared as a quantity; else in whole bytes, rounded up.
        qualifies_capacities: names of capacities without a domain have that of the driver, in claims, their status and devices; else names
            must be equal.
        compares_versions: constraints compare versions of devices without their builds, and a value that cannot be read ends the attempt
            of the pod with an error; else as text, and two such values differ.
        tolerates_unread_values: selectors can be evaluated for a device with an attribute that cannot be read unless they use it; else never.
        guards_shared_devices: a device of which claims still have shares is not allocated to one claim alone after its
            ``allowMultipleAllocations`` has changed; else it is.
        skips_incomplete_pools: a request for all devices of an incomplete or invalid pool excludes the nodes that reach the pool; else
            it ends the attempt of the pod with an error.
        ranks_by_root: pods of a group have the priority of the root of their tree when they are victims; else their own.
        ranks_members_as_groups: a member that can be evicted alone ranks as a PodGroup; else as a Pod.
        breaks_ties_by_uid: of equally important victims, the one whose first pod has the lower UID is more important; else it is undefined.
        protects_by_empty_selector: a PodDisruptionBudget with the selector ``{}`` protects all pods of its namespace, and one can protect
            pods without labels; else neither.
        chooses_cheap_nodes: without its potential victims a group is placed on nodes that cost the least victims; else by score alone.
        spares_failed_groups: victims are evicted only for the groups of a tree that succeeded; else for every pod that got a node.
        looks_for_victims_first: a group with preemptionPolicy Never waits for victims of an earlier preemption; else it is refused first.
        counts_failed_children: messages about a minimum count the children that failed; else those that were not tried.
        names_ancestors: a group that is not placed because of a group above it states only the name of that group; else its status.
        hides_reasons_from_pods: pods that had no turn, or fit, state only that their group is unschedulable; else the reason of the group.
        prefixes_messages: messages of groups begin with "pod group is unschedulable", which is all that is said about a placement on which
            no pod of a PodGroup was tried.  Without placements only messages about such groups begin with it.
        names_awaited_roots: a pod that waits for the quorum of its root states kind and namespace of the root, and one that waits for a group
            that it can be an ancestor; else the name of a CompositePodGroup, or of the missing PodGroup.
        writes_composites: it writes conditions of CompositePodGroups.
        invalid_pod_group: reason of the condition of a PodGroup in an invalid tree; until 1.37 only the API documentation has it.
        invalid_composite: likewise of a CompositePodGroup.
        entity_label: name of the label of queue metrics by kind of entity.
        counts_composites_apart: metrics of groups and of their preemptions have a label with the kind of the root, CompositePodGroup apart
            from PodGroup.
        tries_placements: a group is tried on placements, of which one without a topology constraint has one.  Without the feature gate
            TopologyAwareWorkloadScheduling it is not, in any version.

    """

    minor: int
    reads_policy_gate: bool
    validates_trees: bool
    empty_value_is_domain: bool
    tries_nominated_first: bool
    limits_placements: bool
    has_feasibility_point: bool
    combines_generators: bool
    reserves_for_preemption: bool
    defaults_all_arguments: bool
    scores_pod_requests: bool
    counts_by_empty_selector: bool
    compares_exact_capacity: bool
    qualifies_capacities: bool
    compares_versions: bool
    tolerates_unread_values: bool
    guards_shared_devices: bool
    skips_incomplete_pools: bool
    ranks_by_root: bool
    ranks_members_as_groups: bool
    breaks_ties_by_uid: bool
    protects_by_empty_selector: bool
    chooses_cheap_nodes: bool
    spares_failed_groups: bool
    looks_for_victims_first: bool
    counts_failed_children: bool
    names_ancestors: bool
    hides_reasons_from_pods: bool
    prefixes_messages: bool
    names_awaited_roots: bool
    writes_composites: bool
    invalid_pod_group: str
    invalid_composite: str
    entity_label: str
    counts_composites_apart: bool
    tries_placements: bool = True

    @property
    def version(self) -> str:
        """Return the version as users write it: ``1.38``."""
        return kubernetes_releases.name(self.minor)

    def without_placements(self) -> SchedulerBehavior:
        """Return the behavior without the feature gate TopologyAwareWorkloadScheduling."""
        return dataclasses.replace(self, tries_placements=False)

    def invalid_reason(self, kind: str) -> str:
        """Return the reason of the condition of a group of *kind* in an invalid tree."""
        return self.invalid_pod_group if kind == "PodGroup" else self.invalid_composite


KUBERNETES_1_37 = SchedulerBehavior(
    minor=37,
    reads_policy_gate=True,
    validates_trees=False,
    empty_value_is_domain=True,
    tries_nominated_first=False,
    limits_placements=False,
    has_feasibility_point=False,
    combines_generators=False,
    reserves_for_preemption=False,
    defaults_all_arguments=False,
    scores_pod_requests=False,
    counts_by_empty_selector=False,
    compares_exact_capacity=False,
    qualifies_capacities=False,
    compares_versions=False,
    tolerates_unread_values=False,
    guards_shared_devices=False,
    skips_incomplete_pools=False,
    ranks_by_root=True,
    ranks_members_as_groups=True,
    breaks_ties_by_uid=False,
    protects_by_empty_selector=False,
    chooses_cheap_nodes=False,
    spares_failed_groups=False,
    looks_for_victims_first=False,
    counts_failed_children=False,
    names_ancestors=False,
    hides_reasons_from_pods=False,
    prefixes_messages=True,
    names_awaited_roots=False,
    writes_composites=False,
    invalid_pod_group="Invalid",
    invalid_composite="Invalid",
    entity_label="type",
    counts_composites_apart=False,
)
KUBERNETES_1_38 = SchedulerBehavior(
    minor=38,
    reads_policy_gate=False,
    validates_trees=True,
    empty_value_is_domain=False,
    tries_nominated_first=True,
    limits_placements=True,
    has_feasibility_point=True,
    combines_generators=True,
    reserves_for_preemption=True,
    defaults_all_arguments=True,
    scores_pod_requests=True,
    counts_by_empty_selector=True,
    compares_exact_capacity=True,
    qualifies_capacities=True,
    compares_versions=True,
    tolerates_unread_values=True,
    guards_shared_devices=True,
    skips_incomplete_pools=True,
    ranks_by_root=False,
    ranks_members_as_groups=False,
    breaks_ties_by_uid=True,
    protects_by_empty_selector=True,
    chooses_cheap_nodes=True,
    spares_failed_groups=True,
    looks_for_victims_first=True,
    counts_failed_children=True,
    names_ancestors=True,
    hides_reasons_from_pods=True,
    prefixes_messages=False,
    names_awaited_roots=True,
    writes_composites=True,
    invalid_pod_group="PodGroupError",
    invalid_composite="CompositePodGroupError",
    entity_label="entity",
    counts_composites_apart=True,
)

BEHAVIORS = {behavior.version: behavior for behavior in (KUBERNETES_1_37, KUBERNETES_1_38)}
"""Behaviors by version, the oldest first."""


def behavior_of(minor: int) -> SchedulerBehavior:
    """Return the behavior of a minor version of Kubernetes 1; of the nearest version for one that is not mirrored."""
    return min(BEHAVIORS.values(), key=lambda behavior: abs(behavior.minor - minor))
