"""The domains that the groups of a root may have, one inside the other."""

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
    """Nodes that some group may be confined to, with the smaller such sets inside it.

    Attributes:
        number: those inside an area have larger numbers than it.
        nodes: indices, ascending.
        inner: the areas next below it; none share a node.
        values: by topology key the label's value that all its nodes have, where they agree.

    """

    def __init__(self, number: int, nodes: Nodes, values: Mapping[str, str]) -> None:
        self.number = number
        self.nodes = nodes
        self.values = values
        self.inner: list[DomainArea] = []

    @functools.cached_property
    def rest(self) -> DomainArea | None:
        """The nodes that are in none of the inner areas; None if there are none, or no inner areas."""
        if not self.inner:
            return None
        nodes = np.setdiff1d(self.nodes, np.concatenate([each.nodes for each in self.inner]), assume_unique=True)
        return DomainArea(-1 - self.number, nodes, {}) if len(nodes) else None

    def satisfies(self, wanted: RequiredPods) -> bool:
        """Whether *wanted*, looked for from outside, has found its domain here."""
        if not wanted.key:
            return True
        value = self.values.get(wanted.key)
        return value is not None and (wanted.value is None or wanted.value == value)


def areas(state: PlacementState, wanted: RequiredPods, domain: Placement, effort: Effort) -> DomainArea | None:
    """*domain*, in which all of *wanted* goes, with the areas inside it; None where two of these overlap halfway.

    Raises:
        EffortSpentError: the effort is spent.

    """
    keys = sorted(_keys(wanted))
    found = {domain.nodes.tobytes(): domain.nodes}
    seen = {(wanted.number, domain.serial)}
    todo = [(wanted, domain)]
    while todo:
        group, placement = todo.pop()
        for child in group.children:
            for place in child.places(state, placement):
                if (child.number, place.serial) not in seen:
                    effort.spend(20)
                    seen.add((child.number, place.serial))
                    found.setdefault(place.nodes.tobytes(), place.nodes)
                    todo.append((child, place))
    return _nested(state, sorted(found.values(), key=lambda nodes: (-len(nodes), nodes[0])), keys)


def _keys(wanted: RequiredPods) -> set[str]:
    return {wanted.key}.union(*map(_keys, wanted.children)) - {""}


def _nested(state: PlacementState, sets: Iterable[Nodes], keys: list[str]) -> DomainArea | None:
    """The first of *sets*, which contains all others, with those inside it; the larger come first."""
    columns = {key: state.nodes.column(key) for key in keys}
    around = np.full(len(state.nodes), -1, dtype=np.int64)
    made: list[DomainArea] = []
    for nodes in sets:
        values = {}
        for key, column in columns.items():
            ids = column.ids[nodes]
            if ids[0] >= 0 and (ids == ids[0]).all():
                values[key] = column.values[int(ids[0])]
        area = DomainArea(len(made), nodes, values)
        owners = around[nodes]
        if (owners != owners[0]).any():
            return None
        if made:
            made[int(owners[0])].inner.append(area)
        around[nodes] = area.number
        made.append(area)
    return made[0]
