"""What is kept up beside placing: validity, protection, who leaves no more, and the figures that cost a look at everything.

Each is looked at when something changed that it depends on, so seldom that it takes a small share of the time, and not at once
where it takes long: what came first is mostly followed by more, and what waits for a place is not to wait for this.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from scheduler_core.diagnosis import fragmentation
from scheduler_core.loading.feature_gates import gated
from scheduler_core.queueing.trees import Trees
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.controllers.disruption_target import DisruptionTargets
from scheduler_core.sidecar.controllers.finalizers import Finalizers
from scheduler_core.sidecar.controllers.validity import Validity
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.process.settings import Mode, Settings
from scheduler_core.sidecar.writes import Write

SHARE = 10
"""A look that took a second is not repeated for so many."""
SHORTEST_SECONDS = 0.2
LONGEST_DELAY = 1.0
"""A look is put off after a change for as long as the last one took, but no longer."""
FIGURES_SECONDS = 60.0
SPARED_SECONDS = 5.0
"""Nobody waits for it."""
_GROUPS = frozenset({"PodGroup", "CompositePodGroup"})
_JUDGED = frozenset({*_GROUPS, "Workload", "Pod", "PriorityClass"})
_PROTECTED = frozenset({*_GROUPS, "Pod"})


class _Look:
    """One thing that is looked at: when next, and whether something changed since."""

    def __init__(self, kinds: frozenset[str], shortest: float) -> None:
        self._kinds, self._shortest = kinds, shortest
        self._changed = True
        self._noticed: float | None = None
        self._delay = 0.0
        self._earliest = 0.0
        self.again: float | None = None
        """When to look though nothing changes."""

    def changed(self, kind: str) -> None:
        self._changed |= kind in self._kinds

    def due(self, now: float) -> float:
        """When to look next; infinite if only after a change."""
        if self._changed and self._noticed is None:
            self._noticed = now
        wanted = float("inf") if self.again is None else self.again
        if self._noticed is not None:
            wanted = min(wanted, self._noticed + self._delay)
        return max(wanted, self._earliest)

    def looked(self, now: float, seconds: float) -> None:
        self._changed, self._noticed = False, None
        self._delay = min(seconds, LONGEST_DELAY)
        self._earliest = now + max(self._shortest, SHARE * seconds)


class _Members:
    """The store, as ``finalizers.Membership`` asks it."""

    def __init__(self, store: Cache) -> None:
        self._store = store

    def has_members(self, namespace: str, group: str) -> bool:
        return bool(self._store.members(namespace, group)) or self._store.unreadable(namespace, "Pod")

    def hides_children(self, namespace: str) -> bool:
        return self._store.unreadable(namespace, "PodGroup", "CompositePodGroup")


class ControllerRunner:
    """Asks for the writes of the modes ``validate`` and ``protect``, and for one of ``preempt``."""

    def __init__(
        self, settings: Settings, store: Cache, telemetry: SidecarMetrics, minor: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """*minor* is the API server's minor version."""
        self._settings, self._store, self._telemetry, self._minor, self._clock = settings, store, telemetry, minor, clock
        self._looks: list[tuple[_Look, Callable[[float, _Look], tuple[Write, ...]]]] = []
        if Mode.VALIDATE in settings.modes:
            self._looks.append((_Look(_JUDGED, SHORTEST_SECONDS), self._judge))
        if Mode.PROTECT in settings.modes:
            self._looks.append((_Look(_PROTECTED, SHORTEST_SECONDS), self._protect))
        if Mode.PREEMPT in settings.modes:
            self._looks.append((_Look(_PROTECTED, SPARED_SECONDS), self._spare))
        self._looks.append((_Look(frozenset({"Node", "Pod"}), FIGURES_SECONDS), self._measure))
        self.restart()

    def restart(self) -> None:
        """Leading has begun: what was written is not known."""
        self._validity = Validity(self._settings.gates, kubernetes=self._minor, settle=self._settings.settle_seconds)
        self._protection = Finalizers()
        self._spared = DisruptionTargets(self._settings.scheduler_name)
        for look, _ in self._looks:
            look.changed("Pod")

    def changed(self, kind: str) -> None:
        """An object of this kind is another now."""
        for look, _ in self._looks:
            look.changed(kind)

    def due(self, now: float) -> float:
        """Seconds until there is something to look at."""
        return max(0.0, min(look.due(now) for look, _ in self._looks) - now)

    def wanted(self, now: float) -> tuple[Write, ...]:
        """The writes that are missing, of what is due at *now*."""
        writes: list[Write] = []
        for look, found in self._looks:
            if look.due(now) <= now:
                began = self._clock()
                writes += found(now, look)
                look.looked(now, self._clock() - began)
        return tuple(writes)

    def _judge(self, now: float, look: _Look) -> tuple[Write, ...]:
        judgement = self._validity.judge(Trees(gated(self._store.everything(), self._settings.gates)), now)
        look.again = judgement.again
        self._telemetry.invalid.set(self._validity.count)
        return judgement.writes

    def _protect(self, now: float, look: _Look) -> tuple[Write, ...]:
        writes = self._protection.wanted((each.group for each in self._store.groups()), _Members(self._store), now)
        look.again = self._protection.again
        return writes

    def _spare(self, now: float, look: _Look) -> tuple[Write, ...]:
        writes = self._spared.wanted(self._store, now)
        look.again = self._spared.again
        return writes

    def _measure(self, now: float, look: _Look) -> tuple[Write, ...]:
        self._telemetry.fragmentation(fragmentation.fragments(self._store.everything()))
        look.again = now + FIGURES_SECONDS
        return ()
