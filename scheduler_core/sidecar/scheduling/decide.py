"""One cycle over a few roots of a live cluster: what ``run_cycle`` would say of them, for the price of what changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from scheduler_core.cycle.decider import Decider
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision, Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.counters import Counters
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.queueing import scheduling_queue
from scheduler_core.queueing.queue_order import spellings
from scheduler_core.sidecar.cache.cache import Cache


@dataclasses.dataclass(frozen=True, slots=True)
class Decided:
    """A decision, and what of its root tells what could change it.

    Attributes:
        decision: the decision.
        events: cluster events, besides capacity that is freed for its pods, that can change the decision.
        preempts: whether it may make others leave.

    """

    decision: Decision
    events: frozenset[ClusterEvent] = frozenset()
    preempts: bool = False


def decide(
    store: Cache,
    roots: Sequence[Name],
    options: CycleOptions,
    excluded: Collection[str] = (),
    stop: Callable[[], bool] = lambda: False,
    counters: Counters | None = None,
) -> tuple[Decided, ...]:
    """The decisions on *roots*, in this order; what one is given, the next does not find.

    Args:
        store: the cluster.
        roots: tops of trees, and single pods.
        options: how to decide.
        excluded: keys of pending members that must not be placed.
        stop: asked after each root; once it says so, the roots that are left get no decision.
        counters: counters of evaluated placements.

    """
    view = _without_excluded(store.snapshot(roots), excluded)
    forest = scheduling_queue.build(
        view, scheduling_queue.QueueOptions(order=tuple(spellings(root)[-1] for root in roots), gates=options.gates)
    )
    placing = options.effective_placing
    state = store.start_cycle(placing, options.ignore, options.plugins)
    decider = Decider(store.lazy_snapshot(), forest.conditions, placing, options.ignore, options.steps, state=state)
    decided = []
    try:
        for root in forest.roots:
            if isinstance(root, Decision):
                decided.append(Decided(root))
            else:
                pods = (pod for leaf in root.leaves() for pod in leaf.waiting)
                # The verdict of a placement plugin can depend on anything.
                events = frozenset(ClusterEvent) if options.plugins else frozenset().union(*map(state.stateful.events, pods))
                decided.append(Decided(decider.decide(root), events, root.preempts))
            if stop():
                break
    finally:
        state.stateful.give_back()
        if counters is not None:
            counters.join(state.looked)
    return tuple(decided)


def refused(store: Cache, root: Name, options: CycleOptions, excluded: Collection[str] = ()) -> Decision | None:
    """The decision on a root that would not even be tried, as things stand; None if it would be."""
    view = _without_excluded(store.snapshot((root,)), excluded)
    return next(iter(scheduling_queue.build(view, scheduling_queue.QueueOptions(gates=options.gates)).refused), None)


def _without_excluded(view: ClusterSnapshot, excluded: Collection[str]) -> ClusterSnapshot:
    """*view* with the pods *held* as members that nothing is to be found for."""
    if not excluded:
        return view
    pods = tuple(dataclasses.replace(pod, terminating=True) if pod.key in excluded else pod for pod in view.pods)
    return dataclasses.replace(view, pods=pods)
