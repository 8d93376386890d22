"""The kube-scheduler of the version of Kubernetes that ``--upgrade-to`` names places every stored group."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import kubernetes_releases
from muster.doctor.finding import Check, Result, error
from muster.doctor.upgrade import unplaced_groups
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each group for which its tree would not be placed."""
    if not world.upgrade_to:
        return
    version = kubernetes_releases.name(world.upgrade_to)
    for refusal in unplaced_groups(world):
        message = refusal.message(f"kube-scheduler {version} places no group of its tree")
        yield error(refusal.item, refusal.field, message, f"muster migrate --cluster --to-kubernetes {version}")


CHECK = Check(
    id="upgrade-blocks-placement",
    why="After the upgrade, pods of the whole tree stay pending, also those of groups without an error, and running pods are not replaced.",
    examine=check,
)
