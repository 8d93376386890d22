from __future__ import annotations

import os
import socket
import urllib.request

import pytest

from scheduler_core.sidecar.process.http import MAX_LOOKUPS, Answers, Server, create_app
from scheduler_core.sidecar.process.metrics import SidecarMetrics


def client(dead=(), unready=(), known=None):
    answers = Answers(lambda: dead, lambda: unready, lambda namespace, name: (known or {}).get((namespace, name)), SidecarMetrics().text)
    return create_app(answers).test_client()


@pytest.mark.parametrize(
    ("path", "dead", "unready", "want"),
    [
        pytest.param("/healthz", (), (), (200, "ok\n"), id="alive"),
        pytest.param("/healthz", (), ("not listed",), (200, "ok\n"), id="alive, though not ready"),
        pytest.param("/healthz", ("stuck",), (), (503, "stuck\n"), id="dead"),
        pytest.param("/readyz", (), (), (200, "ok\n"), id="ready"),
        pytest.param("/readyz", ("stuck",), ("not listed",), (503, "stuck\nnot listed\n"), id="every reason"),
    ],
)
def test_probes_answer_with_the_reason(path, dead, unready, want):
    answer = client(dead, unready).get(path)

    assert want == (answer.status_code, answer.text)


def test_a_decision_is_explained():
    answer = client(known={("default", "train"): {"status": "Success"}}).get("/explain/default/train")

    assert (200, {"status": "Success"}) == (answer.status_code, answer.json)


def test_an_unknown_root_is_reported_in_one_short_line():
    answer = client().get(f"/explain/default/{'x' * 10_000}")

    assert 404 == answer.status_code
    assert len(answer.text) < 1000


def test_a_decision_that_there_was_no_time_to_return_is_not_reported_as_missing():
    def explain(_namespace, _name):
        raise TimeoutError

    answer = create_app(Answers(tuple, tuple, explain, bytes)).test_client().get("/explain/a/b")
    assert (503, True) == (answer.status_code, "retry in a second" in answer.text)


def test_the_number_of_concurrent_lookups_is_limited():
    asked = []

    def explain(namespace, name):
        """Another asks while this one is answered."""
        asked.append(app.test_client().get(f"/explain/{namespace}/{name}").status_code)
        return {"status": "Success"}

    app = create_app(Answers(tuple, tuple, explain, bytes))
    assert 200 == app.test_client().get("/explain/a/b").status_code
    assert [503, *[200] * (MAX_LOOKUPS - 1)] == asked
    asked.clear()
    app.test_client().get("/explain/a/b")
    assert MAX_LOOKUPS == len(asked), "whoever was turned away and whoever was answered make room for others"


def test_metrics_are_exposed_in_the_prometheus_format():
    answer = client().get("/metrics")

    assert answer.content_type.startswith("text/plain")
    assert "# TYPE muster_podgroup_schedule_attempts_total counter" in answer.text


def test_where_nothing_is_decided_it_says_why():
    def explain(_namespace, _name):
        raise LookupError("another replica leads")

    answer = create_app(Answers(tuple, tuple, explain, bytes)).test_client().get("/explain/a/b")

    assert (404, {"error": "another replica leads"}) == (answer.status_code, answer.json)


def test_nothing_is_changed_over_http():
    assert {405} == {client().post(path).status_code for path in ("/healthz", "/metrics", "/explain/a/b")}


def test_a_server_takes_a_free_port_and_ends():
    server = Server(create_app(Answers(tuple, tuple, lambda *_: None, bytes)), "127.0.0.1", 0)
    server.start()
    try:
        with urllib.request.urlopen(f"http://{server.address}/healthz", timeout=10) as answer:
            assert b"ok\n" == answer.read()
    finally:
        server.stop()
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(f"http://{server.address}/healthz", timeout=10)


def test_a_client_that_says_nothing_is_let_go(monkeypatch):
    monkeypatch.setattr("scheduler_core.sidecar.process.http.IDLE_TIMEOUT_SECONDS", 0.2)
    server = Server(create_app(Answers(tuple, tuple, lambda *_: None, bytes)), "127.0.0.1", 0)
    server.start()
    host, _, port = server.address.partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=30) as silent:
            assert b"" == silent.recv(1)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("host", "told"),
    [pytest.param("127.0.0.1", "in use", id="one that is taken"), pytest.param("192.0.2.1", "assign", id="another machine's")],
)
def test_an_address_that_cannot_be_served_on_is_an_error_and_not_the_end(host, told):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match=told):
        Server(create_app(Answers(tuple, tuple, lambda *_: None, bytes)), host, taken.getsockname()[1])


DECISION = {"status": "Success"}


def get_explanation(token_file=None, address="10.0.0.7", **headers):
    """Return status and body of /explain for a client at *address*."""
    client = create_app(Answers(tuple, tuple, lambda *_: DECISION, bytes), token_file).test_client()
    answer = client.get("/explain/a/b", environ_base={"REMOTE_ADDR": address}, headers=headers)
    return answer.status_code, answer.json


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_clients_on_this_machine_need_no_token(address, tmp_path):
    (tmp_path / "token").write_text("secret")
    assert get_explanation(address=address) == get_explanation(str(tmp_path / "token"), address) == (200, DECISION)


@pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.6", "fd00::1", "::ffff:10.0.0.7"])
def test_others_are_refused_without_a_token(address, tmp_path):
    """127.0.0.6 is a proxy in the pod, which forwards the requests of others."""
    (tmp_path / "empty").write_text(" \n")
    os.mkfifo(tmp_path / "pipe")
    for file in (None, *(str(tmp_path / name) for name in ("missing", "empty", "pipe"))):
        status, body = get_explanation(file, address, **{"X-Muster-Token": ""})
        assert (status, "this sidecar has none" in body["error"]) == (403, True)


def test_the_token_is_demanded_and_read_at_each_request(tmp_path):
    file = tmp_path / "token"
    file.write_text("secret\n")
    good = [{"X-Muster-Token": "secret"}, {"Authorization": "Bearer secret"}]
    bad = [{}, {"X-Muster-Token": "secre"}, {"X-Muster-Token": "secret2"}, {"Authorization": "Basic secret"}, {"Authorization": "Bearer"}]
    assert [200] * len(good) == [get_explanation(str(file), **each)[0] for each in good]
    assert [401] * len(bad) == [get_explanation(str(file), **each)[0] for each in bad]
    file.write_text("other")
    assert [401, 200] == [get_explanation(str(file), **{"X-Muster-Token": each})[0] for each in ("secret", "other")]


def test_probes_and_metrics_are_open():
    client = create_app(Answers(tuple, tuple, lambda *_: DECISION, lambda: b"x 1\n")).test_client()
    for path in ("/healthz", "/readyz", "/metrics"):
        assert client.get(path, environ_base={"REMOTE_ADDR": "10.0.0.7"}).status_code == 200
