"""The steps of an update, with what a scheduler places, until it is finished or hangs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from expansion.contents import Content, full_name
from expansion.rollouts.strategies import Strategy
from expansion.rollouts.units import NOTHING, Actions, Progress, Situation, Unit, is_ready, node_of
from kubeapi.base_structs import Record
from kubeapi.decode import section

PodName = tuple[str, str]
"""Namespace and name of a pod."""
_MOST_ACTIONS = 10_000
_FIRST, _TIME = dt.datetime(9999, 1, 1, tzinfo=dt.UTC), "%Y-%m-%dT%H:%M:%SZ"
"""Before the creation of the first pods: later than that of any other pod."""


class Outcome(enum.StrEnum):
    """End of an update."""

    AT_ONCE = "at-once"
    """No new pod waits for an old one to end."""
    DURING = "during"
    """New pods wait until old ones have ended; then all of them run."""
    HANGS = "hangs"
    """New pods wait for ever, and the controller deletes no more old ones."""
    TOO_LONG = "too-long"
    """The steps were not played to the end."""


class Step(Record, frozen=True):
    """Step of an update, which ends when the controller waits and the scheduler has placed what it can.

    Attributes:
        deleted: number of pods that are deleted; a new one only if it was beyond the number.
        created: number of new pods that are created.
        old: number of old pods that are left then.
        new: number of new pods that have a node then.
        waiting: number of new pods without a node.
        refused: number of pods that are not created, because a quota refuses them.

    """

    deleted: int
    created: int
    old: int
    new: int
    waiting: int
    refused: int = 0


class Played(Record, frozen=True):
    """Result of an update: how it ends, and its steps, of which the last one is where it hangs."""

    outcome: Outcome
    steps: tuple[Step, ...]

    @property
    def last(self) -> Step:
        """Return the last step."""
        return self.steps[-1]


Place = Callable[[Sequence[Content], Sequence[Content]], Mapping[PodName, str]]
"""Deletes pods, creates others, places what can be placed, and returns the nodes of all pods that have got one since the beginning."""
Admit = Callable[[Sequence[Content], Sequence[Content]], bool]
"""Returns whether quotas allow further pods beside those created, without those deleted so far; with the latter two as given."""


class Update:
    """Update of one object by its *strategy*."""

    def __init__(self, strategy: Strategy, before: Situation) -> None:
        self._strategy, self._first = strategy, before.first
        self._new, self._copies = {each.key: each for each in before.new}, {each.key: each for each in before.copies}
        self.progress = Progress({each.key: each for each in before.old}, {each.key: each for each in before.current})
        self._deleted: list[Content] = []
        self._made: dict[Unit, int] = {}
        """Units that the controller has created, or tries to create while quotas do not allow them, with the number of the action."""
        self._actions = 0

    def play(self, place: Place, admit: Admit | None = None, *, most: int) -> Played:
        """Return how the update ends, after at most *most* steps."""
        outcome, steps = Outcome.AT_ONCE, list[Step]()
        for _ in range(most):
            deleted, created = self._act(admit)
            gone, added = [pod for unit in deleted for pod in unit.pods], [*self._dated(created)]
            changed = self._mark(place(gone, added))
            if steps and not (deleted or created or changed):
                return Played(Outcome.HANGS, tuple(steps))
            steps.append(self._step(len(gone), len(added)))
            if self._strategy.is_finished(self.progress):
                return Played(outcome, tuple(steps))
            if any(not each.ready for each in self.progress.new.values()):
                outcome = Outcome.DURING
        return Played(Outcome.TOO_LONG, tuple(steps))

    def _act(self, admit: Admit | None) -> tuple[list[Unit], list[Unit]]:
        """Let the controller act until it waits; return what it deletes and creates."""
        deleted = list[Unit]()
        first, self._first = self._first, NOTHING
        if first:
            self._do(first, deleted)
            return deleted, self._admitted(admit)
        for _ in range(_MOST_ACTIONS):
            actions = self._strategy.next_step(self.progress)
            if not actions:
                break
            self._do(actions, deleted)
        return deleted, self._admitted(admit)

    def _do(self, actions: Actions, deleted: list[Unit]) -> None:
        self._actions += 1
        for key in actions.delete:
            # Some controllers have new units beyond their number during an update.
            unit = (self.progress.old if key in self.progress.old else self.progress.new).pop(key)
            if unit.exists:
                deleted.append(unit)
            if not unit.ready:
                self.progress.broken.add(key)
            if unit not in self._made:
                self._deleted += unit.pods
            self._made.pop(unit, None)
        for key in actions.create:
            # A controller that may not create its pods yet counts them as unavailable, and tries again.
            units, created = (self.progress.old, self._copies) if key in self._copies else (self.progress.new, self._new)
            unit = units[key] = dataclasses.replace(created[key], ready=False, exists=False)
            self._made[unit] = self._actions

    def _admitted(self, admit: Admit | None) -> list[Unit]:
        """Return the units that quotas allow now."""
        created = []
        for unit in [each for each in self._made if not each.exists]:
            present = [pod for each in self._made if each.exists for pod in each.pods]
            if admit is None or admit([*present, *unit.pods], self._deleted):
                unit.exists = True
                created.append(unit)
        return created

    def _dated(self, created: Iterable[Unit]) -> Iterator[Content]:
        """Yield the pods of units with the time of their creation: a scheduler tries those that wait first, and leaders before the others."""
        for unit in created:
            for number, pod in enumerate(unit.pods):
                time = _FIRST + dt.timedelta(minutes=self._made[unit], seconds=number >= unit.leaders)
                yield {**pod, "metadata": {**section(pod, "metadata"), "creationTimestamp": f"{time:{_TIME}}"}}

    def _mark(self, placed: Mapping[PodName, str]) -> bool:
        """Mark the units whose pods all have got a node as ready; return whether there are more than before."""
        units = [*self.progress.old.values(), *self.progress.new.values()]
        before = sum(each.ready for each in units)
        for each in units:
            nodes = [placed.get(full_name(pod)) or node_of(pod) for pod in each.pods] if each.exists else [""]
            each.placed, each.node = sum(map(bool, nodes)), nodes[0]
            # A pod of the cluster that is not ready stays so.
            each.ready = each.exists and all(full_name(pod) in placed or is_ready(pod) for pod in each.pods)
        return sum(each.ready for each in units) > before

    def _step(self, deleted: int, created: int) -> Step:
        progress = self.progress
        old = sum(len(each.pods) for each in progress.old.values() if each.exists)
        running = sum(each.placed for each in progress.new.values() if each.exists)
        waiting = sum(len(each.pods) - each.placed for each in progress.new.values() if each.exists)
        return Step(deleted, created, old, running, waiting, sum(len(each.pods) for each in self._made if not each.exists))
