"""Where it is settled what is to be done about a root next: try it, finish or undo what was begun, or wait, and for what."""

from __future__ import annotations

import enum
from typing import Protocol

from scheduler_core.model.decision import Name as Root
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.decision_log import DecisionLog
from scheduler_core.sidecar.queue.entities import EntityQueue, EntityState, Phase, PreemptionPlan
from scheduler_core.sidecar.queue.queueing_hints import UnschedulableRoots
from scheduler_core.sidecar.queue.root_status import RootStatus, survey
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.writes import Bind, Ref, Ungate


class Action(enum.Enum):
    """What is to be done about a root now."""

    COMMIT = "record that it was placed"
    UNDO = "take back what was bound of it"
    REBIND = "repeat binds of which is not known whether they were carried out"
    TRY = "find nodes for its pods"


class Room(Protocol):
    """The room that plans of evictions keep."""

    def prune(self, plan: PreemptionPlan) -> bool:
        """Leave out the victims that are gone; whether none is left."""

    def release(self, plan: PreemptionPlan) -> None:
        """The plan does not come about."""


class RootQueue:
    """The roots of a cluster that are ours, each with what it waits for."""

    def __init__(self, store: Cache, options: SchedulerOptions, assumed: AssumedPods, room: Room) -> None:
        store.standing.ungate(ungates=options.ungate, binds=options.scheduler_name if options.place else "")
        self.store, self.options, self.whose = store, options, options.whose
        self._assumed, self._room = assumed, room
        self.turns = EntityQueue()
        self.parked = UnschedulableRoots(store, options.ignore)
        self.plans: dict[Root, PreemptionPlan] = {}
        self.flights: dict[Ref, Root] = {}
        self.decisions = DecisionLog()

    def survey(self, root: Root) -> RootStatus | None:
        """How it stands with *root*."""
        return survey(self.store, root, self.whose)

    def handle_changes(self, now: float) -> None:
        """Take in what changed, and whose time has come."""
        news = self.store.report.pop_changes()
        for root in news.roots:
            self.reconsider(root, now, hint=True)
        for root, plan in list(self.plans.items()):
            if plan.under_way and self._room.prune(plan):
                self.reconsider(root, now, hint=True)
        for root in self.parked.woken(news):
            self.reconsider(root, now, hint=True)
        for state in self.turns.woken(now):
            self.reconsider(state.root, now, hint=state.flush_at is not None and state.flush_at <= now)

    def reconsider(self, root: Root, now: float, *, hint: bool) -> None:
        """See what is to be done about *root*; *hint*: something changed that could help it."""
        known = self.turns.states.get(root)
        if known is not None and self._flies_on(known):
            self.turns.set_phase(known, Phase.FLYING)
            return
        found = self.survey(root)
        if found is None:
            self.forget(root)
            return
        if known is not None and known.uid != found.ref.uid:
            self.forget(root)
        state = self.turns.state(found)
        if state.flying:
            self.turns.set_phase(state, Phase.FLYING)
        elif state.plan is not None and not self._is_over(state, state.plan, now):
            self.turns.set_phase(state, Phase.PREEMPTING)
            self.turns.wake_at(state, state.plan.since + self.options.plan_seconds, now)
        else:
            if hint:
                self.parked.remove(root)
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
            self.turns.set_phase(state, Phase.PARKED)
            self.turns.wake_at(state, state.flush_at, now)
        elif state.unsure or (found.to_place and found.ready and not found.leaving):
            self.turns.set_phase(state, Phase.BACKOFF)
            self.turns.wake_at(state, state.not_before, now)
        elif found.to_place or found.loose or found.hanging or found.finished:
            self.turns.set_phase(state, Phase.WAITING)
        elif state.commit_failures and now < (until := state.commit_after + self.options.flush_seconds):
            # Should the record fail again, that it failed before counts.
            self.turns.set_phase(state, Phase.WAITING)
            self.turns.wake_at(state, until, now)
        else:
            self.turns.delete_entity(state.root)

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
        self.parked.remove(root)
        self.decisions.forget(root)
        if (state := self.turns.delete_entity(root)) is None:
            return
        for ref in state.unsure:
            # Nobody is left to repeat the bind: if it was carried out after all, that will show.
            self._assumed.forget(ref)
        if state.plan is not None:
            if not state.plan.under_way:
                self._room.release(state.plan)
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
        if plan.under_way and (overdue or self._room.prune(plan)):
            state.not_before = now
        elif not plan.under_way and overdue:
            self._room.release(plan)
        else:
            return False
        self.close(state)
        self.parked.remove(state.root)
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
