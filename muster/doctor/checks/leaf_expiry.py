"""The certificate of the server is valid, and is not in the last third of its life."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.leaves import expires, is_foreign, leaves, renew_command
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each leaf that is due for renewal."""
    for leaf in leaves(world):
        if is_foreign(world, leaf):
            yield Unseen(f"no CA of the installation has signed the certificate of {leaf.source}: something else may answer there")
            continue
        if (report := leaf.report(world.now)) is None:
            yield error(leaf.item, leaf.field, f"{leaf.source} does not hold a PEM certificate", renew_command(world, leaf))
            continue
        invalid, reason = expires(report, world.now)
        if reason:
            message = f"the certificate of {leaf.source} is {reason}"
            yield (error if invalid else warning)(leaf.item, leaf.field, message, renew_command(world, leaf))


CHECK = Check(
    id="leaf-expiry",
    why="From the expiry on, every review fails. Renewal is due in the last third, which leaves time for failed attempts.",
    examine=check,
)
