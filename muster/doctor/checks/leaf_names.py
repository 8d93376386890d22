"""The certificate of the server has the names by which the API server calls it."""

from __future__ import annotations

from collections.abc import Iterator

from certs.inspection import DueBy
from muster.doctor.finding import Check, Result, Unseen, error
from muster.doctor.leaves import is_foreign, leaves, renew_command
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each leaf that lacks a name."""
    for leaf in leaves(world):
        if is_foreign(world, leaf):
            yield Unseen(f"no CA of the installation has signed the certificate of {leaf.source}: something else may answer there")
            continue
        report = leaf.report(world.now)
        missing = [each.text for each in (report.due if report else ()) if each.by is DueBy.NAMES]
        if report and missing:
            names = ", ".join(report.names) or "nothing"
            message = f"the certificate of {leaf.source} {', '.join(missing)}; it names {names}"
            hosts = sorted({*report.names, *(each.host for each in leaf.entries)})
            yield error(leaf.item, leaf.field, message, renew_command(world, leaf, *(f"--name={each}" for each in hosts)))


CHECK = Check(
    id="leaf-names",
    why="The API server compares the name that it calls with the subject alternative names, and ends the handshake: every review fails.",
    examine=check,
)
