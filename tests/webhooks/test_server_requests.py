"""HTTP requests to a server with small limits: malformed, late, large, pipelined and arbitrary ones."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.webhooks.running import BODY, running, until


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    variables = {"MUSTER_REQUEST_SECONDS": "1", "MUSTER_THREADS": "2", "MUSTER_KEEPALIVE_SECONDS": "60"}
    with running(tmp_path_factory.mktemp("clients"), "--workers", "1", **variables) as started:
        yield started


@pytest.mark.parametrize(
    ("request_bytes", "want"),
    [
        pytest.param(b"nonsense\r\n\r\n", b"400", id="no request line"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", b"400", id="unknown version"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400", id="an HTTP/2 preface"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", b"400", id="space in a header name"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400", id="negative length"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", b"400", id="absurd length"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413", id="too long a body announced"),
        pytest.param(b"POST /validate HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", b"400", id="gzip coding"),
        pytest.param(b"POST /validate HTTP/1.1\r\nTransfer-Encoding: magic\r\n\r\n", b"400", id="unknown coding"),
        pytest.param(b"POST /validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400", id="chunk without a size"),
        pytest.param(b"POST /validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", b"400", id="chunk too long"),
        pytest.param(b"POST /validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", b"408", id="chunk too large, not sent"),
        pytest.param(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", b"404", id="long request line"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100 + b"\r\n", b"404", id="many headers"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 40000, b"431", id="endless header"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 32600 + b"\r\n\r\n", b"404", id="a whole head just below the limit"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 32800 + b"\r\n\r\n", b"431", id="a whole head just above the limit"),
        pytest.param(b"GET /" + b"a" * 33000 + b" HTTP/1.1\r\n\r\n", b"431", id="endless request line"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 6000 + b"\r\n", b"431", id="too many headers"),
        pytest.param(b"GET / HTTP/1.1\r\nExpect: magic\r\n\r\n", b"404", id="unknown expectation, ignored"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: x\r\nSCRIPT_NAME: /x\r\n\r\n", b"200", id="a proxy's header"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Forwarded-Proto: a\r\n\r\n", b"200", id="a scheme header"),
        pytest.param(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"200", id="head"),
        pytest.param(b"GET /%ff%00 HTTP/1.1\r\nHost: x\r\n\r\n", b"404", id="odd path"),
        pytest.param(b"GET //[ HTTP/1.1\r\nHost: [\r\n\r\n", b"4", id="broken host"),
        pytest.param(b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", b"4", id="connect"),
        pytest.param(b"\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n", b"200", id="empty lines first, and HTTP/1.0"),
    ],
)
def test_bytes_that_are_no_good_request_are_reported(server, request_bytes, want):
    with server.tls() as sock:
        sock.sendall(request_bytes)
        line = sock.recv(4096).split(b"\r\n")[0]

    assert line.split(b" ")[1].startswith(want), line


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", id="two lengths"),
        pytest.param(b"Content-Length: 5, 6\r\n\r\nhello", id="two lengths in one"),
        pytest.param(b"Content-Length: +5\r\n\r\nhello", id="a signed length"),
        pytest.param(b"Content-Length: 0x5\r\n\r\nhello", id="a hexadecimal length"),
        pytest.param(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="length and chunks"),
        pytest.param(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", id="chunks and length"),
        pytest.param(b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", id="a space before the colon"),
        pytest.param(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", id="two codings"),
        pytest.param(b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", id="nearly chunked"),
        pytest.param(b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", id="chunked behind a vertical tab"),
        pytest.param(b"A: b\r\n Transfer-Encoding: chunked\r\n\r\n", id="a folded line"),
        pytest.param(b"A: b\rContent-Length: 5\r\n\r\nhello", id="a bare carriage return"),
        pytest.param(b"A: b\x00c\r\n\r\n", id="a zero byte"),
        pytest.param(b"A: b\nContent-Length: 5\n\nhello", id="bare line feeds"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", id="chunks with bare line feeds"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", id="a negative chunk"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", id="a chunk with a prefix"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n0\r\n\r\n", id="a chunk of two sizes"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", id="a chunk longer than its size"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", id="a chunk beyond 64 bits"),
    ],
)
def test_a_request_whose_end_can_be_read_in_two_ways_is_refused(server, request_bytes):
    """A proxy may see another end: the rest would be smuggled past it."""
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with server.tls() as sock:
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + request_bytes + smuggled)
        content = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while piece := sock.recv(65536):
                content += piece

    assert content.startswith(b"HTTP/1.1 4"), content
    assert b"HTTP/1.1 200" not in content, "the connection is closed"


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"GET /healthz HTTP/1.1\r\nHo"], id="inside its head"),
        pytest.param([b"G", b"E", b"T"], id="byte by byte"),
        pytest.param([b"POST /validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"5"], id="inside a chunk"),
    ],
)
def test_a_request_that_stops_gets_408_at_the_deadline(server, pieces):
    with server.tls() as sock:
        for piece in pieces:
            sock.sendall(piece)

        assert b"HTTP/1.1 408" == sock.recv(12)


def test_what_is_refused_before_it_is_a_request_is_counted(server):
    before = server.figure("muster_requests_refused_total")
    with server.tls() as sock:
        sock.sendall(b"nonsense\r\n\r\n")
        sock.recv(4096)

    assert until(lambda: server.figure("muster_requests_refused_total") == before + 1)


PIECES = st.sampled_from(
    [
        *(b"GET", b"POST", b" ", b"/", b"*", b"//[", b"http://[", b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\n", b"\r", b":", b"\x00"),
        *(b"Content-Length: ", b"Transfer-Encoding: chunked", b"Expect: 100-continue", b"Connection: close", b"Host: [", b"5"),
        *(b"\xff\xfe", b"%zz", b"?", b"#", b"\r\n\r\n", b"0\r\n\r\n", b"SCRIPT_NAME: /x", b"\xb2", b"Upgrade: h2c", b"Upgrade: websocket"),
    ]
)


@given(st.lists(PIECES | st.binary(max_size=8), max_size=25))
@settings(max_examples=sampled(1500), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_lead_to_an_error_of_the_server(server, pieces):
    """On the plain port of the same program; each connection ends with a response or is closed."""
    with socket.create_connection(("127.0.0.1", server.probe_port), timeout=30) as sock, contextlib.suppress(ConnectionError):
        sock.sendall(b"".join(pieces) + b"\r\n\r\n")
        sock.shutdown(socket.SHUT_WR)
        content = sock.recv(65536)
        assert not content.startswith(b"HTTP/1.1 5"), content


def test_chunks_are_put_together(server):
    def pieces():
        for start in range(0, len(BODY), 7):
            yield BODY[start : start + 7]

    assert 200 == server.post(pieces())[0]


def test_requests_sent_at_once_are_answered_in_order(server):
    head = f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    with server.tls() as sock:
        sock.sendall((head.encode() + BODY) * 2 + b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        content = b""
        while piece := sock.recv(65536):
            content += piece

    assert [b"200", b"200", b"404"] == [part[:3] for part in content.split(b"HTTP/1.1 ")[1:]]


def test_a_large_head_behind_another_request_is_refused_after_the_answer_to_that(server):
    head = f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    with server.tls() as sock:
        sock.sendall(head.encode() + BODY)
        assert b"HTTP/1.1 200" == sock.recv(65536)[:12]
        sock.sendall(head.encode() + BODY + b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000)
        content = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while piece := sock.recv(65536):
                content += piece

    assert [b"200", b"431"][: content.count(b"HTTP/1.1 ")] == [part[:3] for part in content.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS", "PROPFIND"])
@pytest.mark.parametrize(
    "path",
    [
        "//mutate",
        "/validate//warn",
        "/mutate/deny/",
        "/./validate",
        "/%2fvalidate",
        "//metrics",
        "/readyz/",
        "//x/validate",
        "/VALIDATE",
        "/",
    ],
)
def test_every_other_path_is_404_in_json(server, method, path):
    with server.tls() as sock:
        request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n"
        sock.sendall(request.encode() + b"Connection: close\r\n\r\n" + BODY)
        content = b""
        while piece := sock.recv(65536):
            content += piece
    head, _, body = content.partition(b"\r\n\r\n")

    assert b"HTTP/1.1 404" == head[:12]
    assert ["error"] == list(json.loads(body))
    assert b"location" not in head.lower()


def test_a_client_that_expects_100_continue_gets_it(server):
    with server.tls() as sock:
        sock.sendall(
            b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
            b"Content-Length: %d\r\n\r\n" % len(BODY)
        )
        assert b"HTTP/1.1 100" == sock.recv(4096)[:12]
        sock.sendall(BODY)
        assert b"HTTP/1.1 200" == sock.recv(4096)[:12]


def test_a_body_at_the_limit_is_read_and_one_above_is_413(tmp_path):
    with running(tmp_path, MUSTER_BODY_BYTES="4096") as small:
        at, above = (b" " * (size - len(BODY)) + BODY for size in (4096, 4097))

        assert 200 == small.post(at)[0]
        assert 413 == small.post(above)[0]


def test_a_whole_large_body_gets_the_answer_and_not_a_reset(server):
    for _ in range(5):
        status, answer = server.post(b"x" * (8 * 1024 * 1024))

        assert (413, "the body must be at most 7340032 bytes") == (status, answer["error"])


def test_no_request_was_a_fault_of_the_server(server):
    assert 0 == server.figure("muster_faults_total")


def test_no_traceback_was_logged(server):
    assert [] == [line for line in server.lines if "trace" in line or line["level"] in ("error", "critical")]
