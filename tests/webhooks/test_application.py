"""ASGI application called as a server does: limits, deadlines, and the requests that reach the WSGI application."""

import asyncio
import json
import os
import signal
import threading
import time

import pytest

from webhooks.server.application import Application, environment
from webhooks.server.lifespan import Lifespan
from webhooks.settings import Settings

LIMIT = 1024


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
        knobs = {"MUSTER_BODY_BYTES": str(LIMIT), "MUSTER_REQUEST_SECONDS": seconds, "MUSTER_THREADS": threads}
        self.recorder = Recorder()
        self.settings = Settings.from_environ(knobs)
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
    assert (b"close" if code != 200 else None) == headers.get(b"connection")


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
