"""References of v1alpha1 from pods to groups of a Workload, and old references to claims, anywhere in an object.

A ``workloadRef`` is recognized by its fields, in Pods and in the pod templates of any controller: Jobs, Deployments and
unknown kinds (KEP-4671, Associating Pod into PodGroups).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi import content
from kubeapi.decode import Json
from kubeapi.versions.served_versions import WORKLOAD_GROUPS
from validators.migrate.change import Change, Parts, Reform, Remove, Rename
from validators.migrate.group_names import text

FIELD = "workloadRef"
_FIELDS = frozenset({"name", "podGroup", "podGroupReplicaKey"})
_SOURCES = frozenset({"resourceClaimName", "resourceClaimTemplateName"})
_NEVER = "Never"


@dataclasses.dataclass(frozen=True, slots=True)
class PodPriority:
    """Priority fields of a pod, template or group; absent fields are empty or None.  The value is used only without a class."""

    class_name: str = ""
    value: int | None = None
    preemption_policy: str | None = None

    def __str__(self) -> str:
        fields = {"priorityClassName": self.class_name, "priority": self.value, "preemptionPolicy": self.preemption_policy}
        return ", ".join(f"{name}: {value}" for name, value in fields.items() if value not in {"", None}) or "no priority class"


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """One ``workloadRef``: its path, the group that it names, and the priority of the pod."""

    path: Parts
    workload: str
    group: str
    replica_key: str
    priority: PodPriority
    has_group: bool
    """True if the pod has a ``schedulingGroup`` too."""


@dataclasses.dataclass(frozen=True, slots=True)
class InvalidReference:
    """Invalid ``workloadRef``."""

    path: Parts
    message: str


def find(document: Mapping[str, Json]) -> Iterator[Reference | InvalidReference]:
    """Yield every ``workloadRef`` of a pod in one object, in the order of the fields."""
    if text(document.get("apiVersion")).rpartition("/")[0] in WORKLOAD_GROUPS:
        return
    for path, spec in mappings(document, ()):
        reference = spec.get(FIELD)
        if isinstance(reference, Mapping) and (result := _parse(spec, reference, path, is_pod=is_pod(document, spec, path))):
            yield result


def old_sources(document: Mapping[str, Json]) -> Iterator[Parts]:
    """Yield the path of each ``source`` of a claim of a pod or group, which Kubernetes had until 1.30, in the order of the fields."""
    for path, spec in mappings(document, ()):
        claims = spec.get("resourceClaims")
        for index, claim in enumerate(claims if isinstance(claims, list) else ()):
            if isinstance(claim, Mapping) and isinstance(claim.get("source"), Mapping) and not _SOURCES.isdisjoint(claim["source"]):
                yield (*path, "resourceClaims", index, "source")


def changes(reference: Reference, group: str) -> Iterator[Change]:
    """Yield the changes that move the pod to the PodGroup *group*; a pod with a ``schedulingGroup`` keeps it."""
    if reference.has_group:
        yield Remove(reference.path)
    else:
        yield Rename(reference.path, "schedulingGroup")
        yield Reform(reference.path, "name", "podGroupName", group)


def mappings(value: Json, at: Parts) -> Iterator[tuple[Parts, Mapping[str, Json]]]:
    """Yield every mapping in *value*, which is at path *at*, with its path."""
    if isinstance(value, Mapping):
        yield at, value
        for name, each in value.items():
            if isinstance(each, (Mapping, list)):
                yield from mappings(each, (*at, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, (Mapping, list)):
                yield from mappings(each, (*at, index))


def is_pod(document: Mapping[str, Json], spec: Mapping[str, Json], path: Parts) -> bool:
    """Return whether this is certainly the spec of a pod."""
    return "containers" in spec or (path == ("spec",) and document.get("apiVersion") == "v1" and document.get("kind") == "Pod")


def _parse(spec: Mapping[str, Json], reference: Mapping[str, Json], path: Parts, *, is_pod: bool) -> Reference | InvalidReference | None:
    at = (*path, FIELD)
    has_known_fields = _FIELDS.issuperset(reference) and "podGroup" in reference
    if not is_pod and not (has_known_fields and path[-1:] == ("spec",)):
        return None  # another field of that name
    if unknown := sorted(reference.keys() - _FIELDS):
        return InvalidReference((*at, unknown[0]), f"workloadRef has no field {unknown[0]!r}; it has {', '.join(sorted(_FIELDS))}")
    for name, validate in (("name", content.subdomain), ("podGroup", content.label), ("podGroupReplicaKey", content.label)):
        value = reference.get(name)
        if value is None or value == "":
            if name != "podGroupReplicaKey":
                return InvalidReference((*at, name), f"workloadRef must have {name}: it refers to a group of a Workload")
        elif not isinstance(value, str) or (messages := validate(value)):
            return InvalidReference((*at, name), "must be a string" if not isinstance(value, str) else "; ".join(messages))
    return Reference(
        at, reference["name"], reference["podGroup"], text(reference.get("podGroupReplicaKey")), pod_priority(spec), _has_group(spec)
    )


def _has_group(spec: Mapping[str, Json]) -> bool:
    group = spec.get("schedulingGroup")
    return isinstance(group, Mapping) and bool(text(group.get("podGroupName")))


def pod_priority(spec: Mapping[str, Json]) -> PodPriority:
    """Return the priority fields of a pod spec, a template or a group."""
    name, priority = text(spec.get("priorityClassName")), spec.get("priority")
    number = priority if isinstance(priority, int) and not isinstance(priority, bool) and not name else None
    return PodPriority(name, number, _NEVER if spec.get("preemptionPolicy") == _NEVER else None)
