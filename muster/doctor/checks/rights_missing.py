"""The ServiceAccounts of webhook server and sidecar have the permissions that their options need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muster.doctor.components import SERVE, Component
from muster.doctor.finding import Check, Result, Unseen, error
from muster.doctor.rights import granted_in_files, needed
from muster.doctor.world import World

if TYPE_CHECKING:
    from scheduler_core.sidecar.client.access_review import Permission

_NAMED = 5
"""Maximum number of permissions in a message."""


def check(world: World) -> Iterator[Result]:
    """Yield a result for each component that lacks a permission."""
    for component, permissions in needed(world):
        results = {each: _is_granted(world, component, each) for each in permissions}
        missing = [str(each) for each, granted in results.items() if granted is False]
        namespace, name = component.account
        if missing:
            more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
            message = f"its ServiceAccount {namespace}/{name} must not {', '.join(missing[:_NAMED])}{more}"
            yield error(component.item, "spec.template.spec.serviceAccountName", message, _command(component))
        elif None in results.values():
            yield Unseen(f"the permissions of ServiceAccount {namespace}/{name} are not known")


def _is_granted(world: World, component: Component, permission: Permission) -> bool | None:
    if not world.live:
        return granted_in_files(world, component.account, permission)
    reviewed = world.granted.get(component.account)
    return None if reviewed is None else reviewed.get(permission)


def _command(component: Component) -> str:
    files = ["deploy/base/rbac.yaml"] if component.subcommand == SERVE else ["deploy/sidecar/rbac.yaml"]
    if component.manages_certificate:
        files.append("deploy/components/managed-certificate/rbac.yaml")
    if component.subcommand != SERVE and "ungate" in component.modes:
        files.append("deploy/sidecar/ungate.yaml")
    return " ".join(["kubectl apply", *(f"-f {each}" for each in files)])


CHECK = Check(
    id="rights-missing",
    why="The server answers without the objects that it cannot read; the sidecar is not ready, or its writes are refused.",
    examine=check,
)
