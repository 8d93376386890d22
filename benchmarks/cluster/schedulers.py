"""The two schedulers that are compared, each as a process on the control plane."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks import load
from tests.cluster.control_plane import ControlPlane
from tests.cluster.sidecars import sidecar

READY_SECONDS = 120.0
POLL_SECONDS = 0.02
UNTHROTTLED = {"clientConnection": {"qps": 5000, "burst": 5000}}
"""Client limits for kube-scheduler, whose default is 50 requests per second."""


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """Scheduler process that is ready since *ready*, a time of ``time.perf_counter``."""

    process: int
    ready: float

    def resident_bytes(self) -> int:
        """Return the resident memory."""
        return load.resident_bytes(self.process)

    def most_resident_bytes(self) -> int:
        """Return the maximum resident memory since the start."""
        (line,) = (each for each in Path(f"/proc/{self.process}/status").read_text().splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def processor_seconds(self) -> float:
        """Return the processor time that it has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True, slots=True)
class Scheduler:
    """Scheduler under comparison; *name* is the schedulerName of its pods."""

    name: str
    run: Callable[[ControlPlane], AbstractContextManager[Running]]


@contextlib.contextmanager
def _kube_scheduler(plane: ControlPlane) -> Iterator[Running]:
    try:
        plane.start_scheduler(UNTHROTTLED)
        _await(plane.scheduler_ready)
        yield Running(plane.scheduler.pid, time.perf_counter())
    finally:
        plane.scheduler.stop()


@contextlib.contextmanager
def _sidecar(plane: ControlPlane) -> Iterator[Running]:
    with (
        tempfile.TemporaryDirectory(prefix="muster-bench-") as folder,
        sidecar(plane, Path(folder), "--mode", "place", "--lease", "none", wait=False) as started,
    ):
        _await(lambda: started.get("/readyz")[0] == 200)
        yield Running(started.process.pid, time.perf_counter())


KUBE_SCHEDULER = Scheduler("default-scheduler", _kube_scheduler)
SIDECAR = Scheduler("muster", _sidecar)


def _await(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit("a scheduler does not become ready")
        time.sleep(POLL_SECONDS)
