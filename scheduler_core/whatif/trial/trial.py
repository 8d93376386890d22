"""Trials of a root after edits of its cluster, limited in number, effort and search steps."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from scheduler_core.causes.changes import Change
from scheduler_core.cluster.cluster import INCREMENTAL
from scheduler_core.cycle.decider import Decider
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, prepared, queued, run_cycle
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision, Step
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.queueing.queue_order import OrderError
from scheduler_core.whatif.edits.edits import Both, Edit
from scheduler_core.whatif.edits.pod_edits import Respecified, restricted
from scheduler_core.whatif.edits.raw_objects import Book, after, merged
from scheduler_core.whatif.trial.prepared_cluster import Fork, Placed, PreparedCluster, Tried
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
_KEPT = 16
"""Maximum number of edits whose forks are kept."""


class TrialsSpentError(Exception):
    """The limit of tries, effort or search steps is reached."""


class Earlier(Record, frozen=True):
    """An earlier root in the queue, with its pods that were placed."""

    root: Name
    pods: tuple[PodRecord, ...]


def _can_evict(snapshot: ClusterSnapshot) -> bool:
    """Return whether a cycle could have a successor: some pods have a lower priority than others, or claims can be deallocated."""
    priorities = {*snapshot.priorities.values(), *(pod.priority for pod in snapshot.pods), *((0,) if snapshot.groups else ())}
    return len(priorities) > 1 or snapshot.devices is not None


def _places_all(decider: Decider, root: Entity) -> bool:
    """Return whether all pods of *root* are placed, so that no later cycle decides on it again."""
    decision = decider.decide(root)
    return decision.status is Status.SUCCESS and len(decision.assignments) == sum(len(each.waiting) for each in root.walk())


class _Edited:
    """The cluster after an edit, as the root is tried on it.

    Attributes:
        steps: the steps of the edit, or of the second of two edits; of pods that are alike only those of the first.  None if the raw
            objects do not allow the edit.
        kinds: the kinds of all objects that change.

    """

    def __init__(self, cluster: PreparedCluster, book: Book, edit: Edit, first: _Edited | None) -> None:
        self._cluster, self._first = cluster, first
        last = edit.second if isinstance(edit, Both) else edit
        self._alike = cluster.alike(cluster.unchanged if first is None else first.fork, last.pods) if isinstance(last, Respecified) else {}
        samples = frozenset(self._alike.values())
        before, sampled = restricted(edit.first, samples) if isinstance(edit, Both) else None, restricted(last, samples)
        if before is not None:
            book = book.with_steps(before.steps(book))
        self.steps: tuple[Step, ...] = sampled.steps(book) if sampled is not None and (first is None or first.steps) else ()
        own = frozenset((step.apply or step.delete or {}).get("kind") for step in self.steps)
        self.kinds: frozenset[object] = own if first is None else own | first.kinds

    @functools.cached_property
    def fork(self) -> Fork:
        """The cluster as far as the root depends on it; the steps must change nodes, pods, groups or Workloads."""
        return self._cluster.fork(self.steps, None if self._first is None else self._first.fork, self._alike)


class Trial:
    """Tries edits for one root: a fork of the cluster gets the objects of an edit, and the root is placed on its snapshot.

    Earlier roots are decided once; edits are tried with these roots as placed, and edits that work are tried again
    in a whole cycle.  Without earlier roots the two are the same.

    Attributes:
        root: its name.
        cluster: the cluster before its cycle.
        earlier: earlier roots that were placed.
        ahead: roots before it in the queue that the last whole cycle placed on added nodes, with these nodes.
        left: remaining tries.
        undecided: True if any search ended without a result for an edit.
        last_undecided: True if the last search did.

    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        options: CycleOptions,
        subject: Subject,
        book: Book,
        *,
        tries: int = 0,
        before: Sequence[Decision] | None = None,
    ) -> None:
        """Prepare the cluster; *book* has the objects of *snapshot*."""
        self.root = subject.root
        self.ahead: tuple[tuple[Name, frozenset[str]], ...] = ()
        self._book, self._cluster = book, book.cluster(snapshot)
        self._others = any(pod.node < 0 and pod.key not in subject.own for pod in snapshot.pods)
        self._tries = tries or MOST
        self._cluster_size = len(snapshot.nodes) + len(snapshot.pods)
        self._root_size = len(snapshot.nodes) + len(subject.own)
        searched = sum(pod.shape.picks_devices for pod in snapshot.pods if pod.node < 0 and pod.key in subject.own)
        self._searched = searched * len(snapshot.nodes) // _PAIRS
        self._options = dataclasses.replace(options, progress=None)
        self._snapshot = snapshot
        present = apply_feature_gates(snapshot, options.gates, options.ignored)
        decisions = [*self._earlier_decisions(present)] if before is None else attempted(before, present, self._options)
        self._before = len(decisions)
        base = Effects(present.nodes, decisions).apply(present, drop_pending=True)
        placed = {pod.key: pod for pod in base.pods} if any(each.assignments for each in decisions) else {}
        self.earlier = tuple(Earlier(each.root, tuple(placed[pod] for pod in each.assignments)) for each in decisions if each.assignments)
        self.cluster = PreparedCluster(base, dataclasses.replace(self._options, order=()), subject, steps=STEPS)
        self._known: dict[Change, _Edited] = {}
        self.refill()

    def refill(self, steps: int = STEPS) -> None:
        """Reset all limits, with *steps* search steps for a try."""
        self.cluster.steps = steps
        self.left, self._effort_left, self._explorable = self._tries, _EFFORT, _ALL_STEPS
        self.undecided = self.last_undecided = False

    def deepen(self) -> None:
        """Use more search steps for each try from now on."""
        self.cluster.steps = MORE_STEPS
        self.undecided = False

    def steps(self, edit: Edit) -> tuple[Step, ...]:
        """Return the steps of *edit*, one for each object; none if the raw objects do not allow it."""
        return merged(edit.steps(self._book))

    def fork(self, edit: Edit) -> Fork:
        """Return the cluster after *edit*, which changes nodes, pods, groups or Workloads."""
        return self._edited(edit).fork

    def _edited(self, edit: Edit) -> _Edited:
        if (known := self._known.get(edit.change)) is None:
            if isinstance(edit, Both) and isinstance(edit.second, Both):
                return self._edited(Both(Both(edit.first, edit.second.first), edit.second.second))
            known = _Edited(self.cluster, self._book, edit, self._edited(edit.first) if isinstance(edit, Both) else None)
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[edit.change] = known
        return known

    def placed(self, edit: Edit, *, whole: bool = False) -> Placed | None:
        """Return the nodes of the root's pods after *edit*; None if it is not placed, or if the raw objects do not allow *edit*.

        Pods beyond the minimums are placed only with *whole*.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        edited, self.last_undecided = self._edited(edit), False
        if not edited.steps:
            return None
        if not edited.kinds <= INCREMENTAL and after(self._cluster, self.steps(edit)).builds_anew:
            decision = self.decision(edit)
            return None if decision is None else [*decision.assignments.items()]
        fork = edited.fork
        self._spend(self._root_size if fork.snapshot.nodes is self.cluster.base.nodes else _PREPARED_AGAIN * self._cluster_size)
        return self._record(Tried(None) if fork.entity is None else self.cluster.attempt(fork, fork.entity, whole=whole))

    def attempt(self, fork: Fork, entity: Entity, leaving: Iterable[PodRecord] = ()) -> Placed | None:
        """Return the nodes of the pods of *entity*, the root with other demands, on *fork* without the pods *leaving*; None as ``placed``.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        self._spend(self._root_size)
        return self._record(self.cluster.attempt(fork, entity, leaving))

    def decision(self, edit: Edit) -> Decision | None:
        """Return the decision on the root of a cycle after *edit*, of any kind; None if it is not placed.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        if not (steps := self.steps(edit)):
            return None
        self._spend(_LOADED_AGAIN * self._cluster_size + _DECIDED * self._before)
        turn = self._turn(self._changed(steps), dataclasses.replace(self._options, budget=min(self.cluster.steps, self._options.budget)))
        return None if turn is None else turn[0].decide(turn[1])

    def holds(self, edit: Edit) -> bool:
        """Return whether a whole cycle after *edit* places the root.

        Raises:
            TrialsSpentError: a limit is reached.

        """
        self._spend(_PREPARED_AGAIN * self._cluster_size + _DECIDED * self._before)
        try:
            snapshot = self._changed(self.steps(edit))
            can_evict = self._options.evict and _can_evict(snapshot)
            # A search may deallocate claims to devices for later roots.
            if self._options.placing.preempt_for_leftovers or (can_evict and snapshot.devices is not None):
                return self._holds_with_later_roots(snapshot)
            turn = self._turn(snapshot, self._options)
            if not can_evict or (turn is not None and _places_all(*turn)):
                return turn is not None
            return self._holds_with_later_roots(snapshot)
        except OrderError:
            return False

    def _holds_with_later_roots(self, snapshot: ClusterSnapshot) -> bool:
        """Return whether the root is placed by its last decision of a cycle and, after evictions, of the next one."""
        self._spend(_DECIDED * len(queued(snapshot, self._options)))
        statuses = [each.status for each in run_cycle(snapshot, self._options).decisions if each.root == self.root]
        return bool(statuses) and statuses[-1] is Status.SUCCESS

    def concerns_root_alone(self, edit: Edit) -> bool:
        """Return whether *edit* affects no earlier root, so that a placement by itself holds in a whole cycle."""
        if self._options.evict or self._options.placing.preempt_for_leftovers or self._options.order:
            return False
        return not self._others or self.cluster.concerns_none_but_the_root(self.steps(edit))

    def shares_state(self, edit: Edit) -> bool:
        """Return whether *edit* is tried on the placement state of the cluster, of a root that is ready without *edit*."""
        edited, unchanged = self._edited(edit), self.cluster.unchanged
        return unchanged.entity is not None and edited.kinds <= INCREMENTAL and edited.fork.state is unchanged.state

    def _changed(self, steps: Sequence[Step]) -> ClusterSnapshot:
        """Return the cluster after *steps*, with feature gates applied."""
        return apply_feature_gates(after(self._cluster, steps).snapshot(), self._options.gates, self._options.ignored)

    def _turn(self, snapshot: ClusterSnapshot, options: CycleOptions) -> tuple[Decider, Entity] | None:
        """Return the root with the cycle over *snapshot* that has decided all roots before it; None if it is not ready, or does not fit."""
        self.ahead = ()
        decider, ready = prepared(snapshot, options)
        added = frozenset(snapshot.nodes.names) - frozenset(self._snapshot.nodes.names)
        for entity in ready:
            if entity.name == self.root:
                return None if decider.fitting(entity) is None else (decider, entity)
            if taken := added.intersection(decider.decide(entity).assignments.values()):
                self.ahead += ((entity.name, taken),)
        return None

    def _spend(self, examined: int) -> None:
        examined += self._searched
        # One try is always allowed, however large the cluster is.
        if self.left < 1 or self._explorable <= 0 or self._effort_left < min(examined, _EFFORT):
            raise TrialsSpentError
        self.left -= 1
        self._effort_left -= examined

    def _record(self, tried: Tried) -> Placed | None:
        self._explorable -= tried.explored
        self.last_undecided = tried.undecided
        self.undecided = self.undecided or tried.undecided
        return tried.pods

    def _earlier_decisions(self, snapshot: ClusterSnapshot) -> Iterator[Decision]:
        """Return the decisions on earlier roots; the root itself need not be ready, as a change may make it so."""
        decider, first = prepared(snapshot, self._options, until=self.root)
        yield from map(decider.decide, first)
