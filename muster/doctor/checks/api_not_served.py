"""The API server serves Workloads, PodGroups and CompositePodGroups in a version that Muster reads."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import kubernetes_releases, served_versions
from muster.doctor.control_plane import APPLY_DEFINITIONS, flag_command, needing_item, observed_api_server, uses_custom
from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.world import World

_KINDS = ("Workload", "PodGroup", "CompositePodGroup")


def check(world: World) -> Iterator[Result]:
    """Yield a result for each resource that is not served."""
    server = observed_api_server(world)
    if server is None or server.resources is None:
        yield Unseen("the APIs of the API server are not known: it was not asked, and its pod is not in PATH")
        return
    item = needing_item(world)
    if item is None:
        return
    minor = min(max(server.minor, kubernetes_releases.TODAY), kubernetes_releases.NEWEST)
    for kind in _KINDS:
        versions = served_versions.current(kind, minor=minor)
        resource = served_versions.resource(kind).resource
        if not any(f"{row.name}/{resource}" in server.resources for row in versions):
            groups = {group: [row.version for row in versions if row.group == group] for group in served_versions.groups_of(kind)}
            places = ", or of ".join(f"{group} in {' or '.join(names)}" for group, names in groups.items())
            message = f"the API server does not serve {resource} of {places}"
            flag = flag_command("kube-apiserver", f"--runtime-config={versions[0].name}=true")
            command = APPLY_DEFINITIONS if uses_custom(world, server) else flag
            # Without CompositePodGroups there are no trees, but all else works.
            yield (warning if kind == "CompositePodGroup" else error)(item, "", message, command)


CHECK = Check(
    id="api-not-served",
    why="Groups cannot be created, the webhooks are never called, and the sidecar does not become ready.",
    examine=check,
)
