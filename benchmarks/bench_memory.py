"""Memory over many reviews: 100,000 validated and mutated in one process, then many in a worker of the server."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks import load, measure, workloads
from validators.object_lookup import NOTHING
from validators.rules.base import Settings
from webhooks.admission import review
from webhooks.admission import verdict as admit
from webhooks.admission_options import Finalizers

IN_PROCESS = (10_000, 50_000, 100_000)
THROUGH_SERVER = (5_000, 10_000, 20_000)
LARGE_EVERY = 500
SAMPLE_EVERY = 250
SLACK = 1.05
"""Allowed ratio of the memory after the last count to that after the first."""


def main() -> None:
    """Measure and print."""
    _table("Memory of one process: each review validated and mutated", IN_PROCESS, in_process())
    _table("Memory of a worker of the server, over TLS", THROUGH_SERVER, through_server())


def in_process() -> list[int]:
    """Return the maximum resident bytes up to each count of reviews; each has another name, some are the largest.

    A large review leaves holes in the heap that the next one fills, so resident memory varies; its maximum shows growth.
    """
    settings, maxima, most = Settings(), [], 0
    usual, large = workloads.usual(), workloads.review(workloads.full(workloads.DEEPEST))
    for number in range(1, IN_PROCESS[-1] + 1):
        usual["metadata"]["name"] = f"training-{number}"
        usual["spec"]["compositePodGroupTemplates"][0]["name"] = f"run-{number}"
        body = large if number % LARGE_EVERY == 0 else workloads.review(usual, uid=f"uid-{number}")
        request = review.decode(body)
        for verdict in (admit.validate(request, NOTHING, settings), admit.mutate(request, NOTHING, settings, Finalizers.PODGROUP)):
            review.encode(request, verdict)
        if number % SAMPLE_EVERY == 0:
            most = max(most, load.resident_bytes(os.getpid()))
        if number in IN_PROCESS:
            maxima.append(most)
    return maxima


def through_server() -> list[int]:
    """Return the resident bytes of the worker after each count of reviews; large reviews precede them."""
    resident, sent = [], 0
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        directory = Path(name)
        load.certificate(directory)
        with load.serving("judging", directory) as server:
            load.press(server, workloads.review(workloads.full(workloads.DEEPEST)), connections=4, requests=40)
            for count in THROUGH_SERVER:
                load.press(server, workloads.review(workloads.usual()), connections=4, requests=count - sent)
                sent = count
                resident.append(load.resident_bytes(server.worker))
    return resident


def _table(title: str, counts: tuple[int, ...], figures: list[int]) -> None:
    growth = figures[-1] / figures[0]
    columns = [*(f"{count:,} reviews" for count in counts), "last / first", f"at most {SLACK}"]
    row = [*(f"{each / 2**20:.1f} MiB" for each in figures), f"{growth:.3f}", measure.verdict(growth, SLACK, at_least=False)]
    measure.table(title, columns, [row])


if __name__ == "__main__":
    main()
