"""Plans that keep running users of volumes: if all potential victims are evicted, the root can have fewer nodes than if some stay.

While a running pod uses a volume on a node, the volume needs no more unit of the attach limit there.  After its eviction it can need one
that is not free: the volume has a VolumeAttachment, or the node has more volumes than its limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from scheduler_core.model.entity import Entity
from scheduler_core.model.volume_users import VolumeKey
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.node_volume_limits import SharedVolumeLimits
from scheduler_core.preemption.result import by_importance
from scheduler_core.preemption.units.preemption_units import Units

_Uses = frozenset[tuple[int, VolumeKey]]
"""Nodes, each with a volume that a running pod uses there."""


def plans_with_users(root: Entity, state: PlacementState, units: Units, candidates: Collection[int]) -> Iterator[frozenset[int]]:
    """Yield sets of *candidates* without some units that use attached volumes of *root*; the sets that keep the fewest come first.

    The other units are all those on the nodes of the kept ones, then, for a group, all candidates.  No unit is kept whose volumes the
    other kept units use on the same nodes: its eviction can only help.
    """
    uses = _useful(root, state, units, candidates)
    useful = by_importance(uses, units) if uses else []
    most = min(len(useful), len(frozenset[tuple[int, VolumeKey]]().union(*uses.values())))
    for size in range(1, most + 1):
        for kept in itertools.combinations(useful, size):
            if size == 1 or _is_minimal([uses[number] for number in kept]):
                nodes = {node for number in kept for node, _ in uses[number]}
                local = frozenset(number for number in candidates if any(pod.node in nodes for pod in units.unit(number).pods))
                yield local.difference(kept)
                if root.name.kind != "Pod":
                    yield frozenset(candidates).difference(kept)


def _useful(root: Entity, state: PlacementState, units: Units, candidates: Collection[int]) -> Mapping[int, _Uses]:
    """Return those of *candidates* that use a volume of *root* where it can need a unit after their eviction, with these uses."""
    wanted, scarce = shared_volumes(root), _Scarce(state)
    found = {}
    for number in sorted(candidates):
        used = ((pod.node, volume) for pod in units.unit(number).pods for volume in wanted.intersection(pod.named_volumes.shared))
        if uses := frozenset(each for each in used if scarce.has(*each)):
            found[number] = uses
    return found


def shared_volumes(root: Entity) -> frozenset[VolumeKey]:
    """Return the volumes of pending pods of *root* that count by name against limits of nodes."""
    return frozenset(volume for leaf in root.leaves() for pod in leaf.waiting for volume in pod.named_volumes.shared)


class _Scarce:
    """Volumes that can need a unit of a limit that is not free."""

    def __init__(self, state: PlacementState) -> None:
        self._nodes = state.nodes
        plugins = [each for each in state.stateful.plugins if isinstance(each, SharedVolumeLimits)]
        rows = {driver: row for row, driver in state.nodes.limit_rows.items()} if plugins else {}
        counted = {driver: plugins[0].counts.volumes.attached(row) for driver, row in rows.items()}
        self._exceeded = {driver: counts > state.nodes.allocatable[rows[driver]] for driver, counts in counted.items()}

    def has(self, node: int, volume: VolumeKey) -> bool:
        """Return whether *volume*, which a pod on *node* uses, can need a unit without that pod."""
        driver = volume[0]
        attached = volume in self._nodes.attach.attached(self._nodes.names[node])
        return driver in self._exceeded and (attached or bool(self._exceeded[driver][node]))


def _is_minimal(uses: Sequence[_Uses]) -> bool:
    """Return whether each of the units has a use that no other one has."""
    return all(own.difference(*uses[:number], *uses[number + 1 :]) for number, own in enumerate(uses))
