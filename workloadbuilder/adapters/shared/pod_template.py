"""Pods as controllers make them of a pod template, and the priority that their groups take over."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.cluster import SYSTEM_CLASSES
from validators.model.decode import Json
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.blueprint import copied


@dataclasses.dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod template: *content* has ``metadata`` and ``spec`` as far as they are given, *path* is where it stands."""

    content: Mapping[str, Json]
    path: FieldPath
    annotations: Mapping[str, str]
    priority_class: str
    priority_path: FieldPath


def read_pod_template(template: Fields) -> PodTemplate:
    """The pod template whose fields these are."""
    metadata, spec = template.mapping("metadata"), template.mapping("spec")
    metadata.annotations("labels")
    return PodTemplate(
        template.given, template.path, metadata.annotations(), spec.text("priorityClassName"), spec.path / "priorityClassName"
    )


def pod(
    template: PodTemplate, name: str, *, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None, uid: str = ""
) -> dict[str, Json]:
    """A Pod of *template*; its own labels and annotations stay, except where the controller has others."""
    given, metadata = template.content, _mapping(template.content.get("metadata"))
    made: dict[str, Json] = {"name": name}
    if uid:
        made["uid"] = uid
    for key, own in (("labels", labels), ("annotations", annotations or {})):
        if merged := {**_mapping(metadata.get(key)), **own}:
            made[key] = merged
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": copied(_mapping(given.get("spec")))}


def exclusive(spec: dict[str, Json], *, topology: str, label: str, value: str, everywhere: bool = False) -> None:
    """Add to a pod's *spec* the terms by which a controller keeps one group in a domain of *topology*, and all others out.

    The members carry *label* with *value* (LeaderWorkerSet's and JobSet's exclusive placement); *everywhere* counts the
    pods of all namespaces.
    """
    affinity = spec.setdefault("affinity", {})
    terms = {
        "podAffinity": [{"key": label, "operator": "In", "values": [value]}],
        "podAntiAffinity": [{"key": label, "operator": "Exists"}, {"key": label, "operator": "NotIn", "values": [value]}],
    }
    for kind, expressions in terms.items():
        term: dict[str, Json] = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology}
        if everywhere:
            term["namespaceSelector"] = {}
        affinity.setdefault(kind, {}).setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)


def sha1(text: str) -> str:
    """The hash that JobSet and LeaderWorkerSet put in labels; it protects nothing."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def common_priority(templates: Iterable[PodTemplate], errors: list[FieldError], warnings: list[FieldError]) -> str:
    """The priority class of all pods, which their groups have too, as Kubernetes 1.37's Job controller has it.

    Groups of one Workload have one priority, so pods of several cannot be in it (KEP-6012).  A class of the system's own
    is none that a group may have: the groups are left without.
    """
    first: PodTemplate | None = None
    for each in templates:
        if first is None:
            first = each
        elif each.priority_class != first.priority_class:
            detail = (
                f"must be {first.priority_class!r} as at {first.priority_path}: the pods of one Workload have one priority"
                if first.priority_class
                else f"must be absent as at {first.priority_path}: the pods of one Workload have one priority"
            )
            errors.append(field.invalid(each.priority_path, each.priority_class, detail))
    if first is None:
        return ""
    if first.priority_class in SYSTEM_CLASSES:
        detail = "a group cannot have a class of the system's own: the groups are made without"
        warnings.append(field.invalid(first.priority_path, first.priority_class, detail))
        return ""
    return first.priority_class


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
