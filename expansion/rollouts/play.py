"""The steps of an update, with what a scheduler places, until it is finished or hangs."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Sequence

from expansion.contents import Content, full_name
from expansion.rollouts.strategies import Recreate, RollingDeployment, Strategy, deletion_order
from expansion.rollouts.units import Key, Progress, Unit

PodName = tuple[str, str]
"""Namespace and name of a pod."""
_MOST_ACTIONS = 10_000


class Outcome(enum.StrEnum):
    """How an update ends."""

    AT_ONCE = "at-once"
    """No new pod waits for an old one to end."""
    DURING = "during"
    """New pods wait until old ones have ended; then all of them run."""
    HANGS = "hangs"
    """New pods wait for ever, and the controller deletes no more old ones."""
    TOO_LONG = "too-long"
    """The steps were not played to the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """Step of an update, which ends when the controller waits and the scheduler has placed what it can.

    Attributes:
        deleted: number of pods that are deleted; a new one only if it was beyond the number.
        created: number of new pods that are created.
        old: number of old pods that are left then.
        new: number of new pods that run then.
        waiting: number of new pods without a node.
        refused: number of new pods that are not created, because a quota refuses them.

    """

    deleted: int
    created: int
    old: int
    new: int
    waiting: int
    refused: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Played:
    """Result of an update: how it ends, and its steps, of which the last one is where it hangs."""

    outcome: Outcome
    steps: tuple[Step, ...]

    @property
    def last(self) -> Step:
        """Return the last step."""
        return self.steps[-1]


Place = Callable[[Sequence[Content], Sequence[Content]], Collection[PodName]]
"""Deletes pods, creates others, places what can be placed, and returns all created pods that have a node."""
Admit = Callable[[Sequence[Content], Sequence[Content]], bool]
"""Returns whether quotas allow further pods beside those created, without those deleted so far; with the latter two as given."""


class Update:
    """Update of one object by its *strategy*, from *old* units to *new* ones.

    If their number changes too, a Deployment scales its old pods before it replaces them: *added* old units are created first.
    """

    def __init__(self, strategy: Strategy, old: Sequence[Unit], new: Sequence[Unit], added: Sequence[Unit] = ()) -> None:
        self._strategy, self._new = strategy, {each.key: each for each in new}
        self.progress = Progress({each.key: each for each in old})
        self._added = {each.key: each for each in added}
        self._deleted: list[Content] = []
        self._refused: dict[Key, Unit] = {}
        """New units that quotas do not allow yet."""

    def play(self, place: Place, admit: Admit | None = None, *, most: int) -> Played:
        """Return how the update ends, after at most *most* steps."""
        outcome, steps = Outcome.AT_ONCE, list[Step]()
        if surplus := self._surplus():
            self._deleted += [pod for unit in surplus for pod in unit.pods]
        if surplus or self._added:
            gone, added = [pod for unit in surplus for pod in unit.pods], [pod for unit in self._added.values() for pod in unit.pods]
            self.progress.old |= self._added
            self._mark(place(gone, added))
            steps.append(self._step(len(gone), len(added)))
        for _ in range(most):
            deleted, created = self._act(admit)
            gone, added = [pod for unit in deleted for pod in unit.pods], [pod for unit in created for pod in unit.pods]
            changed = self._mark(place(gone, added))
            if steps and not (deleted or created or changed):
                return Played(Outcome.HANGS, tuple(steps))
            steps.append(self._step(len(gone), len(added)))
            if self._strategy.is_finished(self.progress):
                return Played(outcome, tuple(steps))
            if any(not each.ready for each in self.progress.new.values()):
                outcome = Outcome.DURING
        return Played(Outcome.TOO_LONG, tuple(steps))

    def _surplus(self) -> list[Unit]:
        """Remove the old units that a Deployment deletes before it replaces the others, because it is to have fewer; return them."""
        number = len(self.progress.old) - len(self._new) if isinstance(self._strategy, RollingDeployment | Recreate) else 0
        return [self.progress.old.pop(each.key) for each in deletion_order(self.progress)[: max(0, number)]]

    def _act(self, admit: Admit | None) -> tuple[list[Unit], list[Unit]]:
        """Let the controller act until it waits; return what it deletes and creates."""
        deleted, created = list[Unit](), list[Unit]()
        for _ in range(_MOST_ACTIONS):
            actions = self._strategy.next_step(self.progress)
            if not actions:
                break
            for key in actions.delete:
                if (unit := self.progress.old.pop(key, None)) is not None:
                    self._deleted += unit.pods
                elif self._refused.pop(key, None) is not None:
                    del self.progress.new[key]
                    continue
                else:
                    unit = self.progress.new.pop(key)
                deleted.append(unit)
            for key in actions.create:
                # A controller that may not create its pods yet counts them as unavailable, and tries again.
                self.progress.new[key] = self._refused[key] = dataclasses.replace(self._new[key], ready=False)
        for key, unit in [*self._refused.items()]:
            present = [pod for each in self.progress.new.values() if each.key not in self._refused for pod in each.pods]
            if admit is None or admit([*present, *unit.pods], self._deleted):
                created.append(self._refused.pop(key))
        return deleted, created

    def _mark(self, placed: Collection[PodName]) -> bool:
        """Mark the new units whose pods all have a node as ready; return whether there are more than before."""
        before = self.progress.ready
        for each in self.progress.new.values():
            each.ready = each.key not in self._refused and all(full_name(pod) in placed for pod in each.pods)
        for key in self._added.keys() & self.progress.old.keys():
            self.progress.old[key].ready = all(full_name(pod) in placed for pod in self.progress.old[key].pods)
        return self.progress.ready > before

    def _step(self, deleted: int, created: int) -> Step:
        progress = self.progress
        refused = sum(len(each.pods) for each in self._refused.values())
        waiting = sum(len(each.pods) for each in progress.new.values() if not each.ready) - refused
        running = sum(len(each.pods) for each in progress.new.values() if each.ready)
        return Step(deleted, created, sum(len(each.pods) for each in progress.old.values()), running, waiting, refused)
