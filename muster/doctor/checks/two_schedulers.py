"""No two schedulers place the same pods, or pods on the same nodes."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.components import SIDECAR, Component, components
from muster.doctor.finding import Check, Result, error, warning
from muster.doctor.manifests import kubectl
from muster.doctor.world import World

DEFAULT = "default-scheduler"
PLACE, NO_LEASE = "place", "none"
_NAMED = 3


def check(world: World) -> Iterator[Result]:
    """Yield a result for each sidecar that competes with another scheduler."""
    placing = [each for each in components(world, SIDECAR) if PLACE in each.modes and each.replicas]
    owners: dict[str, Component] = {}
    for component in placing:
        name = _name(component)
        if name == DEFAULT:
            message = f"its --scheduler-name is {name}, the pods of which kube-scheduler places too"
            yield error(component.item, "", message, component.set_command("--scheduler-name", "muster"))
        if component.lease == NO_LEASE and component.replicas > 1:
            message = f"has {component.replicas} replicas and --lease none: each of them places the same pods"
            command = component.set_command("--lease", f"{component.item.namespace}/muster-sidecar")
            yield error(component.item, "spec.replicas", message, command)
        first = owners.setdefault(name, component)
        if first is not component and not (first.lease == component.lease != NO_LEASE):
            message = f"places the pods with schedulerName {name}, as {first.item.label} does, and they do not share a Lease"
            command = kubectl(component.item.namespace, "scale", component.item.kind.lower(), component.item.name, "--replicas=0")
            yield error(component.item, "", message, command)
        yield from _shared_nodes(world, component)


def _shared_nodes(world: World, component: Component) -> Iterator[Result]:
    name = _name(component)
    ours = {node for scheduler, node in world.bindings if scheduler == name}
    shared = sorted({node for scheduler, node in world.bindings if scheduler != name and node in ours})
    if shared:
        others = sorted({scheduler for scheduler, node in world.bindings if scheduler != name and node in ours})
        more = f" and {len(shared) - _NAMED} more" if len(shared) > _NAMED else ""
        message = f"{name} and {', '.join(others)} both place pods on {', '.join(shared[:_NAMED])}{more}"
        modes = ["ungate" if each == PLACE else each for each in ("validate", PLACE, "protect") if each in component.modes]
        yield warning(component.item, "", message, component.set_command("--mode", ",".join(modes)))


def _name(component: Component) -> str:
    return component.option("--scheduler-name", "muster")


CHECK = Check(
    id="two-schedulers",
    why="Two decisions at the same moment can use the same capacity: the kubelet then rejects a pod, and a gang is placed anew. Let"
    " kube-scheduler bind all pods (mode ungate), or give each scheduler its own nodes by taints.",
    examine=check,
)
