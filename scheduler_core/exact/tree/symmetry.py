"""Symmetry of the crossing search: domains and states that are equal up to names."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.demands import Demands
from scheduler_core.exact.tree.unplaced_groups import UnplacedGroups
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

PlacementStructure = tuple[bytes, tuple["PlacementStructure", ...]]
"""Structure of a placement: free amounts of its nodes, and structures of the domains inside it; both sorted."""


class Symmetry:
    """Two domains are symmetric if exchanging their nodes changes nothing for the tree; then only one is tried.

    This requires nested keys.  Both domains must be inside the same domains of all wider keys, because groups that are not placed yet may
    need one of these.
    """

    def __init__(self, state: PlacementState, request: PlacementRequest, capacity: Capacity, demands: Demands) -> None:
        self._state = state
        self._capacity = capacity
        self._demands = demands
        self._keys = nested_keys(request, state.nodes)
        self._pinned = state.topology.root.nodes[list(request.pinned)].tolist()
        self._domain_keys: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[PlacementStructure, int] = {}

    def symmetry_key(self, domain: Placement, parent: Placement) -> tuple[int, ...] | None:
        """Return equal keys for symmetric domains of *parent*; None if *domain* equals no other domain.

        That is the case if it contains running members, or if a demand for a part of *parent* uses nodes of it.
        """
        if self._keys is None or self._is_pinned(domain):
            return None
        if any(self._demands.overlap(each, domain) and not self._demands.inside(parent, each) for each in self._demands.placements()):
            return None
        return self._domain_key(domain)

    def state(self, agenda: UnplacedGroups) -> object:
        """Return a key of *agenda* with the present demands: equal keys have equal verdicts."""
        raw = (agenda.number, frozenset((each.serial, self._demands.key(each)) for each in self._demands.placements()))
        key, parent = agenda.request.entity.key, agenda.placement
        if self._keys is None or not key:
            return raw
        around: list[object] = []
        inside: dict[int, list[tuple[int, tuple[tuple[int, int], ...]]]] = {}
        division = self._state.topology.divide(parent, key)
        for each in self._demands.placements():
            if self._demands.inside(parent, each) or not self._demands.overlap(parent, each):
                around.append((each.serial, self._demands.key(each)))
                continue
            column = self._state.nodes.column(key)
            row = division.rows.get(column.values[column.ids[each.nodes[0]]], -1) if column.ids[each.nodes[0]] >= 0 else -1
            if row < 0 or not self._demands.inside(each, division.domains[row]):
                return raw
            whole = self._demands.inside(division.domains[row], each)
            inside.setdefault(row, []).append((-1 if whole else each.serial, self._demands.key(each)))
        parts = []
        for row, demands in inside.items():
            domain = division.domains[row]
            name = (-1 - domain.serial,) if self._is_pinned(domain) else self._domain_key(domain)
            parts.append((name, tuple(sorted(demands))))
        return agenda.number, frozenset(around), tuple(sorted(parts))

    def _is_pinned(self, domain: Placement) -> bool:
        return bool(self._pinned) and domain.serial in self._state.topology.placements_containing(self._pinned)

    def _domain_key(self, domain: Placement) -> tuple[int, ...]:
        """Return the number of the structure of *domain*, and the domains of wider keys that contain it."""
        if (key := self._domain_keys.get(domain.serial)) is None:
            keys = self._keys or ()
            level = keys.index(domain.key) if domain.key in keys else -1
            number = self._numbers.setdefault(self._structure(domain, keys[level + 1 :]), len(self._numbers))
            around = [int(self._state.nodes.column(label).ids[domain.nodes[0]]) for label in keys[: max(level, 0)]]
            key = self._domain_keys[domain.serial] = (number, *around)
        return key

    def _structure(self, placement: Placement, keys: tuple[str, ...]) -> PlacementStructure:
        own = self._capacity.profile(placement)
        if not keys or len(placement) == 1:
            labels = tuple(int(self._state.nodes.column(key).ids[placement.nodes[0]] >= 0) for key in keys)
            return own + bytes(labels), ()
        return own, tuple(sorted(self._structure(domain, keys[1:]) for domain in self._state.topology.divide(placement, keys[0]).domains))


def nested_keys(request: PlacementRequest, nodes: NodeTable) -> tuple[str, ...] | None:
    """Return the topology keys of a tree from wide to narrow if their domains are nested; else None."""
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
    labelled = inner >= 0
    return zip(inner[labelled].tolist(), outer[labelled].tolist(), strict=True)
