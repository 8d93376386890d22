"""Clients of a server with small limits: slow and idle connections hold up no other client, and TLS."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading

import pytest

from tests.webhooks.running import BODY, HEADERS, REVIEW, running, until


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    knobs = {"MUSTER_REQUEST_SECONDS": "1", "MUSTER_THREADS": "2", "MUSTER_KEEPALIVE_SECONDS": "60"}
    with running(tmp_path_factory.mktemp("clients"), "--workers", "1", **knobs) as started:
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
