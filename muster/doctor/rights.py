"""Permissions that the components need, and those that the roles in files grant to their ServiceAccounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from muster.doctor.components import SERVE, SIDECAR, Component, components
from muster.doctor.manifests import Manifest, mappings_at, text_at, texts_at
from muster.doctor.world import Account, ApiServer, Item, World

if TYPE_CHECKING:
    from scheduler_core.sidecar.client.access_review import Permission

_SERVED_KINDS = ("Workload", "PodGroup", "CompositePodGroup", "PriorityClass", "Node")
"""Kinds that ``muster serve --cluster`` watches."""
_STARTING_KINDS = ("Node", "Pod", "PodGroup", "CompositePodGroup")
"""Kinds that the sidecar watches from the start."""
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


def needed(world: World) -> list[tuple[Component, tuple[Permission, ...]]]:
    """Return the components that read or write a cluster, each with the permissions that it needs."""
    server = world.api_server or ApiServer()
    webhooks = ((each, (*_of_webhooks(each, server), *_of_certificate(each))) for each in components(world, SERVE))
    return [
        *((each, permissions) for each, permissions in webhooks if permissions),
        *((each, _of_sidecar(each, server)) for each in components(world, SIDECAR)),
    ]


def granted_in_files(world: World, account: Account, permission: Permission) -> bool | None:
    """Return whether the roles in files grant a permission; None if a role that is bound to the account is not in them."""
    unknown = not any(world.of_kind(*_BINDINGS))
    for binding in world.of_kind(*_BINDINGS):
        if not _is_bound(binding, account) or binding.namespace not in ("", permission.namespace):
            continue
        reference = text_at(binding.content, "roleRef", "kind"), text_at(binding.content, "roleRef", "name")
        role = world.named(reference[0], binding.namespace if reference[0] == "Role" else "", reference[1])
        if role is None or role.kind not in _ROLES:
            unknown = True
        elif any(_allows(rule, permission) for rule in mappings_at(role.content, "rules")):
            return True
    return None if unknown else False


def _of_webhooks(component: Component, server: ApiServer) -> tuple[Permission, ...]:
    if not (component.has_flag("--cluster") or component.option("--cluster") == "true"):
        return ()
    kinds = [*_SERVED_KINDS, *(["Pod"] if component.option("--watch-pods") == "true" else [])]
    return tuple(_reads(kinds, server))


def _of_certificate(component: Component) -> Iterator[Permission]:
    """Yield the permissions of a server that creates and renews its certificate."""
    from scheduler_core.sidecar.client.access_review import Permission

    if not component.manages_certificate:
        return
    namespace, secret = component.certificate_secret
    lease = component.option("--certificate-lease", "muster-webhook")
    for group, resource, name in (("", "secrets", secret), ("coordination.k8s.io", "leases", lease)):
        yield Permission(resource, "create", group, namespace)
        for verb in ("get", "patch"):
            yield Permission(resource, verb, group, namespace, name)
    if not component.option("--certificate-replicas"):
        yield Permission("endpointslices", "list", "discovery.k8s.io", namespace)
    for name in component.option_list("--certificate-configurations", "muster,muster-pods,muster-join"):
        for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
            for verb in ("get", "patch"):
                yield Permission(resource, verb, "admissionregistration.k8s.io", "", name)


def _of_sidecar(component: Component, server: ApiServer) -> tuple[Permission, ...]:
    # Imported here because it needs the libraries of the sidecar.
    from scheduler_core.sidecar.process.permissions import needed_permissions
    from scheduler_core.sidecar.settings import Mode, Settings
    from scheduler_core.sidecar.writes import Deviations, EvictionMethod

    modes = frozenset(each for each in Mode if each in component.modes)
    namespace, slash, name = component.lease.partition("/")
    settings = Settings(
        modes=modes,
        eviction_method=EvictionMethod.DELETE if component.option("--evict") == "delete" else EvictionMethod.EVICT,
        deviations=Deviations.UNDO if component.undoes else Deviations.REPORT,
        lease=(namespace, name) if slash else None,
    )
    groups = frozenset(each.name for kind in ("PodGroup", "CompositePodGroup") for each in server.served(kind))
    return tuple(sorted({*needed_permissions(settings, groups), *_reads(_STARTING_KINDS, server)}))


def _reads(kinds: Iterable[str], server: ApiServer) -> Iterator[Permission]:
    from scheduler_core.sidecar.client.access_review import Permission

    for each in (each for kind in kinds for each in server.served(kind)):
        for verb in ("list", "watch"):
            yield Permission(each.resource, verb, each.group)


def _is_bound(binding: Item, account: Account) -> bool:
    namespace, name = account
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"}
    for subject in mappings_at(binding.content, "subjects"):
        match text_at(subject, "kind"), text_at(subject, "name"):
            case "ServiceAccount", subject_name:
                if (text_at(subject, "namespace") or binding.namespace, subject_name) == account:
                    return True
            case "Group", subject_name:
                if subject_name in groups:
                    return True
            case "User", subject_name:
                if subject_name == f"system:serviceaccount:{namespace}:{name}":
                    return True
    return False


def _allows(rule: Manifest, permission: Permission) -> bool:
    names, sub = texts_at(rule, "resourceNames"), permission.resource.partition("/")[2]
    resources = {"*", permission.resource, *([f"*/{sub}"] if sub else [])}
    return (
        bool({"*", permission.group} & {*texts_at(rule, "apiGroups")})
        and bool(resources & {*texts_at(rule, "resources")})
        and bool({"*", permission.verb} & {*texts_at(rule, "verbs")})
        and (not names or permission.name in names)
    )
