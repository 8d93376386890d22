"""How many events of pods a second the sidecar takes in: from the connection to what it decides on.

A real API server on the same processors has fewer to tell; one that only sends what was made before plays it.
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
from benchmarks.cluster.rates import Field
from tests.cluster.sidecars import Sidecar, sidecar, until

EVENTS_LIMIT = 5000.0
NODES = 5000
LONGEST_SECONDS = 120.0
COUNTED = 'muster_watch_events_total{kind="Pod"}'
COLUMNS = ("events of pods", "bytes of one", "sidecar, events/s", "json.loads of each alone", "share", "limit")


def table(field: Field, events: int) -> None:
    """Measure and print: *events* on 5,000 nodes."""
    pod = _real_pod(field)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        certificate, key = field.plane.authority.serving()
        (folder / "server.crt").write_bytes(certificate)
        (folder / "server.key").write_bytes(key)
        (folder / "pod.json").write_text(json.dumps(pod), encoding="utf-8")
        rate = _taken(field, folder, events)
    sample = list(stream.events(pod, 4000, NODES))
    alone = 1 / (measure.seconds(lambda: [json.loads(each) for each in sample], 3) / len(sample))
    size = sum(map(len, sample)) / len(sample)
    kept = f"{EVENTS_LIMIT:,.0f}: {measure.verdict(rate, EVENTS_LIMIT, at_least=True)}"
    row = [f"{events:,}", f"{size:,.0f}", f"{rate:,.0f}", f"{alone:,.0f}", f"{rate / alone:.2f}", kept]
    measure.table("Events of pods taken in", COLUMNS, [row])


def _real_pod(field: Field) -> clusters.Json:
    """A bound pod as the API server tells it."""
    backlog = Backlog((clusters.pod("sample", ""),))
    field.grow(1)
    backlog.create(field.wire, "nobody")
    try:
        backlog.bind(field.wire, 1, 1)
        return field.plane.api.get("Pod", "sample", NAMESPACE)
    finally:
        backlog.delete(field.wire)


def _taken(field: Field, folder: Path, events: int) -> float:
    command = [sys.executable, "-m", "benchmarks.cluster.stream", str(folder), str(events), str(NODES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as playing:
        try:
            if playing.stdin is None or playing.stdout is None:
                raise SystemExit("the stream has no pipes")
            through = field.plane.write_kubeconfig("sidecar", url=f"https://127.0.0.1:{int(playing.stdout.readline())}")
            with sidecar(field.plane, folder, "--mode", "place", "--lease", "none", through=through) as found:
                time.sleep(2)  # what it does once at the start is not measured
                before = found.metric(COUNTED)
                started = time.perf_counter()
                playing.stdin.write("begin\n")
                playing.stdin.flush()
                return events / (_heard(found, before + events) - started)
        finally:
            playing.kill()


def _heard(found: Sidecar, count: float) -> float:
    """When it has taken in so many."""
    until(lambda: found.metric(COUNTED) >= count, LONGEST_SECONDS, lambda: f"{found.metric(COUNTED):,.0f} of {count:,.0f} events")
    return time.perf_counter()
