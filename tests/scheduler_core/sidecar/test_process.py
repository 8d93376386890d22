"""The whole process beside a small API server: from its start, by the lease and a bind, to its end."""

from __future__ import annotations

import dataclasses
import os
import queue
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

from apiserver.connection import Connection
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.sidecar.cache.cache import RESOURCES
from scheduler_core.sidecar.process.main import Sidecar, options, run
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import Deviations, EvictionMethod
from tests.apiserver.fake import serving
from tests.apiserver.test_lease import Leases
from tests.scheduler_core.builders import node, pod
from tests.webhooks.running import until
from validators.gates import Gates

PATIENCE = 20
GROUP = "/apis/scheduling.k8s.io"
SERVED = {
    "/api/v1": ["nodes", "pods", "namespaces", "persistentvolumeclaims", "persistentvolumes", "services", "replicationcontrollers"],
    "/apis/apps/v1": ["replicasets", "statefulsets"],
    f"{GROUP}/v1beta1": ["podgroups", "workloads"],
    f"{GROUP}/v1alpha3": ["compositepodgroups"],
    f"{GROUP}/v1": ["priorityclasses"],
    "/apis/policy/v1": ["poddisruptionbudgets"],
    "/apis/storage.k8s.io/v1": ["storageclasses", "csinodes", "csidrivers", "volumeattachments", "csistoragecapacities"],
}


class Cluster:
    """One node, and one pod that waits; *binding* is called while the answer to the bind is awaited."""

    def __init__(self, binding=lambda: None, code=201):
        self.leases, self.binding, self.code = Leases(), binding, code
        self.over = threading.Event()
        self.finished = []
        """Writes, as they ended."""
        waiting = pod("a", schedulerName="muster")
        waiting["metadata"]["uid"] = "uid-a"
        self.objects = {"/api/v1/nodes": [node("n1")], "/api/v1/pods": [waiting]}

    def __call__(self, method, path, body):
        where, _, query = path.partition("?")
        if "/leases" in where:
            answer = self.leases(method, where, body)
            if method == "PATCH" and not self.leases.holder:
                self.finished.append("release")
            return answer
        if where.endswith("/binding"):
            self.binding()
            self.finished.append("bind")
            return self.code, {}, {}
        if method != "GET":
            return 201, {}, {}
        return self.read(where, query)

    def read(self, where, query):
        if where == "/version":
            return 200, {}, {"minor": "37"}
        if where in SERVED:
            return 200, {}, {"resources": [{"name": each} for each in SERVED[where]]}
        if "watch=true" in query:
            self.over.wait(PATIENCE)
            return 200, {}, b""
        return 200, {}, {"items": self.objects.get(where, []), "metadata": {"resourceVersion": "10"}}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("sys.setswitchinterval", lambda _: None)
    monkeypatch.setattr("scheduler_core.sidecar.process.loop.gc", SimpleNamespace(freeze=lambda: None))
    monkeypatch.setattr("apiserver.election.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("scheduler_core.sidecar.process.main.CONNECT_SECONDS", 0.001)


class Process:
    """A run in this thread, and its log."""

    def __init__(self, host, **settings):
        self.connection = Connection(host)
        self.settings = Settings(identity="one", **settings)
        self.lines = []
        self.address = queue.Queue()
        self.on = {}

    def log(self, level, event, fields):
        self.lines.append((event, dict(fields)))
        if event == "listening":
            self.address.put(fields["address"])
        self.on.get(event, lambda: None)()

    def run(self, bind=("127.0.0.1", 0)):
        run(self.connection, self.settings, bind, log=self.log, as_json=lambda decision: {"status": decision.status})

    @property
    def events(self):
        return [event for event, _ in self.lines]

    def get(self, path):
        address = self.address.get(timeout=PATIENCE)
        self.address.put(address)
        with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE) as answer:
            return answer.read().decode()

    def answer(self, path):
        """Status and text."""
        try:
            return 200, self.get(path)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def stop():
    os.kill(os.getpid(), signal.SIGTERM)


def watching():
    return [each for each in threading.enumerate() if each.name.startswith("watch-")]


def test_it_binds_what_waits_and_gives_the_lease_up_only_when_that_is_written():
    seen = {}

    def binding():
        seen["ready"] = process.get("/readyz")
        seen["explained"] = process.get("/explain/default/a")
        seen["leads"] = "muster_leader 1.0" in process.get("/metrics").splitlines()
        stop()
        assert until(lambda: "stopping" in process.events)

    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    cluster = Cluster(binding)
    with serving(cluster) as (_, api):
        process = Process(api.host, modes=frozenset({Mode.PLACE}))
        try:
            process.run()
        finally:
            cluster.over.set()
        assert until(lambda: not watching())

    assert ["bind", "release"] == cluster.finished
    assert ("ok\n", True) == (seen["ready"], seen["leads"])
    assert "Success" in seen["explained"]
    assert ("listening", "stopping") == (process.events[0], process.events[-1])
    assert {"message": "one leads", "leading": True} in [fields for event, fields in process.lines if event == "lease"]
    assert before == [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]


def test_it_keeps_the_lease_if_a_write_may_still_take_effect():
    def binding():
        stop()
        assert until(lambda: "stopping" in process.events)

    cluster = Cluster(binding, code=504)
    with serving(cluster) as (_, api):
        process = Process(api.host, modes=frozenset({Mode.PLACE}))
        try:
            process.run()
        finally:
            cluster.over.set()
        assert until(lambda: not watching())

    assert (["bind"], "one") == (cluster.finished, cluster.leases.holder)


def test_a_leader_reads_nothing_while_a_request_of_its_term_before_may_take_effect():
    sidecar = Sidecar(Connection("http://127.0.0.1:1"), Settings(identity="one"), 37, lambda *_: None)
    asked = []
    informers = SimpleNamespace(watched=lambda: frozenset({"Pod"}), catch_up=lambda *_: asked.append("Pod"))
    sidecar._term_check._informers = informers
    sidecar._dispatcher._lost_at = time.monotonic()
    sidecar._term_check.begin(time.monotonic())
    assert [] == asked
    sidecar._dispatcher._lost_at = float("-inf")
    sidecar._term_check.blocking()

    assert ["Pod"] == asked


def test_a_replica_that_leads_and_waits_is_not_ready_and_explains_nothing():
    sidecar = Sidecar(Connection("http://127.0.0.1:1"), Settings(identity="one"), 37, lambda *_: None)
    sidecar._term = lambda: 1
    sidecar._term_check._versions["Pod"], sidecar._term_check._reads = "20", True
    for kind in RESOURCES:
        sidecar._term_check._cache.replace(kind, ())
    answers = sidecar.answers(lambda decision: decision)

    (reason,) = (each for each in answers.unready() if each.startswith("Pod objects: not complete up to resourceVersion 20 for "))
    with pytest.raises(LookupError, match=f"leads and makes no decisions yet: {reason[:40]}"):
        answers.explain("default", "a")


def test_the_scheduler_undoes_gangs_by_the_check_of_its_loop():
    sidecar = Sidecar(Connection("http://127.0.0.1:1"), Settings(identity="one"), 37, lambda *_: None)

    assert sidecar._scheduler._options.is_current == sidecar.loop._parts.members_check.is_current


def test_a_sidecar_that_places_nothing_binds_nothing_and_needs_no_lease():
    cluster = Cluster()

    def looked():
        thread = threading.Thread(target=lambda: (until(lambda: "ok\n" == ready()), stop()))
        thread.start()
        threads.append(thread)

    def ready():
        try:
            return process.get("/readyz")
        except urllib.error.HTTPError:
            return ""

    threads = []
    with serving(cluster) as (server, api):
        process = Process(api.host, modes=frozenset({Mode.VALIDATE}), lease=None)
        process.on["listening"] = looked
        try:
            process.run()
        finally:
            cluster.over.set()
            threads[0].join(PATIENCE)
        assert until(lambda: not watching())

    assert {"GET"} == {method for method, path, _, _ in server.requests if "selfsubjectaccessreviews" not in path}
    assert not any("/leases" in path for _, path, _, _ in server.requests)


def test_an_unreachable_server_is_retried_until_the_stop():
    process = Process("http://127.0.0.1:1")
    asked = []

    def again():
        asked.append(1)
        if len(asked) == 3:
            stop()

    process.on["connect"] = again
    process.run()

    assert ["listening", *["connect"] * 3] == process.events
    assert "http://127.0.0.1:1" == process.lines[1][1]["server"]


def test_a_signal_that_does_not_wake_the_main_thread_stops_it():
    """The signal is blocked there, so another thread receives it.  The same happens if it arrives while the main thread begins to wait."""
    cluster, over, late = Cluster(), threading.Event(), []
    receiving = threading.Thread(target=over.wait)
    receiving.start()

    def send():
        assert until(lambda: process.answer("/readyz") == (200, "ok\n"))
        stop()
        if not over.wait(PATIENCE):
            late.append(True)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with serving(cluster) as (_, api):
        process = Process(api.host, modes=frozenset({Mode.VALIDATE}), lease=None)
        sending = threading.Thread(target=send)
        process.on |= {"connected": sending.start, "stopping": lambda: (over.set(), cluster.over.set())}
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            process.run()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            over.set()
            sending.join(PATIENCE)
            receiving.join(PATIENCE)

    assert ([], True) == (late, "stopping" in process.events)


def test_who_waits_for_the_server_is_alive_and_not_ready():
    process = Process("http://127.0.0.1:1")
    seen = []

    def asked():
        seen.append([process.answer(path) for path in ("/healthz", "/readyz", "/explain/default/a", "/metrics")])
        stop()

    process.on["connect"] = asked
    process.run()

    (health, ready, explained, figures) = seen[0]
    assert (200, "ok\n") == health
    assert (503, "the API server at http://127.0.0.1:1 has not been reached yet\n") == ready
    assert (404, 200) == (explained[0], figures[0])


def test_who_can_neither_lead_nor_know_who_does_is_not_ready(monkeypatch):
    monkeypatch.setattr("apiserver.lease.TROUBLE_SECONDS", 0.1)
    cluster = Cluster()
    cluster.leases.failing = 10**9
    with serving(cluster) as (_, api):
        process, seen = Process(api.host), []

        def asked():
            seen.append(until(lambda: process.answer("/readyz")[1].startswith("the lease ")))
            seen.append((process.answer("/readyz"), process.answer("/explain/default/a")))
            cluster.over.set()
            stop()

        # Not in the thread of the lease, which is to go on.
        process.on["lease"] = lambda: threading.Thread(target=asked).start()
        process.run()

    found, (ready, explained) = seen
    assert found
    # Kinds may be not listed yet: another line.
    assert (503, True) == (
        ready[0],
        "the lease muster-system/muster-sidecar cannot be read or written: HTTP 500: not now" in ready[1].splitlines(),
    )
    assert (404, True) == (explained[0], "is not the leader" in explained[1])


@pytest.mark.parametrize(
    ("refused", "missing"),
    [
        pytest.param(b'"resource":"pods","subresource":"binding"', "create pods/binding", id="to write"),
        pytest.param(b'"watch","resource":"csidrivers"', "watch csidrivers.storage.k8s.io", id="to watch a kind that is not needed yet"),
    ],
)
def test_a_process_without_a_permission_is_not_ready_and_names_it(refused, missing):
    class Restricted(Cluster):
        def __call__(self, method, path, body):
            if "selfsubjectaccessreviews" in path:
                return 201, {}, {"status": {"allowed": refused not in body}}
            return super().__call__(method, path, body)

    cluster, seen = Restricted(), []

    def look():
        seen.append(until(lambda: process.answer("/readyz") == (503, f"missing permission: {missing}\n")))
        cluster.over.set()
        stop()

    with serving(cluster) as (_, api):
        process = Process(api.host, modes=frozenset({Mode.PLACE}), lease=None)
        process.on["permissions"] = lambda: threading.Thread(target=look).start()
        process.run()

    assert [True] == seen


def test_an_address_in_use_is_reported_even_without_a_server():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = Process("http://127.0.0.1:1")
        # Where it waits for the API server all the same, it is told to stop.
        process.on["connect"] = stop
        with pytest.raises(OSError, match="in use"):
            process.run(taken.getsockname())


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param({}, {"place": True, "ungate": False, "preempt": True}, id="by default"),
        pytest.param({"modes": frozenset({Mode.UNGATE})}, {"place": False, "ungate": True, "preempt": False}, id="ungate"),
        pytest.param({"modes": frozenset({Mode.VALIDATE})}, {"place": False, "ungate": False, "preempt": False}, id="validate"),
        pytest.param({"scheduler_name": "mine"}, {"scheduler_name": "mine"}, id="another scheduler"),
        pytest.param({"eviction_method": EvictionMethod.DELETE}, {"eviction_method": EvictionMethod.DELETE}, id="deleting"),
        pytest.param({}, {"deviations": Deviations.REPORT, "pinned_seconds": 300.0}, id="what is not bound is reported"),
        pytest.param(
            {"deviations": Deviations.UNDO, "deviation_seconds": 5.0}, {"deviations": Deviations.UNDO, "pinned_seconds": 5.0}, id="undoing"
        ),
        pytest.param({"strategy": "greedy"}, {"strategy": "greedy"}, id="another strategy"),
        pytest.param({"budget": 0}, {"budget": DEFAULT}, id="the usual budget"),
        pytest.param({"budget": 7}, {"budget": 7}, id="another budget"),
        pytest.param({"gates": Gates(frozenset({"CompositePodGroup"}))}, {"gates": Gates(frozenset({"CompositePodGroup"}))}, id="gates"),
    ],
)
def test_what_is_set_is_what_the_scheduler_does(given, want):
    found = options(Settings(**given))

    assert want == {name: getattr(found, name) for name in want}


def test_settings_that_place_pods_are_distinguished_from_those_that_do_not():
    assert [True, True, False] == [Settings(modes=frozenset({each})).places for each in (Mode.PLACE, Mode.UNGATE, Mode.PROTECT)]
    assert dataclasses.replace(Settings(), modes=frozenset()).places is False
