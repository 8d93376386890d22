"""Webhooks of the modes warn and audit, which refuse nothing, do not refuse requests while the server is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.components import SERVE, components
from muster.doctor.entries import Entry, by_configuration, entries, fields_of, servers_of, set_command
from muster.doctor.finding import Check, Result, warning
from muster.doctor.world import World

_LENIENT = ("/warn", "/audit")
_USUAL_PATHS = ("/validate", "/mutate")


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with such webhooks."""
    for listed in by_configuration(each for each in entries(world) if each.fails and _is_lenient(world, each)):
        names = ", ".join(each.name for each in listed)
        message = f"must be Ignore for {names}, whose mode refuses nothing"
        yield warning(listed[0].item, fields_of(listed, "failurePolicy"), message, set_command(listed, {"failurePolicy": "Ignore"}))


def _is_lenient(world: World, entry: Entry) -> bool:
    """Return whether the mode of the path, or of the server if the path has none, refuses nothing, whatever the rule."""
    if entry.path.endswith(_LENIENT):
        return True
    servers = {each.label for each in servers_of(world, entry)}
    modes = [each.option_list("--enforcement", "deny") for each in components(world, SERVE) if each.item.label in servers]
    # A mode without a rule is that of all rules; the last one holds.
    usual = [[mode for mode in listed if "=" not in mode][-1:] or ["deny"] for listed in modes]
    denies = any(
        "deny" in (*(each.partition("=")[2] for each in listed if "=" in each), *main) for listed, main in zip(modes, usual, strict=True)
    )
    return entry.path in _USUAL_PATHS and bool(modes) and not denies


CHECK = Check(
    id="fail-in-lenient-mode",
    why="Namespaces that were promised warnings only depend on the server: without it, their groups are refused.",
    examine=check,
)
