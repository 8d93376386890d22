"""kube-scheduler places trees: it is 1.37 or newer, and the feature gates are on."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import served_versions
from muster.doctor.components import SIDECAR, components
from muster.doctor.control_plane import flag_command, observed_api_server, programs, uses_custom
from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.world import World
from validators.gates import COMPOSITE, GENERIC_WORKLOAD, TOPOLOGY

_GATES = (GENERIC_WORKLOAD, TOPOLOGY, COMPOSITE)
_PLACING = {"place", "ungate"}


def check(world: World) -> Iterator[Result]:
    """Yield a result for each kube-scheduler that ignores trees."""
    server = observed_api_server(world)
    if server is not None and uses_custom(world, server):
        return  # kube-scheduler places no custom resources, whatever its version
    oldest = served_versions.served_since("CompositePodGroup")
    # With a sidecar that places, only pods that name kube-scheduler are concerned.
    severe = warning if any(each.modes & _PLACING for each in components(world, SIDECAR)) else error
    schedulers = [*programs(world, "kube-scheduler")]
    if not schedulers:
        yield Unseen("the version of kube-scheduler is not known: it has no pod that can be read")
    for each in schedulers:
        off = [name for name, on in each.gates().items() if name in _GATES and not on]
        if 0 < each.minor < oldest:
            message = f"is 1.{each.minor}, which ignores CompositePodGroups: it places the pods of a tree flat"
            yield severe(each.item, "spec.containers", message, f"sudo kubeadm upgrade apply v1.{oldest}.1")
        elif off:
            message = f"has the feature gates {', '.join(off)} off: it places the pods of a tree flat"
            flag = f"--feature-gates={','.join(f'{name}=true' for name in off)}"
            yield severe(each.item, "spec.containers", message, flag_command("kube-scheduler", flag))


CHECK = Check(
    id="scheduler-too-old",
    why="Pods of a tree are bound one by one, without gang, topology and order of groups; bound pods are not moved again.",
    examine=check,
)
