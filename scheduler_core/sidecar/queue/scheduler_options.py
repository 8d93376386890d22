"""Options of the scheduler of a live cluster."""

from __future__ import annotations

import dataclasses

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.model.options import PlacingOptions
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.state import NO_PLUGINS
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.settings import Settings
from scheduler_core.sidecar.writes import EvictionMethod
from validators.gates import Gates


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """Options of the scheduler.

    Attributes:
        scheduler_name: whose pods are bound: those with this ``spec.schedulerName``.
        place: whether pods are bound.
        ungate: whether pods that our gate holds are pinned and opened.
        preempt: whether others are made to leave.
        evicting: how they leave.
        strategy: ``complete`` or ``greedy``.
        budget: steps that the search may take for a root.
        ignore: fields that are not modelled and are passed over.
        gates: the feature gates of the API server.
        plugins: placement plugins of other packages.
        batch_roots: roots that are decided on in one cycle; few, so that events are heard in between.
        batch_pods: pods of these, unless one root has more.
        most_flying: binds under way from which on no further cycle is begun: what is more urgent would come behind them, and what
            was decided long ago may be wrong by then.
        seconds: after which no further root of a cycle is begun.
        settle_seconds: how long a root that could be tried for the first time waits for further members.
        flush_seconds: after which a root is tried again though nothing happened that could help it.
        patience_seconds: how long a gang that was bound in part waits for members, parents or gates before it is undone.
        pinned_seconds: how long pods that were pinned to a node may stay unbound before their gang is undone.
        plan_seconds: how long victims may take to leave.
        most_failures: after so many attempts in a row in which binds failed, a gang that is partial is undone.
        retell_seconds: how often pods that are unschedulable are told another reason.

    """

    scheduler_name: str = Settings.scheduler_name
    place: bool = True
    ungate: bool = False
    preempt: bool = False
    eviction_method: EvictionMethod = Settings.eviction_method
    strategy: str = Settings.strategy
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
    pinned_seconds: float = 300.0
    plan_seconds: float = 600.0
    max_bind_failures: int = 3
    report_seconds: float = 60.0

    @property
    def cycle(self) -> CycleOptions:
        """Options of a scheduling cycle."""
        placing = PlacingOptions(preempt=self.preempt)
        return CycleOptions(
            strategy=self.strategy, budget=self.budget, placing=placing, ignore=self.ignore, gates=self.gates, plugins=self.plugins
        )

    @property
    def our_pods(self) -> OurPods:
        """Selection of our pods."""
        return OurPods(self.scheduler_name if self.place else "", self.ungate)
