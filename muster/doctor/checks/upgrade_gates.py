"""The programs of the control plane start in the version of Kubernetes that ``--upgrade-to`` names, with their feature gates."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import kubernetes_releases
from kubeapi.versions.removed_gates import REMOVED, refused_gates
from muster.doctor.control_plane import PROGRAMS, programs, without_gate_command
from muster.doctor.finding import Check, Result, Unseen, error
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each gate that a flag names, and with which the newer version does not start."""
    if not world.upgrade_to:
        return
    seen = False
    for name in PROGRAMS:
        for program in programs(world, name):
            seen = True
            for gate, since in refused_gates(program.switches(), world.upgrade_to):
                version = kubernetes_releases.name(since)
                gone = gate in REMOVED.get(since, ())
                message = f"--feature-gates names {gate}, which " + (
                    f"Kubernetes {version} no longer has" if gone else f"cannot be off from {version} on"
                )
                yield error(program.item, "spec.containers", message, without_gate_command(name, gate))
    if not seen:
        yield Unseen("the flags of the control plane are not known: it has no pod that can be read; look at its --feature-gates")


CHECK = Check(
    id="upgrade-gates",
    why="The program does not start, so the upgrade stops with a control plane that is down.",
    examine=check,
)
