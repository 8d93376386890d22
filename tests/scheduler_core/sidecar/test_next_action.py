"""What is to be done about a root next, and what it waits for if nothing is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.model.decision import Decision, Eviction
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.next_action import RECHECK_SECONDS, Action
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.queueing_hints import NO_HINT, QueueingHint
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import (
    Active,
    Backoff,
    Binding,
    Gated,
    Preempting,
    PreemptionPlan,
    PreemptionProposed,
    State,
    Unschedulable,
)
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import Bind, Deviations, WriteOutcome
from tests.scheduler_core.builders import HOST, composite, leaf, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json, Watched
from tests.scheduler_core.sidecar.test_scheduler import GATED, MUSTER, G, bound
from tests.scheduler_core.sidecar.world import TERMINATING


class Room(Watched):
    """A queue over a small cluster: n1, and n2 with a pod that may have to leave."""

    def __init__(self, *objects: Json, **options: Any) -> None:
        super().__init__(node("n1"), node("n2"), pod("low", on="n2", priority=0), *objects)
        wanted = SchedulerOptions(**{"settle_seconds": 0.0, **options})
        self.assumed = AssumedPods(self.store)
        self.binder = Binder(self.store, self.assumed, wanted.our_pods)
        self.preemption = PreemptionPlans(self.store, self.assumed, wanted.eviction_method, wanted.scheduler_name)
        self.queue = SchedulingQueue(self.store, wanted, self.assumed, self.preemption)
        self.store.reporter.pop_changes()

    def pod(self, name: str) -> LivePod:
        return self.store.usage.pods.pods[f"default/{name}"]

    def looks(self, now: float = 0.0, *, hint: bool = True, root: Name = G) -> type[State] | None:
        """The state of a root once it was looked at; None if it is not there any more."""
        self.queue.reconsider(root, now, hint=hint)
        entity = self.queue.get(root)
        return type(entity.state) if entity is not None else None

    @property
    def entity(self) -> QueuedEntity:
        return self.queue.entities.by_root[G]

    @property
    def state(self) -> type[State]:
        return type(self.entity.state)

    def attempt(self) -> QueuedEntity:
        """G, an attempt at which begins."""
        assert self.entity is self.queue.entities.pop()
        return self.entity

    def parks(self, hint: QueueingHint) -> None:
        """An attempt at g failed at the moment 0, so that it backs off until 1."""
        self.queue.add_unschedulable(self.attempt(), hint, None, 0.0)

    def plans(self, *victims: str, under_way: bool = False) -> PreemptionPlan:
        """A plan of g, made at the moment 0."""
        names = tuple(f"default/{name}" for name in victims or ("low",))
        decision = Decision(G, Status.UNSCHEDULABLE, nominations={"default/g-0": "n2"}, victims=names, preemption=Eviction(1, 1))
        plan = self.preemption.plan(decision, 0.0)
        assert plan is not None
        self.queue.propose(self.attempt(), plan, 0.0)
        if under_way:
            self.queue.preempt(self.entity, Preempting(plan))
        self._goes_on()
        return plan

    def flies(self) -> Bind:
        """A bind of g-0 is under way."""
        write = Bind(self.pod("g-0").ref, "n1")
        entity = self.attempt()
        self.assumed.assume(write.pod, "n1")
        self.queue.binds.start(entity, {write.pod: write}, None)
        self._goes_on()
        return write

    def _goes_on(self) -> None:
        """It waits for what was begun."""
        self.store.reporter.pop_changes()
        self.looks()


def room(count: int = 2, minimum: int = 2, **options: Any) -> Room:
    """A gang, looked at once."""
    found = Room(leaf("g", minimum), *pods("g", count, **MUSTER), **options)
    found.looks()
    return found


def gone(name: str, kind: str = "Pod") -> tuple[str, str, str]:
    return kind, "default", name


def deleted(each: Json) -> Json:
    return {**each, "metadata": {**each["metadata"], "deletionTimestamp": TERMINATING}}


# What is to be done.


class Case:
    """The facts on which it hangs what is to be done, each as it is asked for."""

    def __init__(self, *, parked: bool = False, unsure: Any = None, **facts: Any) -> None:
        objects = [leaf("g", 3), pod("g-0", "g", **MUSTER), bound(pod("g-1", "g", **MUSTER), "n1"), bound(pod("g-2", "g"), "n1")]
        self.room = Room(*objects, pinned_seconds=300.0, partial_seconds=30.0, max_bind_failures=3)
        waits, runs, foreign = (self.room.pod(f"g-{number}") for number in range(3))
        live = self.room.store.group("PodGroup", "default", "g")
        named = {"waits": (waits,), "runs": (runs,), "foreign": (foreign,), "g": (live,)}
        found = self.room.queue.status_of(G)
        assert found is not None
        fields = {field.name for field in dataclasses.fields(RootStatus)}
        blank = {"to_place": (), "partially_bound": (), "placed": (), "to_commit": (), "awaits_binding": False}
        of_survey = {name: named[value] if isinstance(value, str) else value for name, value in facts.items() if name in fields}
        self.survey = dataclasses.replace(found, **{**blank, **of_survey})
        waiting = Unschedulable(NO_HINT, 300.0) if parked else Backoff(unsure or {})
        counted = {name: value for name, value in facts.items() if name not in fields}
        self.entity = QueuedEntity(G, found.ref.uid, state=waiting, **counted)

    def next_action(self, now: float) -> Action | None:
        return self.room.queue.next_action(self.entity, self.survey, now)


UNSURE: Any = {"a bind": None}


@pytest.mark.parametrize(
    ("facts", "now", "want"),
    [
        pytest.param({}, 0.0, None, id="nothing"),
        pytest.param({"to_place": "waits"}, 0.0, Action.SCHEDULE, id="pods wait"),
        pytest.param({"to_place": "waits", "backoff_expiration": 5.0}, 4.75, None, id="before its back-off is over"),
        pytest.param({"to_place": "waits", "backoff_expiration": 5.0}, 5.0, Action.SCHEDULE, id="once its back-off is over"),
        pytest.param({"to_place": "waits", "ready": False}, 0.0, None, id="members are missing"),
        pytest.param({"to_place": "waits", "terminating": True}, 0.0, None, id="a member leaves first"),
        pytest.param({"to_place": "waits", "parked": True}, 0.0, None, id="nothing could help it"),
        pytest.param(
            {"to_place": "waits", "unsure": UNSURE, "backoff_expiration": 5.0},
            4.0,
            None,
            id="a bind is unknown, before its back-off is over",
        ),
        pytest.param({"to_place": "waits", "unsure": UNSURE, "backoff_expiration": 5.0}, 5.0, Action.REBIND, id="a bind is unknown"),
        pytest.param({"to_commit": "g"}, 0.0, Action.COMMIT, id="it has what it needs"),
        pytest.param({"to_commit": "g", "commit_after": 5.0}, 4.75, None, id="before it may be recorded again"),
        pytest.param({"to_commit": "g", "commit_after": 5.0}, 5.0, Action.COMMIT, id="once it may be recorded again"),
        pytest.param({"to_commit": "g", "to_place": "waits"}, 0.0, Action.COMMIT, id="it has what it needs, and more waits"),
        pytest.param(
            {"to_commit": "g", "to_place": "waits", "commit_after": 5.0},
            0.0,
            Action.SCHEDULE,
            id="it is to be recorded later, and more waits",
        ),
        pytest.param({"to_commit": "g", "unsure": UNSURE}, 0.0, Action.REBIND, id="it has what it needs, and a bind is unknown"),
    ],
)
def test_what_is_to_be_done_next(facts, now, want):
    assert want is Case(**facts).next_action(now)


LOOSE = {"partially_bound": "runs", "partial_since": 0.0}


@pytest.mark.parametrize(
    ("facts", "now", "want"),
    [
        pytest.param(LOOSE, 29.75, None, id="it may still be finished"),
        pytest.param(LOOSE, 30.0, Action.UNDO, id="what it needs did not come"),
        pytest.param({**LOOSE, "partial_since": None}, 99.0, None, id="it is not known since when"),
        pytest.param({**LOOSE, "terminating": True}, 99.0, None, id="it is being undone"),
        pytest.param({**LOOSE, "to_place": "waits", "parked": True, "awaits_victims": True}, 99.0, None, id="others leave for it"),
        pytest.param({**LOOSE, "awaits_victims": True}, 29.75, None, id="others leave for a pod that is gone, and another may come"),
        pytest.param({**LOOSE, "awaits_victims": True}, 30.0, Action.UNDO, id="others leave for a pod that is gone"),
        pytest.param({**LOOSE, "to_place": "waits"}, 99.0, Action.SCHEDULE, id="the rest can be tried"),
        pytest.param({**LOOSE, "to_place": "waits", "backoff_expiration": 100.0}, 99.0, None, id="the rest can be tried later"),
        pytest.param({**LOOSE, "to_place": "waits", "bind_failures": 2}, 0.0, Action.SCHEDULE, id="binds of the rest failed twice"),
        pytest.param({**LOOSE, "to_place": "waits", "bind_failures": 3}, 0.0, Action.UNDO, id="binds of the rest failed too often"),
        pytest.param({**LOOSE, "to_place": "waits", "parked": True}, 29.75, None, id="nothing could help the rest, for a while"),
        pytest.param({**LOOSE, "to_place": "waits", "parked": True}, 30.0, Action.UNDO, id="nothing could help the rest"),
        pytest.param({**LOOSE, "to_place": "waits", "ready": False}, 30.0, Action.UNDO, id="the rest has a gate"),
        pytest.param({"awaits_binding_since": 0.0, "placed": "runs"}, 299.75, None, id="pinned pods may still be bound"),
        pytest.param({"awaits_binding_since": 0.0, "placed": "runs"}, 300.0, Action.UNDO, id="pinned pods were not bound"),
        pytest.param({"awaits_binding_since": 0.0, "placed": "foreign"}, 300.0, None, id="none of ours is there to be deleted"),
        pytest.param({"awaits_binding_since": 0.0}, 300.0, None, id="none is there to be deleted"),
    ],
)
def test_gang_is_undone_when_it_cannot_be_finished(facts, now, want):
    assert want is Case(**facts).next_action(now)


# What a root waits for.


def closed(*, by: str) -> list[Json]:
    return [leaf("g", 1), pod("g-0", "g", schedulingGates=[{"name": by}], **MUSTER)]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([leaf("g", 1), *pods("g", 1, **MUSTER)], Active, id="it can be tried"),
        pytest.param([leaf("g", 2), *pods("g", 1, **MUSTER)], Gated, id="it lacks members"),
        pytest.param(closed(by="other"), Gated, id="a gate holds it"),
        pytest.param([leaf("g", 1, parent="top"), *pods("g", 1, **MUSTER)], Gated, id="it lacks its parent"),
        pytest.param([leaf("g", 1), *pods("g", 1)], None, id="its pods are another scheduler's"),
        pytest.param([leaf("g", 1)], None, id="it has no pods"),
        pytest.param(pods("g", 1, **MUSTER), None, id="it is not there"),
        pytest.param([leaf("g", 1), bound(pod("g-0", "g", **MUSTER), "n1")], Active, id="it is to be recorded as placed"),
        pytest.param([leaf("g"), bound(pod("g-0", "g", **MUSTER), "n1")], Active, id="it is to be recorded, without a minimum"),
    ],
)
def test_root_is_counted_by_what_it_waits_for(objects, want):
    assert want is Room(*objects).looks()


def test_root_waits_for_further_members_before_it_is_first_tried_and_only_then():
    here = Room(leaf("g", 1), *pods("g", 1, **MUSTER), settle_seconds=5.0)
    assert Backoff is here.looks()
    assert 5.0 == here.queue.entities.due(0.0)
    here.happens(pod("g-1", "g", **MUSTER))
    assert Backoff is here.looks(4.75)
    assert Active is here.looks(5.0)


def test_time_to_wait_for_further_members_begins_once_there_are_enough():
    here = Room(leaf("g", 2), pod("g-0", "g", **MUSTER), settle_seconds=5.0, waiting_seconds=99.0)
    assert Gated is here.looks()
    here.happens(pod("g-1", "g", **MUSTER))
    assert Backoff is here.looks(10.0)
    assert 15.0 == here.queue.entities.due(10.0)


def test_gang_that_is_partial_is_finished_at_once():
    here = Room(leaf("g", 2), bound(pod("g-0", "g", **MUSTER), "n1"), pod("g-1", "g", **MUSTER), settle_seconds=5.0)
    assert Active is here.looks()


def test_root_for_which_nothing_is_left_to_do_is_dropped():
    here = room(count=1, minimum=1)
    here.assumed.assume(here.pod("g-0").ref, "n1")
    assert Gated is here.looks(), "until it is bound"
    here.happens(bound(pod("g-0", "g", **MUSTER), "n1"))
    assert Active is here.looks(), "until that is recorded"
    found = here.queue.status_of(G)
    assert found is not None
    here.binder.commit(found, None)
    assert None is here.looks()


def test_root_whose_binds_are_under_way_is_left_alone_whatever_happens():
    here = room()
    here.flies()
    assert Binding is here.looks(1000.0)


def test_root_whose_binds_are_under_way_is_not_gone_through_for_each_of_them(monkeypatch):
    here = room()
    here.flies()
    monkeypatch.setattr(here.queue, "status_of", None)
    assert Binding is here.looks()


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param([gone("g", "PodGroup")], None, id="it is gone"),
        pytest.param([gone("g", "PodGroup"), leaf("g", 2)], Active, id="it is made anew"),
        pytest.param([composite("top", 1), leaf("g", 2, parent="top")], None, id="it is part of another tree by now"),
    ],
)
def test_root_whose_binds_are_under_way_is_given_up_where_it_is_not_what_it_was(changes, want):
    here = room(count=3)
    here.flies()
    here.happens(*changes)
    assert want is here.looks()


@pytest.mark.parametrize(("hint", "want"), [(True, Active), (False, Unschedulable)])
def test_parked_root_is_tried_again_on_a_hint_alone(hint, want):
    here = room()
    here.parks(QueueingHint())
    assert want is here.looks(1.0, hint=hint)
    assert (not hint) == (G in here.queue.entities.unschedulable)


def test_root_that_is_made_anew_has_nothing_of_the_one_before():
    here = room()
    here.parks(NO_HINT)
    here.happens(gone("g", "PodGroup"), leaf("g", 2))
    assert Active is here.looks()
    assert (0, 0.0, False) == (here.entity.attempts, here.entity.backoff_expiration, G in here.queue.entities.unschedulable)


# Plans.


@pytest.mark.parametrize(
    ("under_way", "left", "now", "want"),
    [
        pytest.param(False, True, 599.75, PreemptionProposed, id="proposed"),
        pytest.param(True, True, 599.75, Preempting, id="under way"),
        pytest.param(False, False, 1.0, PreemptionProposed, id="proposed, and its victim is gone by itself"),
        pytest.param(True, False, 1.0, Active, id="its victim has left"),
        pytest.param(False, True, 600.0, Active, id="proposed for too long"),
        pytest.param(True, True, 600.0, Active, id="its victim has not left in time"),
    ],
)
def test_root_with_a_plan_waits_for_its_victims(under_way, left, now, want):
    here = room(plan_seconds=600.0)
    here.plans(under_way=under_way)
    if not left:
        here.happens(gone("low"))
    assert want is here.looks(now)
    over = want is Active
    assert (over, over) == (not isinstance(here.entity.state, PreemptionProposed | Preempting), G not in here.queue.entities.plans)


def test_plan_proposed_for_too_long_holds_no_capacity_unless_it_is_under_way():
    for under_way in (False, True):
        here = room(plan_seconds=600.0)
        here.plans(under_way=under_way)
        here.looks(600.0)
        assert (under_way, "n2" if under_way else "") == (here.pod("low").deletion_assumed, here.pod("g-0").nominated)


def test_root_whose_victims_have_left_does_not_wait_for_its_back_off():
    here = room()
    here.plans(under_way=True)
    here.entity.backoff_expiration = 50.0
    here.happens(gone("low"))
    here.queue.handle_changes(5.0)
    assert (Active, 5.0) == (here.state, here.entity.backoff_expiration)


def test_root_is_woken_when_its_plan_has_lasted_too_long():
    here = room(plan_seconds=600.0)
    here.plans()
    here.looks(1.0)
    assert 600.0 == here.queue.entities.due(1.0)


@pytest.mark.parametrize(
    ("under_way", "want"),
    [pytest.param(False, False, id="who were only asked for stay"), pytest.param(True, True, id="who were told to leave go")],
)
def test_victims_of_a_root_that_is_gone(under_way, want):
    here = room()
    here.plans(under_way=under_way)
    here.happens(gone("g", "PodGroup"))
    assert None is here.looks()
    assert (want, {}) == (here.pod("low").deletion_assumed, here.queue.entities.plans)


# What is forgotten.


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda here: here.happens(gone("g", "PodGroup")), id="its group is gone"),
        pytest.param(lambda here: here.happens(gone("g", "PodGroup"), leaf("g", 1)), id="its group was made anew"),
        pytest.param(lambda here: here.happens(pod("g-0", "g")), id="it is another scheduler's"),
    ],
)
def test_resources_of_a_bind_with_unknown_outcome_are_freed_with_the_root(change):
    here = room(count=1, minimum=1)
    write = here.flies()
    here.queue.binds.ended(write, WriteOutcome.FAILED, "no", 0.0)
    change(here)
    here.looks(1.0)
    assert "" == here.store.usage.node_of(here.pod("g-0"))


def test_pod_whose_resources_were_freed_is_placed_for_the_new_group():
    here = room(count=1, minimum=1)
    write = here.flies()
    here.queue.binds.ended(write, WriteOutcome.FAILED, "no", 0.0)
    here.happens(gone("g", "PodGroup"), leaf("g", 1))
    here.queue.handle_changes(1.0)
    here.queue.handle_changes(1.0)
    assert Active is here.state


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(lambda here: None, True, id="nothing shows"),
        pytest.param(lambda here: here.happens(pod("g-0", "g", labels={"a": "b"}, **MUSTER)), True, id="it changed otherwise"),
        pytest.param(lambda here: here.happens(bound(pod("g-0", "g", **MUSTER), "n1")), False, id="it shows where it was bound"),
        pytest.param(lambda here: here.happens(bound(pod("g-0", "g", **MUSTER), "n2")), False, id="it shows elsewhere"),
        pytest.param(lambda here: here.happens(gone("g-0")), False, id="it is gone"),
        pytest.param(lambda here: here.happens(gone("g-0"), pod("g-0", "g", **MUSTER)), False, id="it was made anew"),
    ],
)
def test_bind_of_which_nothing_is_known_is_repeated_while_nothing_shows(change, want):
    here = room()
    write = here.flies()
    here.queue.binds.ended(write, WriteOutcome.FAILED, "no", 0.0)
    change(here)
    here.looks(1.0)
    assert ({write.pod: write} if want else {}) == here.entity.waiting.unconfirmed


def test_root_of_whose_binds_nothing_is_known_is_woken_to_repeat_them():
    here = room(count=1, minimum=1)
    write = here.flies()
    here.queue.binds.ended(write, WriteOutcome.FAILED, "no", 1.0)
    assert Backoff is here.looks(1.0)
    assert 2.0 == here.queue.entities.due(1.0)
    here.queue.handle_changes(2.0)
    assert Active is here.state


def test_root_that_is_gone_is_not_parked_any_more():
    here = room()
    here.parks(NO_HINT)
    here.happens(gone("g", "PodGroup"))
    here.looks(hint=False)
    assert 0 == len(here.queue.entities.unschedulable)


def test_root_that_is_not_known_can_be_forgotten():
    here = room()
    here.queue.forget(Name("PodGroup", "default", "h"))
    assert [G] == [*here.queue.entities.by_root]


def test_decision_on_a_deleted_root_is_not_reported():
    here = room()
    here.queue.decisions.record(Decision(G, Status.SUCCESS))
    here.happens(gone("g", "PodGroup"))
    here.looks()
    assert None is here.queue.decisions.get(G)


# Since when.


def test_gang_is_partial_since_it_was_first_seen_so_and_no_more_once_it_is_not():
    here = Room(leaf("g", 2), bound(pod("g-0", "g", **MUSTER), "n1"), partial_seconds=30.0)
    here.looks(5.0)
    here.looks(9.0)
    assert 5.0 == here.entity.partial_since
    assert Active is here.state, "it reports at once what it waits for"
    here.queue.entities.pop()
    status = here.queue.status_of(G)
    assert status is not None
    here.queue.waiting_reported(here.entity, status, 1, 9.0)
    assert 35.0 == here.queue.entities.due(9.0)
    here.happens(bound(pod("g-1", "g", **MUSTER), "n1"))
    here.looks(20.0)
    assert None is here.entity.partial_since


def test_gang_hangs_since_it_was_first_seen_pinned_and_no_more_once_it_is_bound():
    pinned = pod("g-0", "g", nodeSelector={HOST: "n1"})
    pinned["metadata"]["annotations"] = {PLACEMENT_GATE: "n1"}
    here = Room(leaf("g", 1), pinned, place=False, ungate=True, pinned_seconds=300.0, waiting_seconds=999.0)
    assert Gated is here.looks(5.0)
    assert (5.0, 305.0) == (here.entity.awaits_binding_since, here.queue.entities.due(5.0))
    here.happens(bound(pinned, "n1"))
    here.looks(9.0)
    assert None is here.entity.awaits_binding_since


@pytest.mark.parametrize("pinned", [False, True])
def test_gang_is_not_undone_before_the_cache_shows_all_that_happened_until_then(pinned):
    complete_to = [0.0]
    options = {
        "partial_seconds": 30.0,
        "pinned_seconds": 30.0,
        "waiting_seconds": 999.0,
        "deviations": Deviations.UNDO,
        "is_current": lambda since: since <= complete_to[0],
    }
    first = bound(pod("g-0", "g", **MUSTER), "n1")
    if pinned:
        first = pod("g-0", "g", nodeSelector={HOST: "n1"})
        first["metadata"]["annotations"] = {PLACEMENT_GATE: "n1"}
    here = Room(leaf("g", 1 if pinned else 2), first, place=not pinned, ungate=pinned, **options)
    here.looks(5.0)
    here.entity.waiting_reported, here.entity.report_at = True, None
    for now in (35.0, 99.0):
        here.queue.handle_changes(now)
        status = here.queue.status_of(G)
        assert status is not None
        assert None is here.queue.next_action(here.entity, status, now)
        assert now + RECHECK_SECONDS == here.queue.entities.due(now)
        complete_to[0] = 34.75
    complete_to[0] = 35.0
    assert Action.UNDO is here.queue.next_action(here.entity, status, 99.0)


def test_record_that_may_be_made_again_later_wakes_the_root():
    here = Room(leaf("g", 1), bound(pod("g-0", "g", **MUSTER), "n1"))
    here.looks()
    here.entity.commit_after = 7.0
    assert Gated is here.looks(2.0)
    assert 7.0 == here.queue.entities.due(2.0)


# News.


def test_root_is_woken_once_its_time_has_come_though_nothing_happened():
    here = room()
    here.parks(NO_HINT)
    here.looks(hint=False)
    here.queue.handle_changes(299.75)
    assert Unschedulable is here.state
    here.queue.handle_changes(300.0)
    assert Active is here.state


def test_unschedulable_root_is_attempted_after_an_event_that_could_help_it():
    here = room()
    here.parks(QueueingHint(events=frozenset({ClusterEvent.NODE, ClusterEvent.POD})))
    here.happens(pod("other", on="n1"))
    here.queue.handle_changes(1.0)
    assert (Active, False) == (here.state, G in here.queue.entities.unschedulable)


def test_unschedulable_root_is_woken_early_without_an_attempt_before_its_time():
    here = room(partial_seconds=30.0)
    here.parks(NO_HINT)
    here.looks(hint=False)
    here.queue.entities.wake_at(here.entity, 30.0, 0.0)
    here.queue.handle_changes(30.0)
    assert (Unschedulable, True) == (here.state, G in here.queue.entities.unschedulable)


def test_root_is_attempted_when_it_is_created_and_checked_when_it_is_deleted():
    here = Room()
    here.happens(leaf("g", 1), pod("g-0", "g", **MUSTER))
    here.queue.handle_changes(0.0)
    assert Active is here.state
    here.happens(gone("g-0"))
    here.queue.handle_changes(0.0)
    assert {} == here.queue.entities.by_root


def test_plan_closes_when_the_last_of_its_victims_has_left():
    here = Room(leaf("g", 2), *pods("g", 2, **MUSTER), pod("low-2", on="n2", priority=0))
    here.looks()
    here.plans("low", "low-2", under_way=True)
    here.happens(gone("low"))
    here.queue.handle_changes(1.0)
    assert (Preempting, ["default/low-2"]) == (here.state, [*here.queue.entities.plans[G].victims])
    here.happens(gone("low-2"))
    here.queue.handle_changes(2.0)
    assert (Active, {}) == (here.state, here.queue.entities.plans)


# What is ours.


@pytest.mark.parametrize(
    ("options", "pod_", "want"),
    [
        pytest.param({}, MUSTER, True, id="pods of our scheduler are bound"),
        pytest.param({"scheduler_name": "other"}, MUSTER, False, id="pods of another are not"),
        pytest.param({"place": False}, MUSTER, False, id="none is where nothing is placed"),
        pytest.param({"place": False, "ungate": True}, GATED, True, id="pods that our gate holds are opened"),
        pytest.param({}, GATED, False, id="they are not unless that is asked for"),
    ],
)
def test_our_roots_are_selected_by_the_options(options, pod_, want):
    assert want == (Room(leaf("g", 1), pod("g-0", "g", **pod_), **options).looks() is not None)


@pytest.mark.parametrize(("strategy", "steps"), [("complete", 7), ("greedy", 0)])
def test_options_select_the_strategy(strategy, steps):
    cycle = SchedulerOptions(strategy=strategy, budget=7, preempt=True, ignore=frozenset({"f"})).cycle
    assert (steps, True, frozenset({"f"})) == (cycle.steps, cycle.placing.preempt, cycle.ignore)
    assert (strategy == "complete") is cycle.effective_placing.four_statuses


@pytest.mark.parametrize(
    ("size", "want"),
    [pytest.param(8, [1.0, 2.0, 4.0, 8.0, 10.0], id="a small one"), pytest.param(16, [2.0, 4.0, 8.0, 16.0, 20.0], id="twice as large")],
)
def test_back_off_grows_with_failures_and_size(size, want):
    here = room()
    here.entity.size = size
    for seconds in want:
        here.entity.back_off(100.0)
        assert 100.0 + seconds == here.entity.backoff_expiration


def test_root_that_leaves_its_tree_to_a_pod_that_is_being_deleted_waits():
    here = Room(leaf("g", 2), deleted(bound(pod("g-0", "g", **MUSTER), "n1")), *(pod(f"g-{each}", "g", **MUSTER) for each in (1, 2)))
    assert Gated is here.looks()
    here.happens(gone("g-0"))
    here.queue.handle_changes(1.0)
    assert Active is here.state
