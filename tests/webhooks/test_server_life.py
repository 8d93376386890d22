"""Start and graceful stop of the real server, and workers that die or hang."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from certs import store
from tests import forked
from tests.webhooks.running import BODY, HEADERS, PATIENCE, new_pair, running, until


@pytest.fixture(params=["uvicorn", "gunicorn"])
def library(request):
    """Return the HTTP library of the server."""
    return request.param


def test_figures_are_the_sum_over_all_workers(tmp_path, library):
    with running(tmp_path, "--workers", "2", MUSTER_SERVER=library) as server:
        for _ in range(40):
            assert 200 == server.post()[0]

        assert [40.0] * 3 == [server.figure("muster_reviews_total") for _ in range(3)]
        assert 40.0 == server.figure("muster_review_duration_seconds_count")
        assert 0.0 == server.figure("muster_reviews_in_flight")
        assert dt.datetime.now(dt.UTC).timestamp() < server.figure("muster_certificate_not_after_seconds")


def test_a_worker_that_dies_is_replaced_and_its_counts_stay(tmp_path, library):
    with running(tmp_path, "--workers", "1", MUSTER_SERVER=library) as server:
        server.post()
        children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True, check=True).stdout.split()
        assert 1 == len(children)
        import os

        os.kill(int(children[0]), signal.SIGKILL)

        assert until(lambda: answers(server))
        assert 2.0 <= server.figure("muster_reviews_total")


MISBEHAVING = """
import time, webhooks.admission.verdict as admit
judge = admit.validate
def misbehave(request, *rest):
    return {} if request.uid else judge(request, *rest)
admit.validate = misbehave
"""
STUCK = MISBEHAVING.format("time.sleep(600)")
BROKEN = MISBEHAVING.format("{}['a bug']")


def test_a_rule_that_never_ends_costs_a_worker_and_not_the_server(tmp_path, library):
    variables = {"MUSTER_STUCK_SECONDS": "5", "MUSTER_STOP_SECONDS": "1"}
    with running(tmp_path, "--workers", "1", before=STUCK, **variables, MUSTER_SERVER=library) as server:
        stuck = server.connect()
        stuck.request("POST", "/validate", BODY, HEADERS)
        assert 200 == server.post(path="/mutate")[0]
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert 503 == stuck.getresponse().status
        stuck.close()

        assert until(lambda: {"stuck", "abandoned"} <= {line["event"] for line in server.lines})
        assert until(lambda: answers(server, "/mutate"))
        assert 0 == server.stop()


def test_a_bug_in_a_rule_is_500_with_a_traceback_in_the_log_and_the_next_request_is_answered(tmp_path, library):
    with running(tmp_path, before=BROKEN, MUSTER_SERVER=library) as server:
        connection = server.connect()
        assert (500, {"error": "internal error; see the log"}) == server.post(connection=connection)
        assert 200 == server.post(path="/mutate", connection=connection)[0]
        connection.close()

        assert until(lambda: any("a bug" in line.get("trace", "") for line in server.lines))
        assert 1.0 == server.figure("muster_faults_total")


def test_a_stop_answers_what_is_in_flight_and_exits_with_zero(tmp_path, library):
    patient = {"MUSTER_REQUEST_SECONDS": "20", "MUSTER_STOP_SECONDS": "20", "MUSTER_SERVER": library}
    with running(tmp_path, **patient) as server:
        halves = []
        for _ in range(6):
            sock = server.tls()
            head = f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}"
            sock.sendall(head.encode() + b"\r\n\r\n" + BODY[:10])
            halves.append(sock)
        idle = server.connect()
        assert 200 == server.post(connection=idle)[0]
        server.process.send_signal(signal.SIGTERM)
        refused = until(lambda: not accepts(server.port))
        for sock in halves:
            sock.sendall(BODY[10:])
        answers = [sock.recv(65536).split(b"\r\n")[0] for sock in halves]
        for sock in halves:
            sock.close()
        idle.close()

        assert refused
        assert [b"HTTP/1.1 200 OK"] * 6 == answers
        assert 0 == server.stop()


SLOW_TO_BOOT = """
import time, gunicorn.util
from webhooks.server.worker import Worker
gunicorn.util.seed = lambda: time.sleep({})
start = Worker.__init__
def slow(*arguments, **options):
    time.sleep({})
    start(*arguments, **options)
Worker.__init__ = slow
"""


@pytest.mark.parametrize("seconds", [(3, 0), (0, 3)], ids=["before it has handlers", "before its event loop runs"])
def test_a_stop_reaches_a_worker_that_starts(tmp_path, library, seconds):
    """Otherwise it would go on, and the master would wait for it as long as for requests in flight."""
    variables = {"MUSTER_STOP_SECONDS": str(2 * PATIENCE), "MUSTER_SERVER": library}
    with running(tmp_path, "--workers", "1", before=SLOW_TO_BOOT.format(*seconds), **variables) as server:
        assert until(lambda: subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, check=False).stdout)
        time.sleep(1)

        assert 0 == server.stop()


TELLS_ITS_END = """
import sys
from webhooks.server.lifespan import Lifespan
live = Lifespan.live
async def tell(self, *channels):
    await live(self, *channels)
    sys.stderr.write('{"event": "ended"}' + chr(10))
Lifespan.live = tell
"""


def test_a_stop_does_not_kill_a_worker_for_a_connection_that_is_idle(tmp_path, library):
    variables = {"MUSTER_STOP_SECONDS": "1", "MUSTER_KEEPALIVE_SECONDS": "300", "MUSTER_SERVER": library}
    with running(tmp_path, "--workers", "1", before=TELLS_ITS_END, **variables) as server:
        with contextlib.closing(server.connect()) as idle:
            assert 200 == server.post(connection=idle)[0]

            assert 0 == server.stop()
        assert "ended" in {line["event"] for line in server.lines}


def answers(server, path="/validate"):
    """Return true if the server answers; a worker that ends may close a connection."""
    try:
        return server.post(path=path)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


def test_a_drain_is_not_ready_but_answers_and_closes_connections(tmp_path, library):
    with running(tmp_path, MUSTER_DRAIN_SECONDS="2", MUSTER_SERVER=library) as server:
        assert 200 == server.probe("/readyz")[0]
        server.process.send_signal(signal.SIGTERM)
        assert until(lambda: server.probe("/readyz")[0] == 503)
        connection = server.connect()
        connection.request("POST", "/validate", BODY, HEADERS)
        response = connection.getresponse()
        response.read()
        connection.close()

        assert (200, "close") == (response.status, response.headers["Connection"])
        assert 200 == server.probe("/healthz")[0]
        assert 0 == server.process.wait(PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR2])
def test_a_signal_to_reload_is_ignored_and_logged(tmp_path, number):
    """Gunicorn would restart its workers and drop requests; key pairs are reloaded without that."""
    with running(tmp_path) as server:
        server.process.send_signal(number)

        assert until(lambda: any(line["event"] == "ignored" for line in server.lines))
        assert 200 == server.post()[0]


def test_a_worker_whose_parent_is_gone_stops(tmp_path, library):
    with running(tmp_path, "--workers", "1", MUSTER_SERVER=library) as server:
        server.process.kill()

        assert until(lambda: not accepts(server.port))


def test_the_directory_of_figures_is_removed(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with running(tmp_path / "certs", TMPDIR=str(scratch)) as server:
        assert [] != list(scratch.glob("muster-metrics-*"))
        server.stop()
    assert [] == list(scratch.glob("muster-metrics-*"))


def test_an_interrupt_is_a_graceful_stop(tmp_path, library):
    with running(tmp_path, MUSTER_SERVER=library) as server:
        assert 200 == server.post()[0]
        server.process.send_signal(signal.SIGINT)

        assert 0 == server.process.wait(PATIENCE)


def test_mistakes_are_one_line_and_exit_code_2(tmp_path):
    store.write(tmp_path, new_pair())
    good = ["--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")]
    other = tmp_path / "other"
    store.write(other, new_pair())
    with socket.create_server(("127.0.0.1", 0)) as used:
        address = f"127.0.0.1:{used.getsockname()[1]}"
        cases = {
            "--tls-cert and --tls-key must be given": [],
            "cannot read /nowhere: No such file": ["--tls-cert", "/nowhere", "--tls-key", "/nowhere"],
            "is not the private key of": [*good[:3], str(other / "tls.key")],
            "does not hold a whole PEM certificate": ["--tls-cert", good[3], *good[2:]],
            "does not hold an unencrypted PEM private key": [*good[:3], good[1]],
            "cannot listen on " + address: [*good, "--bind", address],
            "must be HOST:PORT": [*good, "--bind", "nonsense"],
            "0 is not in the range 1<=x<=64": [*good, "--workers", "0"],
            "'some' is not one of 'none', 'podgroup', 'all'": [*good, "--finalizers", "some"],
            "there is no rule 'nonsense'": [*good, "--rule", "nonsense=off"],
            "there is no feature gate 'X'": [*good, "--gates", "X=true"],
            "exclude each other": [*good, "--cluster", "--objects", "x"],
            "(MUSTER_CERTIFICATES) and --tls-cert (MUSTER_TLS_CERT) exclude each other": [*good, "--certificates", "managed"],
            "there is no cluster to keep the certificate in": ["--certificates", "managed", "--kubeconfig", "/nowhere"],
            "'x' is not one of 'files', 'managed'": ["--certificates", "x"],
        }
        for want, options in cases.items():
            ended = forked.run(["serve", "--bind", "127.0.0.1:0", *options], tmp_path)
            assert 2 == ended.returncode, (want, ended.stderr)
            assert 1 == len(ended.stderr.splitlines()), ended.stderr
            assert want in ended.stderr
            assert "" == ended.stdout


@pytest.mark.parametrize("path", ["/validate", "/mutate"])
def test_given_objects_are_references(tmp_path, path):
    classes = tmp_path / "classes.yaml"
    classes.write_text("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n")
    review = json.loads(BODY)
    review["request"]["object"]["spec"]["priorityClassName"] = "absent"
    with running(tmp_path / "certs", "--objects", str(classes), "--workers", "1") as server:
        answers = [server.post(json.dumps(review).encode(), path)[1]["response"]]
        review["request"]["object"]["spec"]["priorityClassName"] = "high"
        answers.append(server.post(json.dumps(review).encode(), path)[1]["response"])

    assert "priority-class-exists" in answers[0]["auditAnnotations"]["rules"]
    assert "priority-class-exists" not in answers[1].get("auditAnnotations", {}).get("rules", "")


def test_a_server_that_is_stopped_before_it_listens_leaves_nothing_behind(tmp_path):
    store.write(tmp_path, new_pair())
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    pair = ["--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")]
    command = [sys.executable, "-m", "muster", "serve", "--bind", "127.0.0.1:0", *pair]
    with subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(temporary)}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as started:
        # Not any file: to find its temporary directory Python writes one there and removes it again.
        assert until(lambda: [*temporary.glob("muster-metrics-*")])
        started.send_signal(signal.SIGTERM)
        assert 0 == started.wait(PATIENCE)

    assert [] == [*temporary.glob("muster-metrics-*")]
