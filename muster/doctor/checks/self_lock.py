"""The server's start needs no request that its own webhooks refuse while it is down."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions import served_versions
from muster.doctor.components import template_labels
from muster.doctor.entries import NAMESPACE_NAME, Entry, Target, entries, namespace_labels, servers_of
from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.manifests import mapping_at, mappings_at, text_at
from muster.doctor.world import World

SYSTEM = "kube-system"
_START = (
    Target("", "pods", "CREATE"),
    Target("", "pods/binding", "CREATE"),
    Target("", "pods/status", "UPDATE"),
    Target("", "configmaps", "CREATE"),
    Target("", "secrets", "CREATE"),
    Target("", "serviceaccounts/token", "CREATE"),
    Target("apps", "replicasets", "CREATE"),
    Target("apps", "deployments", "UPDATE"),
    Target("coordination.k8s.io", "leases", "UPDATE"),
    Target("discovery.k8s.io", "endpointslices", "UPDATE"),
)
"""Requests in the server's namespace without which none of its pods starts and gets requests."""
_SYSTEM_START = tuple(each for each in _START if each.resource.startswith("pods"))
"""Requests in kube-system without which there is no network, no DNS and no scheduler after a restart."""
_CLUSTER = (
    Target("", "nodes", "CREATE", namespaced=False),
    Target("", "nodes/status", "UPDATE", namespaced=False),
    Target("certificates.k8s.io", "certificatesigningrequests", "CREATE", namespaced=False),
    Target("authentication.k8s.io", "tokenreviews", "CREATE", namespaced=False),
    Target("authorization.k8s.io", "subjectaccessreviews", "CREATE", namespaced=False),
)
"""Requests of kubelets without which no node is ready."""
_GROUPS = tuple(
    Target(group, served_versions.resource(kind).resource, "CREATE")
    for kind in ("PodGroup", "Workload")
    for group in served_versions.groups_of(kind)
)
_DISTINGUISHING = ("namespace", "userInfo", "labels", "annotations", "object.metadata.name")
"""Texts in a match condition that can exempt the server's own objects."""


def check(world: World) -> Iterator[Result]:
    """Yield a result for each webhook that fails closed and matches such a request."""
    for entry in entries(world):
        if not entry.fails:
            continue
        own = entry.service[0] if entry.service else ""
        for namespace in dict.fromkeys(each for each in (own, SYSTEM) if each):
            if _needs_labels(entry) and "namespaces" in world.unread and world.named("Namespace", "", namespace) is None:
                yield Unseen(f"the labels of namespace {namespace}, which {entry.name} selects by, cannot be read")
            elif caught := _caught_in(world, entry, namespace, _START if namespace == own else _SYSTEM_START):
                yield _result(entry, namespace, caught)
            elif namespace == own and _caught_in(world, entry, own, _GROUPS):
                message = f"{entry.name} also reviews groups in {own}, its own namespace, and refuses them while the server is down"
                yield warning(entry.item, entry.field("namespaceSelector"), message, _exempt(entry, own))
        if caught := [each for each in _CLUSTER if entry.matches(each)]:
            message = f"{entry.name} refuses {_listed(caught)} of the whole cluster while the server is down"
            yield error(entry.item, entry.field("failurePolicy"), message, entry.set_command({"failurePolicy": "Ignore"}))


def _needs_labels(entry: Entry) -> bool:
    """Return whether the namespaceSelector has labels that namespaces do not have by themselves."""
    selector = mapping_at(entry.content, "namespaceSelector")
    keys = {*mapping_at(selector, "matchLabels"), *(text_at(each, "key") for each in mappings_at(selector, "matchExpressions"))}
    return bool(keys - {NAMESPACE_NAME})


def _caught_in(world: World, entry: Entry, namespace: str, targets: tuple[Target, ...]) -> list[Target]:
    if not entry.matches_namespace(namespace_labels(world, namespace)):
        return []
    servers = servers_of(world, entry) if entry.service and entry.service[0] == namespace else []
    # Labels of other objects are not known; a selector decides about pods and Deployments of the server only.
    return [each for each in targets if entry.matches(each) and _selects(entry, each, [template_labels(server) for server in servers])]


def _selects(entry: Entry, target: Target, labels: list[dict[str, str]]) -> bool:
    if not target.resource.startswith("pods") or not labels:
        return entry.matches_object({}) or not mapping_at(entry.content, "objectSelector")
    return any(map(entry.matches_object, labels))


def _result(entry: Entry, namespace: str, caught: list[Target]) -> Result:
    conditions = [text_at(each, "expression") for each in mappings_at(entry.content, "matchConditions")]
    exempting = any(each in condition for condition in conditions for each in _DISTINGUISHING)
    whose = "its own namespace" if entry.service and namespace == entry.service[0] else "where network, DNS and scheduler run"
    message = f"{entry.name} refuses {_listed(caught)} in {namespace}, {whose}, while the server is down"
    if exempting:
        message += ", unless its matchConditions exempt them, which are not evaluated"
    return (warning if exempting else error)(entry.item, entry.field("namespaceSelector"), message, _exempt(entry, namespace))


def _exempt(entry: Entry, namespace: str) -> str:
    """Return the command that exempts a namespace."""
    selector = dict(mapping_at(entry.content, "namespaceSelector"))
    expression = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": [namespace]}
    selector["matchExpressions"] = [*mappings_at(selector, "matchExpressions"), expression]
    return entry.set_command({"namespaceSelector": selector})


def _listed(targets: list[Target]) -> str:
    return ", ".join(map(str, targets))


CHECK = Check(
    id="self-lock",
    why="Once all replicas are down, the webhook refuses the requests that would start them again: only deleting the configuration helps.",
    examine=check,
)
