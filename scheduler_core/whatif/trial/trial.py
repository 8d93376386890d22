"""Trials of a root on changed clusters, limited in number, effort and search steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from kubeapi.meta import replaced
from scheduler_core.cluster.cluster import INCREMENTAL, Cluster
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, prepared, run_cycle
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision, Step
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.queueing.queue_order import OrderError
from scheduler_core.whatif.edits.edits import Both, Edit, Evicted, Moved
from scheduler_core.whatif.edits.raw_objects import Book, after
from scheduler_core.whatif.trial.prepared_cluster import Placed, PreparedCluster, Tried
from scheduler_core.whatif.trial.subject import Subject

MOST = 160
"""Maximum number of tries."""
_EFFORT = 600_000
"""Maximum number of nodes and pods examined in all tries."""
_PREPARED_AGAIN = 2
"""Cost factor of a try that has to prepare the cluster again."""
_LOADED_AGAIN = 4
"""Cost factor of a try that has to load the cluster again."""
_PAIRS = 16
"""Number of pairs of a pod and a node that take as long as one node or pod, for pods whose devices are searched one by one."""
_DECIDED = 500
"""Cost of an earlier root that has to be decided again."""
STEPS, MORE_STEPS = 2_000, 10_000
"""Maximum search steps for one try: most changes that help are found at once; more steps are used only if too few are."""
_ALL_STEPS = 120_000
"""Maximum search steps for a root in all tries."""


class TrialsSpentError(Exception):
    """The limit of tries, effort or search steps is reached."""


@dataclasses.dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier root in the queue, with its pods that were placed."""

    root: Name
    pods: tuple[PodRecord, ...]


class Trial:
    """Tries one root.

    Earlier roots are decided once; changes are tried with these roots as placed, and changes that work are tried again
    in a whole cycle.  Without earlier roots the two are the same.

    Attributes:
        root: its name.
        cluster: the cluster before its cycle.
        earlier: earlier roots that were placed.
        ahead: roots before it in the queue that the last whole cycle placed on added nodes, with these nodes.
        left: remaining tries.
        undecided: True if any search ended without a result for a change.
        last_undecided: True if the last search did.

    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        options: CycleOptions,
        subject: Subject,
        *,
        tries: int = 0,
        before: Sequence[Decision] | None = None,
        book: Book | None = None,
    ) -> None:
        """Prepare the cluster; without *book*, the objects of *snapshot*, steps about volumes cannot be tried."""
        self.root = subject.root
        self.ahead: tuple[tuple[Name, frozenset[str]], ...] = ()
        self._cluster = Cluster.of_snapshot(snapshot) if book is None else book.cluster(snapshot)
        self._others = any(pod.node < 0 and pod.key not in subject.own for pod in snapshot.pods)
        self._tries = tries or MOST
        self._cluster_size = len(snapshot.nodes) + len(snapshot.pods)
        self._root_size = len(snapshot.nodes) + len(subject.own)
        searched = sum(pod.shape.picks_devices for pod in snapshot.pods if pod.node < 0 and pod.key in subject.own)
        self._searched = searched * len(snapshot.nodes) // _PAIRS
        self._options = dataclasses.replace(options, progress=None)
        self._snapshot = snapshot
        present = apply_feature_gates(snapshot, options.gates, options.ignore)
        decisions = [*self._earlier_decisions(present)] if before is None else attempted(before, present, self._options)
        self._before = len(decisions)
        base = Effects(present.nodes, decisions).apply(present, drop_pending=True)
        placed = {pod.key: pod for pod in base.pods} if any(each.assignments for each in decisions) else {}
        self.earlier = tuple(Earlier(each.root, tuple(placed[pod] for pod in each.assignments)) for each in decisions if each.assignments)
        self.cluster = PreparedCluster(base, dataclasses.replace(self._options, order=()), subject, steps=STEPS)
        self.refill()

    def refill(self, steps: int = STEPS) -> None:
        """Reset all limits, with *steps* search steps for a try."""
        self.cluster.steps = steps
        self.left, self._effort_left, self._steps = self._tries, _EFFORT, _ALL_STEPS
        self.undecided = self.last_undecided = False

    def deepen(self) -> None:
        """Use more search steps for each try from now on."""
        self.cluster.steps = MORE_STEPS
        self.undecided = False

    def supposed(self, edit: Edit, *, whole: bool = False) -> Placed | None:
        """Return the nodes of the root's pods with *edit*, which must be supposable, without its steps; None if it is not placed.

        Pods beyond the minimums are placed only with *whole*.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        entity = self.cluster.suppose(edit)
        if entity is None:
            raise LookupError("the effect of this change is known only from its steps")
        return self.attempt(entity, *self._other_pods(edit), whole=whole)

    def knows(self, edit: Edit) -> bool:
        """Return whether ``supposed`` can try *edit*."""
        return self.cluster.suppose(edit) is not None

    def attempt(
        self,
        entity: Entity,
        leaving: Iterable[PodRecord] = (),
        coming: Iterable[PodRecord] = (),
        *,
        whole: bool = False,
        cluster: PreparedCluster | None = None,
    ) -> Placed | None:
        """Return the nodes of the pods of *entity*, a changed root, on *cluster* (by default ``self.cluster``); None if it is not placed.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        self._spend(self._root_size)
        return self._record((cluster or self.cluster).attempt(entity, leaving, coming, whole=whole))

    def placed(self, steps: Sequence[Step]) -> Placed | None:
        """Return the nodes of the root's pods with *steps* applied; None if it is not placed.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        kinds = {(step.apply or step.delete or {}).get("kind") for step in steps}
        if not kinds <= INCREMENTAL and after(self._cluster, steps).builds_anew:
            decision = self.decision(steps)
            return None if decision is None else [*decision.assignments.items()]
        adds = any(step.apply is not None and step.apply.get("kind") == "Node" for step in steps)
        self._spend(_PREPARED_AGAIN * self._cluster_size if adds else self._root_size)
        return self._record(self.cluster.try_steps(steps))

    def decision(self, steps: Sequence[Step]) -> Decision | None:
        """Return the decision on the root of a cycle with *steps*, of any kind, applied; None if it is not placed.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        self._spend(_LOADED_AGAIN * self._cluster_size + _DECIDED * self._before)
        options = dataclasses.replace(self._options, budget=min(self.cluster.steps, self._options.budget))
        decider, ready = prepared(self._changed(steps), options)
        for entity in ready:
            if entity.name != self.root:
                decider.decide(entity)
            elif decider.fitting(entity) is not None:
                return decider.decide(entity)
            else:
                break
        return None

    def places_root(self, steps: Sequence[Step]) -> bool:
        """Return whether a whole cycle with *steps* applied places the root.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        self._spend(_PREPARED_AGAIN * self._cluster_size + _DECIDED * self._before)
        self.ahead = ()
        try:
            snapshot = self._changed(steps)
            if self._options.evict or self._options.placing.preempt_for_leftovers:
                decisions = run_cycle(snapshot, self._options).decisions
                return (
                    any(each.root == self.root for each in decisions)
                    and [each.status for each in decisions if each.root == self.root][-1] is Status.SUCCESS
                )
            return self._placed_in_cycle(snapshot)
        except OrderError:
            return False

    def concerns_root_alone(self, steps: Sequence[Step]) -> bool:
        """Return whether *steps* affect no earlier root, so that a placement by itself holds in a whole cycle."""
        if self._options.evict or self._options.placing.preempt_for_leftovers or self._options.order:
            return False
        return not self._others or self.cluster.concerns_none_but_the_root(steps)

    def _changed(self, steps: Sequence[Step]) -> ClusterSnapshot:
        """Return the cluster after *steps*, with feature gates applied."""
        return apply_feature_gates(after(self._cluster, steps).snapshot(), self._options.gates, self._options.ignore)

    def _other_pods(self, edit: Edit) -> tuple[list[PodRecord], list[PodRecord]]:
        """Return pods of other roots before *edit*, and those that run after it."""
        others, nodes = self.cluster.others, self.cluster.base.nodes.index
        match edit:
            case Moved():
                before = [others[key] for key in edit.nodes]
                return before, [replaced(pod, node=nodes[edit.nodes[pod.key][1]]) for pod in before]
            case Evicted():
                return [others[key] for key in edit.pods], []
            case Both():
                (first, first_after), (second, second_after) = self._other_pods(edit.first), self._other_pods(edit.second)
                return [*first, *second], [*first_after, *second_after]
        return [], []

    def _spend(self, examined: int) -> None:
        examined += self._searched
        # One try is always allowed, however large the cluster is.
        if self.left < 1 or self._steps <= 0 or self._effort_left < min(examined, _EFFORT):
            raise TrialsSpentError
        self.left -= 1
        self._effort_left -= examined

    def _record(self, tried: Tried) -> Placed | None:
        self._steps -= tried.explored
        self.last_undecided = tried.undecided
        self.undecided = self.undecided or tried.undecided
        return tried.pods

    def _placed_in_cycle(self, snapshot: ClusterSnapshot) -> bool:
        decider, ready = prepared(snapshot, self._options)
        added = frozenset(snapshot.nodes.names) - frozenset(self._snapshot.nodes.names)
        for entity in ready:
            if entity.name == self.root:
                return decider.fitting(entity) is not None
            if taken := added.intersection(decider.decide(entity).assignments.values()):
                self.ahead += ((entity.name, taken),)
        return False

    def _earlier_decisions(self, snapshot: ClusterSnapshot) -> Iterator[Decision]:
        """Return the decisions on earlier roots; the root itself need not be ready, as a change may make it so."""
        decider, first = prepared(snapshot, self._options, until=self.root)
        yield from map(decider.decide, first)
