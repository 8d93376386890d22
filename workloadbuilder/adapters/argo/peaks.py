"""Most pods of each shape that can run at a time: pods that run one after the other share what they request.

Pods have one shape if they differ only in what does not decide on their nodes.  The peak of tasks with dependencies is the heaviest set of
tasks none of which comes before another one (a maximum-weight antichain, by Dilworth's theorem from a maximum flow).
"""

from __future__ import annotations

import dataclasses
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeapi.decode import Json

_WITHOUT_EFFECT = frozenset({"args", "command", "env", "envFrom", "image", "imagePullPolicy", "name", "volumeMounts", "workingDir"})
"""Fields of a container that do not decide on its node."""
CONTAINERS = ("containers", "initContainers")


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """*count* pods of one shape; the first one is of the template *name*, and has the pod template *pod*."""

    count: int
    name: str
    pod: dict[str, Json]


Peak = Mapping[str, Slot]
"""Pods that run at a time, by their shape."""


def shape_of(spec: Mapping[str, Any]) -> str:
    """Return the shape of pods with a specification, as a text."""
    parts: dict[str, Any] = dict(spec)
    for kind in CONTAINERS:
        listed = spec.get(kind)
        parts[kind] = [
            {key: value for key, value in each.items() if key not in _WITHOUT_EFFECT} if isinstance(each, Mapping) else each
            for each in (listed if isinstance(listed, list) else ())
        ]
    return json.dumps(parts, sort_keys=True, default=str)


def at_once(peaks: Iterable[Peak]) -> Peak:
    """Return the peak of parts that run at the same time."""
    total: dict[str, Slot] = {}
    for peak in peaks:
        for shape, slot in peak.items():
            known = total.get(shape)
            total[shape] = slot if known is None else dataclasses.replace(known, count=known.count + slot.count)
    return total


def one_after_another(peaks: Iterable[Peak]) -> Peak:
    """Return the peak of parts of which each starts after the one before has ended."""
    most: dict[str, Slot] = {}
    for peak in peaks:
        for shape, slot in peak.items():
            known = most.get(shape)
            most[shape] = slot if known is None else dataclasses.replace(known, count=max(known.count, slot.count))
    return most


def limited(peak: Peak, parallelism: int) -> Peak:
    """Return *peak* with at most *parallelism* pods of each shape; 0 is no limit."""
    if not parallelism:
        return peak
    return {shape: dataclasses.replace(slot, count=min(slot.count, parallelism)) for shape, slot in peak.items()}


def of_tasks(peaks: Sequence[Peak], after: Sequence[frozenset[int]]) -> Peak:
    """Return the peak of tasks; *after* has all tasks that come before each."""
    found: dict[str, Slot] = {}
    for shape, slot in at_once(peaks).items():
        tasks = [index for index, peak in enumerate(peaks) if shape in peak]
        weights = {index: peaks[index][shape].count for index in tasks}
        before = {index: [each for each in tasks if each in after[index]] for index in tasks}
        found[shape] = dataclasses.replace(slot, count=sum(weights.values()) - _flow(weights, before))
    return found


def _flow(weights: Mapping[int, int], before: Mapping[int, Sequence[int]]) -> int:
    """Return the most pods that can take over the place of an earlier pod: a maximum flow from tasks to those before them."""
    left, right = dict(weights), dict(weights)
    carried: dict[tuple[int, int], int] = {}
    total = 0
    while (path := _augmenting(left, right, before, carried)) is not None:
        # A step back takes away what another task carries.
        backward = [carried[later, earlier] for later, earlier, is_forward in path if not is_forward]
        amount = min(left[path[0][0]], right[path[-1][1]], *backward)
        for later, earlier, is_forward in path:
            carried[later, earlier] = carried.get((later, earlier), 0) + (amount if is_forward else -amount)
        left[path[0][0]] -= amount
        right[path[-1][1]] -= amount
        total += amount
    return total


_Step = tuple[int, int, bool]
"""A later task, an earlier one, and whether the step goes from the later to the earlier one."""


def _augmenting(
    left: Mapping[int, int], right: Mapping[int, int], before: Mapping[int, Sequence[int]], carried: Mapping[tuple[int, int], int]
) -> list[_Step] | None:
    """Return the steps of a path on which more pods can be carried; None if there is none."""
    start: deque[tuple[int, list[_Step]]] = deque((task, []) for task, free in left.items() if free)
    seen_later, seen_earlier = {task for task, _ in start}, set()
    while start:
        later, path = start.popleft()
        for earlier in before[later]:
            if earlier in seen_earlier:
                continue
            seen_earlier.add(earlier)
            extended = [*path, (later, earlier, True)]
            if right[earlier]:
                return extended
            for other in before:
                if other not in seen_later and carried.get((other, earlier), 0):
                    seen_later.add(other)
                    start.append((other, [*extended, (other, earlier, False)]))
    return None
