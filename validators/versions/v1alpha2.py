"""v1alpha2 (Kubernetes 1.36): PodGroup with ``podGroupTemplateRef``, and a disruption mode that is a word."""

from __future__ import annotations

from collections.abc import Mapping

from validators.field import FieldPath
from validators.model.decode import Json

MODES = {"Pod": "single", "PodGroup": "all"}
"""The words, and the members of today's union that they became."""


def to_hub(content: Mapping[str, Json]) -> dict[str, Json]:
    """The object in today's form.  What has the wrong type stays as it is, to be told by whoever looks at types."""
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


def written(path: FieldPath) -> FieldPath:
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
