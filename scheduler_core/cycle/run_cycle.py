"""One scheduling cycle over a snapshot: roots in the order of the queue, each placed whole or not at all.

What a root is given stays taken for the next one (KEP-6012, Recursive Scheduling Cycle Execution; KEP-4671, The Workload
Scheduling Cycle).  Binding and preemption never happen in the same cycle for one root: a root that needs room names who must
leave, and is placed in a later cycle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from scheduler_core.cycle.decider import Decider
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.loading.feature_gates import gated
from scheduler_core.model.decision import Decision, Name, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.queueing import scheduling_queue
from scheduler_core.queueing.scheduling_queue import Forest
from validators.gates import Gates


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CycleOptions:
    """How to run it.

    Attributes:
        order: the roots to try first, in this order, by ``name``, ``namespace/name`` or ``Kind/namespace/name``.
        scheduler_name: place only pods of this scheduler.
        evict: let the victims leave, and run the next cycle too.
        ignore: fields that are not modelled and are passed over, as ``spec.volumes.persistentVolumeClaim``.
        gates: the feature gates of the cluster.
        strategy: ``complete``: searches where greedy does not place a root whole; ``greedy``: as kube-scheduler does.
        budget: steps that the search may take for a root.
        placing: where more than kube-scheduler does is wanted.
        plugins: what others add to placing.
        progress: told how many roots are done, and of how many.

    """

    order: tuple[str, ...] = ()
    scheduler_name: str | None = None
    evict: bool = False
    ignore: frozenset[str] = frozenset()
    gates: Gates = dataclasses.field(default_factory=Gates)
    strategy: str = "greedy"
    budget: int = DEFAULT
    placing: PlacingOptions = dataclasses.field(default_factory=PlacingOptions)
    plugins: Plugins = dataclasses.field(default_factory=Plugins)
    progress: Callable[[int, int], None] | None = None

    @property
    def steps(self) -> int:
        """Steps of the search for a root; 0 where the strategy does not search."""
        return self.budget if self.strategy == "complete" else 0

    @property
    def effective_placing(self) -> PlacingOptions:
        """``placing``, with four statuses where the strategy searches."""
        return dataclasses.replace(self.placing, four_statuses=True) if self.strategy == "complete" else self.placing


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What the cycle came to.

    Attributes:
        decisions: in the order made.
        pending: pods that belong to no root that could be tried, each with the reason.
        problems: inputs that could not be used.

    """

    decisions: tuple[Decision, ...]
    pending: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]


def run_cycle(snapshot: ClusterSnapshot, options: CycleOptions | None = None) -> Result:
    """Decide on every root with pending pods.

    Raises:
        ValueError: ``order`` names a root that is not there.

    """
    options = options or CycleOptions()
    snapshot = gated(snapshot, options.gates)
    first = _Cycle(snapshot, options)
    decisions = first.run()
    if not options.evict or not any(decision.victims for decision in decisions):
        return Result(decisions, first.forest.pending, snapshot.problems)
    left = first.decider.effects.apply(snapshot, evict=True)
    later = _Cycle(left, dataclasses.replace(options, order=_still_there(options.order, decisions, left)))
    return Result((*decisions, *later.run()), later.forest.pending, snapshot.problems)


def _still_there(order: tuple[str, ...], decisions: tuple[Decision, ...], left: ClusterSnapshot) -> tuple[str, ...]:
    """*order* without roots that were evicted."""
    groups = {group.metadata.name for group in left.groups}
    evicted = {name for each in decisions for key in each.victims for name in (key, f"Pod/{key}", key.partition("/")[2])} - groups
    return tuple(name for name in order if name not in evicted)


def prepared(snapshot: ClusterSnapshot, options: CycleOptions, *, until: Name | None = None) -> tuple[Decider, tuple[Entity, ...]]:
    """What decides, and the roots that are ready, in the order of their cycles.

    With *until* only those whose turn is before that of the root *until*, which need not be ready itself; none where it is no root.
    """
    forest = _forest(snapshot, options)
    return _decider(snapshot, forest, options), forest.ready if until is None else forest.roots_before(until)


def queued(snapshot: ClusterSnapshot, options: CycleOptions) -> tuple[Entity, ...]:
    """The roots that are ready, in the order of their cycles."""
    return _forest(snapshot, options).ready


def attempted(decisions: Sequence[Decision], snapshot: ClusterSnapshot, options: CycleOptions) -> list[Decision]:
    """Return those of *decisions* whose roots were attempted; the others change nothing.  *snapshot* is as its feature gates leave it."""
    ready = frozenset[Name]()
    if any(each.status is Status.ERROR for each in decisions):
        # A root is in error before its attempt or in it.
        ready = frozenset(entity.name for entity in queued(snapshot, options))
    results = {Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE}
    return [each for each in decisions if each.status in results or each.root in ready]


def _forest(snapshot: ClusterSnapshot, options: CycleOptions) -> Forest:
    return scheduling_queue.build(snapshot, scheduling_queue.QueueOptions(options.scheduler_name, options.order, options.gates))


def _decider(snapshot: ClusterSnapshot, forest: Forest, options: CycleOptions) -> Decider:
    return Decider(snapshot, forest.conditions, options.effective_placing, options.ignore, options.steps, options.plugins)


class _Cycle:
    def __init__(self, snapshot: ClusterSnapshot, options: CycleOptions) -> None:
        self._progress = options.progress
        self.forest = _forest(snapshot, options)
        self.decider = _decider(snapshot, self.forest, options)

    def run(self) -> tuple[Decision, ...]:
        decisions = []
        roots = self.forest.roots
        for number, root in enumerate(roots):
            decisions.append(root if isinstance(root, Decision) else self.decider.decide(root))
            if self._progress is not None:
                self._progress(number + 1, len(roots))
        return tuple(decisions)
