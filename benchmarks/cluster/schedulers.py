"""The two that are compared, each as a process on the control plane."""

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
ASK_EVERY = 0.02
UNTHROTTLED = {"clientConnection": {"qps": 5000, "burst": 5000}}
"""kube-scheduler holds itself back to 50 requests a second where it is not told otherwise."""


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """A scheduler that has heard of all there is, since the moment *ready* of ``time.perf_counter``."""

    process: int
    ready: float

    def resident_bytes(self) -> int:
        """What it holds of the machine's memory."""
        return load.resident_bytes(self.process)

    def most_resident_bytes(self) -> int:
        """The most that it has held."""
        (line,) = (each for each in Path(f"/proc/{self.process}/status").read_text().splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def processor_seconds(self) -> float:
        """Processor time that it has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True, slots=True)
class Scheduler:
    """One of the two; *name* is what its pods ask for."""

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
        sidecar(plane, Path(folder), "--mode", "place", "--lease", "none", wait=False) as found,
    ):
        _await(lambda: found.get("/readyz")[0] == 200)
        yield Running(found.process.pid, time.perf_counter())


KUBE_SCHEDULER = Scheduler("default-scheduler", _kube_scheduler)
SIDECAR = Scheduler("muster", _sidecar)


def _await(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit("a scheduler does not become ready")
        time.sleep(ASK_EVERY)
