"""One cycle over a few roots of a live cluster: the result of ``run_cycle``, at a cost that depends on what changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from kubeapi.meta import replaced
from scheduler_core.cycle.decider import Decider
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.counters import Counters
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.queueing import pre_enqueue, scheduling_queue
from scheduler_core.queueing.queue_order import spellings
from scheduler_core.queueing.trees import Trees
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.awaited_claims import AwaitedClaims


@dataclasses.dataclass(frozen=True, slots=True)
class Decided:
    """A decision with the changes that could lead to another one.

    Attributes:
        decision: the decision.
        events: cluster events, apart from freed capacity, that can change the decision.
        preempts: whether the root is allowed to preempt.
        planned: whether victims were chosen; the decision has none of them if the root still waits for earlier ones.

    """

    decision: Decision
    events: frozenset[ClusterEvent] = frozenset()
    preempts: bool = False
    planned: bool = False


def decide(
    cache: Cache,
    roots: Sequence[Name],
    options: CycleOptions,
    excluded: Collection[str] = (),
    stop: Callable[[], bool] = lambda: False,
    counters: Counters | None = None,
    *,
    awaits: Callable[[Name], bool] = lambda _: False,
) -> tuple[Decided, ...]:
    """Return the decisions on *roots*, in this order; capacity taken by one root is not available to the next.

    Args:
        cache: the cluster.
        roots: root groups and single pods.
        options: options of the cycle.
        excluded: keys of pending members that must not be placed.
        stop: called after each root; once it returns True, the remaining roots get no decision.
        counters: counters of evaluated placements.
        awaits: returns whether a root waits for its victims, or is attempted after them.

    """
    view = _without_excluded(cache.snapshot(roots), excluded)
    forest = scheduling_queue.build(
        view, scheduling_queue.QueueOptions(order=tuple(spellings(root)[-1] for root in roots), gates=options.gates)
    )
    placing = options.effective_placing
    awaited = AwaitedClaims(cache, awaits)
    state = cache.start_cycle(placing, options.ignore, options.plugins)
    decider = Decider(cache.lazy_snapshot(), forest.conditions, placing, options.ignore, options.steps, state=state)
    if placing.sparing:
        awaited.hold_devices(state)
    # Their reservations can be in flight: the claims do not show them.
    assumed = (pod for pod in cache.usage.pods.assumed_or_pinned.values() if pod.assumed and pod.parsed_pod.device_claims)
    decider.preemptions.keep_claims(map(cache.usage.record, assumed))
    decided = []
    try:
        for root in forest.roots:
            if isinstance(root, Decision):
                decided.append(Decided(root))
            else:
                pods = (pod for leaf in root.leaves() for pod in leaf.waiting)
                # The result of a placement plugin can depend on any event.
                events = frozenset(ClusterEvent) if options.plugins else frozenset().union(*map(state.stateful.events, pods))
                decision = _decision(decider, root, awaited)
                decided.append(Decided(awaited.settled(decision), events, root.preempts, bool(decision.victims)))
            if stop():
                break
    finally:
        state.stateful.give_back()
        if counters is not None:
            counters.join(state.evaluated)
    return tuple(decided)


def _decision(decider: Decider, root: Entity, awaited: AwaitedClaims) -> Decision:
    """Return the decision on *root*, without the pods that use claims which other roots await."""
    preemptions = decider.preemptions
    of_batch, claims = preemptions.awaited, awaited.for_root(root)
    preemptions.awaited = of_batch | claims
    decision = decider.decide(root)
    preemptions.awaited = of_batch | (preemptions.awaited - claims)
    return awaited.explained(decision, claims)


def refused(cache: Cache, root: Name, options: CycleOptions, excluded: Collection[str] = ()) -> Decision | None:
    """Return the decision on a root that PreEnqueue holds back; None if it does not.  A group needs no pending pods."""
    view = _without_excluded(cache.snapshot((root,)), excluded)
    if root.kind == "Pod":
        return next(iter(scheduling_queue.build(view, scheduling_queue.QueueOptions(gates=options.gates)).refused), None)
    trees = Trees(view)
    tree = next(each for each in trees.all if each.name == root)
    why = pre_enqueue.refusal(tree, trees, options.gates)
    return None if why is None else pre_enqueue.decision(tree, trees, why, Conditions(view.groups))


def _without_excluded(view: ClusterSnapshot, excluded: Collection[str]) -> ClusterSnapshot:
    """Return *view* with the *excluded* pods marked as terminating, so that they are not placed."""
    if not excluded:
        return view
    pods = tuple(replaced(pod, terminating=True) if pod.key in excluded else pod for pod in view.pods)
    return dataclasses.replace(view, pods=pods)
