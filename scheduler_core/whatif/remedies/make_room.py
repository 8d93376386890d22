"""Room made in a domain: running pods that move or leave, nodes that come."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.model.pods import PodRecord
from scheduler_core.whatif.edits.edits import Edit, Leaving, Moved, combine
from scheduler_core.whatif.remedies.bisection import least
from scheduler_core.whatif.remedies.node_kinds import NodeKind, kinds
from scheduler_core.whatif.remedies.nodes_by_domain import MOST_NODES, largest_need, spread
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial import nearly_room
from scheduler_core.whatif.trial.nearly_room import NearlyRoom, RoomInDomain

_TAKEN = 2
"""Nodes added beyond what the root needs by itself, at most."""


class MakingRoom:
    """Tries what makes room, and keeps what works."""

    def __init__(self, finding: Finding, there: NearlyRoom) -> None:
        self._finding = finding
        self._room = there

    def _wanted(self, area: RoomInDomain) -> tuple[int, ...]:
        """How many slots *area* lacks about: for the largest group that is confined to one such, and for the whole root."""
        one, whole = largest_need(self._finding.subject, area.key), largest_need(self._finding.subject, "")
        return tuple(sorted({max(1, need - area.slots) for need in (one, whole)}))

    def keep_moved(self, area: RoomInDomain) -> None:
        """Running pods of *area* moved to other nodes, where few of them make the room."""
        for wanted in self._wanted(area) if area.key else ():
            pods = self._room.blockers(area, wanted, self._movable)
            moves = self._room.moves(pods, area) if pods else None
            if moves and self._finding.placed(Moved(moves)) is not None:
                break
        else:
            return
        for pod in sorted(moves) if len(moves) > 1 else ():
            fewer = {key: nodes for key, nodes in moves.items() if key != pod}
            if fewer and self._finding.placed(Moved(fewer)) is not None:
                moves = fewer
        self._finding.confirm(Moved(moves), f"moved in {area.key}={area.value}")

    def _movable(self, pod: PodRecord) -> bool:
        shape = pod.shape
        related = shape.affinity is not None or shape.spread or shape.ports
        confined = pod.group and (pod.namespace, pod.group) in self._finding.subject.confined
        return pod.key not in self._finding.subject.own and not pod.terminating and not related and not confined

    def keep_evicted(self, area: RoomInDomain) -> None:
        """Running pods of no higher priority leave *area*, whole gangs of them."""
        for wanted in self._wanted(area):
            pods = self._room.blockers(area, wanted, self._evictable)
            leaving = [*nearly_room.units(pods, self._room.snapshot, self._finding.subject)]
            if leaving and self._finding.placed(_leaving(leaving)) is not None:
                break
        else:
            return
        for unit in [*leaving] if len(leaving) > 1 else ():
            fewer = [each for each in leaving if each is not unit]
            if fewer and self._finding.placed(_leaving(fewer)) is not None:
                leaving = fewer
        self._finding.confirm(_leaving(leaving), f"evicted in {area.key}={area.value}")

    def _evictable(self, pod: PodRecord) -> bool:
        return pod.key not in self._finding.subject.own and pod.priority <= self._finding.subject.priority

    def keep_more(self, areas: Sequence[RoomInDomain], narrow: int) -> None:
        """Nodes in several domains where there are several groups for them, and in one, no more than that; the first *narrow* areas are so."""
        several = spread(self._room)
        most = several.weight[1] - 1 if several is not None and self._finding.keep_if_verified(several) else MOST_NODES
        good = [self.keep_nodes(area, most=most) for area in areas[:narrow]]
        # A node in the narrowest domain is in the wider one too.
        if most == MOST_NODES and not any(good):
            any(self.keep_nodes(area) for area in areas[narrow:])

    def keep_nodes(self, area: RoomInDomain, first: Edit | None = None, *, most: int = MOST_NODES) -> bool:
        """The fewest nodes of a kind in *area* that work; whether there are."""
        for kind in kinds(self._room, area):

            def works(count: int, kind: NodeKind = kind) -> bool:
                return self._finding.placed(combine(first, kind.more(count))) is not None

            high = min(most, -(-len(self._finding.subject.waiting) // kind.slots))
            best = least(-(-self._wanted(area)[0] // kind.slots), high, works)
            # Roots before this one may take some of them.
            if best and any(
                self._finding.confirm(combine(first, kind.more(best + taken)), combine(first, kind.more(0)).words)
                for taken in range(_TAKEN + 1)
            ):
                return True
        return False


def _leaving(units: Sequence[tuple[str, tuple[str, ...]]]) -> Leaving:
    return Leaving(tuple(who for who, _ in units), tuple(sorted(pod for _, pods in units for pod in pods)))
