"""Pod events per second that the sidecar processes, from the connection to its cache.

A real API server on the same processors sends fewer events per second, so a stub that only sends prepared events replaces it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import clusters, measure
from benchmarks.cluster import stream
from benchmarks.cluster.objects import NAMESPACE, Backlog
from benchmarks.cluster.rates import Testbed
from tests.cluster.sidecars import Sidecar, sidecar, until

EVENTS_LIMIT = 5000.0
NODES = 5000
LONGEST_SECONDS = 120.0
COUNTED = 'muster_watch_events_total{kind="Pod"}'
COLUMNS = ("pod events", "bytes per event", "sidecar, events/s", "json.loads alone, events/s", "share", "limit")


def table(testbed: Testbed, events: int) -> None:
    """Measure *events* pod events on 5,000 nodes, and print."""
    pod = _real_pod(testbed)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        certificate, key = testbed.plane.authority.serving()
        (folder / "server.crt").write_bytes(certificate)
        (folder / "server.key").write_bytes(key)
        (folder / "pod.json").write_text(json.dumps(pod), encoding="utf-8")
        rate = _events_per_second(testbed, folder, events)
    sample = list(stream.events(pod, 4000, NODES))
    alone = 1 / (measure.seconds(lambda: [json.loads(each) for each in sample], 3) / len(sample))
    size = sum(map(len, sample)) / len(sample)
    verdict = f"{EVENTS_LIMIT:,.0f}: {measure.verdict(rate, EVENTS_LIMIT, at_least=True)}"
    row = [f"{events:,}", f"{size:,.0f}", f"{rate:,.0f}", f"{alone:,.0f}", f"{rate / alone:.2f}", verdict]
    measure.table("Pod events processed", COLUMNS, [row])


def _real_pod(testbed: Testbed) -> clusters.Json:
    """Return a bound pod as the API server returns it."""
    backlog = Backlog((clusters.pod("sample", ""),))
    testbed.grow(1)
    backlog.create(testbed.wire, "nobody")
    try:
        backlog.bind(testbed.wire, 1, 1)
        return testbed.plane.api.get("Pod", "sample", NAMESPACE)
    finally:
        backlog.delete(testbed.wire)


def _events_per_second(testbed: Testbed, folder: Path, events: int) -> float:
    command = [sys.executable, "-m", "benchmarks.cluster.stream", str(folder), str(events), str(NODES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdin is None or server.stdout is None:
                raise SystemExit("the stream has no pipes")
            through = testbed.plane.write_kubeconfig("sidecar", url=f"https://127.0.0.1:{int(server.stdout.readline())}")
            with sidecar(testbed.plane, folder, "--mode", "place", "--lease", "none", through=through) as process:
                time.sleep(2)  # the work at the start is not measured
                before = process.metric(COUNTED)
                started = time.perf_counter()
                server.stdin.write("begin\n")
                server.stdin.flush()
                _await_events(process, before + events)
                return events / (time.perf_counter() - started)
        finally:
            server.kill()


def _await_events(process: Sidecar, count: float) -> None:
    until(lambda: process.metric(COUNTED) >= count, LONGEST_SECONDS, lambda: f"{process.metric(COUNTED):,.0f} of {count:,.0f} events")
