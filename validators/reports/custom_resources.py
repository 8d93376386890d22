"""CustomResourceDefinitions of the API groups that have the kinds as custom resources.

The schemas are those of ``validators/schemas`` with the documentation of fields.  They describe shape and limits; requirements between
fields are left to the webhooks, which answer with the same words for all API groups.  List types and the default are those of
Kubernetes 1.37.1, ``api/scheduling/v1beta1`` and ``v1alpha3``.

``preemptionPolicy`` has no default here although Kubernetes 1.37 sets one: from 1.38 on it is that of the priority class.  The mutating
webhook sets the value of the version that it mirrors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.content import LONGEST_LABEL
from kubeapi.groups import INITIALLY_SCHEDULED
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import TABLE, ApiVersion
from kubeapi.workloads import MAX_DEPTH
from validators import schema
from validators.reports import field_docs
from validators.rules.base import GROUPS, WORKLOAD

KINDS = ("Workload", "PodGroup", "CompositePodGroup")
"""Kinds that are defined, in the order in which their objects are created."""
DEFINED = tuple(dict.fromkeys(row.group for row in TABLE if row.form.custom))
"""API groups with definitions."""
_SHORT_NAMES = {"Workload": "mwl", "PodGroup": "mpg", "CompositePodGroup": "mcpg"}
"""The built-in kinds have no short names; `wl` and `pg` are those of other projects."""
_CATEGORY = "muster"
_KEYS = {
    "podGroupTemplates": "name",
    "compositePodGroupTemplates": "name",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "conditions": "type",
}
"""Lists whose entries have a key, by field; other lists are atomic."""
_DEFAULTS: Mapping[tuple[str, ...], object] = {("spec", "disruptionMode"): {"single": {}}}


def definition(kind: str, group: str) -> dict[str, Any]:
    """Return the CustomResourceDefinition of *kind* in *group*; the preferred version of the group is stored."""
    rows = [row for row in served_versions.versions_in(group) if served_versions.find(row.name, kind) is not None]
    plural = served_versions.resource(kind, group).resource
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "labels": {"app.kubernetes.io/component": "api", "app.kubernetes.io/part-of": "muster"},
        },
        "spec": {
            "group": group,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [_SHORT_NAMES[kind]],
                "categories": [_CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [_version(kind, row, stored=row is rows[0]) for row in rows],
        },
    }


def definitions() -> Iterator[dict[str, Any]]:
    """Yield the definitions of all kinds in all groups."""
    for group in DEFINED:
        for kind in KINDS:
            yield definition(kind, group)


def _version(kind: str, row: ApiVersion, *, stored: bool) -> dict[str, Any]:
    shape = schema.document(served_versions.schema_of(row.name, kind))
    unrolled = _Unrolled(kind, shape)
    properties = {
        name: _metadata(kind) if name == "metadata" else unrolled.field(below, (name,)) for name, below in shape["properties"].items()
    }
    version = {
        "name": row.version,
        "served": True,
        "storage": stored,
        "additionalPrinterColumns": [*_columns(kind)],
        "schema": {
            "openAPIV3Schema": {
                "description": _ABOUT[kind],
                "type": "object",
                "properties": properties,
                "required": [*shape["required"]],
            }
        },
    }
    if "status" in properties:
        version["subresources"] = {"status": {}}
    return version


def _metadata(kind: str) -> dict[str, Any]:
    """Return the schema of the metadata: the API server allows no other keyword than those of the name."""
    if kind != "PodGroup":
        return {"type": "object"}
    return {"type": "object", "properties": {"name": {"type": "string", "maxLength": LONGEST_LABEL}}}


class _Unrolled:
    """Structural schema of a kind: its JSON Schema without references, with documentation, limits and list types."""

    def __init__(self, kind: str, document: Mapping[str, Any]) -> None:
        self.kind, self.document = kind, document

    def field(self, part: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        """Return the schema of the field at *path*, which has the names of fields without indices."""
        shape = self._shape(part, path)
        if path in _DEFAULTS:
            shape["default"] = _DEFAULTS[path]
        doc = field_docs.find(self.kind, path)
        if doc is None:
            return shape
        return {"description": doc.about + (f" After creation: {doc.change}." if doc.change else ""), **shape, **doc.limits}

    def _shape(self, part: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        if "$ref" in part:
            part = self.document["$defs"][part["$ref"].rpartition("/")[2]]
        if part["type"] == "array":
            return {"type": "array", **self._list(part["items"], path)}
        if part["type"] != "object":
            return _scalar(part, path)
        result: dict[str, Any] = {"type": "object"}
        if part["properties"]:
            result["properties"] = {name: self.field(below, (*path, name)) for name, below in part["properties"].items()}
        if "required" in part:
            result["required"] = [*part["required"]]
        return result

    def _list(self, items: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        if path.count("compositePodGroupTemplates") >= MAX_DEPTH:
            # They are too deep: kept as they are for the rule that refuses them.
            return {"items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "x-kubernetes-list-type": "atomic"}
        shape = self._shape(items, path)
        key = _KEYS.get(path[-1])
        if key is None:
            return {"items": shape, "x-kubernetes-list-type": "atomic"}
        return {"items": shape, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


def _scalar(part: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the type with its format and range.  64-bit numbers have no range: no number of JSON can say it exactly."""
    result = {"type": part["type"]}
    if "format" in part:
        result["format"] = part["format"]
    if part.get("format") == "int32":
        result |= {"minimum": part["minimum"], "maximum": part["maximum"]}
    if path[-1] == "lastTransitionTime":
        result["format"] = "date-time"
    return result


def _columns(kind: str) -> Iterator[dict[str, Any]]:
    """Yield the columns of ``kubectl get`` after the name."""
    if kind in WORKLOAD:
        yield _column("Controller", ".spec.controllerRef.name", "Object whose controller manages the Workload.")
    if kind in GROUPS:
        count, members = ("minCount", "pods") if kind == "PodGroup" else ("minGroupCount", "child groups")
        about = f"Minimum number of {members} that are scheduled together; empty if the policy is basic."
        yield {**_column("Minimum", f".spec.schedulingPolicy.gang.{count}", about), "type": "integer"}
        yield _column("Parent", ".spec.parentCompositePodGroupName", "Parent group.")
        yield _column("Workload", ".spec.workloadRef.workloadName", "Workload from which the group was created.")
        condition = f'.status.conditions[?(@.type=="{INITIALLY_SCHEDULED[kind]}")]'
        yield _column("Scheduled", f"{condition}.status", "Whether the minimum was scheduled once.")
        yield {**_column("Reason", f"{condition}.reason", "Why it was not scheduled."), "priority": 1}
    yield {**_column("Age", ".metadata.creationTimestamp", "Time since creation."), "type": "date"}


def _column(name: str, path: str, about: str) -> dict[str, Any]:
    return {"name": name, "type": "string", "jsonPath": path, "description": about}


_ABOUT = {
    "Workload": "Tree of templates from which a controller creates groups of pods.",
    "PodGroup": f"Group of pods that are scheduled together. A pod names its group in a label, so the name has at most {LONGEST_LABEL} characters.",
    "CompositePodGroup": "Group of groups that are scheduled together: the parent of PodGroups or of other CompositePodGroups.",
}
