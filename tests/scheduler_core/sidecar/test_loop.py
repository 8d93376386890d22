"""The turns of the loop: what is heard, when something is decided, and how long it rests."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from scheduler_core.causes.attempts import PluginReason
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.placement.counters import Counters
from scheduler_core.sidecar.cache.cache import FROM_START, RESOURCES, Cache
from scheduler_core.sidecar.cache.informers import Bookmark, Changed, CurrentVersion, Listed, Restored, Unserved
from scheduler_core.sidecar.cache.optional_watches import NOTHING, ON_DEMAND, Reads
from scheduler_core.sidecar.process.loop import (
    IDLE_SECONDS,
    LATE_SECONDS,
    PAUSE_SECONDS,
    PREPARE_INTERVALS,
    STUCK_SECONDS,
    Loop,
    Parts,
)
from scheduler_core.sidecar.process.mailbox import Done, DryRunDone, LoopCall, Mailbox, Retried, Returned
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.process.version_check import MEMBERS, MembersCheck, VersionCheck
from scheduler_core.sidecar.queue.states import Active
from scheduler_core.sidecar.scheduling.apply_decision import Attempt
from scheduler_core.sidecar.scheduling.scheduler import Scheduler, SchedulerOptions
from scheduler_core.sidecar.writes import AddFinalizer, Bind, Evict, RecordEvent, Ref, WriteOutcome
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar import histories

PATIENCE = 20
ROOT = Name("PodGroup", "default", "g")
GROUP, POD = Ref("PodGroup", "default", "g", "u"), Ref("Pod", "default", "p", "u")
TELL = RecordEvent(GROUP, "Normal", "R", "")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The loop's clock, which stands still unless it is moved."""
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.time", SimpleNamespace(monotonic=lambda: found.now, sleep=lambda _: None))
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.gc", SimpleNamespace(freeze=lambda: None))
    return found


class Publisher:
    def __init__(self):
        self.written, self.plans, self.terms = [], [], []

    def submit(self, writes, term):
        self.written += writes
        self.terms.append(term)

    def dry_run_evictions(self, plan, told):
        self.plans.append((plan, told))


class Keeping:
    """Wants *wants*, once, whenever it is asked first after it began anew."""

    def __init__(self, *wants):
        self.wants, self.asked, self.heard, self.restarts, self.next = wants, 0, [], 0, 100.0

    def restart(self):
        self.restarts += 1

    def changed(self, kind):
        self.heard.append(kind)

    def wanted(self, _):
        self.asked += 1
        return self.wants if self.asked == 1 else ()

    def due(self, _):
        return self.next


class Planner:
    """A scheduler that does as it is told, and remembers what it was asked."""

    def __init__(self, *attempts, follow=(), preempts=True):
        self.attempts, self.follow = list(attempts), follow
        self.calls: list[Any] = []
        self.prepared = 0
        self.next: float | None = None
        self.counters = SimpleNamespace(generated=0, feasible=0, infeasible=0)
        self.see = lambda: None
        self.plan: tuple[Evict, ...] = (EVICT,)
        self.outdated = False
        self.preempts = preempts

    def restart(self):
        self.calls.append("restart")

    def prepare(self):
        self.prepared += 1

    def due(self, now):
        return now if self.attempts else self.next

    def attempt(self, _, __):
        found, self.attempts = tuple(self.attempts), []
        return found

    def counts(self):
        return {(Active, "PodGroup"): 2}

    def done(self, write, outcome, _, __):
        self.calls.append((write, outcome))
        return self.follow

    def awaits(self, _, plan):
        return plan == self.plan

    def approve(self, root, _):
        self.calls.append(("approve", root, self.see()))
        if self.outdated:
            self.plan = ()
        return self.follow

    def eviction_refused(self, root, pod, why, _):
        self.calls.append(("refused", root, pod, why))
        return self.follow


class Informers:
    """Informers that are asked to catch up with *kinds*."""

    def __init__(self, *kinds):
        self.kinds, self.asked, self.waits, self.failed = kinds, [], lambda _: False, lambda _, __: None

    def watched(self):
        return frozenset(self.kinds)

    def catch_up(self, _, kinds, waits, failed):
        self.asked.append(sorted(kinds))
        self.waits, self.failed = waits, failed


class Turning:
    """A loop, its parts, and what it logged."""

    def __init__(self, *, leads=True, scheduler=None, keeping=None, synced=True, real=False, reads=NOTHING, late=()):
        self.settled = True
        self.store = Cache(reads=reads)
        self.leading, self.logged, self.watched, self.searched = leads, [], [], []
        self.scheduler = (
            Scheduler(self.store, SchedulerOptions(scheduler_name="default-scheduler", settle_seconds=0.0)) if real else scheduler
        )
        if isinstance(self.scheduler, Planner):
            self.scheduler.counters = Counters()
        self.keeping = keeping or Keeping()
        self.publisher, self.inbox, self.telemetry = Publisher(), Mailbox(), SidecarMetrics()
        self.informers = Informers(*late)
        self.start = VersionCheck(self.store, self.informers, settled=lambda: self.settled)
        self.members = MembersCheck(VersionCheck(self.store, self.informers, MEMBERS))
        self.loop = Loop(
            Parts(
                self.store,
                self.scheduler,
                self.keeping,
                self.publisher,
                self.inbox,
                self.telemetry,
                lambda: int(self.leading),
                self.start,
                self.members,
                lambda *told: self.logged.append(told),
                lambda kinds: self.watched.append(sorted(kinds)),
                lambda: self.searched.append(int(self.leading)),
            )
        )
        if synced:
            self.sync()

    def version(self, kind, version):
        """Return what the API server has for *kind* after the term has begun."""
        return CurrentVersion(self.start.number, kind, version)

    def sync(self, *objects):
        for resource in RESOURCES:
            self.inbox.enqueue(Listed(resource, [raw(each) for each in objects if histories.resource_of(each) == resource]))

    def turn(self, *news):
        for each in news:
            self.inbox.enqueue(each)
        return self.loop.run_once(0.0)

    def figure(self, name, *absent):
        lines = self.telemetry.text().decode().splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == name), *absent)


def raw(each):
    return msgspec.Raw(histories.raw(each))


def attempt(*writes, status=Status.SUCCESS, plan=(), message=""):
    return Attempt(ROOT, Decision(ROOT, status, (PluginReason(message),) if message else ()), writes, plan)


BIND, EVICT = Bind(POD, "n1"), Evict(POD, "x")


def test_nothing_is_decided_before_every_kind_is_known():
    turning = Turning(scheduler=Planner(attempt(BIND)), keeping=Keeping(TELL), synced=False)
    *kinds, last = FROM_START
    for kind in kinds:
        assert IDLE_SECONDS == turning.turn(Listed(kind, []))
    assert ([], 0) == (turning.publisher.written, turning.keeping.asked)
    turning.turn(Unserved(last))

    assert [BIND, TELL] == turning.publisher.written


def test_it_is_ready_once_all_is_read_and_counted():
    turning = Turning(scheduler=Planner(), synced=False)
    before = turning.loop.unready()
    turning.sync()
    turning.turn()

    assert {f"{each} objects are listed and not read yet" for each in FROM_START} == {*before}
    assert () == turning.loop.unready()


def test_a_part_of_a_list_is_not_the_list():
    turning = Turning(scheduler=Planner(), synced=False)
    turning.sync()
    turning.turn(Listed("Pod", [], "7", last=False))
    applied = []
    other = Turning(scheduler=Planner(), synced=False)
    other.turn(Listed("Pod", [], "7", last=False, applied=lambda: applied.append(1)))

    assert ((), [1]) == (turning.loop.unready(), applied)
    assert "Pod objects are listed and not read yet" in other.loop.unready()


def test_a_loop_that_reads_a_long_list_is_alive(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.time", SimpleNamespace(monotonic=lambda: now[0]))
    turning, seen = Turning(synced=False), []

    def applied():
        now[0] += STUCK_SECONDS

    def later():
        now[0] += 1.0
        seen.append(turning.loop.dead())

    turning.turn(Listed("Pod", [], "7", last=False, applied=applied), LoopCall(later, Future()))

    assert [()] == seen


@pytest.mark.parametrize("leading", [True, False])
def test_a_standby_prepares_again_and_again_and_a_leader_once(leading, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.time", SimpleNamespace(monotonic=lambda: now[0]))
    turning = Turning(scheduler=(planner := Planner()), leads=leading)
    if leading:
        turning.turn(*(turning.version(kind, "0") for kind in turning.informers.kinds))
    before, counts = planner.prepared, []

    def prepare():
        planner.prepared += 1
        now[0] += 2.0

    planner.prepare = prepare
    for later in (0.0, 1.0, 2.0 * PREPARE_INTERVALS):
        now[0] += later
        turning.turn()
        counts.append(planner.prepared - before)

    assert ([0, 0, 0] if leading else [1, 1, 2]) == counts


def test_a_refused_write_is_logged_with_its_object_and_reason():
    turning = Turning(scheduler=Planner())
    turning.turn(*[Done(Bind(POD, "n1"), WriteOutcome.REFUSED, "HTTP 403: no")] * 3, Done(BIND, WriteOutcome.DONE, ""))

    (line,) = [each for each in turning.logged if each[1] == "write"]
    assert ("warning", "Pod default/p", "HTTP 403: no") == (line[0], line[2]["object"], line[2]["reason"])


def test_a_write_that_is_retried_is_logged_and_passed_to_the_scheduler():
    turning = Turning(real=True)
    turning.sync(node("n1"), leaf("g", 1), pod("p", "g"))
    turning.turn()
    turning.loop.run_once(0.0)
    (write,) = [each for each in turning.publisher.written if isinstance(each, Bind)]
    turning.turn(Retried(write, "HTTP 403: no"))

    (line,) = [each for each in turning.logged if each[1] == "write"]
    assert ("warning", "retried", "HTTP 403: no") == (line[0], line[2]["outcome"], line[2]["reason"])
    explanation = turning.scheduler.explain("default", "g")
    assert [{"pod": "default/p", "node": "n1", "reason": "HTTP 403: no"}] == explanation.writes["failures"]


def test_while_another_leads_events_are_read_and_nothing_is_decided(clock):
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), keeping=Keeping(TELL))
    for _ in range(3):
        clock.now += 10.0
        assert IDLE_SECONDS == turning.turn(Changed("Node", "ADDED", raw(node(f"n{clock.now}"))))

    assert 3 == turning.store.counts()["Node"]
    assert ([], 0.0) == (turning.publisher.written, turning.figure("muster_leader"))


def test_a_term_begins_once_every_kind_shows_what_the_last_leader_wrote(clock):
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), keeping=Keeping(TELL), late=("Node", "Pod"))
    turning.turn()
    turning.leading = 1
    turning.turn()
    assert [["Node", "Pod"]] == turning.informers.asked
    gone_by = [
        # A second attempt to catch up reads a later version.
        (turning.version("Node", "20"), turning.version("Node", "90")),
        (Bookmark("Node", "20"), Changed("Pod", "ADDED", raw(pod("late")), "19")),
        (turning.version("Pod", "30"), Changed("Pod", "ADDED", raw(pod("later")), "29")),
    ]
    for messages in gone_by:
        clock.now += 100.0
        turning.turn(*messages)
        assert ([], [], 0) == (turning.publisher.written, turning.scheduler.calls, turning.keeping.restarts)
    turning.turn(Listed("Pod", [], "30"))

    assert [BIND, TELL] == turning.publisher.written
    assert (["restart"], 1, {1}) == (turning.scheduler.calls, turning.keeping.restarts, set(turning.publisher.terms))
    assert ("info", "term", {"term": 1, "waited_seconds": 300.0}) == turning.logged[1]


def test_a_term_reads_nothing_while_a_request_of_the_one_before_may_take_effect(clock):
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), late=("Pod",))
    turning.turn()
    turning.leading, turning.settled = True, False
    turning.turn(Changed("Pod", "ADDED", raw(pod("x")), "7"))
    clock.now += 2
    turning.turn()
    assert ([], []) == (turning.informers.asked, turning.publisher.written)
    assert ("Pod objects: a request of the term before may still take effect, for 2 s",) == turning.start.reasons(clock.now)
    turning.settled = True
    turning.turn()
    assert ([["Pod"]], []) == (turning.informers.asked, turning.publisher.written)
    turning.turn(turning.version("Pod", "7"))

    assert [BIND] == turning.publisher.written


def test_a_term_does_not_begin_before_every_kind_is_listed():
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), keeping=Keeping(TELL), synced=False)
    turning.turn()
    turning.leading = 1
    turning.turn()
    assert ([], 0, []) == (turning.scheduler.calls, turning.keeping.restarts, turning.logged)
    turning.sync()
    turning.turn()

    assert (["restart"], 1, [BIND, TELL]) == (turning.scheduler.calls, turning.keeping.restarts, turning.publisher.written)


def test_a_kind_that_is_listed_late_interrupts_a_term_and_what_is_assumed_stays(clock):
    turning = Turning(leads=False, real=True, late=("Pod", "ResourceClaim"), synced=False, reads=Reads(schedules=True))
    turning.turn()
    turning.leading = True
    for kind in [each for each in RESOURCES if each != "ResourceClaim"]:
        objects = [raw(each) for each in (node("n", cpu="1"), pod("first", cpu="1")) if each["kind"] == kind]
        turning.turn(Listed(kind, objects, "5"))
    turning.turn(turning.version("Pod", "5"))
    clock.now += 1.0
    turning.turn()
    bound = [each.pod.name for each in turning.publisher.written if isinstance(each, Bind)]
    assert (["first"], True) == (bound, "ResourceClaim" in turning.start._versions)
    urgent = pod("second", cpu="1", priority=9)
    turning.turn(Listed("ResourceClaim", [], "6"), Changed("Pod", "ADDED", raw(urgent), "7"))
    assert {"ResourceClaim"} == turning.start.blocking()
    turning.turn(turning.version("ResourceClaim", "6"))
    for _ in range(3):
        clock.now += 1.0
        turning.turn()

    assert ["first"] == [each.pod.name for each in turning.publisher.written if isinstance(each, Bind)]
    assert 1 == [each[1] for each in turning.logged].count("term")
    # What came in between is not forgotten.
    assert Status.UNSCHEDULABLE is turning.scheduler.explain("default", "second").decision.status


def test_responses_to_writes_do_not_show_that_a_kind_is_complete():
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), late=("Pod",))
    turning.leading = 1
    turning.turn()
    turning.turn(turning.version("Pod", "20"))
    newer = pod("a")
    newer["metadata"]["resourceVersion"] = "25"
    turning.turn(Returned("Pod", raw(newer)))

    assert [] == turning.publisher.written


def test_after_a_restore_of_the_storage_a_kind_is_complete_only_up_to_its_next_list():
    turning = Turning(scheduler=Planner())
    turning.turn(Listed("Pod", [], "50"))
    assert turning.store.is_complete("Pod", "50")
    turning.turn(Restored("Pod"), Listed("Pod", [], "20"))

    assert (True, False) == tuple(turning.store.is_complete("Pod", version) for version in ("20", "21"))


def test_waiting_is_reported_by_kind_with_its_time_and_its_reason(clock):
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), late=("Node", "Pod"))
    turning.turn()
    turning.leading = 1
    turning.turn()
    clock.now += LATE_SECONDS + 1
    turning.informers.failed("Node", "HTTP 503: no")
    turning.turn(turning.version("Pod", "30"))
    turning.turn()

    reasons = (
        "Node objects: not complete up to the current resourceVersion for 6 s: HTTP 503: no",
        "Pod objects: not complete up to resourceVersion 30 for 6 s",
    )
    assert reasons == turning.start.reasons(clock.now)
    assert [("warning", "term", {"reason": "; ".join(reasons)})] == turning.logged
    assert [6.0, 6.0, 1.0] == list(
        map(turning.figure, ('muster_term_wait_seconds{kind="Node"}', 'muster_term_wait_seconds{kind="Pod"}', "muster_leader"))
    )
    turning.turn(Bookmark("Pod", "31"), turning.version("Node", "0"))
    assert ((), [BIND]) == (turning.start.reasons(clock.now), turning.publisher.written)
    assert None is turning.figure('muster_term_wait_seconds{kind="Pod"}', None)


def test_a_term_that_ends_before_it_begins_stops_waiting_and_the_next_reads_anew():
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), late=("Pod",))
    turning.leading = 1
    turning.turn()
    assert turning.informers.waits("Pod")
    outdated = turning.version("Pod", "20")
    turning.leading = 0
    turning.turn()
    assert (False, ()) == (turning.informers.waits("Pod"), turning.start.reasons(0.0))
    assert None is turning.figure('muster_term_wait_seconds{kind="Pod"}', None)
    turning.leading = 2
    turning.turn(outdated, Bookmark("Pod", "20"))
    turning.turn(outdated)
    assert ([], [["Pod"]] * 2) == (turning.publisher.written, turning.informers.asked)
    turning.turn(turning.version("Pod", "20"))

    assert [BIND] == turning.publisher.written


def test_an_unlisted_kind_delays_only_its_own_roots_until_a_list_arrives():
    turning = Turning(leads=False, scheduler=Planner(), synced=False, late=("PersistentVolume",), reads=Reads(schedules=True))
    for kind in RESOURCES:
        if kind not in ON_DEMAND:
            turning.turn(Listed(kind, []))
    turning.leading = 1
    turning.turn()
    turning.turn(turning.version("PersistentVolume", "20"))
    assert ["restart"] == turning.scheduler.calls
    turning.scheduler.attempts = [attempt(BIND)]
    turning.turn(Listed("PersistentVolume", [], "19"))
    assert [] == turning.publisher.written
    turning.turn(Bookmark("PersistentVolume", "20"))

    assert [BIND] == turning.publisher.written


def test_a_kind_that_is_not_served_any_more_is_not_awaited():
    turning = Turning(leads=False, scheduler=Planner(attempt(BIND)), late=("Pod", "Workload"))
    turning.leading = 1
    turning.turn()
    turning.turn(turning.version("Pod", "20"), turning.version("Workload", "20"), Bookmark("Pod", "20"))
    assert [] == turning.publisher.written
    turning.informers.kinds = ("Pod",)
    turning.turn(Unserved("Workload"))

    assert ([BIND], False) == (turning.publisher.written, turning.informers.waits("Workload"))


def test_members_are_checked_when_somebody_needs_them_up_to_a_moment(clock):
    turning = Turning(scheduler=Planner(), late=("Node", "Pod", "PodGroup"))
    assert not turning.members.is_current(clock.now)
    turning.turn()
    assert [["Pod", "PodGroup"]] == turning.informers.asked
    check = turning.members.check.number
    turning.turn(CurrentVersion(check, "Pod", "7"), CurrentVersion(check, "PodGroup", "8"), Bookmark("Pod", "7"))
    clock.now += 1.0
    assert not turning.members.is_current(clock.now - 1.0)
    turning.turn(Bookmark("PodGroup", "9"))

    assert (True, False) == tuple(turning.members.is_current(at) for at in (clock.now - 1.0, clock.now - 0.5))
    assert [["Pod", "PodGroup"]] == turning.informers.asked
    turning.turn()
    assert [["Pod", "PodGroup"]] * 2 == turning.informers.asked


def test_who_leads_from_the_start_waits_for_nobody():
    turning = Turning(scheduler=Planner(attempt(BIND)))
    turning.turn()

    assert ([BIND], []) == (turning.publisher.written, turning.scheduler.calls)


def test_new_leader_lists_claims_of_an_earlier_process_once_unless_watched(clock):
    turning = Turning(leads=False, scheduler=Planner(), synced=False, reads=Reads(schedules=True))
    for kind in RESOURCES:
        if kind not in ON_DEMAND:
            turning.turn(Listed(kind, []))
    for term in (0, 1, 1, 2, 3):
        turning.leading = term
        if term == 3:
            turning.store.needed.add_claims()
            turning.turn()
        for _ in range(2):
            turning.turn()
            clock.now += 1.0

    assert ([1, 2], [["PersistentVolume", "PersistentVolumeClaim"]]) == (turning.searched, turning.watched)


def test_who_leads_another_time_judges_all_anew_though_it_never_saw_another_lead(clock):
    turning = Turning(scheduler=Planner())
    for term in (1, 1, 2, 2, 3):
        turning.leading = term
        turning.turn()

    assert (["restart"] * 2, 2) == (turning.scheduler.calls, turning.keeping.restarts)


def test_who_leads_again_judges_all_anew(clock):
    turning = Turning(scheduler=Planner())
    for leads in (True, False, False, True, False, True):
        turning.leading = leads
        turning.turn()
        clock.now += 10.0

    assert (["restart"] * 2, 2) == (turning.scheduler.calls, turning.keeping.restarts)


def test_a_decision_has_the_term_in_which_it_was_made(clock):
    planner = Planner(attempt(BIND))
    turning = Turning(scheduler=planner, keeping=Keeping(TELL))
    turning.leading = 3
    turning.turn()
    looks = iter([3])
    turning.loop._parts = dataclasses.replace(turning.loop._parts, term=lambda: next(looks, 4))
    turning.turn(Done(BIND, WriteOutcome.DONE, ""))

    assert [BIND, TELL] == turning.publisher.written
    assert {3} == set(turning.publisher.terms)


def churn(turning, count):
    """Single pods come and go, each with a name of its own."""
    for number in range(count):
        each = pod(f"p{number}")
        each["metadata"] |= {"uid": f"u{number}", "resourceVersion": str(10 + 2 * number)}
        gone = {**each, "metadata": {**each["metadata"], "resourceVersion": str(11 + 2 * number)}}
        turning.turn(Changed("Pod", "ADDED", raw(each)), Changed("Pod", "DELETED", raw(gone)))


@pytest.mark.parametrize(
    ("leads", "real"),
    [
        pytest.param(False, True, id="another leads"),
        pytest.param(True, False, id="nothing is placed"),
        pytest.param(True, True, id="it leads"),
    ],
)
def test_what_changes_is_not_remembered_for_ever(leads, real):
    turning = Turning(leads=leads, real=real)
    churn(turning, 20)

    assert not turning.store.reporter.changes


def test_who_begins_to_lead_tries_what_came_while_another_led(clock):
    turning = Turning(leads=False, real=True, synced=False)
    turning.sync(node("n1"))
    turning.turn()
    turning.turn(Changed("Pod", "ADDED", raw(pod("a"))))
    turning.leading = True
    turning.turn()
    turning.turn()
    clock.now += 1.0
    turning.turn()

    assert ["a"] == [each.pod.name for each in turning.publisher.written if isinstance(each, Bind)]


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(Changed("PodGroup", "DELETED", msgspec.Raw(b"{}")), id="one changed"),
        pytest.param(Listed("PodGroup", []), id="all are listed"),
        pytest.param(Unserved("PodGroup"), id="not served any more"),
    ],
)
def test_observers_of_a_kind_are_called_when_it_changed(news):
    turning = Turning()
    turning.turn()
    turning.keeping.heard.clear()
    turning.turn(news)

    assert ["PodGroup"] == turning.keeping.heard


def test_of_a_kind_that_is_not_served_any_more_nothing_is_there():
    turning = Turning(synced=False)
    turning.sync(node("n1"))
    turning.turn()
    turning.turn(Unserved("Node"))

    assert 0 == turning.store.counts()["Node"]


def test_changes_are_counted_by_kind():
    turning = Turning()
    turning.turn(*[Changed("Pod", "ADDED", raw(pod(name))) for name in "abc"], Changed("Node", "ADDED", raw(node("n"))))

    assert [3.0, 1.0] == [turning.figure(f'muster_watch_events_total{{kind="{kind}"}}') for kind in ("Pod", "Node")]


def test_what_became_of_a_write_is_counted_and_followed_up():
    turning = Turning(scheduler=Planner(follow=(TELL,)))
    turning.turn(Done(BIND, WriteOutcome.REFUSED, "why"))

    assert ([(BIND, WriteOutcome.REFUSED)], [TELL]) == (turning.scheduler.calls, turning.publisher.written)
    assert 1.0 == turning.figure('muster_writes_total{kind="Bind",outcome="refused"}')


def test_what_became_of_a_write_is_counted_where_nothing_is_placed():
    turning = Turning()
    turning.turn(Done(AddFinalizer(GROUP, "f"), WriteOutcome.DONE, ""))

    assert [] == turning.publisher.written
    assert 1.0 == turning.figure('muster_writes_total{kind="AddFinalizer",outcome="done"}')


@pytest.mark.parametrize(
    ("follow", "outdated", "result", "victims"),
    [
        pytest.param((TELL,), False, "Success", 1.0, id="its nominations come first"),
        pytest.param((EVICT, EVICT, TELL), True, "Success", 2.0, id="its nominations are written"),
        pytest.param((), True, "Unschedulable", 0.0, id="it is out of date"),
    ],
)
def test_an_allowed_plan_is_carried_out_and_counted_if_it_is_still_valid(follow, outdated, result, victims):
    planner = Planner(follow=follow)
    planner.outdated = outdated
    turning = Turning(scheduler=planner)
    turning.turn(DryRunDone(ROOT, (EVICT,), None, ""))

    assert [*follow] == turning.publisher.written
    assert [("approve", ROOT, None)] == turning.scheduler.calls
    assert 1.0 == turning.figure(f'muster_workload_preemption_attempts_total{{result="{result}"}}')
    assert victims == turning.figure("muster_workload_preemption_victims_sum")


def test_a_plan_is_checked_against_all_events_until_then():
    planner = Planner()
    turning = Turning(scheduler=planner)
    planner.see = lambda: turning.store.counts()["Pod"]
    turning.turn(DryRunDone(ROOT, (EVICT,), None, ""), Changed("Pod", "ADDED", raw(pod("a"))))

    assert [("approve", ROOT, 1)] == planner.calls


def test_a_plan_that_would_not_be_allowed_is_dropped():
    turning = Turning(scheduler=Planner(follow=(TELL,)))
    turning.turn(DryRunDone(ROOT, (EVICT,), EVICT, "a budget"))

    assert [("refused", ROOT, POD, "a budget")] == turning.scheduler.calls
    in_vain = turning.figure('muster_workload_preemption_attempts_total{result="Unschedulable"}')
    assert ([TELL], 1.0) == (turning.publisher.written, in_vain)


@pytest.mark.parametrize("refused", [pytest.param(None, id="allowed"), pytest.param(EVICT, id="refused")])
def test_what_was_answered_of_an_earlier_plan_says_nothing_of_this_one(refused):
    planner = Planner(follow=(TELL,))
    planner.plan = (dataclasses.replace(EVICT, pod=dataclasses.replace(POD, name="another")),)
    turning = Turning(scheduler=planner)
    turning.turn(DryRunDone(ROOT, (EVICT,), refused, ""))

    assert ([], []) == (planner.calls, turning.publisher.written)


def test_evictions_are_rehearsed_and_the_answer_comes_by_the_inbox():
    turning = Turning(scheduler=Planner(attempt(status=Status.UNSCHEDULABLE, plan=(EVICT,))))
    turning.turn()
    ((plan, told),) = turning.publisher.plans
    told(EVICT, "why")

    assert (EVICT,) == plan
    assert [DryRunDone(ROOT, (EVICT,), EVICT, "why")] == [*turning.inbox.dequeue(0.0, 9)]
    assert 1.0 == turning.figure('muster_podgroup_schedule_attempts_total{profile="muster",result="waiting_on_preemption"}')


@pytest.mark.parametrize(
    ("found", "preempts", "count"),
    [
        pytest.param(attempt(status=Status.UNSCHEDULABLE), True, 1.0, id="nobody would help"),
        pytest.param(attempt(status=Status.UNSCHEDULABLE), False, None, id="nobody may be made to leave"),
        pytest.param(attempt(status=Status.UNRESOLVABLE), True, None, id="nobody could help"),
        pytest.param(attempt(status=Status.UNSCHEDULABLE, plan=(EVICT,)), True, None, id="a plan that is tried first"),
        pytest.param(attempt(BIND), True, None, id="placed"),
    ],
)
def test_tries_to_make_others_leave_that_come_to_nothing_are_counted(found, preempts, count):
    turning = Turning(scheduler=Planner(found, preempts=preempts))
    turning.turn()

    assert count == turning.figure('muster_workload_preemption_attempts_total{result="Unschedulable"}', None)


def test_each_root_has_its_share_of_the_time_of_a_cycle(clock):
    planner = Planner(attempt(BIND), attempt(BIND), Attempt(ROOT, None, ()))
    turning, attempted = Turning(scheduler=planner), planner.attempt

    def slowly(now, told):
        clock.now += 3.0
        return attempted(now, told)

    planner.attempt = slowly
    turning.turn()
    name = "muster_podgroup_scheduling_algorithm_duration_seconds"

    assert (2.0, 3.0) == tuple(turning.figure(f"{name}_{what}") for what in ("count", "sum"))


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        pytest.param(attempt(BIND, TELL), 1, id="a root that is placed"),
        pytest.param(attempt(TELL, status=Status.UNSCHEDULABLE), 0, id="one that is told of only"),
        pytest.param(attempt(status=Status.WAIT), 0, id="one of which nothing is written"),
        pytest.param(Attempt(ROOT, None, (BIND,)), 0, id="one that was not decided on"),
    ],
)
def test_what_changes_something_is_logged(found, lines):
    turning = Turning(scheduler=Planner(found))
    turning.turn()

    assert lines == len(turning.logged)


def test_a_line_in_the_log_says_what_was_decided_in_not_too_many_words():
    turning = Turning(scheduler=Planner(attempt(BIND, status=Status.UNSCHEDULABLE, plan=(EVICT,), message="x" * 501)))
    turning.turn()
    want = {"root": "PodGroup default/g", "status": "Unschedulable", "pods": 0, "victims": 1, "message": "x" * 500}

    assert [("info", "attempt", want)] == turning.logged


@pytest.mark.parametrize(
    ("keeping", "scheduler", "want"),
    [
        pytest.param(0.25, None, 0.25, id="something is to be looked at"),
        pytest.param(100.0, 1000.5, 0.5, id="a root has its turn"),
        pytest.param(0.25, 1000.5, 0.25, id="whichever is first"),
        pytest.param(100.0, None, IDLE_SECONDS, id="nothing"),
        pytest.param(100.0, 999.0, 0.0, id="a root is overdue"),
    ],
)
def test_it_rests_until_something_is_due(keeping, scheduler, want):
    turning = Turning(scheduler=Planner())
    turning.keeping.next, turning.scheduler.next = keeping, scheduler

    assert want == turning.turn()


def test_pods_and_groups_that_are_really_tried_are_counted_apart():
    turning = Turning(real=True)
    pods = [pod(f"{group}-{number}", group, cpu=cpu) for group, cpu in (("fits", "1"), ("large", "9")) for number in range(2)]
    for each in (node("n", cpu="3"), leaf("fits", 2), leaf("large", 2), *pods, pod("lone"), pod("huge", cpu="9")):
        turning.inbox.enqueue(Changed(each["kind"], "ADDED", raw(each)))
    turning.turn()
    turning.turn()

    for name, count in (("muster_schedule_attempts_total", 3.0), ("muster_podgroup_schedule_attempts_total", 1.0)):
        for result in ("scheduled", "unschedulable"):
            assert count == turning.figure(f'{name}{{profile="muster",result="{result}"}}'), name
    for type_ in ("pod", "podgroup"):
        assert 1.0 == turning.figure(f'muster_queued_entities{{queue="unschedulable",type="{type_}"}}')
        assert 1.0 == turning.figure(f'muster_under_way_entities{{type="{type_}",work="binding"}}')


def test_the_number_of_waiting_roots_is_reported():
    turning = Turning(scheduler=Planner())
    turning.turn()

    assert 2.0 == turning.figure('muster_queued_entities{queue="active",type="podgroup"}')


@pytest.mark.parametrize(
    ("seconds", "dead"), [pytest.param(STUCK_SECONDS, False, id="at the limit"), pytest.param(STUCK_SECONDS + 1, True, id="beyond")]
)
def test_a_loop_that_does_not_turn_is_dead(clock, seconds, dead):
    turning = Turning()
    turning.turn()
    clock.now += seconds
    assert dead == bool(turning.loop.dead())
    turning.turn()

    assert () == turning.loop.dead()


@pytest.fixture
def running():
    """Turnings that turn in a thread of their own."""
    begun = []

    def begin(turning):
        thread = threading.Thread(target=turning.loop.run)
        thread.start()
        begun.append((turning, thread))
        return thread

    yield begin
    for turning, thread in begun:
        turning.loop.stop()
        thread.join(PATIENCE)


def test_questions_are_answered_by_the_thread_of_the_loop(running):
    turning = Turning()
    thread = running(turning)

    assert thread.ident == turning.loop.call(threading.get_ident)
    assert thread.ident != threading.get_ident()


def test_question_to_a_busy_loop_has_no_answer(monkeypatch):
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.ANSWER_SECONDS", 0.01)
    turning = Turning()

    with pytest.raises(TimeoutError):
        turning.loop.call(lambda: "late")
    turning.turn()


def test_a_loop_that_rests_ends_when_it_is_stopped(running):
    turning = Turning()
    thread = running(turning)
    assert 1 == turning.loop.call(lambda: 1)
    turning.loop.stop()
    thread.join(PATIENCE)

    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("due", "want"),
    [
        pytest.param(0.0, [0.0] * 3, id="work is due"),
        pytest.param(0.25, [0.0, 0.25 - PAUSE_SECONDS, 0.25 - PAUSE_SECONDS], id="nothing is due: it pauses, which counts as waited"),
    ],
)
def test_messages_are_collected_in_a_pause_unless_work_is_due(clock, due, want):
    turning, waits = Turning(), []

    def turn(wait):
        waits.append(wait)
        if len(waits) == 3:
            turning.loop.stop()
        return due

    turning.loop.run_once = turn
    turning.loop.run()

    assert want == waits
