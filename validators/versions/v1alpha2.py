"""v1alpha2 (Kubernetes 1.36): PodGroup with ``podGroupTemplateRef``, and a disruption mode that is a word.

Source: k8s.io/api v0.36.6, scheduling/v1alpha2.
"""

from __future__ import annotations

from collections.abc import Mapping

from validators.field import FieldPath
from validators.versions.form import Json

MODES = {"Pod": "single", "PodGroup": "all"}
"""The words, and the members of today's union that they became."""
CONDITIONS = {"PodGroupScheduled": "PodGroupInitiallyScheduled"}
"""The types of conditions that have another name today."""

_WORDS = {member: word for word, member in MODES.items()}
_CONDITIONS_THEN = {today: then for then, today in CONDITIONS.items()}


def to_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """The object in today's form.  What has the wrong type stays as it is, to be told by whoever looks at types."""
    content = _renamed_conditions(content, CONDITIONS)
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    today = _shape(spec)
    templates = spec.get("podGroupTemplates")
    if isinstance(templates, list):
        today["podGroupTemplates"] = [_shape(each) if isinstance(each, Mapping) else each for each in templates]
    reference = today.pop("podGroupTemplateRef", None)
    if isinstance(reference, Mapping):
        workload = reference.get("workload")
        named = workload if isinstance(workload, Mapping) else {}
        today["workloadRef"] = {"workloadName": named.get("workloadName", ""), "templateName": named.get("podGroupTemplateName", "")}
    return {**content, "spec": today}


def from_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """The object as this version writes it: the way back of ``to_hub``.  What this version has no name for stays as it is."""
    content = _renamed_conditions(content, _CONDITIONS_THEN)
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    then = _shape_then(spec)
    templates = spec.get("podGroupTemplates")
    if isinstance(templates, list):
        then["podGroupTemplates"] = [_shape_then(each) if isinstance(each, Mapping) else each for each in templates]
    reference = then.pop("workloadRef", None)
    if isinstance(reference, Mapping):
        named = {"workloadName": reference.get("workloadName", ""), "podGroupTemplateName": reference.get("templateName", "")}
        then["podGroupTemplateRef"] = {"workload": named}
    return {**content, "spec": then}


def written_path(path: FieldPath) -> FieldPath:
    """A path in today's form as this version writes it."""
    parts = path.parts
    if parts[:2] == ("spec", "workloadRef"):
        below = ("podGroupTemplateName" if part == "templateName" else part for part in parts[2:])
        return FieldPath("spec", "podGroupTemplateRef", "workload", *below)
    return path


def _shape(shape: Mapping[str, Json]) -> dict[str, Json]:
    today = dict(shape)
    mode = today.get("disruptionMode")
    if isinstance(mode, str):
        # An unknown word becomes a mode without a member, which is told as such.
        today["disruptionMode"] = {MODES[mode]: {}} if mode in MODES else {}
    return today


def _shape_then(shape: Mapping[str, Json]) -> dict[str, Json]:
    then = dict(shape)
    mode = then.get("disruptionMode")
    if isinstance(mode, Mapping):
        words = [_WORDS[member] for member, value in mode.items() if value is not None and member in _WORDS]
        # A union of no member, or of several, is no word.
        then["disruptionMode"] = words[0] if len(words) == 1 else dict(mode)
    return then


def _renamed_conditions(content: Mapping[str, Json], names: Mapping[str, str]) -> Mapping[str, Json]:
    status = content.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    if not isinstance(conditions, list) or not isinstance(status, Mapping):
        return content
    return {**content, "status": {**status, "conditions": [_renamed(each, names) for each in conditions]}}


def _renamed(condition: Json, names: Mapping[str, str]) -> Json:
    kind = condition.get("type") if isinstance(condition, Mapping) else None
    return {**condition, "type": names[kind]} if isinstance(kind, str) and kind in names else condition
