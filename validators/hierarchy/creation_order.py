"""Pods that are never created, because they come after pods of a gang that waits for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kubeapi.base_structs import Record
from validators.model.start_order import Event, Wait

_MAX_LEVELS = 64
"""Limit of parents that are followed: far more than a tree may have."""


class PodBatch(Record, frozen=True):
    """Pods of one *part* of the object *owner*, in the PodGroup with the key *group*, which is None if they have none.

    Attributes:
        count: their number.
        wait: the parts of the same owner before which they are not created; None if they are created at once.

    """

    owner: Hashable
    part: str
    group: Hashable | None
    count: int
    wait: Wait | None = None


class Level(Record, frozen=True):
    """Group as kube-scheduler counts it: the minimum of its pods or child groups, which is 1 for Basic, and the key of its parent."""

    minimum: int
    parent: Hashable | None = None


def created(batches: Sequence[PodBatch], groups: Mapping[Hashable, Level]) -> frozenset[int]:
    """Return the indices of the *batches* that are created, if all nodes have capacity; *groups* are the groups of the trees by key.

    A batch is created when the parts for which it waits run, and these run if their groups have enough pods or groups.  Parts
    without a batch run.
    """
    parts: dict[tuple[Hashable, str], list[int]] = {}
    for index, batch in enumerate(batches):
        parts.setdefault((batch.owner, batch.part), []).append(index)
    made = frozenset(index for index, batch in enumerate(batches) if batch.wait is None)
    while True:
        complete = _complete_groups(batches, made, groups)
        running = {name for name, listed in parts.items() if all(each in made and batches[each].group in complete for each in listed)}
        more = {index for index, each in enumerate(batches) if index not in made and _is_over(each, parts.keys() - running)}
        if not more:
            return made
        made |= more


def _is_over(batch: PodBatch, stopped: AbstractSet[tuple[Hashable, str]]) -> bool:
    """Return whether a *batch* waits for no parts any more; *stopped* do not run."""
    if batch.wait is None:
        return True
    over = ((batch.owner, part) not in stopped for part in batch.wait.parts)
    return any(over) if batch.wait.event is Event.ONE_TASK_READY else all(over)


def awaited_group(batch: PodBatch, batches: Sequence[PodBatch], made: frozenset[int], groups: Mapping[Hashable, Level]) -> Hashable | None:
    """Return the group that waits for a *batch* which is not created: that of the pods for which the batch waits, or an ancestor.

    The batch may wait for these pods by way of others.  The result is None if they have no group.
    """
    short = _short_groups(_members(batches, made, groups), groups)
    waiting, seen = [batch], {batch.part}
    while waiting:
        current = waiting.pop(0)
        for index, each in enumerate(batches):
            if current.wait is None or each.owner != batch.owner or each.part not in current.wait.parts:
                continue
            if index in made and each.group is not None:
                return next((name for name in (each.group, *_ancestors(each.group, groups)) if name in short), each.group)
            if each.part not in seen:
                seen.add(each.part)
                waiting.append(each)
    return None


def _complete_groups(batches: Sequence[PodBatch], made: frozenset[int], groups: Mapping[Hashable, Level]) -> frozenset[Hashable | None]:
    """Return the groups that have their minimum, and whose ancestors have it; pods without a group are in the group None, which has it."""
    short = _short_groups(_members(batches, made, groups), groups)
    named = {batch.group for batch in batches}
    return frozenset(name for name in named if name not in short and short.isdisjoint(_ancestors(name, groups)))


def _members(batches: Sequence[PodBatch], made: frozenset[int], groups: Mapping[Hashable, Level]) -> Counter[Hashable | None]:
    """Return the number of pods of each group, or of its child groups that have their minimum."""
    members = Counter[Hashable | None]()
    for index in made:
        members[batches[index].group] += batches[index].count
    depths = {name: len([*_ancestors(name, groups)]) for name in groups}
    for name in sorted(groups, key=lambda each: -depths[each]):
        if members[name] >= groups[name].minimum:
            members[groups[name].parent] += 1
    return members


def _short_groups(members: Mapping[Hashable | None, int], groups: Mapping[Hashable, Level]) -> AbstractSet[Hashable]:
    return {name for name, level in groups.items() if members[name] < level.minimum}


def _ancestors(name: Hashable | None, groups: Mapping[Hashable, Level]) -> Iterator[Hashable]:
    for _ in range(_MAX_LEVELS):
        level = None if name is None else groups.get(name)
        if level is None or level.parent is None or level.parent not in groups:
            return
        name = level.parent
        yield name
