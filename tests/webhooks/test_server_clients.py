"""Clients of a server with small limits: slow and idle connections hold up no other client, and TLS."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading

import pytest

from tests.webhooks.running import BODY, HEADERS, REVIEW, running, until


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    variables = {"MUSTER_REQUEST_SECONDS": "1", "MUSTER_THREADS": "2", "MUSTER_KEEPALIVE_SECONDS": "60"}
    with running(tmp_path_factory.mktemp("clients"), "--workers", "1", **variables) as started:
        yield started


def test_a_review_is_answered_with_its_uid(server):
    status, answer = server.post()

    assert (200, "u-1", True) == (status, answer["response"]["uid"], answer["response"]["allowed"])


def test_a_connection_serves_many_requests(server):
    connection = server.connect()

    answers = [server.post(connection=connection) for _ in range(20)]

    sock = connection.sock
    assert [200] * 20 == [status for status, _ in answers]
    assert sock is not None
    connection.close()


def test_silent_clients_do_not_keep_others_waiting(server):
    """More clients than threads: some send nothing, some stop in the handshake, some in a request."""
    silent = [server.raw() for _ in range(8)]
    stopped = [server.raw() for _ in range(8)]
    slow = [server.tls() for _ in range(8)]
    for sock in stopped:
        sock.sendall(b"\x16\x03\x01")
    for sock in slow:
        sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")

    assert 200 == server.post()[0]
    assert [b""] * 8 == [sock.recv(100) for sock in silent], "closed at the deadline"
    assert [b"HTTP/1.1 408"] * 8 == [sock.recv(12) for sock in slow]
    for sock in [*silent, *stopped, *slow]:
        sock.close()


def test_a_client_that_does_not_take_its_answer_holds_up_nobody(server):
    hoarders = [server.tls() for _ in range(4)]
    for sock in hoarders:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)

    assert 200 == server.post()[0]
    for sock in hoarders:
        sock.close()


def test_a_burst_of_new_connections_is_answered(server):
    answers = []

    def call():
        answers.append(server.post()[0])

    callers = [threading.Thread(target=call) for _ in range(150)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()

    assert [200] * 150 == answers


def test_an_idle_connection_frees_capacity_at_the_limit(tmp_path):
    with running(tmp_path, "--workers", "1", MUSTER_CONNECTIONS="10") as small:
        idle = [small.tls() for _ in range(12)]

        assert 200 == small.post()[0]
        for sock in idle:
            sock.close()


def test_a_connection_without_a_request_is_closed_without_a_word(tmp_path):
    with running(tmp_path, "--workers", "1", MUSTER_KEEPALIVE_SECONDS="1") as small, small.tls() as silent, small.tls() as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        content = b""
        while piece := idle.recv(4096):
            content += piece

        assert content.startswith(b"HTTP/1.1 200 "), content
        assert b"" == silent.recv(1)


def test_thousands_of_idle_connections_hold_up_nobody(tmp_path):
    with running(tmp_path, "--workers", "1", MUSTER_CONNECTIONS="20000") as wide, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", wide.probe_port), timeout=30)) for _ in range(2000)]
        idle += [stack.enter_context(wide.tls()) for _ in range(100)]

        assert [200] * 20 == [wide.post()[0] for _ in range(20)]


def test_bodies_that_are_held_back_share_a_limit_and_hold_up_nobody(tmp_path):
    """Each client holds back the last byte of a body; the pages that the worker has touched do not grow with their number."""
    total, size, clients = 1_000_000, 700_000, 40
    variables = {"MUSTER_TOTAL_BODY_BYTES": str(total), "MUSTER_BODY_BYTES": str(size)}
    with running(tmp_path, "--workers", "1", **variables) as small, contextlib.ExitStack() as stack:
        head = f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode()
        slow = [stack.enter_context(small.tls()) for _ in range(clients)]
        senders = [threading.Thread(target=_send_or_fail, args=(sock, head + b"x" * (size - 1))) for sock in slow]
        for each in senders:
            each.start()
        answers = []
        while any(each.is_alive() for each in senders):
            answers.append(small.post()[0])
            assert small.figure("muster_request_body_bytes") <= total
        for each in senders:
            each.join()

        assert {200} == set(answers)
        assert until(lambda: small.figure("muster_requests_refused_total") >= clients - 1)
        assert until(lambda: small.figure("muster_request_body_bytes") == 0)
        large = b" " * (size - len(BODY)) + BODY
        assert until(lambda: small.post(large)[0] == 200), "all of it is free again"


def _send_or_fail(sock, content):
    with contextlib.suppress(OSError):
        sock.sendall(content)
        sock.recv(100)


def test_plain_http_on_the_tls_port_is_closed(server):
    with server.raw() as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")

        with contextlib.suppress(ConnectionResetError):
            assert b"HTTP" not in sock.recv(100)
    assert 200 == server.post()[0]


def test_the_protocol_is_http_1_over_tls_1_2_or_newer(server):
    context = server.context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with context.wrap_socket(server.raw(), server_hostname="localhost") as sock:
        assert "http/1.1" == sock.selected_alpn_protocol()
        assert "TLSv1.3" == sock.version()
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(server.raw(), server_hostname="localhost")


def test_answers_do_not_name_the_server(server):
    connection = server.connect()
    connection.request("POST", "/validate", BODY, HEADERS)
    response = connection.getresponse()
    response.read()
    connection.close()

    assert None is response.headers["Server"]


def test_webhooks_are_not_served_without_tls(server):
    plain = http.client.HTTPConnection("127.0.0.1", server.probe_port, timeout=10)
    plain.request("POST", "/validate", BODY, HEADERS)

    assert 404 == plain.getresponse().status
    plain.close()


STALLED = """
import os
reading, writing = os.pipe()
os.set_blocking(writing, False)
size = 4096
while size:
    try:
        os.write(writing, b"x" * size)
    except BlockingIOError:
        size //= 2
os.set_blocking(writing, True)
os.dup2(writing, 2)
"""
"""Standard error is a full pipe that nobody reads."""


def test_reviews_are_answered_although_nobody_reads_the_log(tmp_path):
    with running(tmp_path, "--workers", "1", before=STALLED) as stalled:
        connection = stalled.connect()
        long = {**REVIEW, "request": {**REVIEW["request"], "name": "x" * 250, "namespace": "y" * 250}}
        body = json.dumps(long).encode()
        statuses = [stalled.post(body, connection=connection)[0] for _ in range(2500)]
        connection.close()

        assert {200} == set(statuses)
        assert (200, True) == (stalled.probe("/readyz")[0], until(lambda: stalled.figure("muster_log_lines_dropped_total") > 0))
        assert 0 == stalled.stop()


STUCK = """
import threading
from webhooks.admission import verdict
judge = verdict.validate
verdict.validate = lambda request, *rest: threading.Event().wait() if request.name == "stuck" else judge(request, *rest)
"""


def test_a_server_that_can_answer_no_review_is_not_ready_and_its_probes_answer(tmp_path):
    variables = {"MUSTER_THREADS": "2", "MUSTER_REQUEST_SECONDS": "1", "MUSTER_STUCK_SECONDS": "600", "MUSTER_STOP_SECONDS": "1"}
    with running(tmp_path, "--workers", "1", before=STUCK, **variables) as server, contextlib.ExitStack() as stack:
        assert 200 == server.probe("/readyz")[0]
        body = json.dumps({**REVIEW, "request": {**REVIEW["request"], "name": "stuck"}}).encode()
        for _ in range(2):
            sock = stack.enter_context(server.tls())
            head = f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            sock.sendall(head.encode() + body)

        assert until(lambda: server.probe("/readyz")[0] == 503)
        assert b"no thread is free" in server.probe("/readyz")[1]
        assert 200 == server.probe("/healthz")[0]
        status, answer = server.post()
        assert (503, "no thread was free for the request within 1 s") == (status, answer["error"])


def test_a_review_is_logged_without_its_object(server):
    server.post()

    assert until(lambda: any(line["event"] == "review" for line in server.lines))
    line = next(line for line in server.lines if line["event"] == "review")
    want = {"uid": "u-1", "path": "/validate", "kind": "PodGroup", "namespace": "default", "name": "pg"}
    want |= {"operation": "CREATE", "subresource": "", "dryRun": False, "allowed": True, "code": 200}
    assert want == {key: line[key] for key in want}
    assert {"time", "level", "event", "rules", "duration", *want} == set(line)


def test_no_traceback_was_logged(server):
    assert "u-1" == REVIEW["request"]["uid"]
    assert [] == [line for line in server.lines if "trace" in line or line["level"] in ("error", "critical")]
