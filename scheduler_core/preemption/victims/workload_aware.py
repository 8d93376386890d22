"""WorkloadAwarePreemption of kube-scheduler (KEP-6012, Integration with workload-aware preemption; KEP-4671, Delayed Preemption).

All units with a lower priority are removed from the cluster, and the root is placed once.  Then units are reprieved while the proposed
pods still fit on their nodes, units that would break a disruption budget first.  If the root does not fit, nothing is evicted.  The
victims follow from one placement, so they are not always the fewest.  From 1.38 on, that placement prefers cheap nodes (``node_ranks``).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol, TypeVar

from scheduler_core.causes.attempts import AttemptReason, PreemptionResult, VictimsFound
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.status import Status
from scheduler_core.preemption.result import Preemption, preemption_in_progress
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import Units
from scheduler_core.preemption.victims.reprieve import AbsentPods, PodRelations, Proposed, reprieve


class ProposedPlacement(Protocol):
    """Result of placing a root."""

    @property
    def status(self) -> Status:
        """Success if the minimum of the root is placed."""

    @property
    def reason(self) -> AttemptReason | None:
        """Reason of a failure."""

    @property
    def assigned(self) -> Proposed:
        """Pods with a node."""


ProposalT = TypeVar("ProposalT", bound=ProposedPlacement)
ProposalT_co = TypeVar("ProposalT_co", bound=ProposedPlacement, covariant=True)


class RootPlacer(PodRelations, Protocol[ProposalT_co]):
    """Places a root."""

    def place(self, entity: Entity) -> ProposalT_co:
        """Return the result of *entity* on the present ledger; the caller rewinds the assumed pods."""


def select_victims(
    root: Entity,
    units: Units,
    budgets: DisruptionBudgets,
    ledger: Ledger,
    placer: RootPlacer[ProposalT],
    being_evicted: AbstractSet[str] = frozenset(),
) -> Preemption[ProposalT]:
    """Return the victims for *root*, which does not fit.

    Args:
        root: the preemptor: a root group with its members.
        units: of all running pods.
        budgets: the disruption budgets.
        ledger: as when the root did not fit, without capacity held for nominations of its own pods; unchanged afterwards.
        placer: places the root; its relations between pods are unchanged afterwards.
        being_evicted: keys of pods whose eviction has begun although the snapshot does not show it.

    """
    never: Preemption[ProposalT] = Preemption(Status.UNSCHEDULABLE, PreemptionResult.NEVER)
    if not root.preempts and not units.behavior.looks_for_victims_first:
        return never
    potential = units.potential_victims(root.priority)
    nominated = {pod.key: pod.nominated for leaf in root.leaves() for pod in leaf.waiting if pod.nominated >= 0}
    if preemption_in_progress(nominated.values(), units, potential, being_evicted):
        return Preemption(Status.SUCCESS, PreemptionResult.ONGOING, nominations=nominated)
    if not root.preempts:
        return never
    if not len(potential.units):
        return Preemption(Status.UNRESOLVABLE, PreemptionResult.NO_VICTIMS)
    mark = ledger.mark()
    absent = AbsentPods(units, potential, placer)
    try:
        ledger.release(potential.loads, potential.cause(ledger))
        released = ledger.mark()
        outcome = placer.place(root)
        ledger.rewind(released)
        if outcome.status is not Status.SUCCESS:
            return Preemption(outcome.status, outcome.reason, outcome=outcome)
        chosen = reprieve(outcome.assigned, units, potential, budgets, ledger, absent)
    finally:
        absent.restore()
        ledger.rewind(mark)
    victims, begun = chosen.split(being_evicted)
    nominations = {pod.key: node for pod, node in outcome.assigned}
    return Preemption(Status.SUCCESS, VictimsFound(chosen.count), victims, begun, chosen.units, chosen.violating, nominations, outcome)
