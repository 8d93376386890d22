"""The version of Kubernetes that ``--upgrade-to`` names would accept every stored object if it were created again."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import kubernetes_releases
from muster.doctor.finding import Check, Result, warning
from muster.doctor.upgrade import refused_creations
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each object that exists, and could not be created again."""
    if not world.upgrade_to:
        return
    version = kubernetes_releases.name(world.upgrade_to)
    for refusal in refused_creations(world):
        consequence = f"Kubernetes {version} keeps the object, and refuses to create it again"
        command = f"muster lint --fix --kubernetes {version} MANIFESTS"
        yield warning(refusal.item, refusal.field, refusal.message(consequence), command)


CHECK = Check(
    id="upgrade-blocks-creation",
    why="Its manifest, or the controller that makes such objects, fails after the upgrade, the next time that the object is created.",
    examine=check,
)
