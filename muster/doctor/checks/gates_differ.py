"""Webhook server and sidecar mirror the feature gates of the API server."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.components import SERVE, SIDECAR, components
from muster.doctor.control_plane import observed_api_server, uses_custom
from muster.doctor.finding import Check, Result, warning
from muster.doctor.world import World
from validators.gates import NEEDS


def check(world: World) -> Iterator[Result]:
    """Yield a result for each component whose option --gates differs."""
    server = observed_api_server(world)
    if server is None or server.gates is None or uses_custom(world, server):
        return
    known = {name: server.gates[name] for name in NEEDS if name in server.gates}
    for component in (*components(world, SERVE), *components(world, SIDECAR)):
        wrong = [name for name, on in known.items() if on == (name in component.gates_off)]
        if wrong:
            states = ", ".join(f"{name}={str(known[name]).lower()}" for name in wrong)
            value = ",".join(f"{name}=false" for name, on in known.items() if not on)
            yield warning(
                component.item, "", f"its --gates differs from the API server, which has {states}", component.set_command("--gates", value)
            )


CHECK = Check(
    id="gates-differ",
    why="Muster judges and fills in fields that the API server drops, or ignores fields that it keeps.",
    examine=check,
)
