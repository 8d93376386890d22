"""A connection's steps on a pair of sockets, with the time told."""

import json
import socket

import pytest
from gunicorn.config import Config
from hypothesis import given, settings
from hypothesis import strategies as st

from webhooks.connection import Connection, Limits, Stage, Wants, closing_answer
from webhooks.settings import Settings

LIMITS = Limits(body_bytes=100, request_seconds=2.0, keepalive_seconds=60.0)


def gunicorn_config():
    from webhooks.server import gunicorn_settings

    config = Config()
    for name, value in gunicorn_settings(Settings.from_environ({}), ()).items():
        if name != "bind":
            config.set(name, value)
    return config


CONFIG = gunicorn_config()


class Ends:
    """Both ends of a connection."""

    def __enter__(self):
        self.client, sock = socket.socketpair()
        self.client.setblocking(False)
        self.server = Connection(sock, ("1.2.3.4", 5), ("5.6.7.8", 9), context=None, config=CONFIG, limits=LIMITS, now=0.0)
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.close()

    def send(self, content, now=0.0):
        self.client.sendall(content)
        return self.server.advance(now)

    def received(self):
        try:
            return self.client.recv(65536)
        except BlockingIOError:
            return b""


def test_a_request_is_judged_once_it_is_whole():
    with Ends() as ends:
        assert Wants.READ is ends.send(b"POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nab")
        assert Wants.JUDGE is ends.send(b"cd")
        assert (ends.server.request.method, ends.server.request.path, ends.server.body.content) == ("POST", "/a", b"abcd")
        assert Wants.READ is ends.server.answer(b"answer", 0.0, keep=True)
        assert ends.received() == b"answer"
        assert Stage.WAITING is ends.server.stage


def test_the_deadline_of_a_request_begins_with_its_first_byte_and_does_not_move():
    with Ends() as ends:
        assert ends.server.deadline == 60.0
        ends.send(b"G", 10.0)
        assert ends.server.deadline == 12.0
        ends.send(b"E", 11.0)
        assert ends.server.deadline == 12.0
        ends.server.expire(12.0)
        assert ends.received().startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_expires_without_a_word():
    with Ends() as ends:
        assert Wants.CLOSE is ends.server.expire(60.0)
        assert ends.received() == b""


def test_a_client_that_goes_away_is_closed():
    with Ends() as ends:
        ends.client.shutdown(socket.SHUT_WR)
        assert Wants.CLOSE is ends.server.advance(0.0)


def test_a_large_answer_waits_for_its_reader():
    content = b"x" * 10_000_000
    with Ends() as ends:
        ends.send(b"GET / HTTP/1.1\r\n\r\n")
        wants, taken = ends.server.answer(content, 0.0, keep=False), 0
        assert Wants.READ is wants or Wants.WRITE is wants
        while wants is not Wants.CLOSE:
            taken += len(ends.received())
            wants = ends.server.advance(0.0)
        taken += len(ends.received())
        while piece := ends.received():
            taken += len(piece)
        assert len(content) == taken


@pytest.mark.parametrize(("size", "code"), [pytest.param(100, 0, id="at the limit"), pytest.param(101, 413, id="above")])
def test_the_length_of_a_body_is_limited_before_it_is_read(size, code):
    with Ends() as ends:
        ends.send(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size)
        assert code == ends.server.refused


def test_after_a_refusal_what_still_comes_is_thrown_away():
    with Ends() as ends:
        ends.send(b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n")
        assert Stage.LINGERING is ends.server.stage
        assert Wants.READ is ends.send(b"x" * 101)
        ends.client.shutdown(socket.SHUT_WR)
        assert Wants.CLOSE is ends.server.advance(0.0)


def test_a_closing_answer_is_whole():
    head, _, body = closing_answer(413, "too large").partition(b"\r\n\r\n")

    assert json.loads(body) == {"error": "too large"}
    assert f"Content-Length: {len(body)}".encode() in head


PIECES = st.sampled_from(
    [
        b"GET",
        b"POST",
        b" ",
        b"/",
        b"*",
        b"//[",
        b"http://[",
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"\r\n",
        b"\n",
        b"\r",
        b":",
        b"\x00",
        b"Content-Length: ",
        b"Transfer-Encoding: chunked",
        b"Expect: 100-continue",
        b"Connection: close",
        b"Host: [",
        b"5",
        b"\xff\xfe",
        b"%zz",
        b"?",
        b"#",
        b"\r\n\r\n",
        b"0\r\n\r\n",
        b"SCRIPT_NAME: /x",
        b"\xb2",
        b"Upgrade: h2c",
    ]
)


@given(st.lists(PIECES | st.binary(max_size=8), max_size=25))
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_no_bytes_raise(pieces):
    with Ends() as ends:
        wants = Wants.READ
        for piece in [*pieces, b"\r\n\r\n"]:
            if wants is Wants.READ and piece:
                try:
                    wants = ends.send(piece)
                except OSError:
                    break
        assert ends.server.refused < 500
