"""Changes that add capacity to a domain: running pods moved or evicted, nodes added."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.causes.changes import EvictedUnits, MoreThanSums, MovedPods, TakenAhead
from scheduler_core.diagnosis.bisection import least, necessary
from scheduler_core.model.names import Name
from scheduler_core.whatif.edits.edits import Edit, Moved, combine
from scheduler_core.whatif.remedies.node_kinds import NodeKind, kinds
from scheduler_core.whatif.remedies.node_sums import more_than_sums
from scheduler_core.whatif.remedies.nodes_by_domain import MOST_NODES, largest_need, spread
from scheduler_core.whatif.remedies.running_pods import RunningPods, evicted
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity

_TAKEN = 2
"""Maximum number of nodes added beyond those that the root itself needs."""


class CapacityRemedies:
    """Tries changes that add capacity, and keeps those that work."""

    def __init__(self, finding: Finding, capacity: PresentCapacity) -> None:
        self._finding = finding
        self._capacity = capacity
        placed = frozenset(pod.key for each in finding.trial.earlier for pod in each.pods)
        self._running = RunningPods(capacity, finding.trial.cluster.unchanged.state, placed)

    def _missing_slots(self, area: DomainCapacity) -> tuple[int, ...]:
        """Return how many slots *area* lacks, roughly: for the largest group confined by its key, and for the whole root."""
        one, whole = largest_need(self._finding.subject, area.key), largest_need(self._finding.subject, "")
        return tuple(sorted({max(1, need - area.slots) for need in (one, whole)}))

    def keep_moved(self, area: DomainCapacity) -> bool:
        """Try to move running pods of *area* to other nodes, also in *area*, if few of them are enough; return whether that works."""
        moves = (self._running.moves(area, slots) for slots in self._missing_slots(area))
        edit = next((Moved(nodes) for nodes in moves if nodes and self._finding.placed(Moved(nodes)) is not None), None)
        if edit is None:
            return False
        chosen = necessary(sorted(edit.nodes), lambda fewer: self._finding.placed(edit.only(fewer)) is not None)
        return self._finding.confirm(edit.only(chosen), (MovedPods, area.domain))

    def keep_evicted(self, area: DomainCapacity) -> None:
        """Try to evict running pods of *area* whose priority is not higher, in whole gangs."""
        units = (self._running.units(area, slots) for slots in self._missing_slots(area))
        leaving = next((each for each in units if each and self._finding.placed(evicted(each)) is not None), None)
        if leaving is not None:
            leaving = necessary(leaving, lambda fewer: self._finding.placed(evicted(fewer)) is not None)
            self._finding.confirm(evicted(leaving), (EvictedUnits, area.domain))

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
                    because = _because(self._finding.trial.ahead) if extra else self._more_than_sums(best, kind)
                    if because is not None:
                        self._finding.reasons[edit.change] = because
                    return True
        return False

    def _more_than_sums(self, count: int, kind: NodeKind) -> MoreThanSums | None:
        """Return why *count* nodes are more than the sums say; None if pods of other roots wait too, which can take some of them."""
        waiting = self._finding.subject.waiting
        alone = sum(pod.node < 0 for pod in self._capacity.snapshot.pods) == len(waiting)
        return more_than_sums(count, kind, self._capacity, waiting) if alone else None


def _because(ahead: Sequence[tuple[Name, frozenset[str]]]) -> TakenAhead | None:
    """Return why more nodes are added than a root needs: roots *ahead* of it in the queue use some of them."""
    if not ahead:
        return None
    return TakenAhead(ahead[0][0], len(ahead) - 1, len(frozenset().union(*(nodes for _, nodes in ahead))))
