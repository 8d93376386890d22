"""The webhook server mirrors the version of the API server."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import kubernetes_releases
from muster.doctor.components import SERVE, components
from muster.doctor.control_plane import observed_api_server
from muster.doctor.finding import Check, Result, warning
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each server whose option --kubernetes differs."""
    server = observed_api_server(world)
    if server is None or not server.minor:
        return
    # Before, there were no built-in kinds: custom resources have the rules of today's version.
    before = server.minor < kubernetes_releases.OLDEST
    mirrored = kubernetes_releases.TODAY if before else min(server.minor, kubernetes_releases.NEWEST)
    for component in components(world, SERVE):
        option = component.option("--kubernetes", kubernetes_releases.name(kubernetes_releases.TODAY))
        if option != kubernetes_releases.name(mirrored):
            message = f"its --kubernetes is {option}, and the API server is 1.{server.minor}"
            yield warning(component.item, "", message, component.set_command("--kubernetes", kubernetes_releases.name(mirrored)))


CHECK = Check(
    id="kubernetes-differs",
    why="The rules differ between versions: objects are refused that the API server accepts, or the other way round.",
    examine=check,
)
