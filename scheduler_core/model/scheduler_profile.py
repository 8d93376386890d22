"""Profile of a scheduler: enabled plugins, weights and arguments (KubeSchedulerProfile), with kube-scheduler's defaults."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.affinity import NodeAffinity
from kubeapi.base_structs import Record
from kubeapi.pods import TopologySpreadConstraint
from kubeapi.resource_names import is_extended

LEAST_ALLOCATED, MOST_ALLOCATED, CAPACITY_RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
CPU_AND_MEMORY: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
"""Resources that scores count by default, with their weights."""

SCORED_WHOLE = 100
"""Number of nodes up to which kube-scheduler scores every feasible node, whatever the percentage."""

_DEFAULT_WEIGHTS = 200
"""Upper limit of the sum of all default weights."""


class ScoringStrategy(Record, frozen=True):
    """Scoring strategy of NodeResourcesFit.

    Attributes:
        kind: type of the strategy.
        resources: counted resources with their weights, 1 to 100.
        points: shape of RequestedToCapacityRatio: utilization, 0 to 100 and ascending, and its score, 0 to 10.

    """

    kind: str = LEAST_ALLOCATED
    resources: tuple[tuple[str, int], ...] = CPU_AND_MEMORY
    points: tuple[tuple[int, int], ...] = ()


class SchedulerProfile(Record, frozen=True):
    """Profile of a scheduler.

    Attributes:
        disabled: plugins whose filter is disabled.
        weights: score plugins whose weight is not the default; 0 if the score is disabled.
        placement_weights: likewise for scores of placements.
        preempts_pods: False if DefaultPreemption is disabled for pods without a group.
        preempts_groups: False if it is disabled for groups.
        strategy: scoringStrategy of NodeResourcesFit.
        ignored: resources that NodeResourcesFit does not check.
        ignored_groups: domains of such resources, as ``example.com``.
        balanced: resources that NodeResourcesBalancedAllocation compares.
        added_affinity: node affinity of all pods, in addition to their own.
        hard_pod_affinity_weight: weight of a running pod's required affinity in the score of a pod it selects.
        ignores_preferred_terms: True if preferred terms of running pods do not count for a pod that has none.
        default_constraints: topology spread constraints of pods without their own; None for those that kube-scheduler defines.
        percentage_of_nodes: percentageOfNodesToScore; 0 for the percentage that depends on the number of nodes, which is the default
            of None.
        percentage_of_placements: percentageOfPlacementsToScore; 0 for the percentage that depends on the number of nodes.
        volume_seconds: bindTimeoutSeconds of VolumeBinding: how long pods of the sidecar wait for their volumes.
        device_seconds: bindingTimeout of DynamicResources: how long they wait for the binding conditions of their devices.

    """

    disabled: frozenset[str] = frozenset()
    weights: tuple[tuple[str, int], ...] = ()
    placement_weights: tuple[tuple[str, int], ...] = ()
    preempts_pods: bool = True
    preempts_groups: bool = True
    strategy: ScoringStrategy = ScoringStrategy()
    ignored: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    balanced: tuple[str, ...] = ("cpu", "memory")
    added_affinity: NodeAffinity | None = None
    hard_pod_affinity_weight: int = 1
    ignores_preferred_terms: bool = False
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    percentage_of_nodes: int | None = None
    percentage_of_placements: int = 0
    volume_seconds: float = 600.0
    device_seconds: float = 600.0

    def most_scored(self, nodes: int) -> int:
        """Return how many of *nodes*, those that a pod is offered, kube-scheduler scores at most (numFeasibleNodesToFind)."""
        if nodes <= SCORED_WHOLE:
            return nodes
        percentage = self.percentage_of_nodes or max(5, 50 - nodes // 125)
        return max(SCORED_WHOLE, nodes * percentage // 100)

    def filters(self, plugin: str) -> bool:
        """Return whether the filter of *plugin* is enabled."""
        return plugin not in self.disabled

    def weight(self, plugin: str, default: int) -> int:
        """Return the weight of the score of *plugin*; 0 if it is disabled."""
        return dict(self.weights).get(plugin, default) if self.weights else default

    def placement_weight(self, plugin: str) -> int:
        """Return the weight of *plugin* in the score of a placement; 0 if it is disabled."""
        return dict(self.placement_weights).get(plugin, 1)

    def ignores(self, resource: str) -> bool:
        """Return whether NodeResourcesFit does not check *resource*, an extended resource."""
        if not self.ignored and not self.ignored_groups:
            return False
        return is_extended(resource) and (resource in self.ignored or resource.partition("/")[0] in self.ignored_groups)

    @property
    def wide(self) -> bool:
        """Return whether the total score of a node can exceed 16 bits."""
        return 100 * (_DEFAULT_WEIGHTS + sum(weight for _, weight in self.weights)) >= 2**15

    @property
    def scored_resources(self) -> frozenset[str]:
        """Return the resources that scores of nodes or placements count."""
        return frozenset((*(name for name, _ in self.strategy.resources), *self.balanced))


DEFAULT_PROFILE = SchedulerProfile()


class SchedulerProfiles(Record, frozen=True):
    """Profiles by ``spec.schedulerName``.

    Attributes:
        by_name: profiles; None without a configuration: every scheduler has the default profile.

    """

    by_name: Mapping[str, SchedulerProfile] | None = None

    def profile(self, scheduler: str) -> SchedulerProfile:
        """Return the profile of *scheduler*; the default profile for a scheduler that is not ours."""
        return DEFAULT_PROFILE if self.by_name is None else self.by_name.get(scheduler, DEFAULT_PROFILE)

    def schedules(self, scheduler: str) -> bool:
        """Return whether pods of *scheduler* are placed."""
        return self.by_name is None or scheduler in self.by_name

    @property
    def scored_resources(self) -> frozenset[str]:
        """Return the resources that the scores of any profile count."""
        return frozenset().union(*(each.scored_resources for each in (self.by_name or {}).values()))


DEFAULT_PROFILES = SchedulerProfiles()
