"""The version of Kubernetes that ``--upgrade-to`` names accepts updates of every stored object."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import kubernetes_releases
from muster.doctor.finding import Check, Result, error
from muster.doctor.manifests import texts_at
from muster.doctor.upgrade import refused_updates
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each object of which every update would be refused."""
    if not world.upgrade_to:
        return
    version = kubernetes_releases.name(world.upgrade_to)
    for refusal in refused_updates(world):
        consequence = f"Kubernetes {version} refuses every update of the object"
        if finalizers := texts_at(refusal.item.content, "metadata", "finalizers"):
            consequence += f", and it cannot be deleted either, since {', '.join(finalizers)} cannot be removed"
        command = f"muster migrate --cluster --to-kubernetes {version}"
        yield error(refusal.item, refusal.field, refusal.message(consequence), command)


CHECK = Check(
    id="upgrade-blocks-updates",
    why="After the upgrade, not even its labels can be changed. The fields are immutable, so it must be created anew before the upgrade.",
    examine=check,
)
