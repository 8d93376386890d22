"""A server whose webhooks fail closed has at least two replicas, and one of them is ready."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.components import replicas_of
from muster.doctor.entries import by_configuration, by_server
from muster.doctor.finding import Check, Result, error
from muster.doctor.manifests import describe_pods, kubectl, labels_at, number_at
from muster.doctor.world import World

FEWEST, ADVISED = 2, 3


def check(world: World) -> Iterator[Result]:
    """Yield a result for each server with too few replicas."""
    for server, failing in by_server(world):
        if not failing:
            continue
        named = ", ".join(listed[0].item.label for listed in by_configuration(failing))
        wanted, ready = replicas_of(server), number_at(server.content, "status", "readyReplicas", default=0)
        if wanted < FEWEST:
            command = kubectl(server.namespace, "scale", server.kind.lower(), server.name, f"--replicas={ADVISED}")
            yield error(server, "spec.replicas", f"is {wanted}, and failurePolicy is Fail in {named}: must be at least {FEWEST}", command)
        elif world.live and not ready:
            command = describe_pods(server.namespace, labels_at(server.content, "spec", "selector", "matchLabels"))
            yield error(server, "status.readyReplicas", f"no replica is ready, and failurePolicy is Fail in {named}", command)


CHECK = Check(
    id="fail-without-replicas",
    why="While no replica answers, every request that the webhooks match is refused: also during each update and drain of one replica.",
    examine=check,
)
