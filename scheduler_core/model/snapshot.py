"""Snapshot of a cluster: the input of a cycle."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from kubeapi.base_structs import Record
from kubeapi.groups import Group
from kubeapi.problem import Problem
from kubeapi.selectors import LabelSelector
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILES, SchedulerProfiles
from scheduler_core.model.volumes import VolumeObjects
from scheduler_core.model.workload_selectors import WorkloadSelectors
from validators.object_lookup import Lookup


class DisruptionBudget(Record, frozen=True):
    """A PodDisruptionBudget."""

    namespace: str
    name: str
    selector: LabelSelector | None
    allowed: int
    """status.disruptionsAllowed."""
    disrupted: frozenset[str]
    """Names of pods whose eviction is already counted."""
    healthy: bool = False
    """True if as many pods are healthy as desired, so that the eviction of an unready pod is not counted."""
    spares_unready: bool = True
    """False if its unhealthyPodEvictionPolicy, AlwaysAllow, never protects unready pods."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClusterSnapshot:
    """Input of placement; the same for the same objects in any order."""

    nodes: NodeTable
    pods: Sequence[PodRecord]
    """Bound and pending pods, sorted by key, without finished ones."""
    groups: Sequence[Group]
    """PodGroups and CompositePodGroups, by namespace, name and kind."""
    priorities: Mapping[tuple[str, str, str], int]
    """Priority of each group by (kind, namespace, name): its own, its class's, or 0."""
    desired: Mapping[tuple[str, str], int]
    """desiredCount of basic groups of v1alpha1 by (namespace, name)."""
    budgets: tuple[DisruptionBudget, ...]
    known: Lookup
    """Workloads, groups, priority classes and nodes for the rules about trees."""
    problems: tuple[Problem, ...] = ()
    volumes: VolumeObjects = dataclasses.field(default_factory=VolumeObjects)
    namespaces: Mapping[str, Mapping[str, str]] | None = None
    """Labels of namespaces by name; None if they are not known."""
    selectors: WorkloadSelectors = dataclasses.field(default_factory=WorkloadSelectors)
    profiles: SchedulerProfiles = DEFAULT_PROFILES
    devices: DeviceObjects | None = None
    """Objects about devices; None if there are none."""

    @property
    def behavior(self) -> SchedulerBehavior:
        """Return the behavior of the kube-scheduler that places the pods."""
        return self.nodes.behavior
