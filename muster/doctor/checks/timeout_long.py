"""The API server does not wait longer than five seconds for a review."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import by_configuration, entries, fields_of, set_command
from muster.doctor.finding import Check, Result, warning
from muster.doctor.world import World

LONGEST_SECONDS, ADVISED_SECONDS = 5, 3


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with a longer timeout."""
    for listed in by_configuration(each for each in entries(world) if each.timeout_seconds > LONGEST_SECONDS):
        values = sorted({each.timeout_seconds for each in listed})
        unset = "" if all("timeoutSeconds" in each.content for each in listed) else " (the default)"
        message = f"is {', '.join(map(str, values))} s{unset}: must be at most {LONGEST_SECONDS} s"
        command = set_command(listed, {"timeoutSeconds": ADVISED_SECONDS})
        yield warning(listed[0].item, fields_of(listed, "timeoutSeconds"), message, command)


CHECK = Check(
    id="timeout-long",
    why="While the server hangs, every matching request takes that long, once for each webhook: clients time out, and controllers stall.",
    examine=check,
)
