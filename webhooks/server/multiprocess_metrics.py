"""Metrics of all worker processes, each of which can report them.

Edge: prometheus_client.  If PROMETHEUS_MULTIPROC_DIR names a directory (``muster serve`` creates one at each start), each
worker reports the sum of all workers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import prometheus_client
from prometheus_client import multiprocess


def render(own: prometheus_client.CollectorRegistry) -> bytes:
    """Return the metrics of all processes in Prometheus' text format; without a directory those of *own*."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return prometheus_client.generate_latest(own)
    registry = prometheus_client.CollectorRegistry()
    _AllProcesses(registry)
    return prometheus_client.generate_latest(registry)


class _AllProcesses(multiprocess.MultiProcessCollector):
    """Collector over all processes that skips empty files: the library cannot read the new file of a starting process."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        super().__init__(registry)  # type: ignore[no-untyped-call]

    def collect(self) -> Any:
        """See MultiProcessCollector."""
        files = [str(file) for file in sorted(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob("*.db")) if _has_content(file)]
        return self.merge(files, accumulate=True)  # type: ignore[no-untyped-call]


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        # Its process has just ended.
        return False


def process_ended(pid: int) -> None:
    """Remove the gauges of a process that has ended; its counters stay."""
    multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
