"""One scheduling cycle over a snapshot: roots in queue order, each placed whole or not at all.

Resources that a root takes are not available to later roots (KEP-6012, Recursive Scheduling Cycle Execution; KEP-4671, The
Workload Scheduling Cycle).  A root is never bound in the cycle in which it preempts: that cycle selects the victims, and a
later cycle places the root.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from kubeapi.base_structs import Record
from kubeapi.problem import Problem
from scheduler_core.causes.cause import Cause
from scheduler_core.cycle.decider import Decider
from scheduler_core.cycle.device_decisions import with_waiting_pods_placed
from scheduler_core.cycle.unreserved_claims import (
    deallocated,
    deallocated_afterwards,
    post_filtered,
    sets_to_deallocate,
    unreserved_claims,
    without_allocations,
)
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.options import COMPLETE, OWN_GATE, PlacingOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.queueing import scheduling_queue
from scheduler_core.queueing.scheduling_queue import Forest
from validators.gates import TOPOLOGY, Gates

MOST_CYCLES = 6
"""Limit of consecutive cycles."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CycleOptions:
    """Options of a cycle.

    Attributes:
        order: the roots to try first, in this order, by ``name``, ``namespace/name`` or ``Kind/namespace/name``.
        scheduler_name: place only pods of this scheduler.
        evict: remove the victims, and run the next cycle too.
        ignore: fields that are not modelled and are ignored, such as ``spec.volumes.persistentVolumeClaim``.
        gates: feature gates of the cluster.
        strategy: ``complete``: search if greedy does not place a root whole; ``greedy``: as kube-scheduler.
        budget: maximum search steps for a root.
        placing: extensions over kube-scheduler.
        rank_order: let equal pods exchange nodes by rank; only with the strategy ``complete``.
        plugins: placement plugins of other packages.
        progress: called with the number of finished roots and the number of all roots.

    """

    order: tuple[str, ...] = ()
    scheduler_name: str | None = None
    evict: bool = False
    ignore: frozenset[str] = frozenset()
    gates: Gates = dataclasses.field(default_factory=Gates)
    strategy: str = "greedy"
    budget: int = DEFAULT
    placing: PlacingOptions = dataclasses.field(default_factory=PlacingOptions)
    rank_order: bool = True
    plugins: Plugins = dataclasses.field(default_factory=Plugins)
    progress: Callable[[int, int], None] | None = None

    @property
    def steps(self) -> int:
        """Return the search steps for a root; 0 if the strategy does not search."""
        return self.budget if self.strategy == COMPLETE else 0

    @property
    def ignored(self) -> frozenset[str]:
        """Return ``ignore``, with Muster's own scheduling gate unless pods are placed as by kube-scheduler, which waits for its removal."""
        return self.ignore | {OWN_GATE} if self.strategy == COMPLETE else self.ignore

    @property
    def effective_placing(self) -> PlacingOptions:
        """Return ``placing``, with four statuses, sparing and the rank order if the strategy searches."""
        if self.strategy != COMPLETE:
            return self.placing
        return dataclasses.replace(self.placing, four_statuses=True, sparing=True, rank_order=self.rank_order)


class Result(Record, frozen=True):
    """Result of a cycle.

    Attributes:
        decisions: in the order made.
        pending: pods that belong to no root that could be tried, each with its causes.
        problems: inputs that could not be used.

    """

    decisions: tuple[Decision, ...]
    pending: tuple[tuple[str, tuple[Cause, ...]], ...]
    problems: tuple[Problem, ...]


def run_cycle(snapshot: ClusterSnapshot, options: CycleOptions | None = None) -> Result:
    """Decide on every root with pending pods.

    Raises:
        ValueError: ``order`` contains a name that is not a root.

    """
    options = options or CycleOptions()
    return run_cycles(snapshot, options, lambda decisions: options.evict and any(each.victims for each in decisions), most=2)


def run_cycles(
    snapshot: ClusterSnapshot, options: CycleOptions, again: Callable[[Sequence[Decision]], bool], *, most: int = MOST_CYCLES
) -> Result:
    """Run a cycle, and as long as *again* is true for its decisions the next one: victims are removed, and placed pods run.

    There are at most *most* cycles.  The decisions are those of all cycles.

    Raises:
        ValueError: ``order`` contains a name that is not a root.

    """
    return _run_cycles(snapshot, options, again, most)[0]


def run_and_apply(
    snapshot: ClusterSnapshot, options: CycleOptions, again: Callable[[Sequence[Decision]], bool], *, most: int = MOST_CYCLES
) -> tuple[Result, ClusterSnapshot]:
    """Return the result of ``run_cycles``, and the cluster after all of its decisions."""
    result, changed = _run_cycles(snapshot, options, again, most)
    return result, changed()


def _run_cycles(
    snapshot: ClusterSnapshot, options: CycleOptions, again: Callable[[Sequence[Decision]], bool], most: int
) -> tuple[Result, Callable[[], ClusterSnapshot]]:
    snapshot = apply_feature_gates(snapshot, options.gates, options.ignored)
    problems = snapshot.problems
    all_decisions: list[Decision] = []
    for number in range(most):
        snapshot, cycle, decisions, released = _with_unreserved_claims(snapshot, options)
        if not options.gates.enabled(TOPOLOGY):
            decisions = tuple(dataclasses.replace(each, behavior=each.behavior.without_placements()) for each in decisions)
        all_decisions += decisions
        changed = functools.partial(_changed, snapshot, cycle, released)
        if number + 1 == most or not (again(decisions) or (options.evict and released)):
            break
        snapshot = changed()
        options = dataclasses.replace(options, order=_without_evicted(options.order, decisions, snapshot))
    return Result(tuple(all_decisions), cycle.forest.pending, problems), changed


def _changed(snapshot: ClusterSnapshot, cycle: _Cycle, released: frozenset[str]) -> ClusterSnapshot:
    return without_allocations(cycle.decider.effects.apply(snapshot, evict=True), released)


def _with_unreserved_claims(
    snapshot: ClusterSnapshot, options: CycleOptions
) -> tuple[ClusterSnapshot, _Cycle, tuple[Decision, ...], frozenset[str]]:
    """Return the cluster, a cycle over it, its decisions, and the claims that are deallocated afterwards.

    A search deallocates claims that are reserved for nobody first, if it then places more pods.
    """
    cycle = _Cycle(snapshot, options)
    decisions = cycle.run()
    if not options.steps:
        claims = post_filtered(snapshot, decisions)
        return snapshot, cycle, deallocated_afterwards(decisions, claims), frozenset(chain.from_iterable(claims.values()))
    best = snapshot, cycle, decisions
    quiet = dataclasses.replace(options, progress=None)
    for freed in sets_to_deallocate(unreserved_claims(snapshot, decisions)):
        changed = without_allocations(snapshot, freed)
        other = _Cycle(changed, quiet)
        if _placed(found := other.run()) > _placed(best[2]):
            best = changed, other, deallocated(found, snapshot, freed)
    return *best, frozenset()


def _placed(decisions: Iterable[Decision]) -> int:
    return sum(len(each.assignments) for each in decisions)


def _without_evicted(order: tuple[str, ...], decisions: tuple[Decision, ...], remaining: ClusterSnapshot) -> tuple[str, ...]:
    """Return *order* without evicted roots."""
    groups = {group.metadata.name for group in remaining.groups}
    evicted = {name for each in decisions for key in each.victims for name in (key, f"Pod/{key}", key.partition("/")[2])} - groups
    return tuple(name for name in order if name not in evicted)


def prepared(snapshot: ClusterSnapshot, options: CycleOptions, *, until: Name | None = None) -> tuple[Decider, tuple[Entity, ...]]:
    """Return the decider, and the ready roots in the order of their cycles.

    With *until*, return only the roots before the root *until*, which need not be ready; none if there is no such root.
    """
    forest = _forest(snapshot, options)
    return _decider(snapshot, forest, options), forest.ready if until is None else forest.roots_before(until)


def queued(snapshot: ClusterSnapshot, options: CycleOptions) -> tuple[Entity, ...]:
    """Return the ready roots in the order of their cycles."""
    return _forest(snapshot, options).ready


def attempted(decisions: Sequence[Decision], snapshot: ClusterSnapshot, options: CycleOptions) -> list[Decision]:
    """Return those of *decisions* whose roots were attempted; other decisions change nothing.

    Pods that wait for their devices count as placed: they hold capacity and devices.  Feature gates are applied to *snapshot* already.
    """
    ready = frozenset[Name]()
    if any(each.status is Status.ERROR for each in decisions):
        # A root with status Error may have been refused before its attempt.
        ready = frozenset(entity.name for entity in queued(snapshot, options))
    results = {Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE}
    placed = map(with_waiting_pods_placed, decisions)
    return [each for each in placed if each.status in results or each.root in ready]


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
            decisions.append(root if isinstance(root, Decision) else self._decided(root))
            if self._progress is not None:
                self._progress(number + 1, len(roots))
        return tuple(decisions)

    def _decided(self, root: Entity) -> Decision:
        """Return the decision on *root*, which says whether a group of it is being deleted."""
        decision = self.decider.decide(root)
        deleted = self.forest.deleted.get(root.name, ())
        return dataclasses.replace(decision, causes=(*decision.causes, *deleted)) if deleted else decision
