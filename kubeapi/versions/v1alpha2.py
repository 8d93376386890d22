"""v1alpha2 (Kubernetes 1.36): PodGroup with ``podGroupTemplateRef``, and a disruption mode that is a string.

Source: k8s.io/api v0.36.6, scheduling/v1alpha2.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.field_path import FieldPath
from kubeapi.versions.conversion import Json

MODES = {"Pod": "single", "PodGroup": "all"}
"""Disruption modes of this version, and the members of the current union that replaced them."""
CONDITIONS = {"PodGroupScheduled": "PodGroupInitiallyScheduled"}
"""Condition types that were renamed, and their current names."""

_RETIRED_MODES = {member: mode for mode, member in MODES.items()}
_RETIRED_CONDITIONS = {current: retired for retired, current in CONDITIONS.items()}


def to_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object in the current form.  Values of a wrong type are kept for the JSON Schema to report."""
    content = _rename_conditions(content, CONDITIONS)
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    current = _current_shape(spec)
    templates = spec.get("podGroupTemplates")
    if isinstance(templates, list):
        current["podGroupTemplates"] = [_current_shape(each) if isinstance(each, Mapping) else each for each in templates]
    reference = current.pop("podGroupTemplateRef", None)
    if isinstance(reference, Mapping):
        workload = reference.get("workload")
        names = workload if isinstance(workload, Mapping) else {}
        current["workloadRef"] = {"workloadName": names.get("workloadName", ""), "templateName": names.get("podGroupTemplateName", "")}
    return {**content, "spec": current}


def from_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object in the form of this version, the inverse of ``to_hub``.  Fields that this version lacks are kept."""
    content = _rename_conditions(content, _RETIRED_CONDITIONS)
    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        return dict(content)
    retired = _retired_shape(spec)
    templates = spec.get("podGroupTemplates")
    if isinstance(templates, list):
        retired["podGroupTemplates"] = [_retired_shape(each) if isinstance(each, Mapping) else each for each in templates]
    reference = retired.pop("workloadRef", None)
    if isinstance(reference, Mapping):
        names = {"workloadName": reference.get("workloadName", ""), "podGroupTemplateName": reference.get("templateName", "")}
        retired["podGroupTemplateRef"] = {"workload": names}
    return {**content, "spec": retired}


def written_path(path: FieldPath) -> FieldPath:
    """Return a path of the current form in the form of this version."""
    parts = path.parts
    if parts[:2] == ("spec", "workloadRef"):
        below = ("podGroupTemplateName" if part == "templateName" else part for part in parts[2:])
        return FieldPath("spec", "podGroupTemplateRef", "workload", *below)
    return path


def _current_shape(shape: Mapping[str, Json]) -> dict[str, Json]:
    current = dict(shape)
    mode = current.get("disruptionMode")
    if isinstance(mode, str):
        # An unknown mode becomes a union without a member, which is reported as such.
        current["disruptionMode"] = {MODES[mode]: {}} if mode in MODES else {}
    return current


def _retired_shape(shape: Mapping[str, Json]) -> dict[str, Json]:
    retired = dict(shape)
    mode = retired.get("disruptionMode")
    if isinstance(mode, Mapping):
        modes = [_RETIRED_MODES[member] for member, value in mode.items() if value is not None and member in _RETIRED_MODES]
        # A union of no member, or of several, has no equivalent.
        retired["disruptionMode"] = modes[0] if len(modes) == 1 else dict(mode)
    return retired


def _rename_conditions(content: Mapping[str, Json], names: Mapping[str, str]) -> Mapping[str, Json]:
    status = content.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    if not isinstance(conditions, list) or not isinstance(status, Mapping):
        return content
    return {**content, "status": {**status, "conditions": [_rename(each, names) for each in conditions]}}


def _rename(condition: Json, names: Mapping[str, str]) -> Json:
    kind = condition.get("type") if isinstance(condition, Mapping) else None
    return {**condition, "type": names[kind]} if isinstance(kind, str) and kind in names else condition
