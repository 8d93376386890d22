"""Objects, and field paths of findings about them, as they are with custom resources: another API group, and labels of pods."""

from __future__ import annotations

import re
from typing import Any

from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING

_KINDS = served_versions.kinds_of(CUSTOM)
_FIELD = re.compile(r"(^|\.)spec\.schedulingGroup(\.podGroupName)?$")


def in_custom_group(value: Any) -> Any:
    """Return a copy of an object, or of a list of objects, with the custom API group in place of the built-in one."""
    if isinstance(value, list):
        return [in_custom_group(each) for each in value]
    if not isinstance(value, dict):
        return value
    result = {name: in_custom_group(each) for name, each in value.items()}
    group, _, version = str(result.get("apiVersion")).rpartition("/")
    if group == SCHEDULING and result.get("kind") in _KINDS:
        known = served_versions.find(str(result["apiVersion"]), result["kind"])
        # A version that does not exist stays one.
        result["apiVersion"] = served_versions.preferred(result["kind"], CUSTOM) if known else f"{CUSTOM}/{version}"
    named = result["spec"].get("schedulingGroup") if isinstance(result.get("spec"), dict) else None
    if isinstance(named, dict) and set(named) == {"podGroupName"} and isinstance(result.get("metadata", {}), dict):
        del result["spec"]["schedulingGroup"]
        metadata = result.get("metadata", {})
        result["metadata"] = {**metadata, "labels": {**(metadata.get("labels") or {}), POD_GROUP_LABEL: named["podGroupName"]}}
    return result


def path_in_custom_group(path: str) -> str:
    """Return the field path of a finding about a pod's group: of the label in place of the field."""
    return _FIELD.sub(rf"\1metadata.labels[{POD_GROUP_LABEL}]", path)
