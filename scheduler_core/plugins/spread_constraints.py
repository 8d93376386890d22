"""Topology spread constraints, compiled: those of a pod, and the default constraints (PodTopologySpreadArgs.defaultConstraints) of others."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import NamedTuple

from kubeapi.pods import TopologySpreadConstraint
from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.selectors import Clauses, compiled
from scheduler_core.model.workload_selectors import DefaultSelectors, WorkloadSelectors
from scheduler_core.plugins.topology_counts import PodSet, own_values

_ZONE = "topology.kubernetes.io/zone"


class SpreadTerm(NamedTuple):
    """Topology spread constraint.

    Attributes:
        key: topology key.
        pods: counted pods.
        own: clauses about the pod's own labels; if they match, the pod counts towards its own domain.
        skew: maxSkew.
        least: minDomains, read only with DoNotSchedule.
        affinity: nodeAffinityPolicy Honor: only nodes that nodeSelector and node affinity allow form domains.
        taints: nodeTaintsPolicy Honor: only nodes whose taints the pod tolerates form domains.

    """

    key: str
    pods: PodSet
    own: Clauses | None
    skew: int
    least: int
    affinity: bool
    taints: bool


def is_hard(constraint: TopologySpreadConstraint) -> bool:
    """Return whether *constraint* filters nodes."""
    return constraint.when_unsatisfiable == "DoNotSchedule"


def is_soft(constraint: TopologySpreadConstraint) -> bool:
    """Return whether *constraint* scores nodes."""
    return constraint.when_unsatisfiable == "ScheduleAnyway"


def spread_term(
    constraint: TopologySpreadConstraint, namespace: str, labels: Mapping[str, str], *, empty_counts: bool = False
) -> SpreadTerm:
    """Return *constraint* of a pod of *namespace* with *labels*.

    An empty selector matches the pod itself.  It counts all pods if *empty_counts*, else none: that depends on kube-scheduler's version.
    """
    clauses = compiled(constraint.label_selector, own_values(constraint.match_label_keys, "In", labels))
    return spread_of(constraint, PodSet(frozenset({namespace}), None, clauses if clauses or empty_counts else None), clauses)


def spread_of(constraint: TopologySpreadConstraint, pods: PodSet, own: Clauses | None) -> SpreadTerm:
    """Return *constraint* that counts *pods*, for a pod that counts if *own* matches it."""
    return SpreadTerm(
        key=constraint.topology_key,
        pods=pods,
        own=own,
        skew=constraint.max_skew,
        least=1 if constraint.min_domains is None else constraint.min_domains,
        affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
        taints=constraint.node_taints_policy == "Honor",
    )


@dataclasses.dataclass(frozen=True, eq=False)
class SpreadDefaults:
    """Default constraints.

    Attributes:
        constraints: without selectors: the pod's default selector is used.
        system: True for kube-scheduler's own: they also count and score nodes without one of the topology keys.

    """

    constraints: tuple[TopologySpreadConstraint, ...] = ()
    system: bool = False

    @functools.cached_property
    def hard(self) -> tuple[TopologySpreadConstraint, ...]:
        """Return the constraints that filter nodes."""
        return tuple(filter(is_hard, self.constraints))

    @functools.cached_property
    def soft(self) -> tuple[TopologySpreadConstraint, ...]:
        """Return the constraints that score nodes."""
        return tuple(itertools.filterfalse(is_hard, self.constraints))


SYSTEM_DEFAULTS = SpreadDefaults(
    (
        TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
        TopologySpreadConstraint(max_skew=5, topology_key=_ZONE, when_unsatisfiable="ScheduleAnyway"),
    ),
    system=True,
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SpreadTerms:
    """Constraints of a pod.

    Attributes:
        hard: constraints with DoNotSchedule.
        soft: constraints with ScheduleAnyway.
        all_keys: True if nodes without one of the topology keys of ``soft`` are neither counted nor scored.

    """

    hard: tuple[SpreadTerm, ...] = ()
    soft: tuple[SpreadTerm, ...] = ()
    all_keys: bool = True


NO_TERMS = SpreadTerms()


class DefaultSpread:
    """Default constraints of the pods of a snapshot, which has *selectors*: *defaults*, or those of the profile that schedules the pod.

    Attributes:
        possible: whether a pod can have default constraints, because there are selectors.

    """

    def __init__(self, selectors: WorkloadSelectors, defaults: SpreadDefaults = SYSTEM_DEFAULTS) -> None:
        self.possible = bool(selectors)
        self._selectors = DefaultSelectors(selectors)
        self._defaults = defaults
        self._of_profiles: dict[tuple[TopologySpreadConstraint, ...], SpreadDefaults] = {}
        self._terms: dict[tuple[str, Clauses, SpreadDefaults], SpreadTerms] = {}

    def of_pod(self, pod: PodRecord) -> SpreadDefaults:
        """Return the default constraints that apply to *pod* if something selects it."""
        if (constraints := pod.shape.profile.default_constraints) is None:
            return self._defaults
        if (own := self._of_profiles.get(constraints)) is None:
            own = self._of_profiles[constraints] = SpreadDefaults(constraints)
        return own

    def filters(self, pod: PodRecord) -> bool:
        """Return whether a default constraint for *pod* filters nodes."""
        return bool(self.of_pod(pod).hard)

    def keys(self, namespace: str) -> tuple[str, ...]:
        """Return the keys of the pod labels on which ``terms`` depends."""
        return self._selectors.keys(namespace)

    def terms(self, pod: PodRecord) -> SpreadTerms:
        """Return the default constraints of *pod*; none if it has its own, or nothing selects it."""
        if pod.shape.spread or not (defaults := self.of_pod(pod)).constraints or not (clauses := self._selectors.of_pod(pod)):
            return NO_TERMS
        if (terms := self._terms.get((pod.namespace, clauses, defaults))) is None:
            terms = self._terms[pod.namespace, clauses, defaults] = self._compiled(pod, clauses, defaults)
        return terms

    def _compiled(self, pod: PodRecord, clauses: Clauses, defaults: SpreadDefaults) -> SpreadTerms:
        pods = PodSet(frozenset({pod.namespace}), None, clauses)
        hard = [spread_of(each, pods, clauses) for each in defaults.hard]
        soft = [spread_of(each, pods, clauses) for each in defaults.soft]
        return SpreadTerms(tuple(hard), tuple(soft), not defaults.system)


NO_DEFAULTS = DefaultSpread(WorkloadSelectors(), SpreadDefaults())
"""No default constraints."""
