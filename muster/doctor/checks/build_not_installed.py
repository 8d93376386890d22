"""A sidecar with the mode build creates the groups that a namespace asks for by its label, and pods join them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from muster.doctor.built_groups import BUILD, JOIN, builders, labelled_namespaces, pods_join
from muster.doctor.components import SERVE, SIDECAR, components
from muster.doctor.finding import Check, Result, error, warning
from muster.doctor.manifests import kubectl, text_at
from muster.doctor.world import World
from workloadbuilder.adapters.built_kinds import LABEL

FIRST_WITH_POLICIES = 36
"""Minor version of Kubernetes from which on MutatingAdmissionPolicies are served by default."""
_FIELD = f"metadata.labels[{LABEL}]"


def check(world: World) -> Iterator[Result]:
    """Yield a result for each labelled namespace for which one of them is missing, or whose label has another value."""
    sidecars = [*components(world, SIDECAR)]
    built = bool(builders(world)) or not (sidecars or world.live)
    joined = pods_join(world) or not world.live or "mutatingadmissionpolicies" in world.unread
    for item, value in labelled_namespaces(world):
        if value != BUILD:
            message = f"{value!r} has no effect: must be {BUILD!r}"
            yield warning(item, _FIELD, message, kubectl("", "label", "--overwrite", "namespace", item.name, f"{LABEL}={BUILD}"))
            continue
        if not built:
            command = kubectl("", "label", "namespace", item.name, f"{LABEL}-")
            if sidecars:
                command = sidecars[0].set_command("--mode", ",".join(sorted({*sidecars[0].modes, BUILD})))
            yield error(item, _FIELD, "asks for groups, and no sidecar runs the mode build", command)
        if not joined:
            message = f"asks for groups, and neither the webhook nor the MutatingAdmissionPolicy {JOIN} lets pods join them"
            yield error(item, _FIELD, message, _join_command(world))


def _join_command(world: World) -> str:
    """Return the command that installs what lets pods join: by the chart if that has installed the server, else the policy if it is served."""
    minor = world.api_server.minor if world.api_server else 0
    for component in components(world, SERVE):
        if release := text_at(component.item.content, "metadata", "annotations", "meta.helm.sh/release-name"):
            namespace = f"--namespace={component.item.namespace}"
            return shlex.join(
                ["helm", "upgrade", release, "deploy/chart", namespace, "--reset-then-reuse-values", "--set=build.enabled=true"]
            )
    file = "webhook" if 0 < minor < FIRST_WITH_POLICIES else "policy"
    return f"kubectl apply -f deploy/components/join/{file}.yaml"


CHECK = Check(
    id="build-not-installed",
    why="Objects in the namespace get no groups, or their pods join none: pods are placed one by one, or stay pending.",
    examine=check,
)
