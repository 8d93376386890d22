"""One cycle over a few roots of a live cluster: what ``run_cycle`` would say of them, for the price of what changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from scheduler_core.cycle.decider import Decider
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.model.decision import Decision, Name
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.counters import Counters
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.state import NO_PLUGINS
from scheduler_core.queueing import scheduling_queue
from scheduler_core.queueing.queue_order import spellings
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.scheduler_options import COMPLETE, SchedulerOptions
from validators.gates import Gates


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CycleParameters:
    """How roots are decided on.

    Attributes:
        strategy: ``complete`` searches where greedy does not place a root whole; ``greedy`` decides as kube-scheduler does.
        budget: steps that the search may take for a root.
        preempt: whether a root that does not fit may make others leave.
        ignore: fields that are not modelled and are passed over, as ``spec.volumes.persistentVolumeClaim``.
        gates: the feature gates of the cluster.
        plugins: placement plugins of other packages.

    """

    strategy: str = COMPLETE
    budget: int = DEFAULT
    preempt: bool = True
    ignore: frozenset[str] = frozenset()
    gates: Gates = dataclasses.field(default_factory=Gates)
    plugins: Plugins = NO_PLUGINS

    @classmethod
    def from_options(cls, options: SchedulerOptions) -> CycleParameters:
        """The parameters that *options* amount to."""
        return cls(
            strategy=options.strategy,
            budget=options.budget,
            preempt=options.preempt,
            ignore=options.ignore,
            gates=options.gates,
            plugins=options.plugins,
        )

    @property
    def placing(self) -> PlacingOptions:
        """The same for placing."""
        return PlacingOptions(four_statuses=self.strategy == COMPLETE, preempt=self.preempt)

    @property
    def steps(self) -> int:
        """Steps of the search; 0 where there is none."""
        return self.budget if self.strategy == COMPLETE else 0


@dataclasses.dataclass(frozen=True, slots=True)
class Decided:
    """A decision, and what of its root tells what could change it.

    Attributes:
        decision: the decision.
        related: whether where its pods may run hangs on where others do.
        preempts: whether it may make others leave.

    """

    decision: Decision
    related: bool = False
    preempts: bool = False


def decide(
    store: Cache,
    roots: Sequence[Name],
    means: CycleParameters,
    held: Collection[str] = (),
    stop: Callable[[], bool] = lambda: False,
    looked: Counters | None = None,
) -> tuple[Decided, ...]:
    """The decisions on *roots*, in this order; what one is given, the next does not find.

    Args:
        store: the cluster.
        roots: tops of trees, and single pods.
        means: how to decide.
        held: keys of pending pods that are members, but are not to be placed.
        stop: asked after each root; once it says so, the roots that are left get no decision.
        looked: counts the placements that are looked at.

    """
    view = _held_back(store.snapshot(roots), held)
    forest = scheduling_queue.build(
        view, scheduling_queue.QueueOptions(order=tuple(spellings(root)[-1] for root in roots), gates=means.gates)
    )
    site = store.site(means.placing, means.ignore, means.plugins)
    decider = Decider(store.lazy_snapshot(), forest.conditions, means.placing, means.ignore, means.steps, state=site)
    decided = []
    try:
        for root in forest.roots:
            if isinstance(root, Decision):
                decided.append(Decided(root))
            else:
                # What plugins say may hang on anything.
                related = bool(means.plugins) or any(site.stateful.touches(pod) for leaf in root.leaves() for pod in leaf.waiting)
                decided.append(Decided(decider.decide(root), related, root.preempts))
            if stop():
                break
    finally:
        site.stateful.give_back()
        if looked is not None:
            looked.join(site.looked)
    return tuple(decided)


def refused(store: Cache, root: Name, means: CycleParameters, held: Collection[str] = ()) -> Decision | None:
    """The decision on a root that would not even be tried, as things stand; None if it would be."""
    view = _held_back(store.snapshot((root,)), held)
    return next(iter(scheduling_queue.build(view, scheduling_queue.QueueOptions(gates=means.gates)).refused), None)


def _held_back(view: ClusterSnapshot, held: Collection[str]) -> ClusterSnapshot:
    """*view* with the pods *held* as members that nothing is to be found for."""
    if not held:
        return view
    pods = tuple(dataclasses.replace(pod, terminating=True) if pod.key in held else pod for pod in view.pods)
    return dataclasses.replace(view, pods=pods)
