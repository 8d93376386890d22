"""Whom a group makes leave (KEP-6012, Integration with workload-aware preemption; KEP-4671, Delayed Preemption).

As kube-scheduler 1.37.1 does: all units of a lower priority are taken off the whole cluster, the root is placed once on what is
left, and then units come back, those first whose eviction would break a disruption budget, as long as the proposed pods
still fit on their nodes.  Nothing is chosen unless the whole root fits.  The victims follow from where the root was placed
without them, and are not always the fewest.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol, TypeVar

from scheduler_core.model.decision import Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger
from scheduler_core.preemption.result import NEVER, Preemption, awaited
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.units import Units
from scheduler_core.preemption.victims.reprieve import AbsentPods, Proposed, Surroundings, reprieve

ONGOING = "ongoing preemption on nominated nodes"
NO_VICTIMS = "No preemption victims found for incoming preemptor"


class ProposedPlacement(Protocol):
    """What came of placing a root."""

    @property
    def status(self) -> Status:
        """Success if the root got what it needs."""

    @property
    def message(self) -> str:
        """Why not."""

    @property
    def assigned(self) -> Proposed:
        """The pods that were given a node."""


ProposalT = TypeVar("ProposalT", bound=ProposedPlacement)
ProposalT_co = TypeVar("ProposalT_co", bound=ProposedPlacement, covariant=True)


class RootPlacer(Surroundings, Protocol[ProposalT_co]):
    """What places a root."""

    def place(self, entity: Entity) -> ProposalT_co:
        """Place *entity* on the ledger as it stands; what is assumed meanwhile may be left to the caller to rewind."""


def select_victims(
    root: Entity,
    units: Units,
    budgets: DisruptionBudgets,
    ledger: Ledger,
    placer: RootPlacer[ProposalT],
    leaving: AbstractSet[str] = frozenset(),
) -> Preemption[ProposalT]:
    """Whom *root*, which does not fit, makes leave.

    Args:
        root: the preemptor: a root group with its members.
        units: of all pods that run.
        budgets: the disruption budgets.
        ledger: as it was when the root did not fit, without room held for nominations of the root's own pods; it is the same
            afterwards.
        placer: places the root; the relations between pods that it knows are the same afterwards too.
        leaving: keys of pods that are on their way although the snapshot does not say so.

    """
    if not root.preempts:
        return Preemption(Status.UNSCHEDULABLE, NEVER)
    below = units.below(root.priority)
    nominated = {pod.key: pod.nominated for leaf in root.leaves() for pod in leaf.waiting if pod.nominated >= 0}
    if awaited(nominated.values(), units, below, leaving):
        return Preemption(Status.SUCCESS, ONGOING, nominations=nominated)
    if not len(below.units):
        return Preemption(Status.UNRESOLVABLE, NO_VICTIMS)
    mark = ledger.mark()
    absent = AbsentPods(units, below, placer)
    try:
        ledger.release(below.loads, below.cause(ledger))
        released = ledger.mark()
        outcome = placer.place(root)
        ledger.rewind(released)
        if outcome.status is not Status.SUCCESS:
            return Preemption(outcome.status, outcome.message, outcome=outcome)
        chosen = reprieve(outcome.assigned, units, below, budgets, ledger, absent)
    finally:
        absent.end()
        ledger.rewind(mark)
    message = f"found a placement for podgroup, preempting {chosen.count} victims"
    victims, already = chosen.split(leaving)
    nominations = {pod.key: node for pod, node in outcome.assigned}
    return Preemption(Status.SUCCESS, message, victims, already, chosen.units, chosen.violating, nominations, outcome)
