"""v1alpha1 (Kubernetes 1.35): ``spec.podGroups`` with a ``policy`` (KEP-4671, API)."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.field_path import FieldPath
from kubeapi.versions.conversion import Json

_WRITTEN = {"podGroupTemplates": "podGroups", "schedulingPolicy": "policy"}


def to_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object in the current form.  Values of a wrong type are kept for the JSON Schema to report."""
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    groups = spec.get("podGroups")
    current = {name: value for name, value in spec.items() if name != "podGroups"}
    if groups is not None:
        current["podGroupTemplates"] = [_template(each) for each in groups] if isinstance(groups, list) else groups
    return {**content, "spec": current}


def from_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object in the form of this version, the inverse of ``to_hub``.  Fields that this version lacks are kept."""
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    templates = spec.get("podGroupTemplates")
    retired = {name: value for name, value in spec.items() if name != "podGroupTemplates"}
    if templates is not None:
        retired["podGroups"] = [_group(each) for each in templates] if isinstance(templates, list) else templates
    return {**content, "spec": retired}


def written_path(path: FieldPath) -> FieldPath:
    """Return a path of the current form in the form of this version."""
    return FieldPath(*(_WRITTEN.get(part, part) if isinstance(part, str) else part for part in path.parts))


def _template(group: Json) -> Json:
    if not isinstance(group, Mapping):
        return group
    return {("schedulingPolicy" if name == "policy" else name): value for name, value in group.items()}


def _group(template: Json) -> Json:
    if not isinstance(template, Mapping):
        return template
    return {("policy" if name == "schedulingPolicy" else name): value for name, value in template.items()}
