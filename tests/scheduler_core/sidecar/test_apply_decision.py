"""What follows from a decision, and what the root waits for then."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.causes.attempts import PluginReason
from scheduler_core.causes.live import EvictionRefused, NodeWithoutHostname
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cluster_changes import ClusterChanges
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import Backoff, Binding, PreemptionProposed, Unschedulable
from scheduler_core.sidecar.scheduling.apply_decision import Attempt, DecisionApplier
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.scheduling.decide import Decided
from scheduler_core.sidecar.scheduling.pre_binding import PreBinder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import Bind, Evict, Nominate, RecordEvent, Ref, Remove, SetCondition, WriteOutcome
from tests.scheduler_core.builders import HOST, leaf, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json, Watched
from tests.scheduler_core.sidecar.test_preemption_plan import budget
from tests.scheduler_core.sidecar.test_scheduler import GATED, MUSTER, G, bound, nodes_of, of, said, told

NO_ROOM = "0/1 nodes are available"
GONE = Ref("Pod", "default", "gone", "uid")


class Office(Watched):
    """A queue with one root in it, g unless it is another, and what follows from decisions on it."""

    def __init__(self, *objects: Json, root: Name = G, **options: Any) -> None:
        super().__init__(node("n1"), node("n2"), *objects)
        wanted = SchedulerOptions(**{"settle_seconds": 0.0, **options})
        assumed = AssumedPods(self.store)
        preemption = PreemptionPlans(self.store, assumed, wanted.eviction_method, wanted.scheduler_name)
        self.queue = SchedulingQueue(self.store, wanted, assumed, preemption)
        self.outcomes = DecisionApplier(
            self.queue,
            Binder(self.store, assumed, wanted.our_pods),
            PreBinder(self.store, wanted.our_pods, wanted.profile, "x-sidecar"),
            preemption,
        )
        self.root = root
        self.store.reporter.pop_changes()

    @property
    def survey(self) -> RootStatus:
        found = self.queue.status_of(self.root)
        assert found is not None
        return found

    @property
    def entity(self) -> QueuedEntity:
        return self.queue.entities.add(self.survey)

    def comes(self, decision: Decision, now: float = 0.0, **more: Any) -> Attempt:
        """What comes of *decision*, made in an attempt that begins now."""
        self.queue.entities.activate(self.entity, Backoff(), self.survey.order)
        entity = self.queue.entities.pop()
        assert entity is not None
        return self.outcomes.apply_decision(entity, self.survey, Decided(decision, **more), now)

    def wakes(self, **news: Any) -> bool:
        """Whether such news wake the root; it stays parked if not."""
        return [self.root] == self.queue.entities.unschedulable.woken(ClusterChanges(**news))


def waiting(count: int = 2, cpu: str = "1", **more: Any) -> list[Json]:
    """The gang g, whose pods wait."""
    return [leaf("g", count), *pods("g", count, cpu, **{**MUSTER, **more})]


def preempting(**options: Any) -> Office:
    """Two pods of low priority on n1, and a gang of a higher one."""
    low = [pod(f"low-{number}", on="n1", priority=0) for number in range(2)]
    return Office(*low, leaf("g", 1, priority=10), pod("g-0", "g", priority=10, **MUSTER), **{"preempt": True, **options})


def placed(*names: str, root: Name = G) -> Decision:
    return Decision(root, Status.SUCCESS, assignments={f"default/{name}": "n1" for name in names})


def failed(*victims: str, status: Status = Status.UNSCHEDULABLE, nominated: tuple[str, ...] = (), why: str = NO_ROOM) -> Decision:
    nominations = {f"default/{name}": "n1" for name in nominated}
    causes = (PluginReason(why),)
    pending = {"default/g-0": causes}
    return Decision(G, status, causes, nominations=nominations, victims=tuple(f"default/{name}" for name in victims), pending=pending)


def evicts(attempt: Attempt) -> list[str]:
    return [each.pod.name for each in attempt.plan]


def test_binds_of_what_was_placed_are_under_way():
    office = Office(*waiting())
    attempt = office.comes(placed("g-0", "g-1"))
    binds = of(Bind, [*attempt.writes])
    assert {"g-0": "n1", "g-1": "n1"} == nodes_of(binds)
    assert {bind.pod: bind for bind in binds} == office.entity.state.binds
    assert {bind.pod: office.entity for bind in binds} == office.queue.binds.by_pod
    assert (Binding, False) == (type(office.entity.state), G in office.queue.entities.unschedulable)


def test_failures_are_counted_on_while_binds_are_under_way():
    office = Office(*waiting())
    office.comes(failed())
    office.comes(failed(), 1.0)
    office.comes(placed("g-0", "g-1"), 3.0)
    assert 2 == office.entity.attempts


def test_bind_that_failed_before_is_forgotten_when_others_begin():
    office = Office(*waiting())
    for bind in of(Bind, [*office.comes(placed("g-0", "g-1")).writes]):
        office.queue.binds.ended(bind, WriteOutcome.REFUSED, "no", 0.0)
    office.comes(placed("g-0", "g-1"), 1.0)
    assert not office.entity.state.failed


def test_leftover_pods_are_reported_after_the_binds():
    office = Office(leaf("g", 1), *pods("g", 2, **MUSTER))
    decision = Decision(G, Status.SUCCESS, assignments={"default/g-0": "n1"}, pending={"default/g-1": (PluginReason(NO_ROOM),)})
    assert [Bind, SetCondition] == [type(write) for write in office.comes(decision).writes]


def test_root_that_was_placed_with_nothing_to_bind_is_left_alone():
    office = Office(leaf("g", 1), bound(pod("g-0", "g", **MUSTER), "n1"), pod("g-1", "g", **MUSTER))
    assert () == office.comes(placed()).writes
    assert (1, True) == (office.entity.attempts, G in office.queue.entities.unschedulable)


def test_every_decision_is_kept_for_the_report():
    office = Office(*waiting())
    decision = failed()
    office.comes(decision)
    assert decision is office.queue.decisions.get(G)


@pytest.mark.parametrize(("decision", "kept"), [(placed("g-0"), True), (failed(), False)], ids=["placed", "not placed"])
def test_a_root_itself_keeps_no_decision_but_the_one_that_placed_it(decision, kept):
    office = Office(*waiting(1))
    office.comes(decision)
    assert (decision if kept else None) is getattr(office.entity.state, "decision", None)


def test_failed_root_has_a_longer_backoff_each_time_and_waits_for_a_helpful_change():
    office = Office(*waiting())
    for now, seconds in ((0.0, 1.0), (1.0, 2.0), (3.0, 4.0), (7.0, 8.0), (15.0, 10.0), (25.0, 10.0)):
        attempt = office.comes(failed(), now)
        assert now + seconds == office.entity.backoff_expiration
        assert ((), Unschedulable) == (attempt.plan, type(office.entity.state))
        assert now + 300.0 == office.entity.state.flush_at


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param(Status.UNSCHEDULABLE, True, id="no room"),
        pytest.param(Status.UNRESOLVABLE, True, id="no room even if others left"),
        pytest.param(Status.ERROR, True, id="an error"),
        pytest.param(Status.WAIT, False, id="it waits for itself"),
        pytest.param(Status.INVALID, False, id="it is invalid"),
    ],
)
def test_free_capacity_wakes_a_root_that_could_use_it(status, want):
    office = Office(*waiting())
    office.comes(failed(status=status))
    assert want == office.wakes(freed_nodes={"n1"})


@pytest.mark.parametrize(
    ("cpu", "options", "more", "news", "want"),
    [
        pytest.param("1", {}, {}, {"freed_nodes": {"n1"}}, True, id="room for a pod"),
        pytest.param("9", {}, {}, {"freed_nodes": {"n1"}}, False, id="room that is too small"),
        pytest.param("1", {}, {}, {"pods_moved": True}, False, id="another pod"),
        pytest.param(
            "1", {}, {"events": frozenset({ClusterEvent.POD})}, {"pods_moved": True}, True, id="another pod, of which it keeps away"
        ),
        pytest.param("1", {}, {"preempts": True}, {"budgets": True}, False, id="a budget where nobody may preempt"),
        pytest.param("1", {"preempt": True}, {}, {"budgets": True}, False, id="a budget, and it may not preempt"),
        pytest.param("1", {"preempt": True}, {"preempts": True}, {"budgets": True}, True, id="a budget, and it may"),
    ],
)
def test_parked_root_is_woken_by_what_its_decision_hangs_on(cpu, options, more, news, want):
    office = Office(*waiting(cpu=cpu), **options)
    office.comes(failed(), **more)
    assert want == office.wakes(**news)


def test_node_of_a_member_wakes_the_root():
    office = Office(leaf("g", 1), pod("g-0", "g", "9", **MUSTER), bound(pod("g-1", "g", **MUSTER), "n2"))
    office.comes(failed())
    assert not office.wakes(nodes={"n1"})
    assert office.wakes(nodes={"n2"})


def test_evictions_are_requested_and_the_root_waits_for_the_answer():
    office = preempting(plan_seconds=600.0)
    attempt = office.comes(failed("low-0", nominated=("g-0",)), 7.0)
    assert (["low-0"], PreemptionProposed) == (evicts(attempt), type(office.entity.state))
    assert office.entity.state.plan is office.queue.entities.plans[G]
    assert ([], [("g", "FailedScheduling")]) == (of(Evict, [*attempt.writes]), told([*attempt.writes]))
    assert 607.0 == office.queue.entities.due(7.0)


@pytest.mark.parametrize(
    ("status", "options"),
    [
        pytest.param(Status.UNSCHEDULABLE, {"preempt": False}, id="preemption is off"),
        pytest.param(Status.ERROR, {}, id="an error"),
        pytest.param(Status.WAIT, {}, id="it waits"),
    ],
)
def test_no_pod_is_evicted(status, options):
    office = preempting(**options)
    assert () == office.comes(failed("low-0", status=status)).plan
    assert {} == office.queue.entities.plans


@pytest.mark.parametrize(
    ("victim", "now", "change", "want"),
    [
        pytest.param("low-0", 309.9, False, [], id="the same victim"),
        pytest.param("low-0", 310.0, False, ["low-0"], id="the same victim after a long time"),
        pytest.param("low-0", 20.0, True, ["low-0"], id="the same victim once a budget changed"),
        pytest.param("low-1", 20.0, False, ["low-1"], id="another victim"),
    ],
)
def test_refused_eviction_is_not_retried_without_a_change(victim, now, change, want):
    office = preempting(flush_seconds=300.0)
    office.happens(budget(0))
    refused = office.store.usage.pods.pods["default/low-0"].ref
    office.queue.eviction_refused(office.entity, refused, "", 10.0)
    if change:
        office.happens(budget(1))
    assert want == evicts(office.comes(failed(victim, nominated=("g-0",)), now))


def test_plan_of_which_one_victim_was_refused_is_not_made_with_others_besides():
    office = preempting()
    office.queue.eviction_refused(office.entity, office.store.usage.pods.pods["default/low-0"].ref, "", 0.0)
    assert [] == evicts(office.comes(failed("low-0", "low-1")))
    assert G in office.queue.entities.unschedulable


def test_root_whose_victims_would_not_leave_is_tried_again_after_its_back_off():
    office = preempting()
    office.comes(failed("low-0", nominated=("g-0",)))
    entity = office.entity
    office.queue.preemption_done(entity)
    office.queue.eviction_refused(entity, GONE, "", 0.5)
    assert (Backoff, False) == (type(entity.state), G in office.queue.entities.unschedulable)
    assert 1.0 == office.queue.entities.due(0.5)


def test_root_that_is_gone_when_its_victims_refuse_is_forgotten():
    office = preempting()
    entity = office.entity
    office.server.delete(("Pod", "default", "g-0"))
    office.happens()
    office.queue.eviction_refused(entity, GONE, "", 0.0)
    assert {} == office.queue.entities.by_root


def test_pods_are_pinned_to_no_node_without_a_host_name():
    bare = node("n1")
    del bare["metadata"]["labels"][HOST]
    office = Office(bare, leaf("g", 1), pod("g-0", "g", **GATED), place=False, ungate=True)
    verdict = GroupDecision(G, Status.SUCCESS)
    decision = Decision(G, Status.SUCCESS, assignments={"default/g-0": "n1"}, groups=(verdict,))
    writes = office.comes(decision).writes
    (event,) = writes
    assert isinstance(event, RecordEvent)
    assert (True, True) == ("node n1" in event.message, HOST in event.message)
    found = office.queue.decisions.get(G)
    assert found is not None
    assert (Status.ERROR, {}, (NodeWithoutHostname("n1"),)) == (found.status, found.assignments, found.causes)
    assert office.wakes(nodes={"n1"}), "it may come to have one"


def partial(**options: Any) -> Office:
    """A gang of two of which one is bound."""
    low = pod("low-0", on="n1", priority=0)
    members = [bound(pod("g-1", "g", priority=10, **MUSTER), "n1"), pod("g-0", "g", priority=10, **MUSTER)]
    return Office(low, leaf("g", 2, priority=10), *members, **{"preempt": True, **options})


@pytest.mark.parametrize(
    ("decision", "want"),
    [
        pytest.param(failed(), ["g-1"], id="no room"),
        pytest.param(failed(status=Status.UNRESOLVABLE), ["g-1"], id="no room even if others left"),
        pytest.param(failed(status=Status.ERROR), [], id="an error says nothing"),
        pytest.param(failed(status=Status.WAIT), [], id="it waits"),
        pytest.param(failed(nominated=("g-0",)), [], id="others leave for it already"),
        pytest.param(failed("low-0", nominated=("g-0",)), [], id="others are to leave for it"),
    ],
)
def test_partial_gang_that_does_not_fit_is_undone(decision, want):
    assert want == [write.pod.name for write in of(Remove, [*partial().comes(decision).writes])]


def test_gang_that_is_partial_and_whose_victims_refuse_is_undone():
    office = partial()
    office.queue.eviction_refused(office.entity, office.store.usage.pods.pods["default/low-0"].ref, "", 0.0)
    writes = [*office.comes(failed("low-0", nominated=("g-0",))).writes]
    assert ["g-1"] == [write.pod.name for write in of(Remove, writes)]


def test_gang_that_was_placed_and_fails_for_what_is_left_is_not_undone():
    office = Office(leaf("g", 1), bound(pod("g-1", "g", **MUSTER), "n1"), pod("g-0", "g", **MUSTER))
    assert [] == of(Remove, [*office.comes(failed()).writes])


@pytest.mark.parametrize(
    ("first", "then", "want"),
    [
        pytest.param(failed(), failed(nominated=("g-0",)), True, id="others are leaving"),
        pytest.param(failed(nominated=("g-0",)), failed(), False, id="nobody leaves any more"),
        pytest.param(failed(nominated=("g-0",)), failed("low-0", nominated=("g-0",)), False, id="others are asked to leave anew"),
        pytest.param(failed(nominated=("g-0",)), placed("g-0"), False, id="it was placed"),
    ],
)
def test_root_awaits_only_those_who_leave_already(first, then, want):
    office = partial()
    office.comes(first)
    office.comes(then, 1.0)
    assert want == office.entity.awaits_victims


@pytest.mark.parametrize(
    ("now", "want"),
    [pytest.param(59.9, [], id="too soon"), pytest.param(60.0, ["g-0"], id="in time")],
)
def test_pods_get_another_reason_seldom(now, want):
    office = Office(*waiting(), report_seconds=60.0)
    assert ["g-0"] == [name for name, _, _ in said([*office.comes(failed()).writes])]
    assert want == [name for name, _, _ in said([*office.comes(failed(why="another reason"), now).writes])]


def test_the_interval_of_reports_counts_from_the_last_report():
    office = Office(*waiting(), report_seconds=60.0)
    told_at = []
    for now in range(0, 200, 25):
        if said([*office.comes(failed(why=f"reason {now}"), float(now)).writes]):
            told_at.append(now)
    assert [0, 75, 150] == told_at


@pytest.mark.parametrize(
    ("root", "policy", "options", "want"),
    [
        pytest.param(G, "PreemptLowerPriority", {"preempt": True}, ["g-0"], id="of a group"),
        pytest.param(G, "Never", {"preempt": True}, ["g-0"], id="of a group that may not preempt"),
        pytest.param(G, "PreemptLowerPriority", {"preempt": False}, [], id="where preemption is off"),
    ],
)
def test_nomination_of_a_root_that_failed_is_taken_back(root, policy, options, want):
    member = pod("g-0", "g", nominated="n1", preemptionPolicy=policy, **MUSTER)
    office = Office(leaf("g", 1), member, root=root, **options)
    assert want == [write.pod.name for write in of(Nominate, [*office.comes(failed()).writes])]


@pytest.mark.parametrize(("policy", "want"), [("PreemptLowerPriority", ["one"]), ("Never", [])])
def test_single_pod_keeps_its_nomination_where_it_may_not_preempt(policy, want):
    root = Name("Pod", "default", "one")
    office = Office(pod("one", nominated="n1", priority=5, preemptionPolicy=policy, **MUSTER), root=root, preempt=True)
    office.store.usage.record(office.survey.to_place[0])
    decision = Decision(root, Status.UNSCHEDULABLE, (PluginReason(NO_ROOM),), pending={"default/one": (PluginReason(NO_ROOM),)})
    assert want == [write.pod.name for write in of(Nominate, [*office.comes(decision).writes])]


def test_refusal_names_who_would_not_leave():
    office = preempting()
    ref = Ref("Pod", "default", "low-0", "uid")
    office.queue.eviction_refused(office.entity, ref, "too many disruptions", 3.0)
    refusal = office.entity.refusal
    assert refusal is not None
    assert (ref, office.store.reporter.budgets, 303.0) == (refusal.victim, refusal.budgets, refusal.until)
    assert EvictionRefused("default/low-0", "too many disruptions") == refusal.cause
