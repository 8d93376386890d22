"""``muster sidecar`` in front of a stand-in API server of 50,000 nodes and 500,000 pods: start, memory, events, decisions, failover.

The process is the real one, with TLS, informers and leases; only the API server is a stand-in, in a process of its own
(``benchmarks.stand_in_server``).  A warm standby is started as a second process.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from apiserver.api import Api
from apiserver.connection import Connection
from apiserver.election import DURATION_SECONDS
from apiserver.pages import pages
from benchmarks import clusters, load, measure
from benchmarks.cluster.schedulers import Running
from benchmarks.stand_in_objects import Store
from certs import store as pairs
from tests.cluster.process import begun
from tests.cluster.sidecars import Sidecar
from tests.cluster.waiting import until

NODES, PODS, EVENTS = 50_000, 500_000, 200_000
MEGABYTES_LIMIT, EVENTS_LIMIT, FAILOVER_LIMIT = 1200.0, 5000.0, 5.0
LEAST_NODES, MOST_ON_NODE = 100, 50
LONGEST_SECONDS, POLL_SECONDS = 900.0, 0.5
_ALGORITHM = "muster_podgroup_scheduling_algorithm_duration_seconds_sum"
_EVENTS = 'muster_watch_events_total{kind="Pod"}'
_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
_PODS = "/api/v1/namespaces/default/pods"


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a run: nodes, running pods, events; number of gangs of 4, members of the large gangs; how leaders are stopped."""

    nodes: int = NODES
    pods: int = PODS
    events: int = EVENTS
    rounds: int = 20
    large: int = 1000
    signals: tuple[signal.Signals, ...] = (signal.SIGKILL, signal.SIGTERM)


@dataclasses.dataclass
class Replica:
    """One process of the sidecar, with the seconds and the processor time that it took until it was ready."""

    name: str
    sidecar: Sidecar
    seconds: float = 0.0
    processor_seconds: float = 0.0

    @property
    def running(self) -> Running:
        """Return the process."""
        return Running(self.sidecar.process.pid, 0.0)

    def ready(self) -> bool:
        """Return whether the probe says so."""
        return self.sidecar.get("/readyz")[0] == 200


class StandIn:
    """Running stand-in: its API, and the kubeconfig for it."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        ca = (folder / pairs.CA).read_text()
        self.api = Api(Connection(f"https://{load.HOST}:{port}", ca=ca))
        self.kubeconfig = folder / "kubeconfig"
        cluster = {"server": self.api.host, "certificate-authority": str(folder / pairs.CA)}
        entries = {"clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": {"token": "none"}}]}
        context = {"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "current-context": "c"}
        self.kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **entries, **context}))

    def times(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the time of each binding by pod, and of the last renewal of the lease by holder; of ``time.monotonic``."""
        answer = json.loads(self.api.read("/stand-in/bindings"))
        return answer["bindings"], answer["renewed"]

    def create_gang(self, name: str, size: int) -> float:
        """Create a gang, and return the time at which its last pod was created."""
        group = clusters.group("PodGroup", name, {"gang": {"minCount": size}}, "")
        self.api.send("POST", _GROUPS, json.dumps({**group, "apiVersion": "scheduling.k8s.io/v1beta1"}).encode())
        for number in range(size):
            pod = clusters.pod(f"{name}-{number:04d}", name)
            pod["spec"]["schedulerName"] = "muster"
            self.api.send("POST", _PODS, json.dumps(pod).encode())
        return time.monotonic()

    def bound(self, name: str, size: int) -> list[float]:
        """Wait until *size* pods of a gang are bound, and return the times of the bindings."""

        def times() -> list[float]:
            return [at for pod, at in self.times()[0].items() if pod.startswith(f"{name}-")]

        until(lambda: len(times()) >= size, LONGEST_SECONDS, lambda: f"{len(times())} of {size} pods of {name} are bound")
        return sorted(times())

    @contextlib.contextmanager
    def replica(self, name: str) -> Iterator[Replica]:
        """Run a sidecar; it is ready when this yields."""
        log = self._folder / f"{name}.log"
        options = ("--kubeconfig", str(self.kubeconfig), "--probe-bind", "127.0.0.1:0", "--identity", name)
        started = time.monotonic()
        with log.open("wb") as out:
            process = begun([sys.executable, "-m", "muster", "sidecar", *options], out, measure.as_installed())
        replica = Replica(name, Sidecar(process, log, ""))
        try:
            until(lambda: _address(replica.sidecar) or process.poll() is not None)
            replica.sidecar.probes = _address(replica.sidecar)
            until(replica.ready, LONGEST_SECONDS, lambda: f"{replica.sidecar.get('/readyz')}")
            replica.seconds, replica.processor_seconds = time.monotonic() - started, replica.running.processor_seconds()
            yield replica
        except BaseException:
            print(log.read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _address(sidecar: Sidecar) -> str:
    return next((each["address"] for each in sidecar.lines if each.get("event") == "listening"), "")


@contextlib.contextmanager
def stand_in(nodes: int, pods: int) -> Iterator[StandIn]:
    """Run a stand-in with this number of nodes and running pods."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        load.certificate(folder)
        command = [sys.executable, "-m", "benchmarks.stand_in_server", name, str(nodes), str(pods)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                if process.stdout is None:
                    raise SystemExit("the stand-in has no pipe")
                yield StandIn(folder, int(process.stdout.readline()))
            finally:
                process.kill()


def rows(sizes: Sizes) -> Iterator[list[str]]:
    """Measure everything, and yield the rows of the table."""
    with stand_in(sizes.nodes, sizes.pods) as server, server.replica("one") as one:
        _expect_pods(one, sizes.pods)
        yield _row("from start until ready", one.seconds, "s")
        yield _row("… processor time", one.processor_seconds, "s")
        yield _row("… relative to reading the same pages and dropping them", one.processor_seconds / _reading_seconds(server), "times")
        yield _row("memory when ready", one.running.resident_bytes() / 1e6, "MB")
        yield from _event_rows(server, one, sizes.events)
        yield from _gang_rows(server, one, 4, sizes.rounds)
        yield from _gang_rows(server, one, sizes.large, 3)
        with contextlib.ExitStack() as stack:
            leader = one
            for number in sizes.signals:
                standby = stack.enter_context(server.replica(f"after-{number.name}"))
                yield from _failover_rows(server, leader, standby, number)
                leader = standby
            _expect_pods(leader, sizes.pods + 4 * sizes.rounds + 3 * sizes.large + 4 * len(sizes.signals))
            yield _row("maximum memory of the last standby, which has placed", _most_megabytes(leader), "MB", MEGABYTES_LIMIT)


def _reading_seconds(server: StandIn) -> float:
    """Return the processor time of a client that does nothing with the pods."""
    started = time.process_time()
    for _ in pages(server.api, "/api/v1/pods"):
        pass
    return time.process_time() - started


def _expect_pods(replica: Replica, count: int) -> None:
    known = replica.sidecar.metric('muster_cached_objects{kind="Pod"}')
    if known != count:
        raise SystemExit(f"the sidecar knows {known:,.0f} pods, not {count:,}, so the figures are not valid")


def _most_megabytes(replica: Replica) -> float:
    return replica.running.most_resident_bytes() / 1e6


def _event_rows(server: StandIn, replica: Replica, events: int) -> Iterator[list[str]]:
    before, used, started = replica.sidecar.metric(_EVENTS), replica.running.processor_seconds(), time.monotonic()
    server.api.send("POST", "/stand-in/changes", b"{}", query=(("count", str(events)),), seconds=LONGEST_SECONDS)
    while replica.sidecar.metric(_EVENTS) < before + events:
        if time.monotonic() > started + LONGEST_SECONDS:
            raise SystemExit(f"the events are not applied within {LONGEST_SECONDS:g} s")
        # More frequent requests would be a part of what is measured.
        time.sleep(POLL_SECONDS)
    seconds, used = time.monotonic() - started, replica.running.processor_seconds() - used
    yield _row("pod events applied a second", events / seconds, "")
    yield _row("… a second of processor time", events / used, "", EVENTS_LIMIT, at_least=True)
    yield _row("… relative to json.loads of the event", used / events / _parsing_seconds(), "times")
    yield _row("maximum memory of the leader until then", _most_megabytes(replica), "MB", MEGABYTES_LIMIT)


def _parsing_seconds() -> float:
    """Return the processor time of ``json.loads`` for one pod."""
    texts = [*Store(1, 2000).collections["/api/v1/pods"].texts(0, 2000, 2000)]
    started = time.process_time()
    for _ in range(5):
        for each in texts:
            json.loads(each)
    return (time.process_time() - started) / 5 / len(texts)


def _gang_rows(server: StandIn, replica: Replica, size: int, rounds: int) -> Iterator[list[str]]:
    """Measure gangs one after the other; the first one, for which further kinds are listed, apart."""
    decided: list[float] = []
    whole: list[float] = []
    for number in range(rounds):
        name, before = f"gang-{size}-{number}", replica.sidecar.metric(_ALGORITHM)
        created = server.create_gang(name, size)
        whole.append(server.bound(name, size)[-1] - created)
        decided.append(replica.sidecar.metric(_ALGORITHM) - before)
    what = f"a gang of {size:,}"
    yield _row(f"{what}, the first: the cycle", 1e3 * decided[0], "ms")
    yield _row("… from the creation of its last pod until all are bound", 1e3 * whole[0], "ms")
    yield _row(f"{what}, the others: the cycle", 1e3 * statistics.median(decided[1:]), "ms")
    yield _row("… from the creation of its last pod until all are bound", 1e3 * statistics.median(whole[1:]), "ms")


def _failover_rows(server: StandIn, leader: Replica, standby: Replica, number: signal.Signals) -> Iterator[list[str]]:
    """Stop *leader*, create a gang, and measure until *standby* binds its first pod."""
    stopped = time.monotonic()
    leader.sidecar.process.send_signal(number)
    leader.sidecar.process.wait(LONGEST_SECONDS)
    ended = time.monotonic() - stopped
    name = f"after-{number.name.lower()}"
    server.create_gang(name, 4)
    first = server.bound(name, 4)[0]
    killed = number is signal.SIGKILL
    expired = server.times()[1][leader.name] + DURATION_SECONDS if killed else stopped
    yield _row(f"leader stopped with {number.name}: its process has ended after", ended, "s")
    if killed:
        yield _row("… first bind of the standby, from the signal", first - stopped, "s", FAILOVER_LIMIT + DURATION_SECONDS)
    since = "the end of the lease" if killed else "the signal"
    yield _row(f"… first bind of the standby, from {since}", first - expired, "s", FAILOVER_LIMIT)
    (term,) = (each for each in standby.sidecar.lines if each.get("event") == "term")
    yield _row("… of this, the check that no write of the leader is unseen", term["waited_seconds"], "s")


def _row(what: str, figure: float, unit: str, limit: float = 0.0, *, at_least: bool = False) -> list[str]:
    shown = f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"
    verdict = f"{f'{limit:,g} {unit}'.strip()}: {measure.verdict(figure, limit, at_least=at_least)}" if limit else ""
    return [what, f"{shown} {unit}".strip(), verdict]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_informers", description=__doc__)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--pods", type=int, default=PODS)
    given = parser.parse_args()
    sizes = Sizes(given.nodes, given.pods, min(EVENTS, given.pods))
    if not 0 < given.pods <= MOST_ON_NODE * given.nodes or given.nodes < LEAST_NODES:
        parser.error(
            f"--nodes must be at least {LEAST_NODES}, so that the large gang has room, and --pods from 1 to {MOST_ON_NODE} for each node"
        )
    table = []
    for row in rows(sizes):
        print(" | ".join(row), file=sys.stderr, flush=True)
        table.append(row)
    measure.table(f"Sidecar with {sizes.nodes:,} nodes and {sizes.pods:,} pods", ("what", "figure", "limit"), table)


if __name__ == "__main__":
    main()
