"""The server gives up a review before the API server does."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.components import SERVE, components
from muster.doctor.entries import entries, servers_of
from muster.doctor.finding import Check, Result, warning
from muster.doctor.manifests import kubectl
from muster.doctor.world import World

VARIABLE = "MUSTER_REQUEST_SECONDS"


def check(world: World) -> Iterator[Result]:
    """Yield a result for each server with a longer limit."""
    called = [*entries(world)]
    for server in components(world, SERVE):
        value = server.variable(VARIABLE)
        timeouts = [each.timeout_seconds for each in called if server.item.label in {found.label for found in servers_of(world, each)}]
        try:
            seconds = float(value or 0)
        except ValueError:
            continue  # the server refuses it when it starts
        if timeouts and seconds >= min(timeouts):
            message = f"{VARIABLE} is {value}, and timeoutSeconds of its webhooks {min(timeouts)}: it must be less"
            resource = f"{server.item.kind.lower()}/{server.item.name}"
            command = kubectl(server.item.namespace, "set", "env", resource, f"{VARIABLE}-")
            yield warning(server.item, "spec.template.spec.containers", message, command)


CHECK = Check(
    id="review-seconds-long",
    why="The server works on reviews that the API server no longer waits for, and has less time for the others.",
    examine=check,
)
