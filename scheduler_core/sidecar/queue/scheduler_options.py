"""Options of the scheduler of a live cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.state import NO_PLUGINS
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.settings import Settings
from scheduler_core.sidecar.writes import Deviations, EvictionMethod
from validators.gates import Gates


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """Options of the scheduler.

    Attributes:
        scheduler_name: ``spec.schedulerName`` of the pods that are bound.
        profile: profile by which pods are placed.
        place: whether pods are bound.
        ungate: whether pods with our scheduling gate are pinned and ungated.
        preempt: whether victims are evicted.
        eviction_method: how victims are removed.
        deviations: treatment of pinned gangs that their scheduler does not bind.
        strategy: ``complete`` or ``greedy``.
        rank_order: whether equal pods of a group exchange nodes by rank; only with ``complete``.
        budget: maximum number of search steps for a root.
        ignore: unmodelled fields that are ignored.
        gates: the feature gates of the API server.
        plugins: placement plugins of other packages.
        batch_roots: maximum number of roots in one cycle, with those that need no decision; small, so that events are processed between
            cycles.
        batch_pods: maximum number of pods in one cycle, unless a single root has more.
        max_binds_in_flight: number of binds in flight at which no further cycle starts: urgent writes would queue behind them, and old
            decisions could be outdated when they are written.
        seconds: duration of a cycle after which it attempts no further root.
        settle_seconds: how long a new root waits for further members before its first attempt.
        flush_seconds: time after which an unschedulable root is retried without a helpful change.
        partial_seconds: how long a partially bound gang waits for members, parents or gates before it is undone.
        pinned_seconds: how long pinned pods can stay unbound before their gang is reported or undone.
        plan_seconds: maximum duration of the evictions of a plan.
        max_bind_failures: number of consecutive attempts with failed binds after which a partially bound gang is undone.
        contested_seconds: how long a gang on overcommitted nodes is not recorded as scheduled, because kubelets can reject its pods.
        report_seconds: minimum interval between updates of the message of unschedulable pods.
        waiting_seconds: time after which a root reports what it waits for.
        waiting_interval: minimum interval between two such reports of a root.
        epoch: Unix time at which the scheduler's clock was 0, for times in messages.
        retry_seconds: time after which binds that are retried are reported.
        is_current: returns whether the cache shows all members of gangs up to a time; otherwise it will soon.

    """

    scheduler_name: str = Settings.scheduler_name
    profile: SchedulerProfile = DEFAULT_PROFILE
    place: bool = True
    ungate: bool = False
    preempt: bool = False
    eviction_method: EvictionMethod = Settings.eviction_method
    deviations: Deviations = Settings.deviations
    strategy: str = Settings.strategy
    rank_order: bool = Settings.rank_order
    budget: int = DEFAULT
    ignore: frozenset[str] = frozenset()
    gates: Gates = dataclasses.field(default_factory=Gates)
    plugins: Plugins = NO_PLUGINS
    batch_roots: int = 64
    batch_pods: int = 512
    max_binds_in_flight: int = 256
    seconds: float = 0.1
    settle_seconds: float = 0.01
    flush_seconds: float = 300.0
    partial_seconds: float = 30.0
    pinned_seconds: float = Settings.deviation_seconds
    plan_seconds: float = 600.0
    max_bind_failures: int = 3
    contested_seconds: float = 10.0
    report_seconds: float = 60.0
    retry_seconds: float = 1.0
    waiting_seconds: float = 2.0
    waiting_interval: float = 10.0
    epoch: float = 0.0
    is_current: Callable[[float], bool] = lambda _: True

    @property
    def cycle(self) -> CycleOptions:
        """Options of a scheduling cycle."""
        placing = PlacingOptions(preempt=self.preempt, overlooks=False, leaves_waiting=False, sparing=True)
        return CycleOptions(
            strategy=self.strategy,
            rank_order=self.rank_order,
            budget=self.budget,
            placing=placing,
            ignore=self.ignore,
            gates=self.gates,
            plugins=self.plugins,
        )

    @property
    def our_pods(self) -> OurPods:
        """Selection of our pods."""
        return OurPods(self.scheduler_name if self.place else "", self.ungate, undoes=self.deviations is Deviations.UNDO)
