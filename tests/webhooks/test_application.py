"""ASGI application called as a server does: limits, deadlines, and the requests that reach the WSGI application."""

import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
import threading
import time

import pytest

from webhooks.server.application import SWITCH_SECONDS, Application, environment
from webhooks.server.lifespan import Lifespan
from webhooks.settings import Settings

LIMIT = 1024


@pytest.fixture(autouse=True)
def no_linger(monkeypatch):
    monkeypatch.setattr("webhooks.server.application.LINGER_SECONDS", 0.0)


class Recorder:
    """Telemetry that records refused requests."""

    def __init__(self):
        self.codes = []

    def refused(self, _where, code):
        self.codes.append(code)


def echo(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Length", environ["CONTENT_LENGTH"])])
    return [environ["wsgi.input"].read()]


def scope(*headers, path="/validate", method="POST", scheme="https"):
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"timeout=3s",
        "headers": [*headers],
        "server": ("127.0.0.1", 9443),
    }


def lifespan(tick=lambda: None):
    return Lifespan(60.0, parent=os.getppid(), tick=tick)


class Call:
    """One request: messages of the body in, response out.  A message of None never arrives."""

    def __init__(self, *, wsgi=echo, draining=False, seconds="0.2", threads="1"):
        variables = {"MUSTER_BODY_BYTES": str(LIMIT), "MUSTER_REQUEST_SECONDS": seconds, "MUSTER_THREADS": threads}
        self.recorder = Recorder()
        self.settings = Settings.from_environ(variables)
        self.application = Application(wsgi, self.settings, self.recorder, lifespan(), lambda: draining)

    async def ask(self, messages, asked=None):
        sent, remaining = [], list(messages)

        async def receive():
            message = remaining.pop(0)
            if message is None:
                await asyncio.sleep(60)
            return message

        async def send(message):
            sent.append(message)

        await self.application(asked or scope(), receive, send)
        if not sent:
            return None
        return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def piece(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def ask(*messages, asked=None, **options):
    call = Call(**options)
    answer = asyncio.run(call.ask(messages, asked))
    return answer, call.recorder.codes


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_body_in_any_pieces_is_put_together(size):
    body = bytes(range(256))
    pieces = [piece(body[start : start + size], more=start + size < len(body)) for start in range(0, len(body), size)]

    (status, headers, content), codes = ask(*pieces)

    assert (200, body, []) == (status, content, codes)
    assert b"256" == headers[b"x-length"]
    assert b"connection" not in headers


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        pytest.param([b"x" * LIMIT], 200, id="at the limit"),
        pytest.param([b"x" * LIMIT, b"x"], 413, id="above, the last byte alone"),
        pytest.param([b"x" * (LIMIT + 1), b"x" * 5000, b"x"], 413, id="above, and all of it is taken"),
    ],
)
def test_the_size_of_a_body_is_limited(pieces, code):
    messages = [piece(each, more=number + 1 < len(pieces)) for number, each in enumerate(pieces)]

    (status, headers, _), codes = ask(*messages)

    assert code == status
    assert ([code] if code != 200 else []) == codes
    assert b"connection" not in headers, "nothing is unread, so the connection can be used again"


@pytest.mark.parametrize(
    ("headers", "messages", "code", "reason"),
    [
        pytest.param([(b"content-length", b"1025")], [None], 413, "at most 1024 bytes", id="announced too large and never sent"),
        pytest.param([(b"content-length", b"1024")], [None], 408, "within 0.2 s", id="announced and never sent"),
        pytest.param([], [piece(b"{", more=True), None], 408, "within 0.2 s", id="stops inside"),
        pytest.param([], [piece(b"x" * 2000, more=True), None], 413, "at most 1024 bytes", id="stops when it is too large already"),
        pytest.param([(b"transfer-encoding", b"gzip, chunked")], [], 400, "only supported transfer coding", id="another transfer coding"),
        pytest.param(
            [(b"content-length", b"9999"), (b"expect", b"100-continue")], [], 413, "at most", id="asks first, and is not told to go on"
        ),
    ],
)
def test_a_request_that_is_refused_gets_a_reason(headers, messages, code, reason):
    (status, _, content), codes = ask(*messages, asked=scope(*headers))

    assert (code, [code]) == (status, codes)
    assert reason in json.loads(content)["error"]


def test_a_client_that_goes_away_is_not_answered():
    assert (None, []) == ask(piece(b"{", more=True), {"type": "http.disconnect"})


def test_a_request_that_waited_too_long_for_a_thread_is_not_judged():
    judged, release = [], threading.Event()

    def slow(environ, start_response):
        judged.append(environ["PATH_INFO"])
        release.wait(30)
        return echo(environ, start_response)

    async def both():
        call = Call(wsgi=slow, seconds="0.1")
        first = asyncio.create_task(call.ask([piece(b"1")], scope(path="/first")))
        await asyncio.sleep(0)
        second = asyncio.create_task(call.ask([piece(b"2")], scope(path="/second")))
        await asyncio.sleep(0.3)
        release.set()
        return await first, await second

    first, second = asyncio.run(both())

    assert (200, 503) == (first[0], second[0])
    assert ["/first"] == judged


def test_while_draining_connections_are_closed_after_their_answer():
    (status, headers, _), _ = ask(piece(b"{}"), draining=True)

    assert (200, b"close") == (status, headers[b"connection"])


def test_a_websocket_is_closed():
    async def run():
        sent = []

        async def send(message):
            sent.append(message)

        await Call().application({"type": "websocket"}, None, send)
        return sent

    assert [{"type": "websocket.close"}] == asyncio.run(run())


def test_the_environment_is_that_of_pep_3333():
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"7"),
        (b"transfer-encoding", b"chunked"),
        (b"x-forwarded-proto", b"http"),
        (b"script_name", b"/x"),
        (b"x_y", b"1"),
    ]
    environ = environment(scope(*headers, path="/%ff%2fa"), b"{}")

    assert ("/\xff/a", "", "timeout=3s") == (environ["PATH_INFO"], environ["SCRIPT_NAME"], environ["QUERY_STRING"])
    assert ("application/json", "2", "https") == (environ["CONTENT_TYPE"], environ["CONTENT_LENGTH"], environ["wsgi.url_scheme"])
    assert ["HTTP_X_FORWARDED_PROTO"] == [name for name in environ if name.startswith("HTTP_")]
    assert not environ["muster.plain"]
    assert environment(scope(scheme="http"), b"")["muster.plain"]


def test_a_process_that_nobody_watches_any_more_stops(monkeypatch):
    """The check of the key pair fails with an unexpected error."""
    killed, ticks = [], []
    monkeypatch.setattr(os, "kill", lambda *given: killed.append(given))

    def tick():
        ticks.append(1)
        if len(ticks) == 2:
            raise LookupError("unexpected")

    async def run():
        application = Application(echo, Settings.from_environ({}), Recorder(), lifespan(tick), lambda: False)
        messages = asyncio.Queue()

        async def send(message):
            if message["type"] == "lifespan.startup.complete":
                while not killed:
                    await asyncio.sleep(0.01)
                await messages.put({"type": "lifespan.shutdown"})

        await messages.put({"type": "lifespan.startup"})
        await application({"type": "lifespan"}, messages.get, send)

    asyncio.run(run())

    assert [(os.getpid(), signal.SIGTERM)] == killed


def test_the_tick_is_called_before_the_first_request_and_again_and_again():
    ticks = []

    async def run():
        application = Application(
            echo, Settings.from_environ({}), Recorder(), lifespan(lambda: ticks.append(time.monotonic())), lambda: False
        )
        messages, sent = asyncio.Queue(), []

        async def send(message):
            sent.append((message["type"], len(ticks)))
            if message["type"] == "lifespan.startup.complete":
                while len(ticks) < 3:
                    await asyncio.sleep(0.01)
                await messages.put({"type": "lifespan.shutdown"})

        await messages.put({"type": "lifespan.startup"})
        await application({"type": "lifespan"}, messages.get, send)
        return sent

    sent = asyncio.run(run())

    assert ["lifespan.startup.complete", "lifespan.shutdown.complete"] == [name for name, _ in sent]
    assert 1 == sent[0][1]


SMALL, TOTAL = 64 * 1024, 400_000
LARGE = 150_000
"""Two of this size fit into the share of large bodies; its requests have Content-Length."""


class Crowd:
    """Requests to one application whose large bodies share 300,000 bytes."""

    def __init__(self, wsgi=echo, seconds="30", alone=None):
        variables = {"MUSTER_BODY_BYTES": str(2 * LARGE), "MUSTER_TOTAL_BODY_BYTES": str(TOTAL), "MUSTER_REQUEST_SECONDS": seconds}
        self.recorder, self.aborted = Recorder(), []
        self.application = Application(wsgi, Settings.from_environ(variables), self.recorder, lifespan(), lambda: False, alone)

    def request(self, size, *, path="/validate", announced=True):
        """Start a request; return its task, the queue of its messages, and the list of what it has received."""
        messages, taken, sent = asyncio.Queue(), [], []
        headers = [(b"content-length", b"%d" % size)] if announced else [(b"transfer-encoding", b"chunked")]

        async def receive():
            taken.append(1)
            return await messages.get()

        async def send(message):
            sent.append(message)

        asked = {**scope(*headers, path=path), "muster.abort": lambda: self.aborted.append(path)}

        async def run():
            await self.application(asked, receive, send)
            return sent[0]["status"], dict(sent[0]["headers"])

        return asyncio.create_task(run()), messages, taken


async def passes():
    for _ in range(20):
        await asyncio.sleep(0)


def test_small_bodies_are_received_while_large_ones_fill_the_total():
    async def run():
        crowd = Crowd()
        first, second = crowd.request(LARGE), crowd.request(LARGE)
        await passes()
        third, small = crowd.request(LARGE), crowd.request(2)
        await passes()
        small[1].put_nowait(piece(b"{}"))
        small_answer = await small[0]
        before = len(third[2])
        first[1].put_nowait(piece(b"x" * LARGE))
        first_answer = await first[0]
        await passes()
        after = len(third[2])
        for each in (second, third):
            each[1].put_nowait(piece(b"x" * LARGE))
        answers = [await each[0] for each in (second, third)]
        return small_answer, first_answer, before, after, answers, crowd.application.bodies.figures()

    small, first, before, after, answers, figures = asyncio.run(run())

    assert (200, 200, 0, 1) == (small[0], first[0], before, after)
    assert [b"150000", b"150000"] == [headers[b"x-length"] for _, headers in answers]
    assert {"small": (0, 0), "large": (0, 0)} == figures


def test_a_body_that_has_arrived_is_not_dropped_while_it_is_processed(monkeypatch):
    monkeypatch.setattr("webhooks.server.bodies.PATIENCE_SECONDS", 0.0)
    release = threading.Event()

    def slow(environ, start_response):
        release.wait(20)
        return echo(environ, start_response)

    async def run():
        crowd = Crowd(slow)
        whole = [crowd.request(LARGE) for _ in range(2)]
        for each in whole:
            each[1].put_nowait(piece(b"x" * LARGE))
        await passes()
        waiting = crowd.request(LARGE)
        await passes()
        waiting[1].put_nowait(piece(b"x" * LARGE))
        release.set()
        return [await each[0] for each in (*whole, waiting)]

    assert [200] * 3 == [status for status, _ in asyncio.run(run())]


def test_only_large_requests_are_processed_under_the_lock_of_all_processes():
    record = []

    class Lock(contextlib.AbstractContextManager):
        def __enter__(self):
            record.append("locked")

        def __exit__(self, *_):
            record.append("released")

    def noted(environ, start_response):
        record.append(int(environ["CONTENT_LENGTH"]))
        return echo(environ, start_response)

    async def run():
        crowd = Crowd(noted, alone=Lock())
        for size in (SMALL, SMALL + 1):
            task, messages, _ = crowd.request(size)
            messages.put_nowait(piece(b"x" * size))
            await task

    asyncio.run(run())

    assert [SMALL, "locked", SMALL + 1, "released"] == record


def test_a_late_large_body_is_dropped_and_the_api_server_told_to_retry():
    async def run():
        crowd = Crowd()
        late = [crowd.request(LARGE, path=f"/{number}") for number in range(2)]
        for each in late:
            each[1].put_nowait(piece(b"x" * 1000, more=True))
        await passes()
        other = crowd.request(LARGE)
        other[1].put_nowait(piece(b"x" * LARGE))
        answer = await other[0]
        done = [each for each in late if each[0].done()]
        dropped = await done[0][0]
        late.remove(done[0])
        late[0][1].put_nowait(piece(b"x" * (LARGE - 1000)))
        return answer, dropped, len(done), await late[0][0], crowd

    answer, dropped, count, kept, crowd = asyncio.run(run())

    assert (200, 429, 1, 200) == (answer[0], dropped[0], count, kept[0]), "one was enough"
    assert (b"1", b"close") == (dropped[1][b"retry-after"], dropped[1][b"connection"])
    assert ([429], 1) == (crowd.recorder.codes, len(crowd.aborted))


def test_a_body_that_waits_in_vain_is_refused_in_time_for_a_retry(monkeypatch):
    monkeypatch.setattr("webhooks.server.bodies.PATIENCE_SECONDS", 3600.0)

    async def run():
        crowd = Crowd(seconds="0.5")
        held = crowd.request(2 * LARGE)
        await passes()
        refused = crowd.request(LARGE)
        answer = await refused[0]
        held[0].cancel()
        return answer, len(refused[2]), held[0].done(), crowd.recorder.codes

    (status, headers), received, held_done, codes = asyncio.run(run())

    assert (429, b"1", 0) == (status, headers[b"retry-after"], received)
    assert ([429], False) == (codes, held_done), "before the deadline of the body that is received"


def test_chunks_do_not_announce_a_size_and_count_all_the_same():
    async def run():
        crowd = Crowd()
        chunked = crowd.request(0, announced=False)
        await passes()
        first = crowd.application.bodies.figures()
        chunked[1].put_nowait(piece(b"x" * (SMALL + 1), more=True))
        await passes()
        second = crowd.application.bodies.figures()
        chunked[1].put_nowait(piece(b"x"))
        return first, second, await chunked[0], crowd.application.bodies.figures()

    first, second, (status, headers), last = asyncio.run(run())

    assert {"small": (SMALL, 0), "large": (0, 0)} == first
    assert {"small": (0, 0), "large": (2 * LARGE, 0)} == second, "as much as a body may have"
    assert (200, b"65538") == (status, headers[b"x-length"])
    assert {"small": (0, 0), "large": (0, 0)} == last


def test_large_requests_are_processed_one_by_one_and_small_ones_do_not_wait():
    order, running, release, begun = [], [], threading.Event(), threading.Event()

    def slow(environ, start_response):
        if environ["CONTENT_LENGTH"] == "2":
            return echo(environ, start_response)
        running.append(1)
        order.append((environ["PATH_INFO"], len(running)))
        begun.set()
        release.wait(30)
        running.pop()
        return echo(environ, start_response)

    async def run():
        crowd = Crowd(slow)
        requests = []
        for path, size in (("/first", 70_000), ("/large", 90_000), ("/medium", 80_000)):
            requests.append(crowd.request(size, path=path))
            requests[-1][1].put_nowait(piece(b"x" * size))
            await passes()
            while not begun.is_set():
                await asyncio.sleep(0.01)
        small = crowd.request(2)
        small[1].put_nowait(piece(b"{}"))
        answer = await small[0]
        release.set()
        return answer[0], [(await each[0])[0] for each in requests]

    assert (200, [200, 200, 200]) == asyncio.run(run())
    assert [("/first", 1), ("/medium", 1), ("/large", 1)] == order


def test_the_beat_stops_while_no_thread_is_free():
    release, begun = threading.Event(), []

    def stuck(environ, start_response):
        begun.append(1)
        release.wait(30)
        return echo(environ, start_response)

    async def run():
        application = (crowd := Crowd(stuck)).application
        threads = application._settings.threads
        requests = [crowd.request(2) for _ in range(threads)]
        for each in requests:
            each[1].put_nowait(piece(b"{}"))
        while len(begun) < threads:
            await asyncio.sleep(0.01)
        last = application._last_beat
        for _ in range(3):
            application.beat()
            await asyncio.sleep(0.01)
        stopped = application._last_beat == last
        release.set()
        for each in requests:
            await each[0]
        while application._last_beat == last:
            await asyncio.sleep(0.01)
        return stopped

    assert asyncio.run(run())


def test_a_large_request_yields_to_other_threads_without_garbage_collection():
    usual, seen = (sys.getswitchinterval(), True), {}

    def state(environ, start_response):
        seen[environ["CONTENT_LENGTH"]] = (sys.getswitchinterval(), gc.isenabled())
        return echo(environ, start_response)

    async def run():
        crowd = Crowd(state)
        for size in (2, 70_000):
            request = crowd.request(size)
            request[1].put_nowait(piece(b"x" * size))
            await request[0]

    asyncio.run(run())

    assert {"2": usual, "70000": (pytest.approx(SWITCH_SECONDS), False)} == seen
    assert usual == (sys.getswitchinterval(), gc.isenabled())
