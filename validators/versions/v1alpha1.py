"""v1alpha1 (Kubernetes 1.35): ``spec.podGroups`` with a ``policy`` (KEP-4671, API)."""

from __future__ import annotations

from collections.abc import Mapping

from validators.field import FieldPath
from validators.versions.form import Json

_WRITTEN = {"podGroupTemplates": "podGroups", "schedulingPolicy": "policy"}


def to_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """The object in today's form.  What has the wrong type stays as it is, to be told by whoever looks at types."""
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    groups = spec.get("podGroups")
    today = {name: value for name, value in spec.items() if name != "podGroups"}
    if groups is not None:
        today["podGroupTemplates"] = [_template(each) for each in groups] if isinstance(groups, list) else groups
    return {**content, "spec": today}


def from_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """The object as this version writes it: the way back of ``to_hub``.  What this version has no name for stays as it is."""
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    templates = spec.get("podGroupTemplates")
    then = {name: value for name, value in spec.items() if name != "podGroupTemplates"}
    if templates is not None:
        then["podGroups"] = [_group(each) for each in templates] if isinstance(templates, list) else templates
    return {**content, "spec": then}


def written_path(path: FieldPath) -> FieldPath:
    """A path in today's form as this version writes it."""
    return FieldPath(*(_WRITTEN.get(part, part) if isinstance(part, str) else part for part in path.parts))


def _template(group: Json) -> Json:
    if not isinstance(group, Mapping):
        return group
    return {("schedulingPolicy" if name == "policy" else name): value for name, value in group.items()}


def _group(template: Json) -> Json:
    if not isinstance(template, Mapping):
        return template
    return {("policy" if name == "schedulingPolicy" else name): value for name, value in template.items()}
