"""Updates of LeaderWorkerSets end as with its controller, of which this has the arithmetic line by line.

Source: LeaderWorkerSet 0.10, ``rollingUpdateParameters``, ``rollingUpdatePartition`` and ``calculateRollingUpdateReplicas``; the leaders'
StatefulSet is updated in parallel.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from expansion.contents import full_name
from expansion.rollouts.play import Outcome, Update
from tests.expansion.rollouts.test_group_strategies import LWS, leader_worker_set


@dataclasses.dataclass
class Replica:
    """Group of pods of one ordinal."""

    updated: bool
    ready: bool


class Controllers:
    """The two controllers and a cluster with room for a number of groups."""

    def __init__(self, old: int, number: int, surge: int, unavailable: int, lowest: int, places: int) -> None:
        self.number, self.surge, self.unavailable, self.lowest = number, surge, unavailable, lowest
        self.replicas = {index: Replica(updated=False, ready=True) for index in range(old)}
        self.free, self.waiting = places - old, list[int]()
        self.size, self.partition, self.begun = old, 0, False

    def reconcile(self) -> None:
        if not self.begun:
            self.begun, self.partition, self.size = True, min(self.number, self.size), self._wanted(self.number)
        elif (self.partition, self.size) == (0, self.number):
            pass
        else:
            states = [self.replicas.get(index, Replica(updated=False, ready=False)) for index in range(self.size)]
            unready = sum(not (each.ready and each.updated) for each in states[: self.number])
            step = self.unavailable + self.surge - (self.number + self.surge - self.size)
            self.partition, self.size = min(self._partition(states, step), self.partition), self._wanted(unready)
        self.partition = max(self.partition, self.lowest)

    def _wanted(self, unready: int) -> int:
        return self.number + (max(0, unready - self.unavailable) if unready <= self.surge else self.surge)

    @staticmethod
    def _partition(states: list[Replica], step: int) -> int:
        ready = 0
        for each in reversed(states):
            if not (each.ready and each.updated):
                break
            ready += 1
        first = max(0, len(states) - ready - step)
        partition = first + sum(not each.ready for each in states[:first])
        for index in range(min(partition, len(states) - 1), first - 1, -1):
            if states[index].ready and not states[index].updated:
                break
            partition = index
        return partition

    def sync(self) -> None:
        for index in sorted(self.replicas):
            if index >= self.size:
                self._delete(index)
        for index in range(self.size):
            if index not in self.replicas:
                self._create(index)
        left = max(1, self.unavailable + self.surge) - sum(not each.ready for each in self.replicas.values())
        for index in range(self.size - 1, self.partition - 1, -1):
            if not self.replicas[index].updated and left > 0:
                left -= 1
                self._delete(index)
                self._create(index)

    def _delete(self, index: int) -> None:
        if self.replicas.pop(index).ready:
            self.free += 1
        else:
            self.waiting.remove(index)

    def _create(self, index: int) -> None:
        self.replicas[index] = Replica(updated=True, ready=False)
        self.waiting.append(index)

    def schedule(self) -> None:
        while self.free > 0 and self.waiting:
            self.free -= 1
            self.replicas[self.waiting.pop(0)].ready = True

    def end(self) -> tuple[bool, int]:
        """Return whether the update is finished, and the number of old groups that are left."""
        for _ in range(100):
            self.reconcile()
            self.sync()
            self.schedule()
        present = self.replicas.items()
        wanted = [self.replicas.get(index, Replica(updated=False, ready=False)) for index in range(self.number)]
        # Groups beyond the number that a partition keeps are not awaited.
        done = all(each.ready and (each.updated or index < self.lowest) for index, each in enumerate(wanted))
        return done and (self.lowest > 0 or len(present) == self.number), sum(not each.updated for _, each in present)


class Places:
    """Cluster with room for a number of groups of two pods; a group has a place, or none."""

    def __init__(self, free: int) -> None:
        self.free, self.waiting = free, dict[str, list[tuple[str, str]]]()
        self.placed: dict[tuple[str, str], str] = {}

    def place(self, deleted: Any, created: Any) -> dict[tuple[str, str], str]:
        for group in sorted({_group(each) for each in deleted}):
            self.free += self.waiting.pop(group, None) is None
        for each in deleted:
            self.placed.pop(full_name(each), None)
        for each in created:
            self.waiting.setdefault(_group(each), []).append(full_name(each))
        for group in [*self.waiting][: max(0, self.free)]:
            self.placed |= dict.fromkeys(self.waiting.pop(group), "any")
            self.free -= 1
        return self.placed


def _group(pod: Any) -> str:
    return str(pod["metadata"]["labels"][f"{LWS}group-index"])


@given(st.data())
@settings(max_examples=200)
def test_an_update_ends_as_with_the_controller(data):
    number = data.draw(st.integers(1, 6), label="number")
    old = data.draw(st.integers(number, 7), label="old")
    surge = data.draw(st.integers(0, min(number, 3)), label="surge")
    unavailable = data.draw(st.integers(0 if surge else 1, number), label="unavailable")
    lowest = data.draw(st.integers(0, number), label="partition")
    places = data.draw(st.integers(old, old + number), label="places")
    of = leader_worker_set(old, number, surge, maxUnavailable=unavailable, partition=lowest)
    result = Update(of.strategy(), of.situation()).play(Places(places - old).place, most=100)
    finished = result.outcome in {Outcome.AT_ONCE, Outcome.DURING}
    want = Controllers(old, number, surge, unavailable, lowest, places).end()
    assert want == (finished, result.last.old // 2 if finished else want[1])
