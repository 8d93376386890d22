"""Requests over kept connections, against a server that sends given bytes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from apiserver.exchange import Exchange, UnreadableError

REQUEST = b"GET /x HTTP/1.1\r\n\r\n"
SECONDS = 10.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"


@contextlib.contextmanager
def answering(*answers, closes=False):
    """A server that answers the requests with *answers* in turn, the last one again and again; with *closes* it then ends the connection."""
    listener, begun, left = socket.create_server(("127.0.0.1", 0)), [], list(answers)

    def talk(taken):
        with taken, contextlib.suppress(OSError):
            while taken.recv(65536):
                for part in left.pop(0) if len(left) > 1 else left[0]:
                    taken.sendall(part)
                    time.sleep(0.01)
                if closes:
                    return

    def accept():
        with contextlib.suppress(OSError):
            while True:
                taken, _ = listener.accept()
                begun.append(taken)
                threading.Thread(target=talk, args=(taken,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    exchange = Exchange(listener.getsockname(), None, "", 4, 1.0)
    try:
        yield exchange, begun
    finally:
        listener.close()
        for each in begun:
            each.close()


@pytest.mark.parametrize(
    ("parts", "want"),
    [
        pytest.param([OK], (200, b"ab"), id="at once"),
        pytest.param([OK[:20], OK[20:41], OK[41:]], (200, b"ab"), id="in parts"),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", OK], (200, b"ab"), id="after another head"),
        pytest.param([b"HTTP/1.1 204 No Content\r\n\r\n"], (204, b""), id="without a body"),
        pytest.param([b"HTTP/1.1 404 Not Found\r\nCONTENT-LENGTH:0\r\n\r\n"], (404, b""), id="an error with an empty body"),
        pytest.param(
            [b"HTTP/1.1 201 Created\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n", b"A\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n"],
            (201, b"abc0123456789"),
            id="in chunks, with an extension and a trailer",
        ),
    ],
)
def test_a_response_is_read_whole_and_the_connection_is_used_again(parts, want):
    with answering(parts) as (exchange, begun):
        read = [exchange.response(REQUEST, SECONDS) for _ in range(3)]

        assert [want] * 3 == [(each.status, each.body) for each in read]
        assert 1 == len(begun)


@pytest.mark.parametrize(
    ("answer", "closes"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nConnection: Close\r\n" + OK[17:], False, id="it says so"),
        pytest.param(OK, True, id="it does so"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nab", True, id="the end is the end of the body"),
    ],
)
def test_a_connection_that_the_server_ends_is_not_used_again(answer, closes):
    with answering([answer], closes=closes) as (exchange, begun):
        for _ in range(2):
            assert b"ab" == exchange.response(REQUEST, SECONDS).body
            time.sleep(0.1)

        assert 2 == len(begun)


def test_what_a_server_sends_too_much_is_not_taken_for_the_next_response():
    with answering([OK + b"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n"], [OK]) as (exchange, _):
        read = [exchange.response(REQUEST, SECONDS) for _ in range(2)]

    assert [(200, b"ab")] * 2 == [(each.status, each.body) for each in read]


def test_values_of_one_header_are_joined_and_names_are_in_lower_case():
    answer = b'HTTP/1.1 200 OK\r\nWarning: 299 - "a"\r\nContent-Length: 0\r\nwarning:\t299 - "b"\r\nRetry-After: 3\r\n\r\n'
    with answering([answer]) as (exchange, _):
        headers = exchange.response(REQUEST, SECONDS).headers

    assert {"warning": '299 - "a", 299 - "b"', "content-length": "0", "retry-after": "3"} == headers


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(b"", UnreadableError, id="nothing"),
        pytest.param(OK[:10], UnreadableError, id="half a status"),
        pytest.param(OK[:20], UnreadableError, id="half a head"),
        pytest.param(OK[:-1], UnreadableError, id="half a body"),
        pytest.param(b"SSH-2.0-x\r\n\r\n", UnreadableError, id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, UnreadableError, id="an endless head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", UnreadableError, id="half a chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nab", UnreadableError, id="a chunk without its size"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nab", ValueError, id="a chunk of a wrong size"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nab", ValueError, id="a body that is too large"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_the_next_request_has_another_connection(answer, error):
    with answering([answer], [OK], closes=True) as (exchange, begun):
        with pytest.raises(error):
            exchange.response(REQUEST, SECONDS)
        assert b"ab" == exchange.response(REQUEST, SECONDS).body
        assert 2 == len(begun)


@pytest.mark.parametrize(
    "parts", [pytest.param([], id="nothing"), pytest.param([OK[:20]], id="half a head"), pytest.param([OK[:-1]], id="half a body")]
)
def test_a_server_that_falls_silent_is_not_waited_for_longer(parts):
    with answering(parts) as (exchange, _):
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            exchange.response(REQUEST, 0.3)

        assert 0.2 < time.monotonic() - began < SECONDS / 2


def test_threads_have_connections_of_their_own_and_few_are_kept():
    with answering([b"", OK]) as (exchange, begun):
        threads = [threading.Thread(target=exchange.response, args=(REQUEST, SECONDS)) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        assert 2 <= len(begun) <= 8
        assert 1 <= len(exchange._idle) <= 4
