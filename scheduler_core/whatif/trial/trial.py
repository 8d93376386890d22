"""A root tried on changed clusters: so often, with so much looked at and so many steps of search, and no more."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, prepared, run_cycle
from scheduler_core.loading.feature_gates import gated
from scheduler_core.model.decision import Decision, Name, Status, Step
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.queueing.queue_order import OrderError
from scheduler_core.whatif.edits.apply_edits import applied
from scheduler_core.whatif.edits.edits import Both, Edit, Leaving, Moved
from scheduler_core.whatif.trial.prepared_cluster import Placed, PreparedCluster, Tried
from scheduler_core.whatif.trial.subject import Subject

MOST = 160
"""So many tries."""
_LOOKS = 600_000
"""Nodes and pods that are looked at in all."""
_AFRESH = 2
"""How often they are looked at where all that is known of them is worked out anew."""
_DECIDED = 500
"""What a root before it counts as, where these are decided on anew."""
STEPS, MORE_STEPS = 2_000, 10_000
"""What a search may take for one try: what helps is mostly found at once, and only where it is not is more worth while."""
_ALL_STEPS = 120_000
"""What the searches for a root may take in all."""


class TrialsSpentError(Exception):
    """All tries are used up, or all that may be looked at or searched."""


@dataclasses.dataclass(frozen=True, slots=True)
class Earlier:
    """A root before it in the queue, with the pods of it that were placed."""

    root: Name
    pods: tuple[PodRecord, ...]


class Trial:
    """Tries one root.

    The roots before it are decided on once; changes are tried where those stand as they were placed, and what works there
    is tried again with all of them.  Without roots before it the two are the same.

    Attributes:
        root: its name.
        ground: the cluster as it finds it.
        earlier: the roots before it that were placed.
        left: tries that are left.
        undecided: whether any search ended before it was known what comes of a change.
        last_undecided: whether the last one did.

    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        options: CycleOptions,
        subject: Subject,
        *,
        tries: int = 0,
        before: Sequence[Decision] | None = None,
    ) -> None:
        self.root = subject.root
        self._others = any(pod.node < 0 and pod.key not in subject.own for pod in snapshot.pods)
        self._tries = tries or MOST
        self._every = len(snapshot.nodes) + len(snapshot.pods)
        self._own = len(snapshot.nodes) + len(subject.own)
        self._options = dataclasses.replace(options, progress=None)
        self._whole = snapshot
        there = gated(snapshot, options.gates)
        decisions = [*self._decided(there)] if before is None else attempted(before, there, self._options)
        self._before = len(decisions)
        base = Effects(there.nodes, decisions).apply(there, drop_pending=True)
        placed = {pod.key: pod for pod in base.pods} if any(each.assignments for each in decisions) else {}
        self.earlier = tuple(Earlier(each.root, tuple(placed[pod] for pod in each.assignments)) for each in decisions if each.assignments)
        self.ground = PreparedCluster(base, dataclasses.replace(self._options, order=()), subject, steps=STEPS)
        self.refill()

    def refill(self, steps: int = STEPS) -> None:
        """Begin to count anew, with so many *steps* of search for a try."""
        self.ground.steps = steps
        self.left, self._looks, self._steps = self._tries, _LOOKS, _ALL_STEPS
        self.undecided = self.last_undecided = False

    def deepen(self) -> None:
        """Search further for each try from here on."""
        self.ground.steps = MORE_STEPS
        self.undecided = False

    def supposed(self, edit: Edit, *, whole: bool = False) -> Placed | None:
        """Where the root's pods go with *edit*, which is supposable, as far as that is known without its steps; None if nowhere.

        Only for the *whole* root do pods beyond its minimums go anywhere.

        Raises:
            TrialsSpentError: all tries are used up, or all that may be looked at or searched.

        """
        entity = self.ground.suppose(edit)
        if entity is None:
            raise LookupError("only the steps of this change tell what comes of it")
        return self.attempt(entity, *self._elsewhere(edit), whole=whole)

    def knows(self, edit: Edit) -> bool:
        """Whether ``supposed`` tells what comes of *edit*."""
        return self.ground.suppose(edit) is not None

    def attempt(
        self,
        entity: Entity,
        leaving: Iterable[PodRecord] = (),
        coming: Iterable[PodRecord] = (),
        *,
        whole: bool = False,
        ground: PreparedCluster | None = None,
    ) -> Placed | None:
        """The same for a root as it would be, on *ground* or what there is; see ``Ground.attempt``.  Raises TrialsSpentError."""
        self._take(self._own)
        return self._counted((ground or self.ground).attempt(entity, leaving, coming, whole=whole))

    def placed(self, steps: Sequence[Step]) -> Placed | None:
        """The same with *steps* applied.  Raises TrialsSpentError."""
        adds = any(step.apply is not None and step.apply.get("kind") == "Node" for step in steps)
        self._take(_AFRESH * self._every if adds else self._own)
        return self._counted(self.ground.try_steps(steps))

    def places_root(self, steps: Sequence[Step]) -> bool:
        """Whether the root is placed in a whole cycle with *steps* applied.  Raises TrialsSpentError."""
        self._take(_AFRESH * self._every + _DECIDED * self._before)
        snapshot = applied(self._whole, steps)
        try:
            if self._options.evict or self._options.placing.preempt_for_leftovers:
                decisions = run_cycle(snapshot, self._options).decisions
                return (
                    any(each.root == self.root for each in decisions)
                    and [each.status for each in decisions if each.root == self.root][-1] is Status.SUCCESS
                )
            return self._in_turn(gated(snapshot, self._options.gates))
        except OrderError:
            return False

    def concerns_root_alone(self, steps: Sequence[Step]) -> bool:
        """Whether what is placed with *steps* by itself is so in a whole cycle: no root before it fares otherwise with them."""
        if self._options.evict or self._options.placing.preempt_for_leftovers or self._options.order:
            return False
        return not self._others or self.ground.concerns_none_but_the_root(steps)

    def _elsewhere(self, edit: Edit) -> tuple[list[PodRecord], list[PodRecord]]:
        """Pods of others as they are before *edit*, and those that run after it."""
        others, nodes = self.ground.others, self.ground.base.nodes.index
        match edit:
            case Moved():
                before = [others[key] for key in edit.nodes]
                return before, [dataclasses.replace(pod, node=nodes[edit.nodes[pod.key][1]]) for pod in before]
            case Leaving():
                return [others[key] for key in edit.pods], []
            case Both():
                (one, come), (other, later) = self._elsewhere(edit.first), self._elsewhere(edit.second)
                return [*one, *other], [*come, *later]
        return [], []

    def _take(self, looks: int) -> None:
        # However large a cluster is, one try is allowed.
        if self.left < 1 or self._steps <= 0 or self._looks < min(looks, _LOOKS):
            raise TrialsSpentError
        self.left -= 1
        self._looks -= looks

    def _counted(self, tried: Tried) -> Placed | None:
        self._steps -= tried.explored
        self.last_undecided = tried.undecided
        self.undecided = self.undecided or tried.undecided
        return tried.pods

    def _in_turn(self, snapshot: ClusterSnapshot) -> bool:
        decider, ready = prepared(snapshot, self._options)
        for entity in ready:
            if entity.name == self.root:
                return decider.fitting(entity) is not None
            decider.decide(entity)
        return False

    def _decided(self, snapshot: ClusterSnapshot) -> Iterator[Decision]:
        """The decisions on the roots before it; it may be one that is not ready, and is only after some changes."""
        decider, first = prepared(snapshot, self._options, until=self.root)
        yield from map(decider.decide, first)
