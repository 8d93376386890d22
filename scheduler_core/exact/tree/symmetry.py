"""Which domains are alike, and which states of a search are: what differs in names only."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.wishes import Wishes
from scheduler_core.exact.tree.agenda import Agenda
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

Look = tuple[bytes, tuple["Look", ...]]
"""The free room of the nodes of a placement, and the looks of the domains in it; both sorted."""


class Symmetry:
    """Two domains are alike if exchanging their nodes changes nothing for the tree: then one stands for both.

    That needs keys that divide nodes one inside the other.  Exchanging them leaves alone whatever contains both, so the two are in
    the same domains of all wider keys: groups that are still to be placed may need one of these.
    """

    def __init__(self, state: PlacementState, request: PlacementRequest, capacity: Capacity, wishes: Wishes) -> None:
        self._state = state
        self._capacity = capacity
        self._wishes = wishes
        self._chain = chain(request, state.nodes)
        self._pinned = state.topology.root.nodes[list(request.pinned)].tolist()
        self._looks: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[Look, int] = {}

    def symmetry_key(self, domain: Placement, parent: Placement) -> tuple[int, ...] | None:
        """What tells *domain* from others in *parent*; None where it is like no other.

        Wishes for a part of *parent* that has nodes of *domain* make it unlike; so do members that run in it, as others of the
        tree may have to be with them.
        """
        if self._chain is None or self._is_pinned(domain):
            return None
        if any(self._wishes.overlap(each, domain) and not self._wishes.inside(parent, each) for each in self._wishes.placements()):
            return None
        return self._look(domain)

    def state(self, agenda: Agenda) -> object:
        """What tells whether *agenda* can be met beside the wishes there are: equal states, equal answers."""
        raw = (agenda.number, frozenset((each.serial, self._wishes.key(each)) for each in self._wishes.placements()))
        key, parent = agenda.request.entity.key, agenda.placement
        if self._chain is None or not key:
            return raw
        around: list[object] = []
        inside: dict[int, list[tuple[int, tuple[tuple[int, int], ...]]]] = {}
        division = self._state.topology.divide(parent, key)
        for each in self._wishes.placements():
            if self._wishes.inside(parent, each) or not self._wishes.overlap(parent, each):
                around.append((each.serial, self._wishes.key(each)))
                continue
            value = self._state.nodes.column(key)
            row = division.rows.get(value.values[value.ids[each.nodes[0]]], -1) if value.ids[each.nodes[0]] >= 0 else -1
            if row < 0 or not self._wishes.inside(each, division.domains[row]):
                return raw
            whole = self._wishes.inside(division.domains[row], each)
            inside.setdefault(row, []).append((-1 if whole else each.serial, self._wishes.key(each)))
        parts = []
        for row, wishes in inside.items():
            domain = division.domains[row]
            name = (-1 - domain.serial,) if self._is_pinned(domain) else self._look(domain)
            parts.append((name, tuple(sorted(wishes))))
        return agenda.number, frozenset(around), tuple(sorted(parts))

    def _is_pinned(self, domain: Placement) -> bool:
        return bool(self._pinned) and domain.serial in self._state.topology.placements_containing(self._pinned)

    def _look(self, domain: Placement) -> tuple[int, ...]:
        """A number for what is in *domain*, and the domains of wider keys that it is in."""
        if (found := self._looks.get(domain.serial)) is None:
            keys = self._chain or ()
            at = keys.index(domain.key) if domain.key in keys else -1
            number = self._numbers.setdefault(self._structure(domain, keys[at + 1 :]), len(self._numbers))
            around = [int(self._state.nodes.column(key).ids[domain.nodes[0]]) for key in keys[: max(at, 0)]]
            found = self._looks[domain.serial] = (number, *around)
        return found

    def _structure(self, placement: Placement, keys: tuple[str, ...]) -> Look:
        own = self._capacity.profile(placement)
        if not keys or len(placement) == 1:
            labels = tuple(int(self._state.nodes.column(key).ids[placement.nodes[0]] >= 0) for key in keys)
            return own + bytes(labels), ()
        return own, tuple(sorted(self._structure(domain, keys[1:]) for domain in self._state.topology.divide(placement, keys[0]).domains))


def chain(request: PlacementRequest, nodes: NodeTable) -> tuple[str, ...] | None:
    """The topology keys of a tree from wide to narrow, each domain of one inside one of the next wider; None if they are not so."""
    keys = sorted({each.key for each in request.entity.walk() if each.key}, key=lambda key: (len(nodes.column(key).values), key))
    for number, narrow in enumerate(keys[1:]):
        if any(outside < 0 for _, outside in _pairs(keys[number], narrow, nodes)):
            return None
        pairs = set(_pairs(keys[number], narrow, nodes))
        if len(pairs) != len({inside for inside, _ in pairs}):
            return None
    return tuple(keys)


def _pairs(wide: str, narrow: str, nodes: NodeTable) -> Iterator[tuple[int, int]]:
    inner, outer = nodes.column(narrow).ids, nodes.column(wide).ids
    there = inner >= 0
    return zip(inner[there].tolist(), outer[there].tolist(), strict=True)
