"""The CA that signed the certificate of the server is valid, and is not in the last third of its life."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.finding import Check, Result, error, warning
from muster.doctor.leaves import authorities, expires, rotate_command
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each CA that is due for renewal."""
    for entry, report in authorities(world):
        invalid, reason = expires(report, world.now)
        if reason:
            message = f"its CA {report.subject} is {reason}"
            yield (error if invalid else warning)(
                entry.item, entry.field("clientConfig", "caBundle"), message, rotate_command(world, entry, "--ca")
            )


CHECK = Check(
    id="ca-expiry",
    why="Once the CA has expired, every review fails, although the certificate of the server is valid.",
    examine=check,
)
