"""Domains of the groups of a root, as a tree."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_core.model.nodes import Nodes
from scheduler_core.model.topology import Placement
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.required_pods import RequiredPods


class DomainArea:
    """Nodes of a domain that some group can get, with the smaller domains inside it.

    Attributes:
        number: larger than the numbers of the areas that contain it.
        nodes: indices, ascending.
        inner: the next smaller areas; they share no node.
        values: label values that all nodes have in common, by topology key.

    """

    def __init__(self, number: int, nodes: Nodes, values: Mapping[str, str]) -> None:
        self.number = number
        self.nodes = nodes
        self.values = values
        self.inner: list[DomainArea] = []

    @functools.cached_property
    def rest(self) -> DomainArea | None:
        """Nodes in none of the inner areas; None without such nodes, or without inner areas."""
        if not self.inner:
            return None
        nodes = np.setdiff1d(self.nodes, np.concatenate([each.nodes for each in self.inner]), assume_unique=True)
        return DomainArea(-1 - self.number, nodes, {}) if len(nodes) else None

    def satisfies(self, required: RequiredPods) -> bool:
        """Return whether the area is a domain that *required* can get."""
        if not required.key:
            return True
        value = self.values.get(required.key)
        return value is not None and (required.value is None or required.value == value)


def areas(state: PlacementState, required: RequiredPods, domain: Placement, effort: Effort) -> DomainArea | None:
    """Return *domain*, the domain of *required*, with the areas inside it; None if two areas overlap without being nested.

    Raises:
        EffortSpentError: the effort is spent.

    """
    keys = sorted(_keys(required))
    sets = {domain.nodes.tobytes(): domain.nodes}
    seen = {(required.number, domain.serial)}
    todo = [(required, domain)]
    while todo:
        group, placement = todo.pop()
        for child in group.children:
            for inner in child.domains_in(state, placement):
                if (child.number, inner.serial) not in seen:
                    effort.spend(20)
                    seen.add((child.number, inner.serial))
                    sets.setdefault(inner.nodes.tobytes(), inner.nodes)
                    todo.append((child, inner))
    return _nested(state, sorted(sets.values(), key=lambda nodes: (-len(nodes), nodes[0])), keys)


def _keys(required: RequiredPods) -> set[str]:
    return {required.key}.union(*map(_keys, required.children)) - {""}


def _nested(state: PlacementState, sets: Iterable[Nodes], keys: list[str]) -> DomainArea | None:
    """Return the first of *sets* with the others inside it; larger sets come first."""
    columns = {key: state.nodes.column(key) for key in keys}
    innermost = np.full(len(state.nodes), -1, dtype=np.int64)
    areas_made: list[DomainArea] = []
    for nodes in sets:
        values = {}
        for key, column in columns.items():
            ids = column.ids[nodes]
            if ids[0] >= 0 and (ids == ids[0]).all():
                values[key] = column.values[int(ids[0])]
        area = DomainArea(len(areas_made), nodes, values)
        owners = innermost[nodes]
        if (owners != owners[0]).any():
            return None
        if areas_made:
            areas_made[int(owners[0])].inner.append(area)
        innermost[nodes] = area.number
        areas_made.append(area)
    return areas_made[0]
