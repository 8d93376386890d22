"""The ServiceAccounts of webhook server and sidecar have the permissions that their options need."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from muster.doctor.components import SERVE, Component
from muster.doctor.finding import Check, Result, Unseen, error
from muster.doctor.leaves import USUAL, USUAL_SECRET
from muster.doctor.manifests import text_at
from muster.doctor.rights import granted_in_files, needed
from muster.doctor.world import World

if TYPE_CHECKING:
    from scheduler_core.sidecar.client.access_review import Permission

_CHART = "deploy/chart"
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
            message = f"its ServiceAccount {namespace}/{name} lacks permissions: {', '.join(missing[:_NAMED])}{more}"
            yield error(component.item, "spec.template.spec.serviceAccountName", message, _command(component))
        elif None in results.values():
            yield Unseen(f"the permissions of ServiceAccount {namespace}/{name} are not known")


def _is_granted(world: World, component: Component, permission: Permission) -> bool | None:
    if not world.live:
        return granted_in_files(world, component.account, permission)
    reviewed = world.granted.get(component.account)
    return None if reviewed is None else reviewed.get(permission)


def _command(component: Component) -> str:
    """Return the command that grants what the manifests of Muster grant; by the chart if no file has exactly that."""
    namespace = component.item.namespace
    if release := text_at(component.item.content, "metadata", "annotations", "meta.helm.sh/release-name"):
        return shlex.join(
            ["helm", "upgrade", release, _CHART, f"--namespace={namespace}", "--reset-then-reuse-values", "--force-conflicts"]
        )
    other_secret = component.manages_certificate and component.certificate_secret[1] != USUAL_SECRET
    if namespace != USUAL[0] or other_secret or component.option("--watch-pods") == "true":
        words = ["helm", "template", "muster", _CHART, f"--namespace={namespace}", *_chart_options(component)]
        return f"{shlex.join(words)} | kubectl apply -f -"
    files = ["deploy/base/rbac.yaml"] if component.subcommand == SERVE else ["deploy/sidecar/rbac.yaml"]
    if component.manages_certificate:
        files.append("deploy/components/managed-certificate/rbac.yaml")
    if component.subcommand != SERVE and "ungate" in component.modes:
        files.append("deploy/sidecar/ungate.yaml")
    if component.subcommand != SERVE and component.undoes:
        files.append("deploy/sidecar/undo.yaml")
    return " ".join(["kubectl apply", *(f"-f {each}" for each in files)])


def _chart_options(component: Component) -> list[str]:
    """Return the options of helm by which the chart has the roles of a component."""
    if component.subcommand == SERVE:
        shown = ["webhooks/rbac", *(["webhooks/certificate-rbac"] if component.manages_certificate else [])]
        secret = component.certificate_secret[1]
        pods = str(component.option("--watch-pods") == "true").lower()
        values = [f"webhooks.pods={pods}", f"certificate.secretName={secret}"]
    else:
        ungate = "ungate" in component.modes
        undo = component.undoes
        shown = ["sidecar/rbac", *(["sidecar/ungate"] if ungate else []), *(["sidecar/undo"] if undo else [])]
        values = ["sidecar.enabled=true", f"sidecar.modes={{{','.join(sorted(component.modes))}}}"]
        values += ["sidecar.deviations=undo"] if undo else []
    return [*(f"--show-only=templates/{each}.yaml" for each in shown), *(f"--set={each}" for each in values)]


CHECK = Check(
    id="rights-missing",
    why="The server answers without the objects that it cannot read; the sidecar is not ready, or its writes are refused.",
    examine=check,
)
