"""Requests to the API server on which nodes, pods, groups and Muster depend, and whether a webhook matches them.

The order of the tests is that of the API server (``apiserver/pkg/admission/plugin/webhook/generic``): rules, namespaceSelector, objectSelector,
matchConditions.  Webhooks are never called for webhook configurations and admission policies, so these are not here.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence

from kubeapi.versions import served_versions
from muster.doctor.manifests import Manifest, mapping_at, mappings_at, selects, text_at, texts_at

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label that the API server sets on every namespace."""
SYSTEM, NODE_LEASES = "kube-system", "kube-node-lease"
MAX_LISTED = 5
"""Maximum number of resources in a message."""
_NODES = ("system:node:node", ("system:nodes", "system:authenticated"))
_WITHOUT_REVIEWS = 37
"""First minor version that calls no webhook for TokenReviews and SubjectAccessReviews."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """Operation on a resource, such as ``pods/status``, in one of the *versions* of its group.

    *requester* is the name and the groups of the user who makes it; empty if several do.
    """

    group: str
    resource: str
    operation: str
    namespaced: bool = True
    versions: tuple[str, ...] = ("v1",)
    requester: tuple[str, tuple[str, ...]] = ("", ())

    def __str__(self) -> str:
        """Return the request as ``create pods``."""
        return f"{self.operation.lower()} {self.subject}"

    @property
    def subject(self) -> str:
        """Return the resource with its group: ``podgroups.scheduling.k8s.io/status``."""
        name, _, sub = self.resource.partition("/")
        return f"{name}{f'.{self.group}' if self.group else ''}{f'/{sub}' if sub else ''}"

    @property
    def has_pod(self) -> bool:
        """Return whether the object of the request is a pod; a Binding and an Eviction have no labels."""
        return self.group == "" and self.resource in ("pods", "pods/status")


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Namespace with its labels; None if they could not be read."""

    namespace: str
    labels: Mapping[str, str] | None = dataclasses.field(hash=False)


ANYWHERE = Place("a-namespace", {NAMESPACE_NAME: "a-namespace"})
"""Namespace that no selector names, without labels of its own."""
CLUSTER = Place("", {})
"""No namespace."""


class Matched(enum.Enum):
    """Match of a webhook with a request: whether it is called."""

    NO = enum.auto()
    YES = enum.auto()
    LABELS_UNREAD = enum.auto()
    """It depends on labels of the namespace, which could not be read."""
    CONDITIONS = enum.auto()
    """It depends on fields that its matchConditions read and that are not known, or on labels of the object."""


PODS = (
    Request("", "pods", "CREATE"),
    Request("", "pods/binding", "CREATE"),
    Request("", "pods/status", "UPDATE"),
    Request("", "pods/eviction", "CREATE"),
    Request("", "pods", "DELETE"),
)
"""Requests that create, bind, report, evict and delete pods."""
_LEASE = Request("coordination.k8s.io", "leases", "UPDATE")
START = (
    *PODS[:3],
    Request("", "configmaps", "CREATE"),
    Request("", "secrets", "CREATE"),
    Request("", "secrets", "UPDATE"),
    Request("", "serviceaccounts/token", "CREATE"),
    Request("", "services", "UPDATE"),
    Request("", "events", "CREATE"),
    Request("apps", "replicasets", "CREATE"),
    Request("apps", "deployments", "UPDATE"),
    _LEASE,
    Request("discovery.k8s.io", "endpointslices", "UPDATE"),
)
"""Requests in the namespace of a server without which none of its pods starts, gets requests, and keeps its certificate."""
BACKEND_START = tuple(each for each in START if each.resource.startswith(("pods", "replicasets")))
"""Requests in the namespace of a server without which none of its pods starts."""
SYSTEM_START = (*PODS[:3], _LEASE)
"""Requests in kube-system without which there is no network, no DNS, no scheduler and no controller after a restart."""
NODE_LEASE = (dataclasses.replace(_LEASE, requester=_NODES),)
"""Requests in kube-node-lease without which every node becomes NotReady."""
_CLUSTER = (
    Request("", "nodes", "CREATE", namespaced=False, requester=_NODES),
    Request("", "nodes/status", "UPDATE", namespaced=False, requester=_NODES),
    Request("certificates.k8s.io", "certificatesigningrequests", "CREATE", namespaced=False),
    Request("authentication.k8s.io", "tokenreviews", "CREATE", namespaced=False),
    Request("authorization.k8s.io", "subjectaccessreviews", "CREATE", namespaced=False),
)


def cluster_requests(minor: int) -> tuple[Request, ...]:
    """Return the requests of kubelets without which no node is ready, of Kubernetes 1.*minor* (0 if that is not known)."""
    return tuple(each for each in _CLUSTER if not (minor >= _WITHOUT_REVIEWS and each.resource.endswith("reviews")))


def group_requests(served: frozenset[str] | None) -> tuple[Request, ...]:
    """Return the requests that create, change and report groups, in the versions *served* (GROUP/VERSION/RESOURCE); in all if None."""
    requests = []
    for kind, status in (("Workload", False), ("PodGroup", True), ("CompositePodGroup", True)):
        resource = served_versions.resource(kind).resource
        for group in served_versions.groups_of(kind):
            rows = [row for row in served_versions.versions_of(kind) if row.group == group]
            versions = tuple(row.version for row in rows if served is None or f"{row.name}/{resource}" in served)
            named = [(resource, "CREATE"), (resource, "UPDATE"), *([(f"{resource}/status", "UPDATE")] if status else [])]
            requests += [Request(group, each, operation, versions=versions) for each, operation in named if versions]
    return tuple(requests)


def matched(webhook: Manifest, request: Request, place: Place, labels: Mapping[str, str], *, all_labels: bool = True) -> Matched:
    """Return whether a webhook is called for a request in a namespace, whose object has *labels*, or only some if not *all_labels*."""
    if not any(_rule_matches(each, request) for each in mappings_at(webhook, "rules")):
        return Matched.NO
    if request.namespaced:
        selector = mapping_at(webhook, "namespaceSelector")
        if place.labels is None and _keys(selector) - {NAMESPACE_NAME}:
            return Matched.LABELS_UNREAD
        if not selects(selector, {NAMESPACE_NAME: place.namespace, **(place.labels or {})}):
            return Matched.NO
    selector = mapping_at(webhook, "objectSelector")
    known = all_labels or _keys(selector) <= labels.keys()
    if known and not selects(selector, labels):
        return Matched.NO
    conditions = [condition_holds(text_at(each, "expression"), request, place) for each in mappings_at(webhook, "matchConditions")]
    if False in conditions:
        return Matched.NO
    return Matched.YES if known and None not in conditions else Matched.CONDITIONS


def listed(requests: Iterable[Request]) -> str:
    """Return requests as ``create and delete pods, update pods/status``; the number of the resources that are left out."""
    operations: dict[str, list[str]] = {}
    for each in requests:
        operations.setdefault(each.subject, []).append(each.operation.lower())
    words = [f"{_joined(names)} {subject}" for subject, names in operations.items()]
    more = len(words) - MAX_LISTED
    return ", ".join(words[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def listed_by_place(requests: Mapping[Place, Sequence[Request]]) -> str:
    """Return requests with their namespaces: ``create pods in kube-system and default; create nodes``."""
    places: dict[str, list[str]] = {}
    for place, found in requests.items():
        if found:
            places.setdefault(listed(found), []).append("" if place in (ANYWHERE, CLUSTER) else place.namespace)
    return "; ".join(f"{text} in {_joined(names)}" if all(names) else text for text, names in places.items())


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _rule_matches(rule: Manifest, request: Request) -> bool:
    """Return whether a rule matches; with matchPolicy Equivalent, a rule for another served version of the resource does too."""
    groups, versions, scope = texts_at(rule, "apiGroups"), texts_at(rule, "apiVersions"), text_at(rule, "scope")
    if scope == ("Cluster" if request.namespaced else "Namespaced"):
        return False
    if not ({"*", request.group} & {*groups} and {"*", *request.versions} & {*versions}):
        return False
    if not {"*", request.operation} & {*texts_at(rule, "operations")}:
        return False
    name, _, sub = request.resource.partition("/")
    patterns = {request.resource, "*/*", f"{name}/*", f"*/{sub}"} if sub else {name, "*", "*/*", f"{name}/*"}
    return bool(patterns & {*texts_at(rule, "resources")})


def _keys(selector: Manifest) -> set[str]:
    return {*mapping_at(selector, "matchLabels"), *(text_at(each, "key") for each in mappings_at(selector, "matchExpressions"))}


def condition_holds(expression: str, request: Request, place: Place) -> bool | None:
    """Return whether a CEL expression is true of a request, whatever its object; None if that depends on fields that are not known."""
    # Imported here because the parser takes a tenth of a second.
    from scheduler_core.cel.match_conditions import UNKNOWN, holds

    name, _, sub = request.resource.partition("/")
    user, groups = request.requester
    # Fields that are empty are missing, as in the API server: reading them without has() is an error.
    namespace = {"namespace": place.namespace} if request.namespaced else {}
    subresource = {"subResource": sub, "requestSubResource": sub} if sub else {}
    unknown = dict.fromkeys(("name", "generateName", "labels", "annotations", "ownerReferences", "finalizers", "uid"), UNKNOWN)
    version = request.versions[0] if len(request.versions) == 1 else UNKNOWN
    partial = {**dict.fromkeys(("spec", "status", "target", "data"), UNKNOWN), "metadata": {**unknown, **namespace}}
    resource = {"group": request.group, "version": version, "resource": name}
    return holds(
        expression,
        request={
            **dict.fromkeys(("uid", "kind", "requestKind", "requestResource", "name", "options"), UNKNOWN),
            **namespace,
            **subresource,
            "resource": resource,
            "operation": request.operation,
            "userInfo": {"username": user, "groups": groups, "uid": UNKNOWN, "extra": UNKNOWN} if user else UNKNOWN,
            "dryRun": False,
        },
        object=None if request.operation == "DELETE" else partial,
        oldObject=None if request.operation == "CREATE" else partial,
    )
