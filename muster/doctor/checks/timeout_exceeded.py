"""The API server waits at least twice as long as 99 % of the reviews take."""

from __future__ import annotations

import math
from collections.abc import Iterator

from muster.doctor.entries import by_configuration, entries, fields_of, set_command
from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.latencies import Latency
from muster.doctor.world import World

FEWEST = 100
"""Number of reviews from which their 99th percentile means something."""
FACTOR = 2
LONGEST_SECONDS = 30
"""Limit of the API for timeoutSeconds."""


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration and path with a timeout that is too short."""
    for each in world.unmeasured:
        yield Unseen(f"the durations of reviews cannot be read of {each}; give --metrics")
    if not world.latencies:
        if not world.unmeasured and any(True for _ in entries(world)):
            yield Unseen("the durations of reviews are not known: give --metrics")
        return
    worst = _worst(world.latencies)
    if not worst:
        yield Unseen(f"fewer than {FEWEST} reviews of each path were measured")
    for path, latency in worst.items():
        concerned = [each for each in entries(world) if each.path == path and latency.p99_seconds * FACTOR > each.timeout_seconds]
        for listed in by_configuration(concerned):
            timeout = min(each.timeout_seconds for each in listed)
            exceeded = latency.p99_seconds >= timeout
            measured = "more than 10 s" if math.isinf(latency.p99_seconds) else f"{latency.p99_seconds:.3g} s"
            message = f"is {timeout} s, and the 99th percentile of {latency.count:,} reviews of {path} is {measured} ({latency.source})"
            wanted = min(LONGEST_SECONDS, math.ceil(min(latency.p99_seconds, LONGEST_SECONDS) * FACTOR))
            command = set_command(listed, {"timeoutSeconds": wanted})
            yield (error if exceeded else warning)(listed[0].item, fields_of(listed, "timeoutSeconds"), message, command)


def _worst(latencies: tuple[Latency, ...]) -> dict[str, Latency]:
    """Return the slowest server of each path."""
    worst: dict[str, Latency] = {}
    for each in latencies:
        if each.count >= FEWEST and (each.path not in worst or each.p99_seconds > worst[each.path].p99_seconds):
            worst[each.path] = each
    return worst


CHECK = Check(
    id="timeout-exceeded",
    why="A review that takes longer counts as failed: the request is refused (Fail) or not checked (Ignore). The server's time does not"
    " include the network.",
    examine=check,
)
