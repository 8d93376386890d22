"""Where it is settled what is to be done about a root next: try it, finish or undo what was begun, or wait, and for what."""

from __future__ import annotations

import dataclasses
import enum

from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.model.decision import Name as Root
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.entities import EntityQueue, EntityState, Phase
from scheduler_core.sidecar.queue.queueing_hints import UnschedulableRoots
from scheduler_core.sidecar.queue.root_status import OurPods, RootStatus, survey
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.scheduling.decide import COMPLETE, CycleParameters
from scheduler_core.sidecar.scheduling.decision_log import DecisionLog
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlan, PreemptionPlans
from scheduler_core.sidecar.writes import Bind, Evicting, Ref, Ungate
from validators.gates import Gates


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """What is placed, and how.

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

    scheduler_name: str = "muster"
    place: bool = True
    ungate: bool = False
    preempt: bool = False
    evicting: Evicting = Evicting.EVICT
    strategy: str = COMPLETE
    budget: int = DEFAULT
    ignore: frozenset[str] = frozenset()
    gates: Gates = dataclasses.field(default_factory=Gates)
    batch_roots: int = 64
    batch_pods: int = 512
    most_flying: int = 256
    seconds: float = 0.1
    settle_seconds: float = 0.01
    flush_seconds: float = 300.0
    patience_seconds: float = 30.0
    pinned_seconds: float = 300.0
    plan_seconds: float = 600.0
    most_failures: int = 3
    retell_seconds: float = 60.0

    @property
    def means(self) -> CycleParameters:
        """How roots are decided on."""
        return CycleParameters(strategy=self.strategy, budget=self.budget, preempt=self.preempt, ignore=self.ignore, gates=self.gates)

    @property
    def whose(self) -> OurPods:
        """Which pods are ours."""
        return OurPods(self.scheduler_name if self.place else "", self.ungate)


class Action(enum.Enum):
    """What is to be done about a root now."""

    COMMIT = "record that it was placed"
    UNDO = "take back what was bound of it"
    REBIND = "repeat binds of which is not known whether they were carried out"
    TRY = "find nodes for its pods"


class NextAction:
    """The roots of a cluster that are ours, each with what it waits for."""

    def __init__(self, store: Cache, options: SchedulerOptions) -> None:
        store.standing.ungate(ungates=options.ungate, binds=options.scheduler_name if options.place else "")
        self.store, self.options = store, options
        self.means, self.whose = options.means, options.whose
        self.assumed = AssumedPods(store)
        self.placer = Binder(store, self.assumed, self.whose)
        self.preempting = PreemptionPlans(store, self.assumed, options.evicting, options.scheduler_name)
        self.turns = EntityQueue()
        self.parked = UnschedulableRoots(store, options.ignore)
        self.plans: dict[Root, PreemptionPlan] = {}
        self.flights: dict[Ref, Root] = {}
        self.decisions = DecisionLog()

    def survey(self, root: Root) -> RootStatus | None:
        """How it stands with *root*."""
        return survey(self.store, root, self.whose)

    def hear(self, now: float) -> None:
        """Take in what changed, and whose time has come."""
        news = self.store.report.take()
        for root in news.roots:
            self.look(root, now, hint=True)
        for root, plan in list(self.plans.items()):
            if plan.under_way and self.preempting.prune(plan):
                self.look(root, now, hint=True)
        for root in self.parked.woken(news):
            self.look(root, now, hint=True)
        for state in self.turns.woken(now):
            self.look(state.root, now, hint=state.flush_at is not None and state.flush_at <= now)

    def look(self, root: Root, now: float, *, hint: bool) -> None:
        """See what is to be done about *root*; *hint*: something changed that could help it."""
        known = self.turns.states.get(root)
        if known is not None and self._flies_on(known):
            self.turns.put(known, Phase.FLYING)
            return
        found = self.survey(root)
        if found is None:
            self.forget(root)
            return
        if known is not None and known.uid != found.ref.uid:
            self.forget(root)
        state = self.turns.state(found)
        if state.flying:
            self.turns.put(state, Phase.FLYING)
        elif state.plan is not None and not self._is_over(state, state.plan, now):
            self.turns.put(state, Phase.PREEMPTING)
            self.turns.wake_at(state, state.plan.since + self.options.plan_seconds, now)
        else:
            if hint:
                self.parked.leave(root)
                state.flush_at = None
            self.route(state, found, now)

    def route(self, state: EntityState, found: RootStatus, now: float) -> None:
        """Give *state* its turn, or set what it waits for."""
        self._watch_over(state, found, now)
        if self.task(state, found, now) is not None:
            if not state.turn:
                self.turns.ready(state, found)
            return
        state.turn = False
        if state.root in self.parked and state.flush_at is not None:
            self.turns.put(state, Phase.PARKED)
            self.turns.wake_at(state, state.flush_at, now)
        elif state.unsure or (found.to_place and found.ready and not found.leaving):
            self.turns.put(state, Phase.BACKOFF)
            self.turns.wake_at(state, state.not_before, now)
        elif found.to_place or found.loose or found.hanging or found.finished:
            self.turns.put(state, Phase.WAITING)
        elif state.commit_failures and now < (until := state.commit_after + self.options.flush_seconds):
            # Should the record fail again, that it failed before counts.
            self.turns.put(state, Phase.WAITING)
            self.turns.wake_at(state, until, now)
        else:
            self.turns.drop(state.root)

    def task(self, state: EntityState, found: RootStatus, now: float) -> Action | None:
        """What is to be done about a root now; None: nothing but to wait."""
        if state.unsure and now >= state.not_before:
            return Action.REBIND
        if found.finished and now >= state.commit_after:
            return Action.COMMIT
        if self._is_lost(state, found, now):
            return Action.UNDO
        tried = found.to_place and found.ready and not found.leaving and not state.unsure
        return Action.TRY if tried and state.root not in self.parked and now >= state.not_before else None

    def back_off(self, state: EntityState, now: float) -> None:
        """An attempt failed: leave the root alone for some time."""
        state.attempts += 1
        state.not_before = now + backoff.seconds(state.attempts, state.size)

    def close(self, state: EntityState) -> None:
        """No plan of the root goes on."""
        state.plan = None
        self.plans.pop(state.root, None)

    def forget(self, root: Root) -> None:
        """*root* is not there any more, or not ours."""
        self.parked.leave(root)
        self.decisions.drop(root)
        if (state := self.turns.drop(root)) is None:
            return
        for ref in state.unsure:
            # Nobody is left to repeat the bind: if it was carried out after all, that will show.
            self.assumed.forget(ref)
        if state.plan is not None:
            if not state.plan.under_way:
                self.preempting.release(state.plan)
            self.close(state)

    def _flies_on(self, state: EntityState) -> bool:
        """Whether binds are under way, and it is the top of the tree that it was.

        Each bind shows in an event, and to survey a tree takes as long as it is large: the last of them is waited for.
        """
        if not state.flying:
            return False
        root = state.root
        live = self.store.group(root.kind, root.namespace, root.name)
        return live is not None and live.uid == state.uid and self.store.book.root_of(live.key) == root

    def _is_over(self, state: EntityState, plan: PreemptionPlan, now: float) -> bool:
        """Whether nothing of the plan is to be waited for: it is closed then, and the root tried at once."""
        overdue = now >= plan.since + self.options.plan_seconds
        if plan.under_way and (overdue or self.preempting.prune(plan)):
            state.not_before = now
        elif not plan.under_way and overdue:
            self.preempting.release(plan)
        else:
            return False
        self.close(state)
        self.parked.leave(state.root)
        return True

    def _watch_over(self, state: EntityState, found: RootStatus, now: float) -> None:
        """Note since when it is partial, and since when it hangs; forget binds of which it shows by now what became of them."""
        state.unsure = {ref: write for ref, write in state.unsure.items() if self._is_unsure(ref, write)}
        if found.to_place and found.ready and not found.loose and not state.settled:
            state.settled = True
            state.not_before = max(state.not_before, now + self.options.settle_seconds)
        state.partial_since = _since(state.partial_since, now, there=bool(found.loose))
        state.hanging_since = _since(state.hanging_since, now, there=found.hanging)
        if found.finished:
            self.turns.wake_at(state, state.commit_after, now)
        if state.partial_since is not None:
            self.turns.wake_at(state, state.partial_since + self.options.patience_seconds, now)
        if state.hanging_since is not None:
            self.turns.wake_at(state, state.hanging_since + self.options.pinned_seconds, now)

    def _is_unsure(self, ref: Ref, write: Bind | Ungate) -> bool:
        """Whether *write* is to be repeated: to a node that is gone the API server would bind all the same."""
        pod = self.store.pod(ref)
        return pod is not None and pod.assumed == write.node and write.node in self.store.standing.nodes.nodes

    def _is_lost(self, state: EntityState, found: RootStatus, now: float) -> bool:
        """Whether what is bound of a gang is to be taken back without another attempt."""
        if state.hanging_since is not None and now >= state.hanging_since + self.options.pinned_seconds:
            return any(map(self.whose.has, found.placed))
        if not found.loose or found.leaving or state.awaits or state.partial_since is None:
            return False
        # Where an attempt finds no room it is undone at once; what is parked all the same, an attempt could not judge.
        trying = found.to_place and found.ready and state.root not in self.parked
        if trying:
            return state.failures >= self.options.most_failures
        return now >= state.partial_since + self.options.patience_seconds


def _since(since: float | None, now: float, *, there: bool) -> float | None:
    if not there:
        return None
    return now if since is None else since
