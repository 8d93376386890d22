"""Runs controllers: each when something changed that it depends on, so seldom that it takes a small share of the time.

Where one takes long it does not run at once: the first change is mostly followed by more, and what waits for a place is not to wait
for this.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from scheduler_core.sidecar.writes import Write

PAUSE_FACTOR = 10
"""A run that took a second is not repeated for so many."""
MIN_INTERVAL_SECONDS = 0.2
MAX_DELAY_SECONDS = 1.0
"""A run is put off after a change for as long as the last one took, but no longer."""

Reconcile = Callable[[float], tuple[tuple[Write, ...], float | None]]
"""From the time, the writes that are missing, and when to run again though nothing changes; None: not before something does."""


@dataclasses.dataclass(frozen=True, slots=True)
class Controller:
    """Reconciler that does not place.

    Attributes:
        kinds: the objects that it depends on.
        shortest_seconds: between two runs.
        begin: makes it, knowing of no writes, each time that this process begins to lead.

    """

    kinds: frozenset[str]
    min_interval_seconds: float
    begin: Callable[[], Reconcile]


class _Schedule:
    """When a controller runs next, and whether something changed since it ran."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._changed_at: float | None = None
        self._delay = 0.0
        self._earliest = 0.0
        self._next_retry: float | None = None
        self.begin()

    def begin(self) -> None:
        self._reconcile = self._controller.begin()
        self._changed = True

    def changed(self, kind: str) -> None:
        self._changed |= kind in self._controller.kinds

    def due(self, now: float) -> float:
        """When to run next; infinite if only after a change."""
        if self._changed and self._changed_at is None:
            self._changed_at = now
        wanted = float("inf") if self._next_retry is None else self._next_retry
        if self._changed_at is not None:
            wanted = min(wanted, self._changed_at + self._delay)
        return max(wanted, self._earliest)

    def run(self, now: float, clock: Callable[[], float]) -> tuple[Write, ...]:
        began = clock()
        writes, self._next_retry = self._reconcile(now)
        seconds = clock() - began
        self._changed, self._changed_at = False, None
        self._delay = min(seconds, MAX_DELAY_SECONDS)
        self._earliest = now + max(self._controller.min_interval_seconds, PAUSE_FACTOR * seconds)
        return writes


class ControllerRunner:
    """Asks *controllers* for their writes."""

    def __init__(self, controllers: Sequence[Controller], clock: Callable[[], float] = time.monotonic) -> None:
        self._schedules = tuple(map(_Schedule, controllers))
        self._clock = clock

    def restart(self) -> None:
        """Leading has begun: what was written is not known."""
        for each in self._schedules:
            each.begin()

    def changed(self, kind: str) -> None:
        """An object of this kind is another now."""
        for each in self._schedules:
            each.changed(kind)

    def due(self, now: float) -> float:
        """Seconds until there is something to run."""
        return max(0.0, min((each.due(now) for each in self._schedules), default=float("inf")) - now)

    def wanted(self, now: float) -> tuple[Write, ...]:
        """The writes that are missing, of what is due at *now*."""
        return tuple(write for each in self._schedules if each.due(now) <= now for write in each.run(now, self._clock))
