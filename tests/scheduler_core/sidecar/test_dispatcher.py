"""Writes against an API server that answers by a script, by a clock that moves only when there is nothing to do."""

from __future__ import annotations

import json
import queue
import threading
from types import SimpleNamespace

import pytest

from apiserver.api import ReplyError
from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writer.dispatcher import (
    FORBIDDEN_SECONDS,
    INITIAL_BACKOFF,
    LOST_SECONDS,
    MAX_BACKOFF,
    MAX_PAUSE,
    WRITE_SECONDS,
    Dispatcher,
)
from scheduler_core.sidecar.writer.executor import REQUEST_SECONDS
from scheduler_core.sidecar.writes import (
    AddFinalizer,
    Bind,
    Condition,
    Evict,
    EvictionMethod,
    Nominate,
    RecordEvent,
    Ref,
    Remove,
    RemoveFinalizer,
    SetCondition,
    Ungate,
    WriteOutcome,
)

PATHS = Paths({"Pod": "/api/v1/pods", "PodGroup": "/apis/scheduling.k8s.io/v1beta1/podgroups"})
PATIENCE = 20


def pod(name="p"):
    return Ref("Pod", "a", name, f"uid-{name}")


GROUP = Ref("PodGroup", "a", "g", "uid-g")
BIND = Bind(pod(), "n1")


def reply(code, retry_after=None, causes=()):
    return ReplyError(code, "no", retry_after=retry_after, causes=causes)


def content(ref, *, node="", uid="", leaving=False, gates=(), finalizers=()):
    metadata = {"name": ref.name, "uid": uid or ref.uid, "resourceVersion": "5", "finalizers": [*finalizers]}
    if leaving:
        metadata["deletionTimestamp"] = "2026-08-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"nodeName": node, "schedulingGates": [{"name": each} for each in gates]}}


class Server:
    """An Api: every request is remembered; *answers* say what comes of each, then all is well."""

    def __init__(self, *answers, found=None):
        self.answers, self.found = list(answers), found
        self.asked = []
        self.clock = SimpleNamespace(now=0.0)

    def send(self, method, path, body, *, content_type, query, seconds):
        self.asked.append(
            SimpleNamespace(
                method=method, path=path, body=body and json.loads(body), dry="dryRun" in dict(query), seconds=seconds, at=self.clock.now
            )
        )
        answer = self.answers.pop(0) if self.answers else None
        if callable(answer):
            answer = answer()
        if isinstance(answer, Exception):
            raise answer
        return json.dumps(answer if answer is not None else self.found or content(pod())).encode()

    @property
    def methods(self):
        return [each.method for each in self.asked]


class Publishing:
    """A publisher whose work is done here, one task after the other, and what it told of each write."""

    def __init__(self, server, remaining=lambda: 1000.0, term=lambda: 1):
        self.clock, self.told = server.clock, []
        self.retried, self.forbidden = [], []
        self.publisher = Dispatcher(
            server,
            PATHS,
            lambda *told: self.told.append(told),
            remaining=remaining,
            recorder=EventRecorder("muster.dev/sidecar", "r"),
            term=term,
            on_retry=lambda *retried: self.retried.append(retried),
            on_forbidden=lambda: self.forbidden.append(server.clock.now),
        )

    def work(self):
        """Until nothing is left."""
        lanes = self.publisher._work_queue
        while True:
            if (task := lanes.get(self.clock.now)) is not None:
                self.publisher._finish(task, *self.publisher._attempt(task))
            elif (moment := lanes.next_at()) is not None:
                assert moment > self.clock.now
                self.clock.now = moment
            else:
                return

    def submit(self, *writes, term=None):
        self.publisher.submit(writes, term)
        self.work()
        return [outcome for _, outcome, _ in self.told]


@pytest.fixture
def publishing(monkeypatch):
    def begin(server, **more):
        monkeypatch.setattr("scheduler_core.sidecar.writer.dispatcher.time", SimpleNamespace(monotonic=lambda: server.clock.now))
        monkeypatch.setattr("scheduler_core.sidecar.writer.dispatcher.random", SimpleNamespace(uniform=lambda _, most: most))
        return Publishing(server, **more)

    return begin


@pytest.mark.parametrize(
    ("failure", "want"),
    [
        pytest.param(reply(429), ["POST", "POST"], id="too many requests: it was not looked at"),
        pytest.param(reply(409), ["POST", "GET", "POST"], id="a conflict"),
        pytest.param(reply(500), ["POST", "GET", "POST"], id="a failure on the way"),
        pytest.param(reply(503), ["POST", "GET", "POST"], id="unavailable"),
        pytest.param(reply(520), ["POST", "GET", "POST"], id="a failure of what stands between"),
        pytest.param(reply(401), ["POST", "GET", "POST"], id="a token that was just renewed"),
        pytest.param(OSError("gone"), ["POST", "GET", "POST"], id="an answer that was lost"),
        pytest.param(ValueError("half"), ["POST", "GET", "POST"], id="an answer that cannot be read"),
    ],
)
def test_a_write_with_unknown_result_is_repeated_after_a_read(publishing, failure, want):
    server = Server(failure)

    assert [WriteOutcome.DONE] == publishing(server).submit(BIND)
    assert want == server.methods


@pytest.mark.parametrize("nothing", [[], "ok", {}, {"metadata": None}], ids=str)
def test_documents_that_are_no_objects_report_nothing(publishing, nothing):
    server = Server(OSError("gone"), nothing)

    assert [WriteOutcome.DONE] == publishing(server).submit(BIND)
    assert ["POST", "GET", "GET", "POST"] == server.methods


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(content(pod(), node="n1"), WriteOutcome.DONE, id="as wanted"),
        pytest.param(content(pod(), node="n2"), WriteOutcome.REFUSED, id="elsewhere"),
        pytest.param(content(pod(), uid="other"), WriteOutcome.GONE, id="another of its name"),
        pytest.param(content(pod(), leaving=True), WriteOutcome.GONE, id="on its way out"),
        pytest.param(reply(404), WriteOutcome.GONE, id="not there"),
    ],
)
def test_a_lost_response_is_read_back_and_not_written_again(publishing, found, want):
    server = Server(OSError("gone"), found)

    assert [want] == publishing(server).submit(BIND)
    assert ["POST", "GET"] == server.methods


@pytest.mark.parametrize(
    ("failures", "want"),
    [
        pytest.param([], [], id="no failure"),
        pytest.param([reply(500), reply(429)], ["HTTP 500: no"], id="only the first try counts"),
        pytest.param([OSError("gone")], ["OSError: gone"], id="no response"),
        pytest.param([reply(409)], [], id="a conflict is normal"),
        pytest.param([reply(422)], [], id="it is refused, not retried"),
    ],
)
def test_the_error_of_a_first_try_is_passed_on_once_when_the_write_is_retried(publishing, failures, want):
    sent = publishing(Server(*failures))
    sent.submit(BIND)
    assert [(BIND, why) for why in want] == sent.retried


def test_retries_of_events_and_dry_runs_are_not_passed_on(publishing):
    sent = publishing(Server(reply(500), reply(500)))
    sent.submit(RecordEvent(GROUP, "Normal", "Scheduled", "text"))
    sent.publisher.dry_run_evictions([Evict(pod(), "why", EvictionMethod.EVICT)], lambda *_: None)
    sent.work()
    assert [] == sent.retried


def test_each_request_that_is_not_authorized_is_passed_on(publishing):
    sent = publishing(Server(reply(403), reply(401), reply(500)))
    sent.submit(BIND)
    assert 2 == len(sent.forbidden)


def test_each_try_waits_twice_as_long_as_the_last_up_to_a_limit(publishing):
    server = Server(*[reply(429)] * 9)
    publishing(server).submit(BIND)
    waits = [round(late.at - early.at, 6) for early, late in zip(server.asked, server.asked[1:], strict=False)]

    assert [INITIAL_BACKOFF * 2**number for number in range(6)] == waits[:6]
    assert [MAX_BACKOFF] * 3 == waits[6:]


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        pytest.param(reply(429), WRITE_SECONDS, id="a busy server"),
        pytest.param(reply(403), FORBIDDEN_SECONDS, id="one that forbids it"),
    ],
)
def test_late_requests_are_dropped_and_reported_once(publishing, failure, seconds):
    server = Server(*[failure] * 1000)
    found = publishing(server)

    assert 1 == len(found.submit(BIND))
    assert "HTTP 4" in found.told[0][2]
    assert seconds <= server.asked[-1].at < seconds + MAX_BACKOFF
    assert server.asked[-2].at < seconds


def test_what_waited_long_for_its_turn_is_tried_as_long_as_all_else(publishing):
    server = Server(reply(429))
    found = publishing(server)
    found.publisher.submit([BIND])
    server.clock.now = 10 * WRITE_SECONDS
    found.work()

    assert [WriteOutcome.DONE] == [outcome for _, outcome, _ in found.told]


@pytest.mark.parametrize(
    ("answers", "want"),
    [
        pytest.param([], WriteOutcome.REFUSED, id="it is known that nothing was done"),
        pytest.param([reply(500)], WriteOutcome.FAILED, id="the first try may have done it"),
        pytest.param([OSError("gone")], WriteOutcome.FAILED, id="the first answer was lost"),
        pytest.param([OSError("gone"), reply(404)], WriteOutcome.GONE, id="it was looked for and is not there"),
    ],
)
def test_a_forbidden_write_is_refused_unless_an_earlier_try_may_have_succeeded(publishing, answers, want):
    server = Server(*answers, *[reply(403)] * 1000)

    assert [want] == publishing(server).submit(BIND)


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize(
    ("asked", "want"), [pytest.param(3.0, 3.0, id="so long"), pytest.param(60.0, MAX_PAUSE, id="longer than anybody may ask")]
)
def test_the_servers_word_to_wait_holds_for_writes_of_all_objects(publishing, code, asked, want):
    server = Server(reply(code, retry_after=asked))
    publishing(server).submit(BIND, Bind(pod("other"), "n2"))

    assert [0.0, want, want] == [each.at for each in server.asked if each.method == "POST"]


def test_a_shorter_word_does_not_end_a_longer_wait(publishing):
    server = Server(reply(429, retry_after=4.0), reply(429, retry_after=1.0))
    found = publishing(server)
    found.publisher.submit([BIND, Bind(pod("other"), "n2")])
    both = [found.publisher._work_queue.get(0.0) for _ in range(2)]
    for each in both:
        found.publisher._finish(each, *found.publisher._attempt(each))
    found.work()

    assert [0.0, 0.0, 4.0, 4.0] == [each.at for each in server.asked]


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(content(pod(), uid="other"), WriteOutcome.GONE, id="another of its name"),
        pytest.param(content(pod()), WriteOutcome.REFUSED, id="the very one"),
        pytest.param(reply(404), WriteOutcome.GONE, id="none of its name"),
    ],
)
def test_invalid_trees_are_read_for_their_owner(publishing, found, want):
    server = Server(reply(422), found)

    assert [want] == publishing(server).submit(Nominate(pod(), "n1"))
    assert ["PATCH", "GET"] == server.methods


def test_invalid_trees_are_retried_where_the_owner_is_unknown(publishing):
    server = Server(reply(422), reply(500))

    assert [WriteOutcome.DONE] == publishing(server).submit(Nominate(pod(), "n1"))


@pytest.mark.parametrize(
    ("code", "want"),
    [pytest.param(400, WriteOutcome.REFUSED, id="no use in asking again"), pytest.param(404, WriteOutcome.GONE, id="not there")],
)
def test_final_answers_are_requested_once(publishing, code, want):
    server = Server(reply(code))

    assert [want] == publishing(server).submit(BIND)
    assert 1 == len(server.asked)


def test_an_object_of_a_kind_that_is_not_served_is_refused(publishing):
    found = publishing(Server())

    assert [WriteOutcome.REFUSED] == found.submit(AddFinalizer(Ref("CompositePodGroup", "a", "c", "u"), "f"))
    assert "the API server does not serve 'CompositePodGroup'" == found.told[0][2]


class Lead:
    """What is left of the time to lead: so many looks at it find *seconds*, then nothing is left."""

    def __init__(self, looks, seconds=100.0):
        self.looks, self.seconds = looks, seconds

    def __call__(self):
        return self.seconds if self.looks else 0.0

    def lose(self, answer=None):
        """An answer of a server, by the time of which another may lead."""

        def late():
            self.looks = 0
            return answer

        return late


@pytest.mark.parametrize(
    ("write", "answers", "methods", "want"),
    [
        pytest.param(BIND, [reply(429)], ["POST"], WriteOutcome.DROPPED, id="before it is repeated"),
        pytest.param(BIND, [OSError("gone")], ["POST"], WriteOutcome.DROPPED, id="before the look for a lost answer"),
        pytest.param(
            Ungate(pod(), "n1", "n1"), [content(pod(), gates=[PLACEMENT_GATE])], ["GET"], WriteOutcome.DROPPED, id="between look and change"
        ),
        pytest.param(
            RemoveFinalizer(GROUP, "f"), [content(GROUP, leaving=True, finalizers=["f"])], ["GET"], WriteOutcome.DROPPED, id="finalizer"
        ),
        pytest.param(
            Evict(pod(), "x", EvictionMethod.DELETE), [None], ["PATCH"], WriteOutcome.DROPPED, id="between the reason and the deletion"
        ),
        pytest.param(Remove(pod(), "x"), [None], ["PATCH"], WriteOutcome.DROPPED, id="between the reason and the removal"),
        pytest.param(Evict(pod(), "x"), [None], ["POST"], WriteOutcome.DONE, id="between the eviction and its reason"),
        pytest.param(Nominate(pod(), "n1"), [reply(422)], ["PATCH"], WriteOutcome.DROPPED, id="before it is told whose it is"),
    ],
)
def test_who_does_not_lead_any_more_sends_nothing_more(publishing, write, answers, methods, want):
    lead = Lead(looks=1)
    server = Server(*(lead.lose(each) for each in answers))
    found = publishing(server, remaining=lead)

    assert [want] == found.submit(write)
    assert methods == server.methods


def test_what_a_follower_is_given_is_dropped_without_a_request(publishing):
    server = Server()
    found = publishing(server, remaining=lambda: 0.0)

    assert [WriteOutcome.DROPPED] * 2 == found.submit(BIND, SetCondition(GROUP, Condition("T", "True", "R", "")))
    assert ([], 0) == (server.asked, found.publisher.requests)


def test_what_was_decided_is_not_carried_out_by_who_leads_again(publishing):
    server = Server(reply(429, retry_after=MAX_PAUSE))
    found = publishing(server, term=lambda: 1 if server.clock.now < MAX_PAUSE else 2)

    assert [WriteOutcome.DROPPED] * 2 == found.submit(BIND, Evict(pod("v"), "x"))
    assert ["POST"] == server.methods
    assert [WriteOutcome.DONE] == found.submit(BIND)[2:]


def test_what_was_decided_before_is_dropped_though_it_is_handed_on_only_now(publishing):
    server = Server()

    assert [WriteOutcome.DROPPED] == publishing(server, term=lambda: 2).submit(BIND, term=1)
    assert [] == server.asked


def test_a_rehearsal_changes_nothing_and_may_end_in_another_term(publishing):
    server = Server(reply(429, retry_after=MAX_PAUSE))
    found = publishing(server, term=lambda: 1 if server.clock.now < MAX_PAUSE else 2)

    assert [(None, "")] == rehearsed(found, *victims("a"))


@pytest.mark.parametrize(
    ("left", "want"),
    [pytest.param(3.0, 3.0, id="while it may write"), pytest.param(1000.0, REQUEST_SECONDS, id="no longer than any request")],
)
def test_an_answer_is_waited_for(publishing, left, want):
    server = Server()
    publishing(server, remaining=lambda: left).submit(BIND)

    assert [want] == [each.seconds for each in server.asked]


def rehearsed(found, *writes):
    answers = []
    found.publisher.dry_run_evictions(writes, lambda *told: answers.append(told))
    found.work()
    return answers


def victims(*names):
    return [Evict(pod(each), "x") for each in names]


BUDGET = reply(429, retry_after=10.0, causes=("DisruptionBudget",))


def test_the_first_refused_eviction_by_name_is_reported_in_any_order_of_answers(publishing):
    ((refused, _),) = rehearsed(publishing(Server(BUDGET, BUDGET)), *victims("c", "a"))
    assert "a" == refused.pod.name


@pytest.mark.parametrize(
    ("answers", "refused"),
    [
        pytest.param([], None, id="all may leave"),
        pytest.param([None, BUDGET], "b", id="a budget keeps one"),
        pytest.param([BUDGET, None, BUDGET], "a", id="a budget keeps two: the first counts"),
        pytest.param([reply(404)], None, id="one has left already"),
        pytest.param([reply(429), None, None, None], None, id="a bad moment"),
        pytest.param([reply(400)], "a", id="one cannot be asked for"),
    ],
)
def test_a_plan_is_dry_run_for_each_victim_and_reported_once(publishing, answers, refused):
    server = Server(*answers)
    found = publishing(server)
    (told,) = rehearsed(found, *victims("a", "b", "c"))

    assert refused == (told[0] and told[0].pod.name)
    assert all(each.dry and each.path.endswith("/eviction") for each in server.asked)
    assert [] == found.told


def test_a_lost_response_to_a_dry_run_has_no_effect(publishing):
    found = publishing(Server(OSError("gone")))
    rehearsed(found, *victims("a"))

    assert found.publisher.stop(0.0)


def test_a_plan_of_deletions_is_rehearsed_by_deletions(publishing):
    server = Server()

    assert [(None, "")] == rehearsed(publishing(server), Evict(pod(), "x", EvictionMethod.DELETE))
    assert [("DELETE", True)] == [(each.method, each.dry) for each in server.asked]


def test_a_plan_of_nobody_is_allowed_at_once(publishing):
    assert [(None, "")] == rehearsed(publishing(Server()))


def test_a_plan_cannot_be_rehearsed_by_who_does_not_lead(publishing):
    found = publishing(Server(), remaining=lambda: 0.0)

    assert [(victims("a")[0], "another replica leads")] == rehearsed(found, *victims("a", "b"))


TELL = RecordEvent(GROUP, "Warning", "FailedScheduling", "no room")


def test_events_are_not_reported(publishing):
    server = Server()

    assert [] == publishing(server).submit(TELL)
    assert ["/apis/events.k8s.io/v1/namespaces/a/events"] == [each.path for each in server.asked]


@pytest.mark.parametrize(
    "failure", [pytest.param(reply(500), id="a bad moment"), pytest.param(reply(429), id="too many"), pytest.param(OSError("x"), id="lost")]
)
def test_an_event_that_did_not_arrive_is_posted_again(publishing, failure):
    server = Server(failure)
    publishing(server).submit(TELL)

    assert ["POST", "POST"] == server.methods
    assert ["no room"] * 2 == [each.body["note"] for each in server.asked]


def test_an_event_that_the_server_has_forgotten_is_not_counted_for_ever(publishing):
    server = Server(None, reply(404))
    publishing(server).submit(TELL, TELL, TELL)

    assert ["POST", "PATCH", "POST"] == server.methods


@pytest.mark.parametrize(
    ("kind", "finalizers", "leaving", "want"),
    [
        pytest.param(AddFinalizer, ["x"], False, ["x", "f"], id="added"),
        pytest.param(AddFinalizer, ["f"], False, None, id="there already"),
        pytest.param(AddFinalizer, [], True, None, id="too late to be added"),
        pytest.param(RemoveFinalizer, ["f", "x"], True, ["x"], id="removed"),
        pytest.param(RemoveFinalizer, ["f"], True, [], id="the last removed"),
        pytest.param(RemoveFinalizer, ["x"], True, None, id="removed already"),
        pytest.param(RemoveFinalizer, ["f"], False, None, id="of what is not deleted"),
    ],
)
def test_a_finalizer_is_written_only_where_it_is_to_be(publishing, kind, finalizers, leaving, want):
    server = Server(found=content(GROUP, finalizers=finalizers, leaving=leaving))

    assert [WriteOutcome.DONE] == publishing(server).submit(kind(GROUP, "f"))
    assert ["GET"] if want is None else ["GET", "PATCH"] == server.methods
    assert want == (server.asked[-1].body or {}).get("metadata", {}).get("finalizers")


@pytest.mark.parametrize(
    "write", [pytest.param(Ungate(pod(), "n1", "n1"), id="a pod"), pytest.param(RemoveFinalizer(GROUP, "f"), id="a group")]
)
def test_what_is_changed_by_its_content_is_the_one_that_was_meant(publishing, write):
    server = Server(content(pod(), uid="other", gates=[PLACEMENT_GATE], finalizers=["f"], leaving=True))

    assert [WriteOutcome.GONE] == publishing(server).submit(write)
    assert ["GET"] == server.methods


class Threaded:
    """A publisher with its threads, and what it told."""

    def __init__(self, server):
        self.told = queue.Queue()
        self.publisher = Dispatcher(
            server,
            PATHS,
            lambda *told: self.told.put(told),
            remaining=lambda: 100.0,
            term=lambda: 1,
            recorder=EventRecorder("muster.dev/sidecar", "r"),
        )

    def outcomes(self, count):
        return [self.told.get(timeout=PATIENCE)[1] for _ in range(count)]


def test_its_threads_carry_out_each_write_once_and_end_when_stopped(monkeypatch):
    monkeypatch.setattr("scheduler_core.sidecar.writer.dispatcher.INITIAL_BACKOFF", 0.001)
    server = Server(*[reply(429), None] * 10)
    found = Threaded(server)
    found.publisher.start(4)
    found.publisher.submit(Bind(pod(str(number)), "n1") for number in range(30))

    assert [WriteOutcome.DONE] * 30 == found.outcomes(30)
    assert (40, 0) == (len(server.asked), found.publisher.pending)
    assert found.publisher.stop(PATIENCE)
    assert not any(each.is_alive() for each in found.publisher._threads)
    found.publisher.submit([BIND])
    assert (40, True) == (len(server.asked), found.told.empty())


def test_stopping_waits_for_what_is_being_written():
    begun, release = threading.Event(), threading.Event()

    def slow():
        begun.set()
        release.wait(PATIENCE)

    found = Threaded(Server(slow))
    found.publisher.start(1)
    found.publisher.submit([BIND, Bind(pod("next"), "n1")])
    assert begun.wait(PATIENCE)
    stopping = threading.Thread(target=found.publisher.stop, args=(PATIENCE,))
    stopping.start()
    release.set()
    stopping.join(PATIENCE)

    assert WriteOutcome.DONE is found.told.get_nowait()[1]


def test_a_request_that_still_runs_may_take_effect_after_the_stop():
    begun, release = threading.Event(), threading.Event()

    def slow():
        begun.set()
        release.wait(PATIENCE)

    found = Threaded(Server(slow))
    found.publisher.start(1)
    found.publisher.submit([BIND])
    assert begun.wait(PATIENCE)
    try:
        assert not found.publisher.settled()
        assert not found.publisher.stop(0.0)
    finally:
        release.set()
    found.publisher._threads[0].join(PATIENCE)

    assert found.publisher.settled()


@pytest.mark.parametrize(
    ("failure", "write", "seconds", "want"),
    [
        pytest.param(OSError("gone"), BIND, 0.0, False, id="a lost response"),
        pytest.param(reply(504), BIND, 0.0, False, id="a failure of the server"),
        pytest.param(OSError("gone"), BIND, LOST_SECONDS, True, id="long ago"),
        pytest.param(reply(429), BIND, 0.0, True, id="a refusal"),
        pytest.param(OSError("gone"), RecordEvent(GROUP, "Normal", "R", ""), 0.0, True, id="an event"),
    ],
)
def test_a_request_of_unknown_effect_may_take_effect_for_a_while(publishing, failure, write, seconds, want):
    server = Server(failure)
    running = publishing(server)
    running.submit(write)
    server.clock.now += seconds

    assert (want, want) == (running.publisher.settled(), running.publisher.stop(0.0))
