"""Next deletions and creations of the controllers of LeaderWorkerSets, PodCliqueSets and RayServices during an update.

Units are groups of pods, as in ``strategies``.  Source: LeaderWorkerSet 0.10 (``pkg/controllers/leaderworkerset_controller.go``), Grove
0.1.0-alpha.12 (``rollingupdate.go`` in ``operator/internal/controller``), KubeRay 1.7 (``rayservice_controller.go``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from expansion.rollouts.units import NOTHING, Actions, Key, Progress, Unit
from kubeapi.base_structs import Record


class RollingGroups(Record, frozen=True):
    """Update of a LeaderWorkerSet: groups of one ordinal replace each other, the highest first, with further groups beyond the number.

    Attributes:
        wanted: the ordinals that it has afterwards.
        surge: number of groups beyond them that are created for the time of the update.
        unavailable: number of groups that can be unavailable.
        partition: the lowest ordinal that is updated.

    """

    wanted: Sequence[Key]
    surge: int = 0
    unavailable: int = 1
    partition: int = 0

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controllers do now: the leaders' StatefulSet has all its groups, then those from a partition on are replaced."""
        present = {**progress.old, **progress.new}
        size = self._size(progress)
        surplus = [key for key in present if _number(key) >= size]
        missing = [number for number in range(size) if number not in present]
        if not progress.new:
            # At first, only the groups beyond the number are replaced.
            beyond = self._replaced(progress, max(self.partition, min(len(self.wanted), len(progress.old))), len(missing))
            if actions := Actions(delete=[*surplus, *(key for key in beyond if key not in surplus)], create=missing):
                return actions
        if surplus or missing:
            return Actions(delete=surplus, create=missing)
        return Actions(delete=self._replaced(progress, self._first(progress, size), 0))

    def _replaced(self, progress: Progress, first: int, missing: int) -> list[Key]:
        """Return the old groups from an ordinal on that are deleted now; as many as are *missing* are unavailable besides those that exist."""
        outdated = sorted((key for key in progress.old if _number(key) >= first), key=_number, reverse=True)
        down = missing + sum(not unit.ready for unit in (*progress.old.values(), *progress.new.values()))
        broken = [key for key in outdated if not progress.old[key].ready]
        left = max(0, max(1, self.unavailable + self.surge) - down)
        return [*broken, *[key for key in outdated if progress.old[key].ready][:left]]

    def _size(self, progress: Progress) -> int:
        """Return how many groups there are to be now."""
        number, unready = len(self.wanted), sum(not _runs(progress, each) for each in self.wanted)
        return number + (max(0, unready - self.unavailable) if unready <= self.surge else self.surge)

    def _first(self, progress: Progress, size: int) -> int:
        """Return the lowest ordinal that can be replaced now."""
        number = len(self.wanted)
        tail = next((place for place, each in enumerate(reversed(range(size))) if not _runs(progress, each)), size)
        lowest = max(0, size - tail - (self.unavailable + self.surge - (number + self.surge - size)))
        found = lowest + sum(not _unit(progress, each).ready for each in range(lowest))
        for each in range(min(found, size - 1), lowest - 1, -1):
            if _unit(progress, each).ready and each not in progress.new:
                break
            found = each
        reached = min((_number(each) for each in progress.new if each in self.wanted), default=number)
        return max(self.partition, min(found, reached))

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all groups run, those from the partition on are new, and none is deleted any more."""
        present = {**progress.old, **progress.new}
        is_done = all(
            each in present and present[each].ready and (each in progress.new or _number(each) < self.partition) for each in self.wanted
        )
        # With a partition, the groups beyond the number stay, also those that do not run.
        return is_done and not self.next_step(progress)


def _number(key: Key) -> int:
    return key if isinstance(key, int) else -1


def _unit(progress: Progress, key: Key) -> Unit:
    return progress.new[key] if key in progress.new else progress.old[key]


def _runs(progress: Progress, key: Key) -> bool:
    """Return whether a unit is new and runs."""
    return key in progress.new and progress.new[key].ready


class NewCluster(Record, frozen=True):
    """Update of a RayService: the new cluster is created beside the old one, which is deleted when the new one runs."""

    wanted: Sequence[Key]

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controller does now."""
        if missing := [each for each in self.wanted if each not in progress.new]:
            return Actions(create=missing)
        return Actions(delete=[*progress.old]) if progress.ready == len(self.wanted) else NOTHING

    def is_finished(self, progress: Progress) -> bool:
        """Return whether the new cluster runs, and the old one is gone."""
        return not progress.old and progress.ready == len(self.wanted)


CliqueKey = tuple[int, str, int]
"""Replica of the PodCliqueSet, its clique or scaling group, and the number of the pod, or of the replica of the scaling group."""


def clique_key(replica: int, part: str, number: int) -> str:
    """Return the key of a unit of a PodCliqueSet: a pod of a clique, or a replica of a scaling group."""
    return f"{replica}/{part}/{number}"


def _split(key: Key) -> CliqueKey:
    replica, part, number = str(key).split("/")
    return int(replica), part, int(number)


class RollingCliques(Record, frozen=True):
    """Update of a PodCliqueSet: one replica at a time; in it, one pod of each clique and one replica of each scaling group at a time.

    Attributes:
        wanted: the keys of the units that it has afterwards.
        least: number of units of a clique or a scaling group that must be ready before a further one is replaced.

    """

    wanted: Sequence[Key]
    least: Mapping[str, int]

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controllers do now."""
        surplus = [each for each in progress.old if each not in self.wanted]
        missing = [each for each in self.wanted if each not in progress.old and each not in progress.new]
        if surplus or missing:
            return Actions(delete=surplus, create=missing)
        replica = self._replica(progress)
        parts: dict[str, list[Key]] = {}
        for each in self.wanted:
            number, part, _ = _split(each)
            if number == replica:
                parts.setdefault(part, []).append(each)
        return Actions(delete=[key for part, keys in parts.items() for key in self._replaced(part, keys, progress)])

    def _replica(self, progress: Progress) -> int:
        """Return the replica that is updated: the one that is begun, one without nodes, one that lacks a minimum, else the first."""
        replicas: dict[int, list[Key]] = {}
        for each in self.wanted:
            replicas.setdefault(_split(each)[0], []).append(each)
        open_ones = [number for number, keys in replicas.items() if not self._is_done(keys, progress)]
        # Units of a part that does not change are new without an update.
        changed = {_split(each)[1] for each in progress.old}
        order = {
            number: (
                not any(key in progress.new and _split(key)[1] in changed for key in replicas[number]),
                any(_unit(progress, key).placed for key in replicas[number]),
                not self._lacks_minimum(replicas[number], progress),
                number,
            )
            for number in open_ones
        }
        return min(open_ones, key=order.__getitem__, default=-1)

    def _is_done(self, keys: Sequence[Key], progress: Progress) -> bool:
        """Return whether no old unit is left of a replica, and each part has its minimum of units that run."""
        return not any(each in progress.old for each in keys) and not self._lacks_minimum(keys, progress)

    def _lacks_minimum(self, keys: Sequence[Key], progress: Progress) -> bool:
        """Return whether a part of a replica has fewer units that run than its minimum."""
        ready = Counter(dict.fromkeys((_split(each)[1] for each in keys), 0))
        for each in keys:
            ready[_split(each)[1]] += _unit(progress, each).ready
        return any(number < self.least.get(part, 0) for part, number in ready.items())

    def _replaced(self, part: str, keys: Sequence[Key], progress: Progress) -> list[Key]:
        """Return the old units of a part that are deleted now: those that do not run, then the oldest when the others run."""
        old = [each for each in keys if each in progress.old]
        if broken := [each for each in old if not progress.old[each].ready]:
            return broken
        # New units in place of those that did not run are not awaited.
        replacing = sum(not progress.new[each].ready for each in keys if each in progress.new)
        waits = replacing > sum(each in progress.broken for each in keys)
        ready = sum(_unit(progress, each).ready for each in keys)
        if waits or ready < self.least.get(part, 0):
            return []
        return sorted(old, key=lambda each: (progress.old[each].rank, _split(each)))[:1]

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all units are new, and run."""
        return not progress.old and progress.ready == len(self.wanted)
