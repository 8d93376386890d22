"""Runs controllers after changes, with a limit on the share of time that they take.

A slow controller does not run at once after a change, because more changes usually follow, and scheduling must not wait for it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from scheduler_core.sidecar.writes import Write

PAUSE_FACTOR = 10
"""Minimum interval between two runs, as a multiple of the duration of the last run."""
MIN_INTERVAL_SECONDS = 0.2
MAX_DELAY_SECONDS = 1.0
"""Maximum delay after a change; the delay is the duration of the last run."""

Reconcile = Callable[[float], tuple[tuple[Write, ...], float | None]]
"""Function of the time that returns the missing writes and the time of the next run without a change; None: only after a change."""


@dataclasses.dataclass(frozen=True, slots=True)
class Controller:
    """Reconciler that does not place.

    Attributes:
        kinds: kinds of objects that it depends on.
        min_interval_seconds: minimum interval between two runs.
        begin: creates its reconcile function, without pending writes, each time this process becomes the leader.

    """

    kinds: frozenset[str]
    min_interval_seconds: float
    begin: Callable[[], Reconcile]


class _Schedule:
    """Next run of a controller, and changes since its last run."""

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
        """Return the time of the next run; infinite: only after a change."""
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
    """Runs *controllers* and returns their writes."""

    def __init__(self, controllers: Sequence[Controller], clock: Callable[[], float] = time.monotonic) -> None:
        self._schedules = tuple(map(_Schedule, controllers))
        self._clock = clock

    def restart(self) -> None:
        """Create all controllers anew, because this process became the leader."""
        for each in self._schedules:
            each.begin()

    def changed(self, kind: str) -> None:
        """Record a change of an object of this kind."""
        for each in self._schedules:
            each.changed(kind)

    def due(self, now: float) -> float:
        """Return the seconds until the next run."""
        return max(0.0, min((each.due(now) for each in self._schedules), default=float("inf")) - now)

    def wanted(self, now: float) -> tuple[Write, ...]:
        """Run the controllers that are due at *now* and return the missing writes."""
        return tuple(write for each in self._schedules if each.due(now) <= now for write in each.run(now, self._clock))
