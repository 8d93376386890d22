"""Orders in which the pods of a node find enough free units of its attach limits.

A volume with a VolumeAttachment uses no unit, because the limit of the node is smaller by it.  But kube-scheduler counts it once more for the
first pod that uses it there.  So the pods that come with such volumes must come in an order in which each of them finds enough free units.
All other pods come last: they need no more than what is used in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from scheduler_core.exact.packing.filled_nodes import Counts, PackingInput
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.volumes.constraints import VolumeConstraints
from scheduler_core.model.volume_users import VolumeKey

_Limited = tuple[int, VolumeKey]
_Volumes = tuple[frozenset[_Limited], frozenset[_Limited]]
"""Volumes of a pod that no running pod of the node uses, with the rows of their limits: those with a VolumeAttachment, and the others."""


class AttachOrders:
    """Orders of the pods of *given*, which compete for the volumes of *constraints*."""

    def __init__(self, constraints: VolumeConstraints, given: PackingInput) -> None:
        self._constraints, self._given = constraints, given
        self._demands = [each.demand for each in given.coupled]
        amounts = [each.pods.amounts for each in given.coupled]
        self._own = [Counter({row: int(each[at]) for row, at in given.limit_rows.items() if each[at]}) for each in amounts]
        self._volumes: dict[int, list[_Volumes]] = {}
        self._known: dict[Hashable, bool] = {}

    def exist(self, node: int, kind: int, counts: Counts, left: Sequence[int], budget: StepBudget) -> bool:
        """Return whether there is an order of *counts* pods on *node*; nodes of one *kind* are equal.

        The *left* pods of each demand have no node yet.  If they come here too, they can come first, so their volumes need no unit.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        if (volumes := self._volumes.get(kind)) is None:
            volumes = self._volumes[kind] = self._volumes_on(node)
        # Only the first pod of a demand comes with volumes.
        coming = [number for number, count in enumerate(counts) if count and volumes[number][0]]
        if not coming:
            return True
        early = frozenset[_Limited]().union(*(volumes[number][0] for number, more in enumerate(left) if more and not counts[number]))
        key = kind, tuple(coming), early
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._search(node, {each: (volumes[each][0] - early, volumes[each][1]) for each in coming}, budget)
        return known

    def _volumes_on(self, node: int) -> list[_Volumes]:
        name = self._given.nodes[node]
        present, attachments = self._constraints.present(name), self._constraints.attachments(name)
        new = [frozenset(each for each in demand.attached if each[1] not in present) for demand in self._demands]
        with_attachment = [frozenset(each for each in volumes if each[1] in attachments) for volumes in new]
        return [(attached, volumes - attached) for attached, volumes in zip(with_attachment, new, strict=True)]

    def _search(self, node: int, volumes: Mapping[int, _Volumes], budget: StepBudget) -> bool:
        """Return whether one pod of each demand can come, in some order, each with its *volumes*."""
        free = Counter({row: int(self._given.free[at, node]) for row, at in self._given.limit_rows.items()})
        # Pods with many volumes that count once more are best first, which is tried first.
        numbers, alike = sorted(volumes, key=lambda number: -len(volumes[number][0])), self._alike(volumes)
        stack, seen = [frozenset[int]()], {frozenset[int]()}
        while stack:
            here = stack.pop()
            if len(here) == len(numbers):
                return True
            budget.step(len(numbers))
            attached, others = (frozenset[_Limited]().union(*(volumes[number][part] for number in here)) for part in (0, 1))
            used = sum((self._own[number] for number in here), _by_row(others))
            following = {alike[number]: number for number in reversed(numbers) if number not in here}
            for number in following.values():
                needed = self._own[number] + _by_row(volumes[number][0] - attached) + _by_row(volumes[number][1] - others)
                then = here | {number}
                if then not in seen and all(used[row] + count <= free[row] for row, count in needed.items()):
                    seen.add(then)
                    stack.append(then)
        return False

    def _alike(self, volumes: Mapping[int, _Volumes]) -> dict[int, Hashable]:
        """Return equal keys for demands of which each can come in place of the other: they share no volume and need as many units."""
        users = Counter(volume for each in volumes.values() for part in each for volume in part)
        keys: dict[int, Hashable] = {}
        for number, each in volumes.items():
            alone = all(users[volume] == 1 for part in each for volume in part)
            counted = (*(frozenset(_by_row(part).items()) for part in each), frozenset(self._own[number].items()))
            keys[number] = counted if alone else number
        return keys


def _by_row(volumes: frozenset[_Limited]) -> Counter[int]:
    return Counter(row for row, _ in volumes)
