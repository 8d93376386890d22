"""Result of a cycle: decisions, groups, victims, remedies."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.attempts import AttemptReason, PreemptionReason
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.changes import Change, MoreThanSums, SearchLimit, TakenAhead
from scheduler_core.causes.constraints import Constraint
from scheduler_core.model.device_claims import DeviceClaim
from scheduler_core.model.devices import Allocation
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.status import Status


@dataclasses.dataclass(frozen=True, slots=True)
class GroupCondition:
    """Status condition as in the API; *status* is ``True`` or ``False``."""

    type: str
    status: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDecision:
    """Result for one group of a tree."""

    group: Name
    status: Status
    causes: tuple[Cause, ...] = ()
    """Why it is not placed, or not all of it."""
    domain: Domain | None = None
    reason: AttemptReason | None = None
    """How the attempt to place it, or the group above it, failed."""
    present: GroupCondition | None = None
    """Its condition before the cycle, as the API has it."""
    notes: tuple[Cause, ...] = ()
    """Causes that its condition states after all others."""
    retried: PreemptionReason | None = None
    """How the preemption for what its root, which is placed, leaves over ends; None if it is not tried."""


IN_ORDER, MOST_PODS = "in-order", "most-pods"
"""Objectives by which the children of a composite are chosen."""


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """Kind of search: ``outcome`` is placed, infeasible (proved), budget (spent) or not-searched.

    ``objective`` says how the children of a placed composite were chosen: IN_ORDER (each that fits, by age) or MOST_PODS; else empty.
    Below a Basic root, which needs one child only, the two can choose different children.
    """

    strategy: str
    outcome: str
    explored: int = 0
    objective: str = ""

    @classmethod
    def placed(cls, strategy: str, explored: int = 0, objective: str = IN_ORDER, *, leaf: bool) -> Search:
        """Return the description of a search that placed a root; only a composite, not a *leaf*, has children to choose."""
        return cls(strategy, "placed", explored, "" if leaf else objective)


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step of a change, as ``kubectl`` runs it; exactly one of the two fields is set.

    Attributes:
        apply: a full object that replaces the one of the same name, or is added.
        delete: ``apiVersion``, ``kind``, ``namespace`` and ``name`` of an object to delete.

    """

    apply: Mapping[str, Any] | None = None
    delete: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Remedy:
    """Verified change: with all *steps* applied to the input, the root has status *then*."""

    change: Change
    steps: tuple[Step, ...]
    then: Status = Status.SUCCESS
    because: TakenAhead | MoreThanSums | None = None
    """Reason why the change is larger than the root alone, or the sum of its requests, needs."""
    weight: tuple[int, ...] = (0,)
    """Key by which remedies are sorted, those that disrupt the least first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Eviction:
    """Quality of the set of victims; strategy ``complete`` only.

    Attributes:
        units: number of preemption units in the plan.
        lower: lower bound on the units of any plan; if this plan violates no disruption budget, on plans that violate none.
        violating: number of pods whose eviction violates a disruption budget.
        proved: True if no plan is better in units, pods, priorities and age together.

    """

    units: int
    lower: int
    violating: int = 0
    proved: bool = False

    @property
    def gap(self) -> int:
        """Return how many fewer units a plan might need; 0 if that is proved impossible."""
        return self.units - self.lower


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeChoice:
    """Volume of a claim that waited for its first consumer; exactly one of the two fields is set.

    Attributes:
        volume: the existing volume that the claim is bound to.
        node: the node for which a volume is provisioned.

    """

    volume: str = ""
    node: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class RankLevel:
    """Pods of a group on one topology level, in the order of their ranks.

    Attributes:
        key: the topology key; ``kubernetes.io/hostname`` for nodes.
        domains: number of domains with pods of the group.
        apart: number of pairs of consecutive pods in different domains.

    """

    key: str
    domains: int
    apart: int


@dataclasses.dataclass(frozen=True, slots=True)
class RankedGroup:
    """Rank order of one PodGroup: the number of its ranked pods with nodes, and the topology levels, the widest first."""

    group: Name
    pods: int
    levels: tuple[RankLevel, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """Result for one root in one cycle.  Pods are ``namespace/name``, nodes are names."""

    root: Name
    status: Status
    causes: tuple[Cause, ...] = ()
    """Why it is not placed, or not all of it, and notes on the attempt, in the order in which they are reported."""
    assignments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    nominations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    victims: tuple[str, ...] = ()
    groups: tuple[GroupDecision, ...] = ()
    search: Search = Search("greedy", "not-searched")
    pending: Mapping[str, tuple[Cause, ...]] = dataclasses.field(default_factory=dict)
    """Causes of each pod of the root that is not placed."""
    remedies: tuple[Remedy, ...] = ()
    """Changes that help, the smallest first; only for roots that are not placed, and only if remedies were searched."""
    conflict: tuple[Constraint, ...] = ()
    """Conflicting constraints: they cannot be satisfied together, but without any one of them the rest can."""
    remedies_note: SearchLimit | None = None
    """Limit of the search for remedies, if it was not exhaustive."""
    preemption: Eviction | None = None
    """None without victims, and with strategy ``greedy``."""
    volumes: Mapping[str, VolumeChoice] = dataclasses.field(default_factory=dict)
    """Choice for each claim, ``namespace/name``, of a placed pod that waited for it."""
    devices: Mapping[DeviceClaim, Allocation] = dataclasses.field(default_factory=dict)
    """Devices of the claims of the placed pods."""
    ranks: tuple[RankedGroup, ...] = ()
    """Rank order of each PodGroup with ranked pods; only of roots that are placed in rank order."""
    post_filter: PreemptionReason | None = None
    """How the preemption for a root that is not placed ended; None if there was none."""
    behavior: SchedulerBehavior = KUBERNETES_1_37
    """Version of kube-scheduler whose messages and reasons its conditions have."""


def latest(decisions: Sequence[Decision]) -> dict[Name, Decision]:
    """Return the last decision on each root."""
    return {decision.root: decision for decision in decisions}


def unplaced_pods(decisions: Sequence[Decision], rootless: Sequence[tuple[str, tuple[Cause, ...]]] = ()) -> dict[str, tuple[Cause, ...]]:
    """Return the causes of each pod that has no node in the end, by name; *rootless* are pods that no decision is about."""
    placed = {pod for decision in decisions for pod in decision.assignments}
    left = dict(rootless)
    for decision in latest(decisions).values():
        left |= {pod: why for pod, why in decision.pending.items() if pod not in placed}
    return dict(sorted(left.items()))
