"""Changes that add capacity to a domain: running pods moved or evicted, nodes added."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.causes.changes import EvictedUnits, MovedPods, TakenAhead
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.whatif.edits.edits import Edit, Evicted, Moved, combine
from scheduler_core.whatif.remedies.bisection import least, necessary
from scheduler_core.whatif.remedies.node_kinds import NodeKind, kinds
from scheduler_core.whatif.remedies.nodes_by_domain import MOST_NODES, largest_need, spread
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial import present_capacity
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity

_TAKEN = 2
"""Maximum number of nodes added beyond those that the root itself needs."""


class CapacityRemedies:
    """Tries changes that add capacity, and keeps those that work."""

    def __init__(self, finding: Finding, capacity: PresentCapacity) -> None:
        self._finding = finding
        self._capacity = capacity

    def _missing_slots(self, area: DomainCapacity) -> tuple[int, ...]:
        """Return how many slots *area* lacks, roughly: for the largest group confined by its key, and for the whole root."""
        one, whole = largest_need(self._finding.subject, area.key), largest_need(self._finding.subject, "")
        return tuple(sorted({max(1, need - area.slots) for need in (one, whole)}))

    def keep_moved(self, area: DomainCapacity) -> None:
        """Try to move running pods of *area* to other nodes, if few of them are enough."""
        for slots in self._missing_slots(area) if area.key else ():
            pods = self._capacity.blockers(area, slots, self._movable)
            moves = self._capacity.moves(pods, area) if pods else None
            if moves and self._finding.placed(Moved(moves)) is not None:
                break
        else:
            return

        def moved(chosen: Sequence[str]) -> Moved:
            return Moved({pod: nodes for pod, nodes in moves.items() if pod in chosen})

        chosen = necessary(sorted(moves), lambda fewer: self._finding.placed(moved(fewer)) is not None)
        self._finding.confirm(moved(chosen), (MovedPods, area.domain))

    def _movable(self, pod: PodRecord) -> bool:
        shape = pod.shape
        related = shape.affinity is not None or shape.spread or shape.ports
        confined = pod.group and (pod.namespace, pod.group) in self._finding.subject.confined
        return pod.key not in self._finding.subject.own and not pod.terminating and not related and not confined

    def keep_evicted(self, area: DomainCapacity) -> None:
        """Try to evict running pods of *area* whose priority is not higher, in whole gangs."""
        for slots in self._missing_slots(area):
            pods = self._capacity.blockers(area, slots, self._evictable)
            leaving = [*present_capacity.units(pods, self._capacity.snapshot, self._finding.subject)]
            if leaving and self._finding.placed(_evicted(leaving)) is not None:
                break
        else:
            return
        leaving = necessary(leaving, lambda fewer: self._finding.placed(_evicted(fewer)) is not None)
        self._finding.confirm(_evicted(leaving), (EvictedUnits, area.domain))

    def _evictable(self, pod: PodRecord) -> bool:
        return pod.key not in self._finding.subject.own and pod.priority <= self._finding.subject.priority

    def keep_more(self, areas: Sequence[DomainCapacity], narrow: int) -> None:
        """Try new nodes in several domains if several groups need them, then fewer nodes in one domain.

        The first *narrow* of *areas* are the narrowest domains.
        """
        several = spread(self._capacity)
        most = several.weight[1] - 1 if several is not None and self._finding.keep_if_verified(several) else MOST_NODES
        good = [self.keep_nodes(area, most=most) for area in areas[:narrow]]
        # A node in the narrowest domain also belongs to the wider one.
        if most == MOST_NODES and not any(good):
            any(self.keep_nodes(area) for area in areas[narrow:])

    def keep_nodes(self, area: DomainCapacity, first: Edit | None = None, *, most: int = MOST_NODES) -> bool:
        """Try the fewest nodes of a kind in *area* that work, and return whether any do."""
        for kind in kinds(self._capacity, area):

            def works(count: int, kind: NodeKind = kind) -> bool:
                return self._finding.placed(combine(first, kind.more(count))) is not None

            high = min(most, -(-len(self._finding.subject.waiting) // kind.slots))
            best = least(-(-self._missing_slots(area)[0] // kind.slots), high, works)
            # Earlier roots may use some of the added nodes.
            for extra in range(_TAKEN + 1) if best else ():
                edit = combine(first, kind.more(best + extra))
                if self._finding.confirm(edit, combine(first, kind.more(0)).change):
                    if extra and (because := _because(self._finding.trial.ahead)) is not None:
                        self._finding.reasons[edit.change] = because
                    return True
        return False


def _because(ahead: Sequence[tuple[Name, frozenset[str]]]) -> TakenAhead | None:
    """Return why more nodes are added than a root needs: roots *ahead* of it in the queue use some of them."""
    if not ahead:
        return None
    return TakenAhead(ahead[0][0], len(ahead) - 1, len(frozenset().union(*(nodes for _, nodes in ahead))))


def _evicted(units: Sequence[tuple[Name, tuple[str, ...]]]) -> Evicted:
    return Evicted(tuple(unit for unit, _ in units), tuple(sorted(pod for _, pods in units for pod in pods)))
