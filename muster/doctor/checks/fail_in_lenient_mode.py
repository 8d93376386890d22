"""Webhooks of the modes warn and audit, which refuse nothing, do not refuse requests while the server is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import by_configuration, entries, fields_of, set_command
from muster.doctor.finding import Check, Result, warning
from muster.doctor.world import World

_LENIENT = ("/warn", "/audit")


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with such webhooks."""
    for listed in by_configuration(each for each in entries(world) if each.fails and each.path.endswith(_LENIENT)):
        names = ", ".join(each.name for each in listed)
        message = f"must be Ignore for {names}, whose mode refuses nothing"
        yield warning(listed[0].item, fields_of(listed, "failurePolicy"), message, set_command(listed, {"failurePolicy": "Ignore"}))


CHECK = Check(
    id="fail-in-lenient-mode",
    why="Namespaces that were promised warnings only depend on the server: without it, their groups are refused.",
    examine=check,
)
