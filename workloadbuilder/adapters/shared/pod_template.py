"""Pods as controllers create them from a pod template, and the priority class of their groups."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.priority import SYSTEM_CLASSES
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.named_groups import named_group
from workloadbuilder.blueprint import copied

_HASH_DIGITS = 10


@dataclasses.dataclass(frozen=True, slots=True)
class PodTemplate:
    """Pod template at *path*; *content* has ``metadata`` and ``spec``, each of which may be absent."""

    content: Mapping[str, Json]
    path: FieldPath
    annotations: Mapping[str, str]
    priority_class: str
    priority_path: FieldPath


def read_pod_template(template: Fields) -> PodTemplate:
    """Read a pod template."""
    metadata, spec = template.mapping("metadata"), template.mapping("spec")
    metadata.annotations("labels")
    return PodTemplate(
        template.given, template.path, metadata.annotations(), spec.text("priorityClassName"), spec.path / "priorityClassName"
    )


def pod(
    template: PodTemplate, name: str, *, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None, uid: str = ""
) -> dict[str, Json]:
    """Return a Pod of *template*; the controller's labels and annotations override those of the template."""
    template_metadata = _mapping(template.content.get("metadata"))
    metadata: dict[str, Json] = {"name": name}
    if uid:
        metadata["uid"] = uid
    for key, controllers in (("labels", labels), ("annotations", annotations or {})):
        if merged := {**_mapping(template_metadata.get(key)), **controllers}:
            metadata[key] = merged
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copied(_mapping(template.content.get("spec")))}


def exclusive(spec: dict[str, Json], *, topology: str, label: str, value: str, everywhere: bool = False, keeps_out: bool = True) -> None:
    """Add the affinity terms of exclusive placement to a pod's *spec*: a domain of *topology* has pods of only one group.

    The members have *label* with *value* (LeaderWorkerSet's and JobSet's exclusive placement); with *everywhere* the terms
    select the pods of all namespaces.  Without *keeps_out* the pod only follows the other members.
    """
    affinity = spec.setdefault("affinity", {})
    terms = {
        "podAffinity": [{"key": label, "operator": "In", "values": [value]}],
        "podAntiAffinity": [{"key": label, "operator": "Exists"}, {"key": label, "operator": "NotIn", "values": [value]}],
    }
    for kind, expressions in terms.items() if keeps_out else [("podAffinity", terms["podAffinity"])]:
        term: dict[str, Json] = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology}
        if everywhere:
            term["namespaceSelector"] = {}
        affinity.setdefault(kind, {}).setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)


def sha1(text: str) -> str:
    """Return the hash that JobSet and LeaderWorkerSet use in labels, not for security."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def template_hash(template: PodTemplate) -> str:
    """Return a hash of *template*, as long as the longest that controllers of apps/v1 put into names and labels, with other digits."""
    return sha1(repr(template.content))[:_HASH_DIGITS]


def revision_label(stateful_set: str, template: PodTemplate) -> dict[str, str]:
    """Return the label with the revision of a StatefulSet; the API server refuses its pods if the name makes it too long."""
    return {"controller-revision-hash": f"{stateful_set}-{template_hash(template)}"}


def common_priority(templates: Iterable[PodTemplate], errors: list[FieldError], warnings: list[FieldError]) -> str:
    """Return the priority class of all pods, which their groups get, as in Kubernetes 1.37's Job controller.

    Groups of one Workload have one priority, so pods with different classes are an error (KEP-6012).  Groups cannot have a system
    class, so they get none then, with a warning.
    """
    first: PodTemplate | None = None
    for each in templates:
        if named_group(each.content) is not None:
            # Its pods are in no group of the Workload.
            continue
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
        detail = "a group cannot have a system priority class: the groups are created without it"
        warnings.append(field.invalid(first.priority_path, first.priority_class, detail))
        return ""
    return first.priority_class


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
