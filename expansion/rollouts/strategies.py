"""Next deletions and creations of the controllers of Deployments, StatefulSets and DaemonSets during an update.

A unit that has its nodes is taken to become ready, and a deleted one to be gone at once.  Source: Kubernetes 1.37.1,
``pkg/controller/{deployment,statefulset,daemon}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from expansion.rollouts.units import NOTHING, Actions, Key, Progress, Unit
from kubeapi.base_structs import Record


class Strategy(Protocol):
    """Next step of an update."""

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controller does now; nothing if it waits, or has finished."""

    def is_finished(self, progress: Progress) -> bool:
        """Return whether nothing is left to replace."""


class Recreate(Record, frozen=True):
    """All old units are deleted before a new one is created."""

    wanted: Sequence[Key]

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controller does now."""
        if progress.old:
            return Actions(delete=[*progress.old])
        return Actions(create=[each for each in self.wanted if each not in progress.new])

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all new units run."""
        return not progress.old and progress.ready == len(self.wanted)


class RollingDeployment(Record, frozen=True):
    """Update of a Deployment: at most *surge* units more than wanted exist, and at most *unavailable* of them are not available.

    Attributes:
        wanted: the keys of the new units.
        surge: as above.
        unavailable: as above.

    """

    wanted: Sequence[Key]
    surge: int
    unavailable: int

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controller does now: it creates what it may, or else deletes what it may."""
        number, total = len(self.wanted), len(progress.old) + len(progress.new)
        if (more := min(number + self.surge - total, number - len(progress.new))) > 0:
            return Actions(create=[each for each in self.wanted if each not in progress.new][:more])
        least, missing = number - self.unavailable, len(progress.new) - progress.ready
        allowed = total - least - missing
        if allowed <= 0 or not progress.old:
            return NOTHING
        broken = [each for each in progress.old.values() if not each.ready][:allowed]
        available = sum(each.ready for each in progress.old.values()) + progress.ready
        healthy = max(0, min(available - least, len(progress.old) - len(broken)))
        return Actions(delete=[each.key for each in deletion_order(progress)[: len(broken) + healthy]])

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all new units run, and no old one is left."""
        return not progress.old and progress.ready == len(self.wanted)


_BEFORE_NODE = 3
"""What ReplicaSets compare before the number of pods on a node: the age and name of the ReplicaSet, the cost of the deletion."""


def deletion_order(progress: Progress) -> list[Unit]:
    """Return the old pods in the order in which their ReplicaSets delete them: those that are not ready, those with others on their node."""
    together = Counter(each.node for each in (*progress.old.values(), *progress.new.values()))
    return sorted(
        progress.old.values(),
        key=lambda each: (each.ready, each.rank[:_BEFORE_NODE], -together[each.node], each.rank[_BEFORE_NODE:], str(each.key)),
    )


class RollingStatefulSet(Record, frozen=True):
    """Update of a StatefulSet: units of one ordinal replace each other, the highest first.

    Attributes:
        wanted: the ordinals that it has afterwards.
        partition: the lowest ordinal that is updated.
        unavailable: number of units that can be unavailable; 0 if none is replaced (``OnDelete``).
        parallel: whether units need not wait for each other.

    """

    wanted: Sequence[Key]
    partition: int = 0
    unavailable: int = 1
    parallel: bool = False

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controller does now: missing ones are created, then those beyond the number are deleted, then the update goes on."""
        missing = [each for each in self.wanted if each not in progress.old and each not in progress.new]
        condemned = sorted((each for each in progress.old if each not in self.wanted), key=_ordinal, reverse=True)
        if self.parallel:
            # The controller does nothing else before it has created all that is missing.
            if missing or any(not self._unit(progress, each).exists for each in self.wanted):
                return Actions(create=missing)
            return Actions(delete=condemned) if condemned else self._update(progress)
        for each in self.wanted:
            if each in missing:
                return Actions(create=[each])
            if not self._unit(progress, each).ready:
                return NOTHING
        if condemned:
            return Actions(delete=condemned[:1])
        return self._update(progress)

    def _update(self, progress: Progress) -> Actions:
        down = [each for each in self.wanted if not self._unit(progress, each).ready]
        outdated = [each for each in reversed(self.wanted) if each in progress.old and self._is_replaced(each)]
        broken = [each for each in outdated if not progress.old[each].ready] if self.parallel else []
        left = max(0, self.unavailable - len(down))
        return Actions(delete=[*broken, *[each for each in outdated if progress.old[each].ready][:left]])

    @staticmethod
    def _unit(progress: Progress, key: Key) -> Unit:
        return progress.new[key] if key in progress.new else progress.old[key]

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all ordinals from the partition on are new, and all run."""
        if any(each not in self.wanted or self._is_replaced(each) for each in progress.old):
            return False
        units = [*progress.old.values(), *progress.new.values()]
        return len(units) == len(self.wanted) and all(each.ready for each in units)

    def _is_replaced(self, key: Key) -> bool:
        return self.unavailable > 0 and _ordinal(key) >= self.partition


def _ordinal(key: Key) -> int:
    return key if isinstance(key, int) else -1


class RollingDaemonSet(Record, frozen=True):
    """Update of a DaemonSet: on each node the old unit gives way to the new one, or the new one is created beside it.

    Attributes:
        wanted: the nodes.
        surge: number of nodes that can have both.
        unavailable: number of nodes that can have none that is available; 0 without a surge if none is replaced (``OnDelete``).

    """

    wanted: Sequence[Key]
    surge: int = 0
    unavailable: int = 1

    def next_step(self, progress: Progress) -> Actions:
        """Return what the controller does now."""
        empty = [each for each in self.wanted if each not in progress.old and each not in progress.new]
        excess = [each for each in progress.old if each not in self.wanted]
        if empty or (excess and not self.surge):
            return Actions(delete=[] if self.surge else excess, create=empty)
        # The controller does nothing else before each node has a pod.
        if any(not each.exists and key not in progress.old for key, each in progress.new.items()):
            return NOTHING
        return self._surging(progress, excess) if self.surge else self._replacing(progress) if self.replaces else NOTHING

    @property
    def replaces(self) -> bool:
        """Return whether the controller replaces pods by itself."""
        return self.surge > 0 or self.unavailable > 0

    def _replacing(self, progress: Progress) -> Actions:
        broken = [each for each in self.wanted if each in progress.old and not progress.old[each].ready]
        down = len(broken) + sum(not each.ready for each in progress.new.values())
        healthy = [each for each in self.wanted if each in progress.old and progress.old[each].ready]
        return Actions(delete=[*broken, *healthy[: max(0, self.unavailable - down)]])

    def _surging(self, progress: Progress, excess: Sequence[Key]) -> Actions:
        both = [each for each in self.wanted if each in progress.old and each in progress.new]
        done = [each for each in both if progress.new[each].ready or not progress.old[each].ready]
        alone = [each for each in self.wanted if each in progress.old and each not in progress.new]
        broken = [each for each in alone if not progress.old[each].ready]
        healthy = [each for each in alone if progress.old[each].ready]
        left = max(0, self.surge - (len(both) - len(done)))
        available = len(_ready_nodes((*progress.old.values(), *progress.new.values())))
        gone = [*excess][: max(0, available - len(self.wanted))]
        return Actions(delete=[*done, *gone], create=[*broken, *healthy[:left]])

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all nodes have a new unit that runs, and no old one is left; with ``OnDelete``, a unit of either."""
        kept = () if self.replaces else self.wanted
        has_all = all(each in progress.old or each in progress.new for each in self.wanted)
        return has_all and all(each in kept for each in progress.old) and all(each.ready for each in progress.new.values())


def _ready_nodes(units: Iterable[Unit]) -> set[Key]:
    return {each.key for each in units if each.ready}


class Unchanged(Record, frozen=True):
    """The controller replaces nothing by itself, as of a Deployment that is paused."""

    def next_step(self, progress: Progress) -> Actions:
        """Return nothing."""
        del progress
        return NOTHING

    def is_finished(self, progress: Progress) -> bool:
        """Return whether all pods have nodes: the controller can have created some for a new number."""
        return all(each.placed == len(each.pods) for each in (*progress.old.values(), *progress.new.values()))
