"""The feature gates of groups, topologies and trees are on in the API server, or off in the settings of Muster."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.components import SERVE, SIDECAR, components
from muster.doctor.control_plane import flag_command, needing_item, observed_api_server, uses_custom
from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.world import World
from validators.gates import COMPOSITE, GENERIC_WORKLOAD, TOPOLOGY

_LOST = {
    GENERIC_WORKLOAD: "drops spec.schedulingGroup of pods",
    TOPOLOGY: "drops the topology constraints of groups",
    COMPOSITE: "drops the parents of PodGroups",
}


def check(world: World) -> Iterator[Result]:
    """Yield a result for each gate that is off."""
    server = observed_api_server(world)
    if server is None or server.gates is None:
        yield Unseen("the feature gates of the API server are not known")
        return
    if (item := needing_item(world)) is None or uses_custom(world, server):
        return
    known_off = [each.gates_off for each in (*components(world, SERVE), *components(world, SIDECAR))]
    for gate, lost in _LOST.items():
        if server.gates.get(gate, True) or (known_off and all(gate in off for off in known_off)):
            continue
        command = flag_command("kube-apiserver", f"--feature-gates={gate}=true")
        yield (error if gate == GENERIC_WORKLOAD else warning)(item, "", f"the feature gate {gate} is off: the API server {lost}", command)


CHECK = Check(
    id="gate-off",
    why="Pods, groups and trees are created without these fields, and are placed as if they had never had them.",
    examine=check,
)
